// Bins of single columns, and of pairs of columns. Edges are quantiles of the kept rows. A column of few whole numbers
// has no edges: each of its values is a bin, so that codes of categories are learned one by one. Codes that come later
// are spread over the bins that are left. The last bin of a column is for missing values.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "local/cell_map.hpp"
#include "simd/loops.hpp"
#include "state/random.hpp"

namespace budgetron {

class Bins final : public CellMap {
 public:
  static constexpr std::size_t most_bins = 256;

  // `bins` of every column; `side` of both columns of a pair.
  Bins(std::size_t bins, std::size_t pairs, std::size_t side, std::size_t columns, Counter seed)
      : bins_(bins), side_(side), first_(std::min(columns, most_columns)), seed_(seed) {
    pairs_.resize(std::min(pairs, all_pairs()));
    widen(columns);
    draw_pairs();
    counted_ = columns_;
    lay_out();
  }

  std::size_t members() const override { return columns_ + pairs_.size(); }
  double most_cells() const override { return static_cast<double>(first_of_columns_ + counted_ * (bins_ + 1)); }
  std::size_t columns() const override { return columns_; }
  bool draws() const override { return true; }

  void find(std::span<const double> x, std::span<Counter> cells) const override {
    thread_local std::vector<Counter> sides;
    sides.resize(columns_);
    for (std::size_t j = 0; j < columns_; ++j) {
      const Counter bin = bin_of(j, x[j]);
      if (!pairs_.empty()) sides[j] = in_pair(j, bin, x[j]);
      // A column that came later had no bin in the rows before, where it was missing or 0.
      const bool absent = j >= first_ && (bin == bins_ || x[j] == 0);
      cells[j] = absent ? no_cell : first_cell(j) + bin;
    }
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const auto [i, j] = pairs_[p];
      cells[columns_ + p] = first_of_pair_[p] + sides[i] * sides_[j] + sides[j];
    }
  }
  Counter first_cell(std::size_t j) const override { return first_of_columns_ + j * (bins_ + 1); }

  void widen(std::size_t columns) override {
    columns_ = std::min(columns, most_columns);
    edges_.resize(columns_);
    by_value_.resize(columns_);
    bits_.resize(columns_, 1);
    sides_.resize(columns_, side_ + 1);
    ranges_.widen(columns_);
  }

  void draw(const RecentRows& rows) override {
    for (std::size_t j = 0; j < columns_; ++j) {
      draw_column(j, rows.sorted(j));
      const std::size_t codes = by_value_[j] != 0 ? edges_[j].size() : 0;  // and room for a quarter more
      sides_[j] = 1 + (codes <= side_ ? side_ : std::min(5 * codes / 4, bins_));
    }
    draw_pairs();
    counted_ = columns_;
    lay_out();
  }
  void follow(const RecentRows& rows) override {
    const RecentRows::Extents now = rows.extents();
    for (std::size_t j = 0; j < columns_; ++j) {
      const bool stays = ranges_.known(j) && (by_value_[j] != 0 ? surely_few(j, now) : !ranges_.moved(j, rows, now));
      if (stays) continue;
      const std::vector<double> sorted = rows.sorted(j);
      const bool known = ranges_.known(j), codes = known && by_value_[j] != 0;
      if (codes && few_whole_numbers(unique(sorted), sorted.size())) continue;
      draw_column(j, sorted);
      if (known && !codes) ranges_.forget(j);
    }
  }

