// How much more blocks of rows differ than those of independent rows do: rows that depend on those before come in runs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "state/fields.hpp"

namespace budgetron::drift {

// Pairs of neighbouring blocks of each level are compared by Pearson's statistic of their counts, which has a mean of d
// n / (n - 1) if every order of the n rows is as probable; d is the number of cells in use, less one. If the first
// cells are ranges of numbers, the blocks are compared again with ranges equally far from the middle as one cell: in
// blocks of numbers whose level is alike, spread may not be.
class Dispersion {
 public:
  explicit Dispersion(std::size_t ranges = 0) : ranges_(ranges) {}

  void compare(Counter level, std::span<const Counter> one, std::span<const Counter> other) {
    put(2 * level, one, other);
    const std::size_t half = ranges_ / 2;
    std::array<Counter, 2 * most_folds> folds{};
    for (std::size_t r = 0; r < half; ++r) {
      folds[r] = one[r] + one[ranges_ - 1 - r];
      folds[half + r] = other[r] + other[ranges_ - 1 - r];
    }
    const std::span<const Counter> all(folds);
    put(2 * level + 1, all.first(half), all.subspan(half, half));
  }

  // Adds the pairs of other rows.
  void add(const Dispersion& other) {
    for (std::size_t j = 0; j < other.sums_.size(); ++j) {
      reach(j);
      sums_[j] += other.sums_[j], degrees_[j] += other.degrees_[j], pairs_[j] += other.pairs_[j];
      rank(j, other.largest_[j]), rank(j, other.second_[j]);
      judge(j);
    }
  }

  // By how much likelihood ratios may exceed those of independent rows. It is 1 unless more is certain.
  double factor() const { return factor_; }

  void fields(Fields& io) {
    io.field("sums", sums_);
    io.field("degrees", degrees_);
    io.field("pairs", pairs_);
    io.field("largest", largest_);
    io.field("second", second_);
    if (!io.restoring() || !is_consistent()) return;
    seen_.clear(), certain_.clear();
    if (!sums_.empty()) reach(sums_.size() - 1);
    for (std::size_t j = 0; j < sums_.size(); ++j) judge(j);
  }

  bool is_consistent() const {
    constexpr Counter most = Counter(1) << 53;
    const std::size_t levels = sums_.size();
    const auto counts = [levels](const std::vector<Counter>& x) {
      return x.size() == levels && std::all_of(x.begin(), x.end(), [](Counter each) { return each < most; });
    };
    const auto numbers = [levels](const std::vector<double>& x) {
      return x.size() == levels &&
             std::all_of(x.begin(), x.end(), [](double each) { return each >= 0.0 && std::isfinite(each); });
    };
    return levels <= most_levels && counts(degrees_) && counts(pairs_) && numbers(sums_) && numbers(largest_) &&
           numbers(second_);
  }

 private:
  static constexpr std::size_t most_folds = 8;
  static constexpr Counter most_pairs = 1024;  // then old ones are forgotten
  static constexpr std::size_t most_levels = 128;
  static constexpr double certain = 3.0;

  void put(Counter level, std::span<const Counter> one, std::span<const Counter> other) {
    double size = 0.0, n = 0.0, squares = 0.0;
    Counter used = 0;
    for (std::size_t c = 0; c < one.size(); ++c) {
      const auto mine = static_cast<double>(one[c]), both = static_cast<double>(one[c] + other[c]);
      if (both == 0.0) continue;
      ++used, size += mine, n += both, squares += mine * mine / both;
    }
    if (used < 2 || size == 0.0 || size == n) return;
    reach(level);
    if (pairs_[level] >= most_pairs) sums_[level] /= 2.0, degrees_[level] /= 2, pairs_[level] /= 2;
    const double statistic = (squares - size * size / n) * n * (n - 1.0) / (size * (n - size));
    sums_[level] += statistic;
    rank(level, statistic);
    degrees_[level] += used - 1;
    ++pairs_[level];
    judge(level);
  }

  void rank(std::size_t level, double statistic) {
    second_[level] = std::max(second_[level], std::min(largest_[level], statistic));
    largest_[level] = std::max(largest_[level], statistic);
  }

  void reach(std::size_t level) {
    const std::size_t levels = std::max(sums_.size(), level + 1);
    sums_.resize(levels), degrees_.resize(levels), pairs_.resize(levels);
    largest_.resize(levels), second_.resize(levels), seen_.resize(levels), certain_.resize(levels);
  }

  // A chi-squared variable of d degrees exceeds d + 2 sqrt(a d) + 2 a with a probability of e^-a at most (Laurent and
  // Massart 2000). Nothing is certain because of one pair: the largest statistic counts as twice the second at most.
  void judge(std::size_t level) {
    if (pairs_[level] == 0) return;
    const auto d = static_cast<double>(degrees_[level]), n = static_cast<double>(pairs_[level]);
    const double beyond = std::max(0.0, largest_[level] - 2.0 * second_[level]);
    seen_[level] = (sums_[level] - d) / n;
    certain_[level] = seen_[level] - (beyond + 2.0 * (std::sqrt(certain * d) + certain)) / n;
    const double most = *std::max_element(seen_.begin(), seen_.end());
    factor_ = 1.0 + std::max(0.0, std::min(most, 2.0 * *std::max_element(certain_.begin(), certain_.end())));
  }

  std::size_t ranges_;
  std::vector<double> sums_;              // of Pearson's statistics, times (n - 1) / n
  std::vector<Counter> degrees_, pairs_;  // of all of them
  std::vector<double> largest_, second_;  // two of them
  std::vector<double> seen_, certain_;  // by how much the mean is above that of independent rows, at each level, twice
  double factor_ = 1.0;
};

}  // namespace budgetron::drift
