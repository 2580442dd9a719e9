// The cost of merging one term i of a Gaussian expansion with each of its partners (budgets/merge.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/elementary.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

// The number of the cell that has x, as a double; NaN gives 0. A whole x may be the end of a cell.
BUDGETRON_INLINE Doubles cell_of(Doubles x, std::size_t cells) {
  constexpr double whole = 0x1.8p52;  // adding it rounds to an integer, of either sign
  const Doubles inside = at_most(static_cast<double>(cells) - 1.75, x > 0 ? x : Doubles{});
  return ((inside - 0.5) + whole) - whole;
}

// Bilinear interpolation at (a, b), in units of cells.
BUDGETRON_INLINE Doubles interpolate(const double* table, std::size_t cells, Doubles a, Doubles b) {
  const Doubles i = cell_of(a, cells), j = cell_of(b, cells);
  const Doubles at = fused(i, all(static_cast<double>(cells)), j);
  double corners[4][width];
  for (std::size_t lane = 0; lane < width; ++lane) {
    const double* corner = table + static_cast<std::ptrdiff_t>(at[lane]);
    corners[0][lane] = corner[0];
    corners[1][lane] = corner[1];
    corners[2][lane] = corner[cells];
    corners[3][lane] = corner[cells + 1];
  }
  const Doubles u = a - i, v = b - j;
  const auto between = [&](const double* left, const double* right) {
    return fused(v, load(right) - load(left), load(left));
  };
  const Doubles low = between(corners[0], corners[1]), high = between(corners[2], corners[3]);
  return fused(u, high - low, low);
}

// ii (1 - u^2) + jj (1 - v^2) + 2 ij (kap - u v), with kap = e^L, u = kap^((1-h)^2), v = kap^(h^2), and h from the
// table at twice the share of |alpha_i| and kap^(1/4).
void merge_costs(const double* L, const double* jj, const double* ij, double ii, const double* table, std::size_t cells,
                 std::size_t n, double* cost) {
  const double length = std::sqrt(ii), last = static_cast<double>(cells - 1);
  for (std::size_t p = 0; p < n; p += width) {
    const Doubles L_p = load(L + p), jj_p = load(jj + p), q = exponential(0.25 * L_p);
    const Doubles m = length / (length + roots(jj_p));
    const Doubles h = interpolate(table, cells, at_most(1.0, 2 * m) * last, q * last);
    const Doubles u = exponential(L_p * ((1 - h) * (1 - h))), v = exponential(L_p * (h * h));
    const Doubles kap = (q * q) * (q * q);
    store(cost + p, ii * (1 - u * u) + jj_p * (1 - v * v) + 2 * load(ij + p) * (kap - u * v));
  }
}

}  // namespace
}  // namespace budgetron
