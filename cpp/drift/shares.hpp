// Whether the shares of some cells have changed: the likelihood ratio of all splits between blocks of rows.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "drift/dispersion.hpp"
#include "state/fields.hpp"

namespace budgetron::drift {

// A split of the rows: how often each cell came before it, and after it.
struct Split {
  std::size_t blocks = 0;  // kept after it
  std::vector<Counter> before, after;
};

// Counts of the cells of all rows, in blocks. The older rows are, the more of them are one block: of each level of size
// at most `per_level` blocks are kept, and the two oldest of more become one of the next level.
class Shares {
 public:
  static constexpr std::size_t most_cells = 16;

  // The first cells may be ranges of numbers. The limit falls with the blocks after a split, up to `growing` blocks.
  Shares(std::size_t cells, std::size_t per_level, std::size_t ranges = 0, Counter growing = 1)
      : dispersion(ranges),
        cells_(cells),
        per_level_(per_level),
        ranges_(ranges),
        growing_(std::clamp<Counter>(growing, 1, most_growing)),
        total_(cells) {
    if (cells > most_cells) throw std::invalid_argument("a detector has 16 cells at most.");
  }

  // Adds the newest block, whose size has that level.
  void add(std::span<const Counter> counts, Counter level = 0) {
    counts_.insert(counts_.end(), counts.begin(), counts.end());
    levels_.push_back(level);
    for (std::size_t c = 0; c < cells_; ++c) total_[c] += counts[c];
    while (merged(level)) ++level;
  }

  // The most likely split, if its ratio is above the limit of that level. Of the splits with few rows after them many
  // are independent, so the limit falls by the logarithm of the blocks after a split.
  std::optional<Split> changed(double level) {
    const double factor = dispersion.factor(), limit = limit_of(level) * factor;
    if (levels_.size() < 2 || limit == 0.0) return std::nullopt;
    std::array<double, most_cells> inverse{}, after{};
    for (std::size_t c = 0; c < cells_; ++c) inverse[c] = total_[c] == 0 ? 0.0 : 1.0 / static_cast<double>(total_[c]);
    const double n = static_cast<double>(sum(total_));
    std::size_t blocks = 0;
    Counter after_it = 0;
    double most = limit, size = 0.0;
    for (std::size_t i = levels_.size() - 1; i > 0; --i) {
      double squares = 0.0;
      for (std::size_t c = 0; c < cells_; ++c) {
        const double more = static_cast<double>(counts_[i * cells_ + c]);
        size += more;
        after[c] += more;
        squares += after[c] * after[c] * inverse[c];
      }
      after_it = std::min(after_it + (Counter(1) << std::min<Counter>(levels_[i], 32)), growing_);
      const double bonus = factor * log_of(after_it);
      // Pearson's statistic, which is never below the likelihood ratio, and is computed sooner.
      if ((squares - size * size / n) * n * n / (size * (n - size)) < (most - bonus) * (1.0 - 1e-6)) continue;
      const double ratio = likelihood_ratio(counts_from(i)) + bonus;
      if (ratio > most) most = ratio, blocks = levels_.size() - i;
    }
    if (blocks == 0) return std::nullopt;
    compare(levels_.size() - blocks);
    std::vector<Counter> before = total_, newest = counts_from(levels_.size() - blocks);
    for (std::size_t c = 0; c < cells_; ++c) before[c] -= newest[c];
    return Split{blocks, std::move(before), std::move(newest)};
  }

  // Forgets all but the newest blocks.
  void keep(std::size_t blocks) {
    const std::size_t gone = levels_.size() - std::min(blocks, levels_.size());
    levels_.erase(levels_.begin(), levels_.begin() + static_cast<std::ptrdiff_t>(gone));
    counts_.erase(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(gone * cells_));
    count_total();
  }

  std::vector<Counter> total() const { return total_; }

  Dispersion dispersion;  // of blocks, also of those that are forgotten

  void fields(Fields& io) {
    io.field("counts", counts_);
    io.field("levels", levels_);
    dispersion.fields(io);
    if (io.restoring() && counts_.size() == levels_.size() * cells_) count_total();
  }

  bool is_consistent() const {
    constexpr Counter most = Counter(1) << 53, levels = 64;
    const auto below = [](Counter bound) { return [bound](Counter x) { return x < bound; }; };
    return counts_.size() == levels_.size() * cells_ && levels_.size() <= levels * (per_level_ + 1) &&
           std::all_of(counts_.begin(), counts_.end(), below(most / (levels * (per_level_ + 1) * cells_))) &&
           std::all_of(levels_.begin(), levels_.end(), below(levels)) && dispersion.is_consistent();
  }

