// A symmetric matrix, of which the lower half is stored, in blocks of eight rows. Rows 8b .. 8b+7 have 8b+8 columns
// each: a panel of 8b columns left of the diagonal, and a square on it, which is stored in full.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "simd/coefficients.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

constexpr std::size_t block_rows = 8;

// Four rows of a panel: P_ij -= u_i u_j if Update; acc_i += P_ij z_j and out_j += P_ij z_i if Multiply.
template <bool Update, bool Multiply>
BUDGETRON_INLINE void four_rows(double* P, std::size_t stride, std::size_t columns, const double* u_rows,
                                const double* z_rows, const double* u, const double* z, double* out, Doubles* sums) {
  Doubles su[4], sz[4], acc[4] = {};
#pragma GCC unroll 4
  for (std::size_t a = 0; a < 4; ++a) {
    su[a] = Update ? all(-u_rows[a]) : Doubles{};
    sz[a] = Multiply ? all(z_rows[a]) : Doubles{};
  }
  for (std::size_t j = 0; j < columns; j += width) {
    const Doubles uj = Update ? load(u + j) : Doubles{}, zj = Multiply ? load(z + j) : Doubles{};
    Doubles oj = Multiply ? load(out + j) : Doubles{};
#pragma GCC unroll 4
    for (std::size_t a = 0; a < 4; ++a) {
      Doubles p = load(P + a * stride + j);
      if constexpr (Update) {
        p = fused(su[a], uj, p);
        store(P + a * stride + j, p);
      }
      if constexpr (Multiply) {
        acc[a] = fused(p, zj, acc[a]);
        oj = fused(p, sz[a], oj);
      }
    }
    if constexpr (Multiply) store(out + j, oj);
  }
#pragma GCC unroll 4
  for (std::size_t a = 0; a < 4; ++a) sums[a] = acc[a];
}

// out_a += the sum of acc_a, for eight registers, by a tree.
BUDGETRON_INLINE void add_sums(Doubles* acc, double* out) {
#if defined(__AVX512F__)
  for (std::size_t a = 0; a < 8; a += 2)
    acc[a] = __builtin_shufflevector(acc[a], acc[a + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
             __builtin_shufflevector(acc[a], acc[a + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  for (std::size_t a = 0; a < 8; a += 4)
    acc[a] = __builtin_shufflevector(acc[a], acc[a + 2], 0, 1, 8, 9, 4, 5, 12, 13) +
             __builtin_shufflevector(acc[a], acc[a + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  store(out, load(out) + (__builtin_shufflevector(acc[0], acc[4], 0, 1, 2, 3, 8, 9, 10, 11) +
                          __builtin_shufflevector(acc[0], acc[4], 4, 5, 6, 7, 12, 13, 14, 15)));
#elif defined(__AVX__)
  for (std::size_t a = 0; a < 8; a += 2)
    acc[a] = __builtin_shufflevector(acc[a], acc[a + 1], 0, 4, 2, 6) +
             __builtin_shufflevector(acc[a], acc[a + 1], 1, 5, 3, 7);
  for (std::size_t a = 0; a < 8; a += 4)
    store(out + a, load(out + a) + (__builtin_shufflevector(acc[a], acc[a + 2], 0, 1, 4, 5) +
                                    __builtin_shufflevector(acc[a], acc[a + 2], 2, 3, 6, 7)));
#else
  for (std::size_t a = 0; a < 8; ++a) out[a] += acc[a][0] + acc[a][1];
#endif
}

// P <- P - u u', and P_ii <- P_ii + drift, clamped to 0 .. most, if Update; then out = P z if Multiply. All vectors
// have n numbers, n a multiple of eight. u_i u_j and u_j u_i round alike, so P stays symmetric.
template <bool Update, bool Multiply>
double symmetric(double* P, std::size_t n, const double* u, double drift, double most, const double* z, double* out) {
  // The window from block_rows - a on has the number for the diagonal in place a.
  double more[2 * block_rows] = {}, one[2 * block_rows] = {}, cap[2 * block_rows], floor[2 * block_rows];
  std::fill_n(cap, 2 * block_rows, std::numeric_limits<double>::infinity());
  std::fill_n(floor, 2 * block_rows, -std::numeric_limits<double>::infinity());
  more[block_rows] = drift;
  one[block_rows] = 1;
  Doubles diagonal{};
  cap[block_rows] = most;
  floor[block_rows] = 0;
  if constexpr (Multiply) std::fill_n(out, n, 0.0);
  for (std::size_t i = 0; i < n; i += block_rows) {
    const std::size_t stride = i + block_rows;
    Doubles acc[block_rows];
    for (std::size_t half = 0; half < block_rows; half += 4)
      four_rows<Update, Multiply>(P + half * stride, stride, i, u + i + half, z + i + half, u, z, out, acc + half);
#pragma GCC unroll 8
    for (std::size_t a = 0; a < block_rows; ++a) {
      double* const row = P + a * stride + i;
#pragma GCC unroll 4
      for (std::size_t j = 0; j < block_rows; j += width) {
        Doubles p = load(row + j);
        if constexpr (Update) {
          p = fused(all(-u[i + a]), load(u + i + j), p) + load(more + block_rows - a + j);
          const Doubles high = load(cap + block_rows - a + j), low = load(floor + block_rows - a + j);
          p = p > high ? high : p;
          p = p < low ? low : p;
          store(row + j, p);
        }
        if constexpr (Multiply) {
          const Doubles zj = load(z + i + j), product = p * zj;
          acc[a] += product;
          diagonal = fused(product * load(one + block_rows - a + j), zj, diagonal);
        }
      }
    }
    if constexpr (Multiply) add_sums(acc, out + i);
    P += block_rows * stride;
  }
  return sum_of(diagonal);
}

double symmetric_multiply(const double* P, std::size_t n, const double* z, double* out) {
  return symmetric<false, true>(const_cast<double*>(P), n, z, 0, 0, z, out);  // P is only read
}
void symmetric_update(double* P, std::size_t n, const double* u, double drift, double most) {
  symmetric<true, false>(P, n, u, drift, most, u, nullptr);
}
double symmetric_update_multiply(double* P, std::size_t n, const double* u, double drift, double most, const double* z,
                                 double* out) {
  return symmetric<true, true>(P, n, u, drift, most, z, out);
}

}  // namespace
}  // namespace budgetron
