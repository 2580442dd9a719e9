// Squares of eight rows and eight columns in registers: transposing them, and the sums of eight registers at once.
#pragma once

#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

#if defined(__AVX512F__)
// Transposes eight rows of eight columns in registers.
BUDGETRON_INLINE void transpose_square(const double* x, std::size_t columns, double* out, std::size_t out_stride) {
  Doubles pairs[8];  // columns 0 2 4 6 of two rows interleaved, then columns 1 3 5 7
  for (std::size_t a = 0; a < 8; a += 2) {
    const Doubles even = load(x + a * columns), odd = load(x + (a + 1) * columns);
    pairs[a] = _mm512_maskz_unpacklo_pd(0xff, even, odd);
    pairs[a + 1] = _mm512_maskz_unpackhi_pd(0xff, even, odd);
  }
  for (std::size_t first = 0; first < 2; ++first) {
    const Doubles* p = pairs + first;
    const Doubles top04 = _mm512_maskz_shuffle_f64x2(0xff, p[0], p[2], 0x88);
    const Doubles top26 = _mm512_maskz_shuffle_f64x2(0xff, p[0], p[2], 0xdd);
    const Doubles low04 = _mm512_maskz_shuffle_f64x2(0xff, p[4], p[6], 0x88);
    const Doubles low26 = _mm512_maskz_shuffle_f64x2(0xff, p[4], p[6], 0xdd);
    store(out + first * out_stride, _mm512_maskz_shuffle_f64x2(0xff, top04, low04, 0x88));
    store(out + (first + 2) * out_stride, _mm512_maskz_shuffle_f64x2(0xff, top26, low26, 0x88));
    store(out + (first + 4) * out_stride, _mm512_maskz_shuffle_f64x2(0xff, top04, low04, 0xdd));
    store(out + (first + 6) * out_stride, _mm512_maskz_shuffle_f64x2(0xff, top26, low26, 0xdd));
  }
}
#endif

#if defined(__AVX__)
// Transposes eight rows of eight columns in registers: pairs of rows, then fours, then halves.
BUDGETRON_INLINE void transpose_square(const float* x, std::size_t columns, float* out, std::size_t out_stride) {
  __m256 rows[8], pairs[8], fours[8];
#pragma GCC unroll 8
  for (std::size_t a = 0; a < 8; ++a) rows[a] = _mm256_loadu_ps(x + a * columns);
#pragma GCC unroll 4
  for (std::size_t a = 0; a < 8; a += 2) {
    pairs[a] = _mm256_unpacklo_ps(rows[a], rows[a + 1]);
    pairs[a + 1] = _mm256_unpackhi_ps(rows[a], rows[a + 1]);
  }
#pragma GCC unroll 2
  for (std::size_t a = 0; a < 8; a += 4)
#pragma GCC unroll 2
    for (std::size_t b = 0; b < 2; ++b) {
      fours[a + 2 * b] = _mm256_shuffle_ps(pairs[a + b], pairs[a + b + 2], 0x44);
      fours[a + 2 * b + 1] = _mm256_shuffle_ps(pairs[a + b], pairs[a + b + 2], 0xee);
    }
#pragma GCC unroll 4
  for (std::size_t a = 0; a < 4; ++a) {
    _mm256_storeu_ps(out + a * out_stride, _mm256_permute2f128_ps(fours[a], fours[a + 4], 0x20));
    _mm256_storeu_ps(out + (a + 4) * out_stride, _mm256_permute2f128_ps(fours[a], fours[a + 4], 0x31));
  }
}
#endif

#if defined(__AVX512F__)
constexpr bool double_squares = true;
#else
constexpr bool double_squares = false;
#endif
#if defined(__AVX__)
constexpr bool single_squares = true;
#else
constexpr bool single_squares = false;
#endif

// r_a = the sum of register a, its lanes in order: the same bits as sum_of.
BUDGETRON_INLINE void sums_of_eight(const Doubles* sums, double* r) {
#if defined(__AVX512F__)
  double rows[64], columns[64];
  for (std::size_t a = 0; a < 8; ++a) store(rows + 8 * a, sums[a]);
  transpose_square(rows, 8, columns, 8);
  Doubles sum{};
  for (std::size_t j = 0; j < 8; ++j) sum += load(columns + 8 * j);
  store(r, sum);
#else
  for (std::size_t a = 0; a < 8; ++a) r[a] = sum_of(sums[a]);
#endif
}

}  // namespace
}  // namespace budgetron
