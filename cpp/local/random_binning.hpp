// Random binning (Rahimi & Recht 2007): every member is a grid of random pitch and shift in each column. With pitches
// from the law p(t) = t k''(t), which for the Laplacian kernel k(t) = exp(-gamma t) is a Gamma law, two rows share a
// cell with probability k(x, x').
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "local/cell_map.hpp"
#include "state/random.hpp"

namespace budgetron {

class RandomBinning final : public CellMap {
 public:
  RandomBinning(std::size_t members, double gamma, std::size_t columns, Counter seed)
      : members_(members), gamma_(gamma), seed_(seed) {
    widen(columns);
  }

  std::size_t members() const override { return members_; }
  double most_cells() const override { return std::numeric_limits<double>::infinity(); }
  std::size_t columns() const override { return grids_.size() / std::max<std::size_t>(members_, 1); }
  // The kernel is that of the rows that the learner gets.
  bool unscaled() const override { return false; }

  // A column in whose bin 0 lies adds nothing to the number. Missing values count as 0.
  void find(std::span<const double> x, std::span<Counter> cells) const override {
    for (std::size_t f = 0; f < members_; ++f) cells[f] = f << 32;
    const Grid* grid = grids_.data();
    for (std::size_t j = 0; j < x.size(); ++j, grid += members_) {
      if (x[j] == 0 || std::isnan(x[j])) continue;
      for (std::size_t f = 0; f < members_; ++f) {
        const double bin = std::floor(x[j] / grid[f].pitch + grid[f].shift);
        if (bin != 0) cells[f] += mixed(bin, j);
      }
    }
  }

  void widen(std::size_t columns) override {
    for (std::size_t j = this->columns(); j < std::min(columns, most_columns); ++j) {
      Random random(seed_, j + 1);  // the grids of a column are a function of the seed and the column
      for (std::size_t f = 0; f < members_; ++f) {
        const double u = 1 - random.uniform(), v = 1 - random.uniform();
        grids_.push_back(
            {std::max(-(std::log(u) + std::log(v)) / gamma_, std::numeric_limits<double>::min()), random.uniform()});
      }
    }
  }

  // Pitch and shift of each member, column after column, for exports.
  std::vector<double> grids() const {
    std::vector<double> out;
    for (const Grid& grid : grids_) out.insert(out.end(), {grid.pitch, grid.shift});
    return out;
  }

  void fields(Fields& io) override { io.scratch(sizeof *this + bytes_of(grids_)); }

 private:
  struct Grid {
    double pitch, shift;  // the bin of x is floor(x / pitch + shift)
  };

  static Counter mixed(double bin, std::size_t column) {
    const auto number = static_cast<std::int64_t>(std::clamp(bin, -0x1p62, 0x1p62));
    Counter v = static_cast<Counter>(number) * 0x9E3779B97F4A7C15u ^ (column + 1) * 0xC2B2AE3D27D4EB4Fu;
    v = (v ^ (v >> 29)) * 0xBF58476D1CE4E5B9u;
    return v ^ (v >> 32);
  }

  std::size_t members_;
  double gamma_;
  Counter seed_;
  std::vector<Grid> grids_;  // column after column
};

}  // namespace budgetron
