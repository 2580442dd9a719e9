// Random tiles: every member is a fern, a list of tests "column > threshold". Its answers, read as a binary number, are
// the cell. A threshold lies half-way between two of the kept rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "local/cell_map.hpp"
#include "simd/loops.hpp"
#include "state/random.hpp"

namespace budgetron {

class Tiles final : public CellMap {
 public:
  static constexpr double never = std::numeric_limits<double>::max();  // the threshold of a test that is never true

  static constexpr std::size_t most_members = 10'000, most_depth = 24;

  // `narrow` of the members look at two or three columns only.
  Tiles(std::size_t members, std::size_t depth, double narrow, std::size_t columns, Counter seed)
      : members_(members), depth_(depth), narrow_(narrow), seed_(seed), generation_(members) {
    places_.assign(depth * padded(), 0);
    thresholds_.assign(depth * padded(), never);
    ranks_.assign(depth * padded(), 1);
    widen(columns);
  }

  std::size_t members() const override { return members_; }
  double most_cells() const override { return std::ldexp(static_cast<double>(members_), static_cast<int>(depth_)); }
  std::size_t columns() const override { return columns_; }
  bool draws() const override { return true; }
  bool redraws() const override { return true; }

  void find(std::span<const double> x, std::span<Counter> cells) const override {
    loops->fern_codes(x.data(), places_.data(), thresholds_.data(), padded(), depth_, cells.data());
    for (std::size_t f = 0; f < members_; ++f) cells[f] += first_cell(f);
  }

  void widen(std::size_t columns) override {
    columns_ = std::clamp<std::size_t>(columns, 1, most_columns);  // a row without columns has a 0
    ranges_.widen(columns_);
  }

  void draw(const RecentRows& rows) override {
    learn_ranges(rows);
    for (std::size_t f = 0; f < members_; ++f) draw_member(f, rows);
  }

  void redraw(std::size_t f, const RecentRows& rows) override {
    ++generation_[f];
    draw_member(f, rows);
  }

  // Three quarters of the tests are taken from the other member: half of these as they are, half with its column only.
  void redraw_near(std::size_t f, std::size_t other, const RecentRows& rows) override {
    redraw(f, rows);
    Random random = stream(f, 1);
    for (std::size_t j = 0; j < depth_; ++j) {
      if (random.uniform() >= 0.75) continue;
      const std::size_t from = random.below(depth_) * padded() + other, to = j * padded() + f;
      if (random.uniform() < 0.5)
        copy_test(from, to);
      else
        draw_test(to, static_cast<std::size_t>(places_[from]), rows, random);
    }
  }

  // A threshold of a column that has moved goes to where its rank among the kept values is now.
  void follow(const RecentRows& rows) override {
    std::vector<std::vector<double>> moved(columns_);
    const RecentRows::Extents now = rows.extents();
    bool any = false;
    for (std::size_t j = 0; j < columns_; ++j) {
      if (!ranges_.moved(j, rows, now)) continue;
      moved[j] = rows.sorted(j);
      if (ranges_.known(j))
        ranges_.forget(j);
      else
        ranges_.learn(j, moved[j]);
      any = true;
    }
    if (!any) return;
    for (std::size_t i = 0; i < thresholds_.size(); ++i) {
      const std::vector<double>& sorted = moved[static_cast<std::size_t>(places_[i])];
      if (!sorted.empty() && thresholds_[i] != never) thresholds_[i] = at_rank(sorted, ranks_[i]);
    }
  }

  void keep_numbers(bool keep) override { renumbers_ = keep ? 0 : 1; }
  Counter first_cell(std::size_t f) const override { return (renumbers_ * generation_[f] * members_ + f) << depth_; }
  Counter cells_each() const override { return Counter{1} << depth_; }

