// Sigma = U D U', with U unit upper triangular, observes q z z': Sigma^-1 += q z z' (Bierman 1977). U is stored in
// panels of eight columns, a panel in squares of eight rows, and a square column after column; the last square of a
// panel is on the diagonal, and all that is not above the diagonal is 0. So U is read and written in the order of
// memory, by whole cache lines if it is aligned to them. A panel is multiplied with z and updated while it is in the
// cache. All arrays are padded with zeros to a multiple of eight.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd/loops.hpp"
#include "simd/registers.hpp"
#include "simd/sums.hpp"

namespace budgetron {
namespace {

constexpr std::size_t side = 8, side_registers = side / width;  // of a square

// f_a = z_a + <column a, z> for the columns of the panel with this many squares.
BUDGETRON_INLINE void multiply_panel(const double* U, std::size_t squares, const double* z, double* f) {
  Doubles sums[side] = {};
  for (std::size_t s = 0; s < squares; ++s, U += side * side, z += side)
    for (std::size_t g = 0; g < side_registers; ++g) {
      const Doubles z_g = load(z + g * width);
#pragma GCC unroll 8
      for (std::size_t a = 0; a < side; ++a) sums[a] = fused(load(U + a * side + g * width), z_g, sums[a]);
    }
  std::copy_n(z - side, side, f);
  add_sums(sums, f);
}

// The panel, from what its columns are multiplied with. For one column after the other: column -= ratio before; before
// += v times the old column, whose diagonal is 1.
BUDGETRON_INLINE void update_panel(double* U, std::size_t squares, const double* ratio, const double* v,
                                   double* before) {
  Doubles less[side], more[side];
#pragma GCC unroll 8
  for (std::size_t a = 0; a < side; ++a) less[a] = all(-ratio[a]), more[a] = all(v[a]);
  for (std::size_t s = 0; s + 1 < squares; ++s, U += side * side, before += side)
    for (std::size_t g = 0; g < side_registers; ++g) {
      Doubles sum = load(before + g * width);
#pragma GCC unroll 8
      for (std::size_t a = 0; a < side; ++a) {
        double* const column = U + a * side + g * width;
        const Doubles old = load(column);
        store(column, fused(less[a], sum, old));
        sum = fused(more[a], old, sum);
      }
      store(before + g * width, sum);
    }
  double unit[2 * side] = {};  // a one after eight zeros, and zeros
  unit[side] = 1;
  for (std::size_t g = 0; g < side_registers; ++g) {
    Doubles sum{};
#pragma GCC unroll 8
    for (std::size_t a = 0; a < side; ++a) {
      double* const column = U + a * side + g * width;
      const Doubles old = load(column);
      store(column, fused(less[a], sum, old));
      sum = fused(more[a], old + load(unit + side + g * width - a), sum);
    }
    store(before + g * width, sum);
  }
}

template <bool Multiply, bool Update>
BUDGETRON_INLINE Observed observe_panels(double* U, double* D, std::size_t n, const double* z, double q, double* f,
                                         double* before) {
  Observed to{0, 1 / q, 0, 0};
  for (std::size_t j = 0, squares = 1; j < n; j += side, U += squares++ * side * side) {
    double v[side], lasts[side], nexts[side], ratio[side];
    if constexpr (Multiply) multiply_panel(U, squares, z, f + j);
    for (std::size_t a = 0; a < side; ++a) v[a] = D[j + a] * f[j + a];
    for (std::size_t a = 0; a < side; ++a) {
      to.confidence = fused(v[a], f[j + a], to.confidence);
      lasts[a] = to.last;
      nexts[a] = to.last = fused(v[a], f[j + a], to.last);
    }
    for (std::size_t a = 0; a < side; ++a) ratio[a] = f[j + a] / lasts[a];
    for (std::size_t a = 0; a < side; ++a) {
      const double growth = absolute(ratio[a]) * to.sum;
      to.growth = growth <= to.growth ? to.growth : growth;
      to.sum += absolute(v[a]);
    }
    if constexpr (Update) {
      for (std::size_t a = 0; a < side; ++a) D[j + a] *= lasts[a] / nexts[a];
      update_panel(U, squares, ratio, v, before);
    }
  }
  return to;
}

Observed upper_multiply(const double* U, const double* D, std::size_t n, const double* z, double q, double* f) {
  // only read
  return observe_panels<true, false>(const_cast<double*>(U), const_cast<double*>(D), n, z, q, f, nullptr);
}
Observed upper_update(double* U, double* D, std::size_t n, double q, double* f, double* before) {
  return observe_panels<false, true>(U, D, n, nullptr, q, f, before);
}
Observed upper_multiply_update(double* U, double* D, std::size_t n, const double* z, double q, double* f,
                               double* before) {
  return observe_panels<true, true>(U, D, n, z, q, f, before);
}

}  // namespace
}  // namespace budgetron
