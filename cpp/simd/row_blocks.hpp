// Products with up to eight rows of a matrix at once, so that vectors are read once for all of them.
#pragma once

#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/registers.hpp"
#include "simd/transposing.hpp"

namespace budgetron {
namespace {

// y += sum_a c_a W_a
template <std::size_t rows>
BUDGETRON_INLINE void add_some_rows(const double* c, const double* W, std::size_t stride, std::size_t n, double* y) {
  Doubles factors[rows];
#pragma GCC unroll 8
  for (std::size_t a = 0; a < rows; ++a) factors[a] = all(c[a]);
  each(
      n,
      [&](std::size_t j) {
        Doubles sum = load(y + j);
#pragma GCC unroll 8
        for (std::size_t a = 0; a < rows; ++a) sum = fused(factors[a], load(W + a * stride + j), sum);
        store(y + j, sum);
      },
      [&](std::size_t j) {
        for (std::size_t a = 0; a < rows; ++a) y[j] = fused(c[a], W[a * stride + j], y[j]);
      });
}

// v_a = <W_a, k>
template <std::size_t rows>
BUDGETRON_INLINE void multiply_some_rows(const double* W, std::size_t stride, std::size_t n, const double* k,
                                         double* v) {
  Doubles sums[rows] = {};
  double rest[rows] = {};
  each(
      n,
      [&](std::size_t j) {
        const Doubles k_j = load(k + j);
#pragma GCC unroll 8
        for (std::size_t a = 0; a < rows; ++a) sums[a] = fused(load(W + a * stride + j), k_j, sums[a]);
      },
      [&](std::size_t j) {
        for (std::size_t a = 0; a < rows; ++a) rest[a] = fused(W[a * stride + j], k[j], rest[a]);
      });
  if constexpr (rows == 8)
    sums_of_eight(sums, v);
  else
    for (std::size_t a = 0; a < rows; ++a) v[a] = sum_of(sums[a]);
  for (std::size_t a = 0; a < rows; ++a) v[a] += rest[a];
}

// W_a += c_a v
template <std::size_t rows>
BUDGETRON_INLINE void add_to_some_rows(const double* c, const double* v, double* W, std::size_t stride, std::size_t n) {
  Doubles factors[rows];
#pragma GCC unroll 8
  for (std::size_t a = 0; a < rows; ++a) factors[a] = all(c[a]);
  each(
      n,
      [&](std::size_t j) {
        const Doubles v_j = load(v + j);
#pragma GCC unroll 8
        for (std::size_t a = 0; a < rows; ++a) {
          double* at = W + a * stride + j;
          store(at, fused(factors[a], v_j, load(at)));
        }
      },
      [&](std::size_t j) {
        for (std::size_t a = 0; a < rows; ++a) W[a * stride + j] = fused(c[a], v[j], W[a * stride + j]);
      });
}

void multiply_rows(const double* W, std::size_t stride, std::size_t rows, std::size_t n, const double* k, double* v) {
  if (rows == 8) return multiply_some_rows<8>(W, stride, n, k, v);
  for (std::size_t a = 0; a < rows; ++a) multiply_some_rows<1>(W + a * stride, stride, n, k, v + a);
}

void project_rows(const double* W, std::size_t stride, std::size_t rows, std::size_t n, const double* k, double* v,
                  double* d) {
  if (rows == 8) {
    multiply_some_rows<8>(W, stride, n, k, v);
    return add_some_rows<8>(v, W, stride, n, d);
  }
  for (std::size_t a = 0; a < rows; ++a, W += stride) {
    multiply_some_rows<1>(W, stride, n, k, v + a);
    add_some_rows<1>(v + a, W, stride, n, d);
  }
}

void add_rows(const double* c, const double* W, std::size_t stride, std::size_t rows, std::size_t n, double* y) {
  if (rows == 8) return add_some_rows<8>(c, W, stride, n, y);
  std::size_t a = 0;
  if (rows >= 4) add_some_rows<4>(c, W, stride, n, y), a = 4;
  for (; a < rows; ++a) add_some_rows<1>(c + a, W + a * stride, stride, n, y);
}

void add_to_rows(const double* c, const double* v, double* W, std::size_t stride, std::size_t rows, std::size_t n) {
  if (rows == 8) return add_to_some_rows<8>(c, v, W, stride, n);
  for (std::size_t a = 0; a < rows; ++a) add_to_some_rows<1>(c + a, v, W + a * stride, stride, n);
}

}  // namespace
}  // namespace budgetron
