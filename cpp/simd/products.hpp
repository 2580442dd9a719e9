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
constexpr std::size_t kept_vectors = 24;   // vectors of K that stay in the second cache while all of V passes
constexpr std::size_t kept_numbers = 256;  // of each vector of V; they stay in the first cache while those of K pass
constexpr std::size_t alone_rows = 8;      // vectors of V at once if there is one of K: memory is what takes time

// sums_ra += <V_r, K_a> for R and A vectors of n numbers, a multiple of the width.
template <std::size_t R, std::size_t A>
BUDGETRON_INLINE void products_tile(const double* V, std::size_t V_stride, const double* K, std::size_t K_stride,
                                    std::size_t n, Doubles* kept) {
  Doubles sums[R][A];
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t a = 0; a < A; ++a) sums[r][a] = kept[r * A + a];
  for (std::size_t i = 0; i < n; i += width) {
    Doubles k[A];
#pragma GCC unroll 4
    for (std::size_t a = 0; a < A; ++a) k[a] = held(load(K + a * K_stride + i));
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const Doubles v = held(load(V + r * V_stride + i));
#pragma GCC unroll 4
      for (std::size_t a = 0; a < A; ++a) sums[r][a] = fused(v, k[a], sums[r][a]);
    }
  }
  for (std::size_t r = 0; r < R; ++r)
    for (std::size_t a = 0; a < A; ++a) kept[r * A + a] = sums[r][a];
}

// R vectors of V with at most `kept_vectors` vectors of K.
template <std::size_t R>
void products_strip(const double* V, const double* K, std::size_t K_stride, std::size_t rows, std::size_t n,
                    double* out, std::size_t out_stride) {
  const std::size_t whole = n / width * width, tiled = rows / product_columns * product_columns;
  Doubles kept[kept_vectors * R] = {};
  for (std::size_t i = 0; i < whole; i += kept_numbers) {
    const std::size_t some = std::min(kept_numbers, whole - i);
    for (std::size_t a = 0; a < tiled; a += product_columns)
      products_tile<R, product_columns>(V + i, n, K + a * K_stride + i, K_stride, some, kept + a * R);
    for (std::size_t a = tiled; a < rows; ++a)
      products_tile<R, 1>(V + i, n, K + a * K_stride + i, K_stride, some, kept + a * R);
  }
  for (std::size_t a = 0; a < rows; ++a)
    for (std::size_t r = 0; r < R; ++r) {
      const std::size_t first = a / product_columns * product_columns;
      double sum = sum_of(a < tiled ? kept[first * R + r * product_columns + a - first] : kept[a * R + r]);
      for (std::size_t j = whole; j < n; ++j) sum = fused(V[r * n + j], K[a * K_stride + j], sum);
      out[a * out_stride + r] = sum;
    }
}

// out_ar = <V_r, K_a> for `rank` vectors V_r and `rows` vectors K_a of n numbers. V has no gaps between vectors.
void products(const double* V, std::size_t rank, const double* K, std::size_t K_stride, std::size_t rows, std::size_t n,
              double* out, std::size_t out_stride) {
  for (std::size_t first = 0; first < rows; first += kept_vectors) {
    const std::size_t some = std::min(kept_vectors, rows - first);
    const double* const k = K + first * K_stride;
    double* const o = out + first * out_stride;
    std::size_t r = 0;
    for (; some == 1 && r + alone_rows <= rank; r += alone_rows)
      products_strip<alone_rows>(V + r * n, k, K_stride, some, n, o + r, out_stride);
    for (; r + product_rows <= rank; r += product_rows)
      products_strip<product_rows>(V + r * n, k, K_stride, some, n, o + r, out_stride);
    for (; r < rank; ++r) products_strip<1>(V + r * n, k, K_stride, some, n, o + r, out_stride);
  }
}

}  // namespace
}  // namespace budgetron
