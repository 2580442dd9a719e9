// All dot products of two sets of vectors. Every product has its own sum in a fixed order, so it has the same bits
// whatever it is computed with.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

// The tiles fill the registers: of AVX2, 12 sums, 3 numbers of K and one of V.
constexpr std::size_t product_rows = 4, product_columns = 3;
constexpr std::size_t kept_vectors = 24;  // vectors of K that stay in the cache while all of V passes

// out_ra = <V_r, K_a> for R and A vectors of n numbers.
template <std::size_t R, std::size_t A>
BUDGETRON_INLINE void products_tile(const double* V, std::size_t V_stride, const double* K, std::size_t K_stride,
                                    std::size_t n, double* out, std::size_t out_stride) {
  Doubles sums[R][A] = {};
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    Doubles k[A];
#pragma GCC unroll 4
    for (std::size_t a = 0; a < A; ++a) k[a] = held(load(K + a * K_stride + i));
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r) {
      const Doubles v = held(load(V + r * V_stride + i));
#pragma GCC unroll 4
      for (std::size_t a = 0; a < A; ++a) sums[r][a] = fused(v, k[a], sums[r][a]);
    }
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
  for (; a + product_columns <= rows; a += product_columns)
    products_tile<R, product_columns>(V, V_stride, K + a * K_stride, K_stride, n, out + a, out_stride);
  for (; a < rows; ++a) products_tile<R, 1>(V, V_stride, K + a * K_stride, K_stride, n, out + a, out_stride);
}

// out_ra = <V_r, K_a> for `rank` vectors V_r and `rows` vectors K_a of n numbers. V has no gaps between vectors.
void products(const double* V, std::size_t rank, const double* K, std::size_t K_stride, std::size_t rows, std::size_t n,
              double* out, std::size_t out_stride) {
  for (std::size_t first = 0; first < rows; first += kept_vectors) {
    const std::size_t some = std::min(kept_vectors, rows - first);
    const double* const k = K + first * K_stride;
    double* const o = out + first;
    std::size_t r = 0;
    for (; r + product_rows <= rank; r += product_rows)
      products_strip<product_rows>(V + r * n, n, k, K_stride, some, n, o + r * out_stride, out_stride);
    for (; r < rank; ++r) products_strip<1>(V + r * n, n, k, K_stride, some, n, o + r * out_stride, out_stride);
  }
}

}  // namespace
}  // namespace budgetron
