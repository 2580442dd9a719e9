// Random binning (Rahimi & Recht 2007): every member is a grid of random pitch and shift in each column. With pitches
// from the law p(t) = t k''(t), which for the Laplacian kernel k(t) = exp(-gamma t) is a Gamma law, two rows share a
// cell with probability k(x, x').
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "local/cell_map.hpp"
#include "state/lazy.hpp"
#include "state/random.hpp"

namespace budgetron {

class RandomBinning final : public CellMap {
 public:
  RandomBinning(std::size_t members, double gamma, std::size_t columns, Counter seed)
      : members_(members), gamma_(gamma), seed_(seed) {
    widen(columns);
  }
  RandomBinning(const RandomBinning&) = delete;

  std::size_t members() const override { return members_; }
  double most_cells() const override { return std::numeric_limits<double>::infinity(); }
  std::size_t columns() const override { return grids_.size(); }
  // The kernel is that of the rows that the learner gets.
  bool unscaled() const override { return false; }

  // A column in whose bin 0 lies adds nothing to the number. Missing values count as 0.
  void find(std::span<const double> x, std::span<Counter> cells) const override {
    for (std::size_t f = 0; f < members_; ++f) cells[f] = f << 32;
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (x[j] == 0 || std::isnan(x[j])) continue;
      const Grid* const grid = grids_[j].get().data();
      for (std::size_t f = 0; f < members_; ++f) {
        const double bin = std::floor(x[j] / grid[f].pitch + grid[f].shift);
        if (bin != 0) cells[f] += mixed(bin, j);
      }
    }
  }

  void widen(std::size_t columns) override {
    while (grids_.size() < std::min(columns, most_columns))
      grids_.emplace_back([this, j = grids_.size()] { return draw(j); });
  }

  // Pitch and shift of each member, column after column, for exports.
  std::vector<double> grids() const {
    std::vector<double> out;
    for (const auto& column : grids_)
      for (const Grid& grid : column.get()) out.insert(out.end(), {grid.pitch, grid.shift});
    return out;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    for (const auto& column : grids_)
      io.scratch(sizeof column + (column.peek() == nullptr ? 0 : bytes_of(*column.peek())));
  }

 private:
  struct Grid {
    double pitch, shift;  // the bin of x is floor(x / pitch + shift)
  };

  // The grids of a column are a function of the seed and the column. They are drawn when a row has a value there.
  std::vector<Grid> draw(std::size_t column) const {
    Random random(seed_, column + 1);
    std::vector<Grid> grids;
    grids.reserve(members_);
    for (std::size_t f = 0; f < members_; ++f) {
      const double u = 1 - random.uniform(), v = 1 - random.uniform();
      const double pitch = -(std::log(u) + std::log(v)) / gamma_;
      grids.push_back({std::max(pitch, std::numeric_limits<double>::min()), random.uniform()});
    }
    return grids;
  }

  static Counter mixed(double bin, std::size_t column) {
    const auto number = static_cast<std::int64_t>(std::clamp(bin, -0x1p62, 0x1p62));
    Counter v = static_cast<Counter>(number) * 0x9E3779B97F4A7C15u ^ (column + 1) * 0xC2B2AE3D27D4EB4Fu;
    v = (v ^ (v >> 29)) * 0xBF58476D1CE4E5B9u;
    return v ^ (v >> 32);
  }

  std::size_t members_;
  double gamma_;
  Counter seed_;
  std::deque<Lazy<std::vector<Grid>>> grids_;  // of each column
};

}  // namespace budgetron
