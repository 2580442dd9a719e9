// All dot products of two sets of vectors. Every product has its own sum in a fixed order, so it has the same bits
// whatever it is computed with.
#pragma once

#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

// out_ra = <V_r, K_a> for R and A vectors of n numbers.
template <std::size_t R, std::size_t A>
BUDGETRON_INLINE void products_tile(const double* V, std::size_t V_stride, const double* K, std::size_t K_stride,
                                    std::size_t n, double* out, std::size_t out_stride) {
  Doubles sums[R][A] = {};
  std::size_t i = 0;
  for (; i + width <= n; i += width)
#pragma GCC unroll 4
    for (std::size_t a = 0; a < A; ++a) {
      const Doubles k = load(K + a * K_stride + i);
#pragma GCC unroll 2
      for (std::size_t r = 0; r < R; ++r) sums[r][a] = fused(load(V + r * V_stride + i), k, sums[r][a]);
    }
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t a = 0; a < A; ++a) {
      double sum = sum_of(sums[r][a]);
      for (std::size_t j = i; j < n; ++j) sum = fused(V[r * V_stride + j], K[a * K_stride + j], sum);
      out[r * out_stride + a] = sum;
    }
}

template <std::size_t R>
void products_strip(const double* V, std::size_t V_stride, const double* K, std::size_t K_stride, std::size_t rows,
                    std::size_t n, double* out, std::size_t out_stride) {
  std::size_t a = 0;
  for (; a + 4 <= rows; a += 4) products_tile<R, 4>(V, V_stride, K + a * K_stride, K_stride, n, out + a, out_stride);
  for (; a < rows; ++a) products_tile<R, 1>(V, V_stride, K + a * K_stride, K_stride, n, out + a, out_stride);
}

// out_ra = <V_r, K_a> for `rank` vectors V_r and `rows` vectors K_a of n numbers. V has no gaps between vectors.
void products(const double* V, std::size_t rank, const double* K, std::size_t K_stride, std::size_t rows, std::size_t n,
              double* out, std::size_t out_stride) {
  std::size_t r = 0;
  for (; r + 2 <= rank; r += 2) products_strip<2>(V + r * n, n, K, K_stride, rows, n, out + r * out_stride, out_stride);
  if (r < rank) products_strip<1>(V + r * n, n, K, K_stride, rows, n, out + r * out_stride, out_stride);
}

}  // namespace
}  // namespace budgetron