 private:
  static constexpr Counter most_growing = 64;
  static constexpr Counter straddling = 4;  // levels of the blocks that are compared on both sides of a change

  static double log_of(Counter blocks) {
    static const std::array<double, most_growing + 1> logs = [] {
      std::array<double, most_growing + 1> found{};
      for (Counter k = 1; k <= most_growing; ++k) found[k] = std::log(static_cast<double>(k));
      return found;
    }();
    return logs[blocks];
  }

  static Counter sum(std::span<const Counter> counts) {
    Counter all = 0;
    for (const Counter x : counts) all += x;
    return all;
  }

  // Makes one block of the two oldest of a level, if there are too many of it.
  bool merged(Counter level) {
    const auto first = std::find(levels_.begin(), levels_.end(), level);
    if (static_cast<std::size_t>(std::count(first, levels_.end(), level)) <= per_level_) return false;
    const auto i = static_cast<std::size_t>(first - levels_.begin());
    dispersion.compare(level, block(i), block(i + 1));
    for (std::size_t c = 0; c < cells_; ++c) counts_[i * cells_ + c] += counts_[(i + 1) * cells_ + c];
    const auto next = counts_.begin() + static_cast<std::ptrdiff_t>((i + 1) * cells_);
    counts_.erase(next, next + static_cast<std::ptrdiff_t>(cells_));
    levels_.erase(first + 1);
    ++levels_[i];
    return true;
  }

  std::span<const Counter> block(std::size_t i) const { return std::span(counts_).subspan(i * cells_, cells_); }

  // Compares the blocks before a change, which are about to be forgotten, and the rows on both sides of it.
  void compare(std::size_t first) {
    for (Counter level = 0; level < straddling; ++level) {
      std::vector<Counter> one(cells_), other(cells_);
      if (nearest(first, false, level, one) && nearest(first, true, level, other))
        dispersion.compare(level, one, other);
    }
    Shares older(cells_, 1, ranges_);
    for (std::size_t i = 0; i < first; ++i) older.add(block(i), levels_[i]);
    dispersion.add(older.dispersion);
  }

  // Counts the blocks before or after the beginning of one that have the size of that level together, if there are any.
  bool nearest(std::size_t first, bool after, Counter level, std::vector<Counter>& counts) const {
    Counter size = 0;
    for (std::size_t k = 0; size < Counter(1) << level && k < (after ? levels_.size() - first : first); ++k) {
      const std::size_t i = after ? first + k : first - 1 - k;
      size += Counter(1) << std::min(levels_[i], straddling);
      for (std::size_t c = 0; c < cells_; ++c) counts[c] += block(i)[c];
    }
    return size == Counter(1) << level;
  }

  void count_total() {
    total_.assign(cells_, 0);
    for (std::size_t i = 0; i < counts_.size(); ++i) total_[i % cells_] += counts_[i];
  }

  // The ratio that stationary rows exceed with a probability of about exp(-level), in one split: with d degrees of
  // freedom, Chernoff's bound of a chi-squared tail is level = h - d/2 - d/2 log(2h/d). 0 if there is one cell only.
  double limit_of(double level) const {
    const auto used = std::count_if(total_.begin(), total_.end(), [](Counter x) { return x > 0; });
    if (used < 2) return 0.0;
    if (used == used_ && level == level_) return limit_;
    const double half = static_cast<double>(used - 1) / 2.0;
    double limit = level + half;
    for (int i = 0; i < 50; ++i) limit = level + half + half * std::log(std::max(1.0, limit / half));
    used_ = used, level_ = level, limit_ = limit;
    return limit;
  }

  // The counts of a block and all after it.
  std::vector<Counter> counts_from(std::size_t block) const {
    std::vector<Counter> counts(cells_);
    for (std::size_t i = block * cells_; i < counts_.size(); ++i) counts[i % cells_] += counts_[i];
    return counts;
  }

  double likelihood_ratio(std::span<const Counter> after) const {
    double all = 0.0;
    for (std::size_t c = 0; c < cells_; ++c)
      all += x_log_x(after[c]) + x_log_x(total_[c] - after[c]) - x_log_x(total_[c]);
    const Counter size = sum(after), n = sum(total_);
    return all - x_log_x(size) - x_log_x(n - size) + x_log_x(n);
  }

  static double x_log_x(Counter n) {
    const double x = static_cast<double>(n);
    return n == 0 ? 0.0 : x * std::log(x);
  }

  std::size_t cells_, per_level_, ranges_;
  Counter growing_;
  std::vector<Counter> counts_, levels_;  // oldest first
  std::vector<Counter> total_;
  mutable std::ptrdiff_t used_ = 0;  // for which `limit_` was computed
  mutable double level_ = 0.0, limit_ = 0.0;
};

}  // namespace budgetron::drift