  // The columns of the tests of each member, and their thresholds, for exports and pictures.
  std::vector<std::int64_t> tested() const { return by_member<std::int64_t>(places_); }
  std::vector<double> thresholds() const { return by_member<double>(thresholds_); }
  std::vector<Counter> first_cells() const {
    std::vector<Counter> first(members_);
    for (std::size_t f = 0; f < members_; ++f) first[f] = first_cell(f);
    return first;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    std::vector<Counter> places(places_.begin(), places_.end());
    io.field("tiles.columns", places, {Merged::Own});
    if (io.restoring()) {
      sound_ = places.size() == places_.size() &&
               std::all_of(places.begin(), places.end(), [](Counter place) { return place < most_columns; });
      if (sound_) std::copy(places.begin(), places.end(), places_.begin());
    }
    io.field("tiles.thresholds", thresholds_, {Merged::Own});
    io.field("tiles.ranks", ranks_, {Merged::Own});
    io.field("tiles.generation", generation_, {Merged::Own});
    ranges_.fields(io);
  }
  bool is_consistent(std::size_t) const override {
    const std::size_t tests = depth_ * padded();
    return sound_ && thresholds_.size() == tests && ranks_.size() == tests && generation_.size() == members_ &&
           std::all_of(places_.begin(), places_.end(), [&](auto at) { return static_cast<Counter>(at) < columns_; }) &&
           std::none_of(thresholds_.begin(), thresholds_.end(), [](double t) { return std::isnan(t); }) &&
           std::all_of(ranks_.begin(), ranks_.end(), [](double rank) { return rank >= 0 && rank <= 1; }) &&
           std::all_of(generation_.begin(), generation_.end(), [](Counter g) { return g < most_generations; }) &&
           ranges_.is_consistent(columns_);
  }

 private:
  std::size_t padded() const { return whole_lanes<double>(members_); }
  // Random numbers of a member: its columns stay the same ones while the first rows come.
  Random stream(std::size_t f, Counter use) const {
    return Random(seed_, 1 + 2 * (generation_[f] * members_ + f) + use);
  }

  void learn_ranges(const RecentRows& rows) {
    for (std::size_t j = 0; j < columns_; ++j) ranges_.learn(j, rows.sorted(j));
  }

  void draw_member(std::size_t f, const RecentRows& rows) {
    Random random = stream(f, 0);
    std::size_t few[3] = {}, count = 0;
    if (random.uniform() < narrow_) {
      count = 2 + random.below(2);
      for (std::size_t k = 0; k < count; ++k) few[k] = random.below(columns_);
    }
    for (std::size_t j = 0; j < depth_; ++j)
      draw_test(j * padded() + f, count > 0 ? few[random.below(count)] : random.below(columns_), rows, random);
  }

  // A column whose kept values are all equal says nothing: another one is tried.
  void draw_test(std::size_t at, std::size_t column, const RecentRows& rows, Random& random) {
    places_[at] = static_cast<std::int32_t>(column);
    thresholds_[at] = never;
    ranks_[at] = 1;
    for (std::size_t attempt = 0; attempt < 30 && rows.size() > 0; ++attempt) {
      if (attempt >= 10) column = random.below(columns_);
      const double a = rows[random.below(rows.size())][column], b = rows[random.below(rows.size())][column];
      if (!(a < b || b < a)) continue;
      places_[at] = static_cast<std::int32_t>(column);
      thresholds_[at] = a / 2 + b / 2;
      ranks_[at] = rank(thresholds_[at], column, rows);
      return;
    }
  }

  void copy_test(std::size_t from, std::size_t to) {
    places_[to] = places_[from];
    thresholds_[to] = thresholds_[from];
    ranks_[to] = ranks_[from];
  }

  // The share of the kept values that are not above a threshold.
  static double rank(double threshold, std::size_t column, const RecentRows& rows) {
    std::size_t below = 0, all = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double v = rows[i][column];
      all += std::isnan(v) ? 0 : 1;
      below += v <= threshold ? 1 : 0;
    }
    return static_cast<double>(below) / static_cast<double>(std::max<std::size_t>(all, 1));
  }
  static double at_rank(const std::vector<double>& sorted, double rank) {
    const double n = static_cast<double>(sorted.size());
    const auto k = static_cast<std::size_t>(std::clamp(std::nearbyint(rank * n), 1.0, std::max(n - 1, 1.0)));
    return k < sorted.size() ? sorted[k - 1] / 2 + sorted[k] / 2 : sorted[k - 1];
  }

  template <class To, class From>
  std::vector<To> by_member(const std::vector<From>& tests) const {
    std::vector<To> out;
    for (std::size_t f = 0; f < members_; ++f)
      for (std::size_t j = 0; j < depth_; ++j) out.push_back(static_cast<To>(tests[j * padded() + f]));
    return out;
  }

  // So that (generation * members + f) << depth is below no_cell.
  static constexpr Counter most_generations = 1 << 24;

  std::size_t members_, depth_;
  double narrow_;
  Counter seed_;
  std::size_t columns_ = 0;
  std::vector<std::int32_t> places_;  // the column of each test; test j of member f is at j * padded() + f
  std::vector<double> thresholds_;
  std::vector<double> ranks_;        // of the thresholds among the values they were drawn from
  std::vector<Counter> generation_;  // how often a member was drawn anew
  Counter renumbers_ = 1;            // 1: the cells of a new member have new numbers
  KnownRanges ranges_;
  bool sound_ = true;
};

}  // namespace budgetron