  // The edges of each column, or its codes, and whether these are codes; the number of bins of each column in pairs,
  // that for missing values included; and the pairs, for exports and pictures.
  const std::vector<std::vector<double>>& edges() const { return edges_; }
  const std::vector<Counter>& by_value() const { return by_value_; }
  const std::vector<Counter>& sides() const { return sides_; }
  const std::vector<std::pair<std::size_t, std::size_t>>& pairs() const { return pairs_; }
  // The number of columns when it was built: in a later one, a row with 0 or a missing value has no cell.
  std::size_t first() const { return first_; }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(edges_) + bytes_of(pairs_) + bytes_of(first_of_pair_));
    std::vector<double> edges;
    std::vector<Counter> counts, pairs;
    for (const auto& column : edges_) {
      edges.insert(edges.end(), column.begin(), column.end());
      counts.push_back(column.size());
    }
    for (const auto& [i, j] : pairs_) pairs.insert(pairs.end(), {i, j});
    io.field("bins.pairs", pairs, {Merged::Own});
    io.field("bins.edges", edges, {Merged::Own});
    io.field("bins.counts", counts, {Merged::Own});
    io.field("bins.by_value", by_value_, {Merged::Own});
    io.field("bins.sides", sides_, {Merged::Own});
    io.field("bins.counted", counted_, {Merged::Own});
    ranges_.fields(io);
    if (io.restoring()) restore(edges, counts, pairs);
  }
  bool is_consistent(std::size_t) const override {
    return sound_ && ranges_.is_consistent(columns_) &&
           std::all_of(edges_.begin(), edges_.end(), [](const auto& edges) {
             return std::is_sorted(edges.begin(), edges.end()) && all_finite(edges);
           });
  }

 private:
  std::size_t all_pairs() const { return first_ < 2 ? 0 : first_ * (first_ - 1) / 2; }
  // Pairs of the first columns: all of them, or as many as asked for. A column is drawn the more often, the more bits
  // there are in the number of its values: two columns of two values each have little to say together.
  void draw_pairs() {
    std::set<std::pair<std::size_t, std::size_t>> drawn;
    for (std::size_t i = 0; pairs_.size() == all_pairs() && i < first_; ++i)
      for (std::size_t j = i + 1; j < first_; ++j) drawn.emplace(i, j);
    std::vector<std::size_t> bits;  // each column once for each of its bits
    for (std::size_t j = 0; j < first_; ++j) bits.insert(bits.end(), bits_[j], j);
    Random random(seed_, 1);
    for (std::size_t attempt = 0; drawn.size() < pairs_.size(); ++attempt) {
      const bool by_bits = attempt < 20 * pairs_.size();
      const auto column = [&] { return by_bits ? bits[random.below(bits.size())] : random.below(first_); };
      const std::size_t i = column(), j = column();
      if (i != j) drawn.emplace(std::min(i, j), std::max(i, j));
    }
    pairs_.assign(drawn.begin(), drawn.end());
  }

  Counter bin_of(std::size_t j, double v) const {
    if (std::isnan(v)) return bins_;
    return by_value_[j] != 0 ? bin_of_code(j, v, bins_) : reached(j, v);
  }
  // A division of 32 bits is several times faster than one of 64.
  Counter in_pair(std::size_t j, Counter bin, double v) const {
    if (bin == bins_) return sides_[j] - 1;
    if (bin < std::min<Counter>(by_value_[j] * edges_[j].size(), sides_[j] - 1)) return bin;  // a known code
    if (by_value_[j] != 0) return bin_of_code(j, v, sides_[j] - 1);
    return static_cast<std::uint32_t>(bin * side_) / static_cast<std::uint32_t>(edges_[j].size() + 1);
  }
  // The number of edges that are not above v. An indicator has too few for a call.
  Counter reached(std::size_t j, double v) const {
    const std::vector<double>& edges = edges_[j];
    if (edges.size() > lanes) return loops->count_up_to(edges.data(), v, edges.size());
    Counter count = 0;
    for (const double edge : edges) count += edge <= v ? 1 : 0;
    return count;
  }
  // The place of a code that is known; others are spread over the bins behind these.
  Counter bin_of_code(std::size_t j, double v, Counter bins) const {
    v = std::floor(std::clamp(v, -0x1p40, 0x1p40));
    const Counter above = reached(j, v), known = edges_[j].size();
    if (above > 0 && edges_[j][above - 1] == v) return above <= bins ? above - 1 : (above - 1) % bins;
    const auto number = static_cast<Counter>(v + 0x1p40);
    return known < bins ? known + number % (bins - known) : number % bins;
  }

  // At least two rows for each value on average.
  bool few_whole_numbers(const std::vector<double>& values, std::size_t rows) const {
    return values.size() <= bins_ && 2 * values.size() <= rows &&
           std::all_of(values.begin(), values.end(),
                       [](double v) { return v == std::floor(v) && std::fabs(v) <= 0x1p31; });
  }
  // The same for a column, without a look at its values: they are whole numbers in a range of few.
  bool surely_few(std::size_t j, const RecentRows::Extents& now) const {
    const double different = now.high[j] - now.low[j] + 1;
    return now.fractions[j] == 0 && different <= static_cast<double>(bins_) && 2 * different <= now.numbers[j] &&
           now.low[j] >= -0x1p31 && now.high[j] <= 0x1p31;
  }
  static std::vector<double> unique(std::vector<double> sorted) {
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    return sorted;
  }

  void draw_column(std::size_t j, const std::vector<double>& sorted) {
    ranges_.learn(j, sorted);
    edges_[j].clear();
    const std::vector<double> values = unique(sorted);
    bits_[j] = std::bit_width(std::clamp<std::size_t>(values.size(), 1, bins_));
    by_value_[j] = !values.empty() && few_whole_numbers(values, sorted.size()) ? 1 : 0;
    if (by_value_[j] != 0) edges_[j] = values;
    if (by_value_[j] != 0 || values.empty()) return;
    const auto push_edge = [&](double a, double b) {
      const double edge = a / 2 + b / 2;
      if (edges_[j].empty() || edge > edges_[j].back()) edges_[j].push_back(edge);
    };
    if (values.size() <= bins_) {
      for (std::size_t i = 0; i + 1 < values.size(); ++i) push_edge(values[i], values[i + 1]);
      return;
    }
    for (std::size_t q = 1; q < bins_; ++q) {
      const std::size_t i = q * sorted.size() / bins_;
      if (i > 0 && sorted[i] > sorted[i - 1]) push_edge(sorted[i - 1], sorted[i]);
    }
  }

  // Numbers of cells: pairs, one after the other, and then the columns, so that later ones come behind.
  void lay_out() {
    first_of_pair_.clear();
    first_of_columns_ = 0;
    for (const auto& [i, j] : pairs_) {
      first_of_pair_.push_back(first_of_columns_);
      first_of_columns_ += sides_[i] * sides_[j];
    }
  }

  void restore(const std::vector<double>& edges, const std::vector<Counter>& counts,
               const std::vector<Counter>& pairs) {
    sound_ = counted_ <= columns_ && pairs.size() == 2 * pairs_.size() && counts.size() == columns_ &&
             by_value_.size() == columns_ && sides_.size() == columns_;
    for (std::size_t j = 0; sound_ && j < columns_; ++j)
      sound_ = sides_[j] > side_ && sides_[j] <= bins_ + 1 && by_value_[j] <= 1;
    std::size_t at = 0;
    for (std::size_t j = 0; sound_ && j < columns_; ++j) {
      sound_ = counts[j] < bins_ + by_value_[j] && counts[j] <= edges.size() - at;
      if (!sound_) break;
      const auto from = edges.begin() + static_cast<std::ptrdiff_t>(at);
      edges_[j].assign(from, from + static_cast<std::ptrdiff_t>(counts[j]));
      at += counts[j];
    }
    for (std::size_t p = 0; sound_ && p < pairs_.size(); ++p) {
      pairs_[p] = {pairs[2 * p], pairs[2 * p + 1]};
      sound_ = pairs_[p].first < pairs_[p].second && pairs_[p].second < first_;
    }
    sound_ = sound_ && at == edges.size();
    if (sound_) lay_out();
  }

  std::size_t bins_, side_, first_;  // first_: the number of columns when it was built
  Counter seed_;
  std::size_t columns_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<Counter> bits_;  // of the number of values of a column
  std::vector<std::vector<double>> edges_;
  std::vector<Counter> by_value_;  // 1: the edges of the column are codes, each with a bin of its own
  std::vector<Counter> sides_;     // the bins of the column in a pair, that for missing values included
  std::vector<Counter> first_of_pair_;
  Counter first_of_columns_ = 0;
  Counter counted_ = 0;  // the columns that there were when thresholds were drawn
  KnownRanges ranges_;
  bool sound_ = true;
};

}  // namespace budgetron
