// Bins of single columns, and of pairs of columns. Edges are quantiles of the kept rows. A column of few whole numbers
// has no edges: each of its values is a bin, so that codes of categories are learned one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
      : bins_(bins), side_(side), first_(std::min(columns, most_columns)) {
    draw_pairs(pairs, seed);
    widen(columns);
  }

  std::size_t members() const override { return columns_ + pairs_.size(); }
  double most_cells() const override {
    return static_cast<double>(columns_ * (bins_ + 1) + pairs_.size() * (side_ + 1) * (side_ + 1));
  }
  std::size_t columns() const override { return columns_; }
  bool draws() const override { return true; }

  void find(std::span<const double> x, std::span<Counter> cells) const override {
    thread_local std::vector<Counter> sides;
    sides.resize(columns_);
    for (std::size_t j = 0; j < columns_; ++j) {
      const Counter bin = bin_of(j, x[j]);
      sides[j] = by_value_[j] != 0 || bin == missing ? bin : in_pair(j, bin);
      // A column that came later had no bin in the rows before, where it was missing or 0.
      const bool absent = j >= first_ && (bin == missing || x[j] == 0);
      cells[j] = absent ? no_cell : j << 40 | bin;
    }
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      cells[columns_ + p] = (most_columns + p) << 40 | sides[pairs_[p].first] << 20 | sides[pairs_[p].second];
  }

  void widen(std::size_t columns) override {
    columns_ = std::min(columns, most_columns);
    edges_.resize(columns_);
    by_value_.resize(columns_);
    ranges_.widen(columns_);
  }

  void draw(const RecentRows& rows) override {
    for (std::size_t j = 0; j < columns_; ++j) draw_column(j, rows.sorted(j));
  }
  void follow(const RecentRows& rows) override {
    for (std::size_t j = 0; j < columns_; ++j) {
      const std::vector<double> sorted = rows.sorted(j);
      const bool is_new = !ranges_.known(j) || (by_value_[j] != 0 && !few_whole_numbers(sorted));
      if (is_new || (by_value_[j] == 0 && ranges_.moved(j, sorted))) draw_column(j, sorted);
    }
  }

  // The edges of each column, whether each value is a bin, and the pairs, for exports and pictures.
  const std::vector<std::vector<double>>& edges() const { return edges_; }
  const std::vector<Counter>& by_value() const { return by_value_; }
  const std::vector<std::pair<std::size_t, std::size_t>>& pairs() const { return pairs_; }
  // The number of columns when it was built: in a later one, a row with 0 or a missing value has no cell.
  std::size_t first() const { return first_; }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(edges_) + bytes_of(pairs_));
    std::vector<double> edges;
    std::vector<Counter> counts;
    for (const auto& column : edges_) {
      edges.insert(edges.end(), column.begin(), column.end());
      counts.push_back(column.size());
    }
    io.field("bins.edges", edges, {Merged::Own});
    io.field("bins.counts", counts, {Merged::Own});
    io.field("bins.by_value", by_value_, {Merged::Own});
    ranges_.fields(io);
    if (io.restoring()) restore(edges, counts);
  }
  bool is_consistent(std::size_t) const override {
    return sound_ && by_value_.size() == columns_ && ranges_.is_consistent(columns_) &&
           std::all_of(edges_.begin(), edges_.end(), [](const auto& edges) {
             return std::is_sorted(edges.begin(), edges.end()) && all_finite(edges);
           });
  }

 private:
  static constexpr Counter missing = (1 << 20) - 1;

  // Pairs of the first columns, all of them or as many as asked for.
  void draw_pairs(std::size_t count, Counter seed) {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t i = 0; i < first_; ++i)
      for (std::size_t j = i + 1; j < first_; ++j) all.emplace_back(i, j);
    Random random(seed, 1);
    const std::size_t kept = std::min(count, all.size());
    for (std::size_t k = 0; k < kept; ++k) std::swap(all[k], all[k + random.below(all.size() - k)]);
    pairs_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept));
  }

  Counter bin_of(std::size_t j, double v) const {
    if (std::isnan(v)) return missing;
    if (by_value_[j] != 0)  // whole numbers that differ by less than `missing` have different bins
      return static_cast<Counter>(std::floor(std::clamp(v, -0x1p40, 0x1p40)) + 0x1p40) % missing;
    // The number of edges that are not above v, as std::upper_bound, but without a branch that depends on v.
    const double* edge = edges_[j].data();
    std::size_t left = edges_[j].size();
    for (std::size_t half; left > 1; left -= half) {
      half = left / 2;
      edge += edge[half - 1] <= v ? half : 0;
    }
    return static_cast<Counter>(edge - edges_[j].data()) + (left == 1 && *edge <= v ? 1 : 0);
  }
  // A division of 32 bits is several times faster than one of 64.
  Counter in_pair(std::size_t j, Counter bin) const {
    return static_cast<std::uint32_t>(bin * side_) / static_cast<std::uint32_t>(edges_[j].size() + 1);
  }

  // Few: at least two rows for each value on average.
  bool few_whole_numbers(const std::vector<double>& sorted) const {
    std::size_t values = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != std::floor(sorted[i]) || std::fabs(sorted[i]) > 0x1p31) return false;
      values += i == 0 || sorted[i] != sorted[i - 1] ? 1 : 0;
    }
    return values <= bins_ && 2 * values <= sorted.size();
  }

  void draw_column(std::size_t j, const std::vector<double>& sorted) {
    ranges_.learn(j, sorted);
    edges_[j].clear();
    by_value_[j] = !sorted.empty() && few_whole_numbers(sorted) ? 1 : 0;
    if (by_value_[j] != 0 || sorted.empty()) return;
    std::vector<double> values(sorted);
    values.erase(std::unique(values.begin(), values.end()), values.end());
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

  void restore(const std::vector<double>& edges, const std::vector<Counter>& counts) {
    sound_ = counts.size() == columns_;
    std::size_t at = 0;
    for (std::size_t j = 0; sound_ && j < columns_; ++j) {
      sound_ = counts[j] < bins_ && counts[j] <= edges.size() - at;
      if (!sound_) break;
      const auto from = edges.begin() + static_cast<std::ptrdiff_t>(at);
      edges_[j].assign(from, from + static_cast<std::ptrdiff_t>(counts[j]));
      at += counts[j];
    }
    sound_ = sound_ && at == edges.size();
  }

  std::size_t bins_, side_, first_;  // first_: the number of columns when it was built
  std::size_t columns_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
  std::vector<std::vector<double>> edges_;
  std::vector<Counter> by_value_;  // 1: each value of the column is a bin
  KnownRanges ranges_;
  bool sound_ = true;
};

}  // namespace budgetron
