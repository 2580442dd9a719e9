// Sigma = U D U', with U unit upper triangular, observes q z z': Sigma^-1 += q z z' (Bierman 1977). U is stored column
// after column without its diagonal, column j with j numbers. Eight columns are multiplied with z and updated while
// they are in the cache.
#pragma once

#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/loops.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

constexpr std::size_t columns_at_once = 8;

// f_a = z_a + <column a, z> for columns j .. j + count, whose first j rows are a rectangle.
BUDGETRON_INLINE void multiply_columns(double* const* u, std::size_t j, std::size_t count, const double* z, double* f) {
  Doubles sums[columns_at_once] = {};
  for (std::size_t i = 0; i < j; i += width) {
    const Doubles zi = load(z + i);
#pragma GCC unroll 8
    for (std::size_t a = 0; a < count; ++a) sums[a] = fused(load(u[a] + i), zi, sums[a]);
  }
  for (std::size_t a = 0; a < count; ++a) {
    double sum = z[j + a] + sum_of(sums[a]);
    for (std::size_t b = 0; b < a; ++b) sum = fused(u[a][j + b], z[j + b], sum);
    f[a] = sum;
  }
}

// For up to four columns in turn: column -= ratio before; before += v times the old column.
BUDGETRON_INLINE void update_columns(double* const* u, std::size_t j, std::size_t count, const double* ratio,
                                     const double* v, double* before) {
  Doubles less[4], more[4];
#pragma GCC unroll 4
  for (std::size_t a = 0; a < count; ++a) less[a] = all(-ratio[a]), more[a] = all(v[a]);
  for (std::size_t i = 0; i < j; i += width) {
    Doubles sum = load(before + i);
#pragma GCC unroll 4
    for (std::size_t a = 0; a < count; ++a) {
      const Doubles old = load(u[a] + i);
      store(u[a] + i, fused(less[a], sum, old));
      sum = fused(more[a], old, sum);
    }
    store(before + i, sum);
  }
}

// The rows j .. j + count of the same columns, a triangle.
BUDGETRON_INLINE void update_triangle(double* const* u, std::size_t j, std::size_t count, const double* ratio,
                                      const double* v, double* before) {
  for (std::size_t b = 0; b < count; ++b) {
    double sum = v[b];
    for (std::size_t a = b + 1; a < count; ++a) {
      const double old = u[a][j + b];
      u[a][j + b] = fused(-ratio[a], sum, old);
      sum = fused(v[a], old, sum);
    }
    before[j + b] = sum;
  }
}

// Columns j .. j + count. If count is eight, it is a compile-time constant.
template <bool Multiply, bool Update>
BUDGETRON_INLINE void observe_columns(double* U, double* D, std::size_t j, std::size_t count, const double* z,
                                      double* f, double* before, Observed& to) {
  double* u[columns_at_once];
  double v[columns_at_once], lasts[columns_at_once], nexts[columns_at_once], ratio[columns_at_once];
  for (std::size_t a = 0; a < count; ++a) u[a] = U + (j + a) * (j + a - (j + a > 0 ? 1 : 0)) / 2;
  if constexpr (Multiply) multiply_columns(u, j, count, z, f + j);
  for (std::size_t a = 0; a < count; ++a) {
    const double fa = f[j + a];
    v[a] = D[j + a] * fa;
    to.confidence = fused(v[a], fa, to.confidence);
    lasts[a] = to.last;
    nexts[a] = to.last = fused(v[a], fa, to.last);
  }
  for (std::size_t a = 0; a < count; ++a) ratio[a] = f[j + a] / lasts[a];
  for (std::size_t a = 0; a < count; ++a) {
    const double growth = absolute(ratio[a]) * to.sum;
    to.growth = growth <= to.growth ? to.growth : growth;
    to.sum += absolute(v[a]);
  }
  if constexpr (Update) {
    for (std::size_t a = 0; a < count; ++a) D[j + a] *= lasts[a] / nexts[a];
    const std::size_t half = count < 4 ? count : 4;
    update_columns(u, j, half, ratio, v, before);
    update_columns(u + half, j, count - half, ratio + half, v + half, before);
    update_triangle(u, j, count, ratio, v, before);
  }
}

template <bool Multiply, bool Update>
BUDGETRON_INLINE Observed observe(double* U, double* D, std::size_t m, const double* z, double q, double* f,
                                  double* before) {
  Observed to{0, 1 / q, 0, 0};
  std::size_t j = 0;
  for (; j + columns_at_once <= m; j += columns_at_once)
    observe_columns<Multiply, Update>(U, D, j, columns_at_once, z, f, before, to);
  if (j < m) observe_columns<Multiply, Update>(U, D, j, m - j, z, f, before, to);
  return to;
}

Observed upper_multiply(const double* U, const double* D, std::size_t m, const double* z, double q, double* f) {
  return observe<true, false>(const_cast<double*>(U), const_cast<double*>(D), m, z, q, f, nullptr);  // only read
}
Observed upper_update(double* U, double* D, std::size_t m, double q, double* f, double* before) {
  return observe<false, true>(U, D, m, nullptr, q, f, before);
}
Observed upper_multiply_update(double* U, double* D, std::size_t m, const double* z, double q, double* f,
                               double* before) {
  return observe<true, true>(U, D, m, z, q, f, before);
}

}  // namespace
}  // namespace budgetron
