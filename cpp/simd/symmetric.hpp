// A symmetric matrix, of which the lower half is stored, in blocks of eight rows. Rows 8b .. 8b+7 have 8b+8 columns
// each: a panel of 8b columns left of the diagonal, and a square on it, which is stored in full. The diagonal is kept
// elsewhere, and 0 here. All arrays should be aligned to 64 bytes: loads across cache lines take twice as long.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/registers.hpp"
#include "simd/row_blocks.hpp"
#include "simd/sums.hpp"

namespace budgetron {
namespace {

constexpr std::size_t block_rows = 8;
// The tiles fill the registers.
constexpr std::size_t rows_updated = width == 8 ? 8 : 4, registers_updated = width == 8 ? 1 : 2;
constexpr std::size_t vectors_at_once = 2;

// P_ij -= sum_k U_ki U_kj for eight rows from i on, in `columns` columns. U has `count` rows.
BUDGETRON_INLINE void update_rows(double* P, std::size_t i, std::size_t columns, std::size_t n, const double* U,
                                  std::size_t count) {
  const std::size_t stride = i + block_rows;
  constexpr std::size_t step = registers_updated * width;
  for (std::size_t half = 0; half < block_rows; half += rows_updated, P += rows_updated * stride)
    for (std::size_t j = 0; j < columns; j += step) {
      Doubles p[rows_updated][registers_updated];
#pragma GCC unroll 8
      for (std::size_t a = 0; a < rows_updated; ++a)
#pragma GCC unroll 2
        for (std::size_t g = 0; g < registers_updated; ++g) p[a][g] = load(P + a * stride + j + g * width);
      const double* u = U;
      for (std::size_t k = 0; k < count; ++k, u += n) {
        Doubles uj[registers_updated];
#pragma GCC unroll 2
        for (std::size_t g = 0; g < registers_updated; ++g) uj[g] = -load(u + j + g * width);
#pragma GCC unroll 8
        for (std::size_t a = 0; a < rows_updated; ++a)
#pragma GCC unroll 2
          for (std::size_t g = 0; g < registers_updated; ++g) p[a][g] = fused(all(u[i + half + a]), uj[g], p[a][g]);
      }
#pragma GCC unroll 8
      for (std::size_t a = 0; a < rows_updated; ++a)
#pragma GCC unroll 2
        for (std::size_t g = 0; g < registers_updated; ++g) store(P + a * stride + j + g * width, p[a][g]);
    }
}

// A rows of a panel and R vectors z: sums_ra = sum_j P_aj z_rj, and out_rj += P_aj z_ra.
template <std::size_t A, std::size_t R>
BUDGETRON_INLINE void multiply_rows(const double* P, std::size_t stride, std::size_t columns, std::size_t n,
                                    const double* Z, const double* z_rows, double* out, Doubles* sums) {
  Doubles sz[R][A], acc[R][A] = {};
#pragma GCC unroll 2
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (std::size_t a = 0; a < A; ++a) sz[r][a] = all(z_rows[r * n + a]);
  const auto step = [&](std::size_t j) {
    Doubles p[A];
#pragma GCC unroll 4
    for (std::size_t a = 0; a < A; ++a) p[a] = held(load(P + a * stride + j));
#pragma GCC unroll 2
    for (std::size_t r = 0; r < R; ++r) {
      const Doubles zj = held(load(Z + r * n + j));
      Doubles oj = load(out + r * n + j);
#pragma GCC unroll 4
      for (std::size_t a = 0; a < A; ++a) {
        acc[r][a] = fused(p[a], zj, acc[r][a]);
        oj = fused(p[a], sz[r][a], oj);
      }
      store(out + r * n + j, oj);
    }
  };
  for (std::size_t j = 0; j < columns; j += block_rows)
#pragma GCC unroll 4
    for (std::size_t g = 0; g < block_rows; g += width) step(j + g);
#pragma GCC unroll 2
  for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (std::size_t a = 0; a < A; ++a) sums[r * block_rows + a] = acc[r][a];
}

// What eight rows from i on, and their columns, add to P z, for R vectors z. The sums of a vector have the same order
// for every R. Not inlined: the inner loop needs the general registers for its addresses.
template <std::size_t R>
__attribute__((noinline)) void multiply_block(const double* P, std::size_t i, std::size_t n, const double* Z,
                                              double* out) {
  constexpr std::size_t A = width == 8 || R == 1 ? 4 : 2;
  const std::size_t stride = i + block_rows;
  Doubles acc[R * block_rows];
  for (std::size_t a = 0; a < block_rows; a += A)
    multiply_rows<A, R>(P + a * stride, stride, i, n, Z, Z + i + a, out, acc + a);
#pragma GCC unroll 2
  for (std::size_t r = 0; r < R; ++r) {
    Doubles* const sums = acc + r * block_rows;
#pragma GCC unroll 8
    for (std::size_t a = 0; a < block_rows; ++a)
#pragma GCC unroll 4
      for (std::size_t j = 0; j < block_rows; j += width)
        sums[a] = fused(load(P + a * stride + i + j), load(Z + r * n + i + j), sums[a]);
    add_sums(sums, out + r * n + i);
  }
}

// P -= U'U for `count` rows of U, then out_r = P z_r for `rows` rows of Z, in one pass over P. All rows have n numbers,
// n a multiple of eight. U_ki U_kj and U_kj U_ki round alike, so P stays symmetric.
void symmetric_update_multiply(double* P, std::size_t n, const double* U, std::size_t count, const double* Z,
                               std::size_t rows, double* out) {
  std::fill_n(out, rows * n, 0.0);
  for (std::size_t i = 0; i < n; i += block_rows) {
    const std::size_t stride = i + block_rows;
    if (count > 0) {
      update_rows(P, i, stride, n, U, count);
      for (std::size_t a = 0; a < block_rows; ++a) P[a * stride + i + a] = 0;
    }
    std::size_t r = 0;
    for (; r + vectors_at_once <= rows; r += vectors_at_once)
      multiply_block<vectors_at_once>(P, i, n, Z + r * n, out + r * n);
    for (; r < rows; ++r) multiply_block<1>(P, i, n, Z + r * n, out + r * n);
    P += block_rows * stride;
  }
}

void symmetric_multiply(const double* P, std::size_t n, const double* Z, std::size_t rows, double* out) {
  symmetric_update_multiply(const_cast<double*>(P), n, nullptr, 0, Z, rows, out);  // P is only read
}

// add_pending for R rows of U, in two passes: the products with z, then all the rest.
template <std::size_t R>
BUDGETRON_INLINE double add_some_pending(const double* U, std::size_t n, const double* d, const double* e,
                                         std::size_t m, const double* z, const double* p, double* g) {
  double v[R + 1] = {};  // one more: arrays of none are not allowed
  if constexpr (R > 0) multiply_some_rows<R>(U, n, n, z, v);
  for (double& c : v) c = -c;
  Doubles factors[R + 1], sums{};
  double sum = 0;
#pragma GCC unroll 8
  for (std::size_t k = 0; k < R; ++k) factors[k] = all(v[k]);
  each(
      m,
      [&](std::size_t i) {
        Doubles gi = load(p + i);
#pragma GCC unroll 8
        for (std::size_t k = 0; k < R; ++k) gi = fused(factors[k], load(U + k * n + i), gi);
        const Doubles zi = load(z + i), dz = (load(d + i) + load(e + i)) * zi;
        sums = fused(dz, zi, sums);
        store(g + i, gi + dz);
      },
      [&](std::size_t i) {
        double gi = p[i];
        for (std::size_t k = 0; k < R; ++k) gi = fused(v[k], U[k * n + i], gi);
        const double dz = (d[i] + e[i]) * z[i];
        sum = fused(dz, z[i], sum);
        g[i] = gi + dz;
      });
  return sum_of(sums) + sum;
}

// g = p + (d + e) z - U'U z for up to eight rows of U, n numbers each, of which m count; returns
// sum_i (d_i + e_i) z_i^2.
double add_pending(const double* U, std::size_t count, std::size_t n, const double* d, const double* e, std::size_t m,
                   const double* z, const double* p, double* g) {
  constexpr decltype(&add_some_pending<0>) some[] = {add_some_pending<0>, add_some_pending<1>, add_some_pending<2>,
                                                     add_some_pending<3>, add_some_pending<4>, add_some_pending<5>,
                                                     add_some_pending<6>, add_some_pending<7>, add_some_pending<8>};
  return some[count](U, n, d, e, m, z, p, g);
}

// u = c g, with u_i^2 <= d_i; then d <- min(d - u^2 + drift, most), and e += u^2. d - u^2 may be negative by rounding.
void observe(double c, const double* g, double drift, double most, std::size_t m, double* u, double* d, double* e) {
  each(
      m,
      [&](std::size_t i) {
        Doubles ui = c * load(g + i);
        const Doubles di = load(d + i);
        if (any(ui * ui > di)) {
          const Doubles cap = roots(di);
          ui = ui > cap ? cap : ui < -cap ? -cap : ui;
        }
        const Doubles square = ui * ui;
        store(u + i, ui);
        store(d + i, at_least(0.0, at_most(most, (di - square) + drift)));
        store(e + i, load(e + i) + square);
      },
      [&](std::size_t i) {
        u[i] = c * g[i];
        if (u[i] * u[i] > d[i]) u[i] = std::copysign(std::sqrt(d[i]), u[i]);
        const double square = u[i] * u[i];
        d[i] = std::clamp((d[i] - square) + drift, 0.0, most);
        e[i] += square;
      });
}

}  // namespace
}  // namespace budgetron
