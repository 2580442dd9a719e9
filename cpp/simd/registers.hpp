// A register of the instruction set that this file is compiled for, and its operations. `fused` is one rounding if the
// instruction set has fused multiply-add, so that equal operations round alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace budgetron {
namespace {  // internal linkage: each instruction set gets its own copy

#define BUDGETRON_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__)
constexpr std::size_t width = 8;  // doubles in a register
#elif defined(__AVX__)
constexpr std::size_t width = 4;
#else
constexpr std::size_t width = 2;
#endif

using Doubles = double __attribute__((vector_size(width * sizeof(double))));
using Words = std::uint64_t __attribute__((vector_size(width * sizeof(double))));
using Singles = float __attribute__((vector_size(2 * width * sizeof(float))));  // fills the register
using HalfWords = std::uint32_t __attribute__((vector_size(2 * width * sizeof(float))));

// A register of floats, split in two halves.
struct Halves {
  using Floats = float __attribute__((vector_size(width * sizeof(float))));  // one float per double of a register
  Floats first, second;
};
BUDGETRON_INLINE Halves in_two(Singles v) {
  Halves halves;
  std::memcpy(&halves, &v, sizeof v);
  return halves;
}
BUDGETRON_INLINE Doubles as_doubles(Halves::Floats v) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtps_pd(0xff, v);  // GCC converts half a register at a time
#else
  return __builtin_convertvector(v, Doubles);
#endif
}

// a b + c, rounded once if the instruction set has fused multiply-add.
BUDGETRON_INLINE Doubles fused(Doubles a, Doubles b, Doubles c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f64(c, a, b);
#else
  return a * b + c;
#endif
}

BUDGETRON_INLINE Singles fused(Singles a, Singles b, Singles c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}

BUDGETRON_INLINE double fused(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

BUDGETRON_INLINE float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

BUDGETRON_INLINE Doubles load(const double* p) {
  Doubles v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// The numbers at p as doubles.
BUDGETRON_INLINE Doubles load_doubles(const double* p) { return load(p); }
BUDGETRON_INLINE Doubles load_doubles(const float* p) {
  Halves::Floats v;
  std::memcpy(&v, p, sizeof v);
  return as_doubles(v);
}

// Whether `count` below may be less than `width`.
#if defined(__AVX512VL__)
constexpr bool has_masks = true;
#else
constexpr bool has_masks = false;
#endif

// The first `count` numbers at p as doubles, and 0 in the other lanes.
BUDGETRON_INLINE Doubles load_doubles(const float* p, [[maybe_unused]] std::size_t count) {
#if defined(__AVX512VL__)
  return _mm512_maskz_cvtps_pd(0xff, _mm256_maskz_loadu_ps(static_cast<__mmask8>(0xff >> (width - count)), p));
#else
  return load_doubles(p);
#endif
}
// The first `count` numbers at p, and 0 in the other lanes; and stores as many lanes. Only with masks.
BUDGETRON_INLINE Doubles load([[maybe_unused]] const double* p, [[maybe_unused]] std::size_t count) {
#if defined(__AVX512VL__)
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(0xff >> (width - count)), p);
#else
  return Doubles{};
#endif
}
BUDGETRON_INLINE void store([[maybe_unused]] double* p, [[maybe_unused]] std::size_t count,
                            [[maybe_unused]] Doubles v) {
#if defined(__AVX512VL__)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>(0xff >> (width - count)), v);
#endif
}
// Stores the first `count` lanes as floats.
BUDGETRON_INLINE void store_singles(float* p, [[maybe_unused]] std::size_t count, Doubles v) {
#if defined(__AVX512VL__)
  _mm256_mask_storeu_ps(p, static_cast<__mmask8>(0xff >> (width - count)), _mm512_maskz_cvtpd_ps(0xff, v));
#else
  const Halves::Floats floats = __builtin_convertvector(v, Halves::Floats);
  std::memcpy(p, &floats, sizeof floats);
#endif
}

BUDGETRON_INLINE Singles load_singles(const float* p) {
  Singles v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

BUDGETRON_INLINE void store(double* p, Doubles v) { std::memcpy(p, &v, sizeof v); }
BUDGETRON_INLINE void store(float* p, Singles v) { std::memcpy(p, &v, sizeof v); }

// v, in a register: GCC would load it from memory again for every use.
BUDGETRON_INLINE Doubles held(Doubles v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
  return v;
}

// v in every lane.
BUDGETRON_INLINE Doubles all(double v) { return v - Doubles{}; }
BUDGETRON_INLINE Singles all_singles(float v) { return v - Singles{}; }

BUDGETRON_INLINE Doubles absolute(Doubles v) {
  return reinterpret_cast<Doubles>(reinterpret_cast<Words>(v) & ~(Words{} + (std::uint64_t{1} << 63)));
}
BUDGETRON_INLINE Singles absolute(Singles v) {
  return reinterpret_cast<Singles>(reinterpret_cast<HalfWords>(v) & ~(HalfWords{} + (std::uint32_t{1} << 31)));
}

BUDGETRON_INLINE double absolute(double v) { return __builtin_fabs(v); }
BUDGETRON_INLINE float absolute(float v) { return __builtin_fabsf(v); }

// The register type of one precision.
template <class T>
struct Lanes;
template <>
struct Lanes<double> {
  using Register = Doubles;
  static constexpr std::size_t width = budgetron::width;
  static BUDGETRON_INLINE Doubles load(const double* p) { return budgetron::load(p); }
  static BUDGETRON_INLINE Doubles all(double v) { return budgetron::all(v); }
};
template <>
struct Lanes<float> {
  using Register = Singles;
  static constexpr std::size_t width = 2 * budgetron::width;
  static BUDGETRON_INLINE Singles load(const float* p) { return load_singles(p); }
  static BUDGETRON_INLINE Singles all(float v) { return all_singles(v); }
};

// Whether the mask is set in any lane.
template <class Mask>
BUDGETRON_INLINE bool any(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX__)
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask));
#else
  std::uint64_t words[2];
  static_assert(sizeof mask == sizeof words);
  std::memcpy(words, &mask, sizeof words);
  return (words[0] | words[1]) != 0;
#endif
}

// One bit for each lane in which the mask is set, the first lane lowest.
template <class Mask>
BUDGETRON_INLINE std::uint32_t bits(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask));
#elif defined(__AVX__)
  return static_cast<std::uint32_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(mask)));
#elif defined(__x86_64__)
  return static_cast<std::uint32_t>(_mm_movemask_pd(reinterpret_cast<__m128d>(mask)));
#else
  std::uint32_t found = 0;
  for (std::size_t lane = 0; lane < width; ++lane) found |= mask[lane] ? std::uint32_t{1} << lane : 0;
  return found;
#endif
}

// max(a, v); NaN in v propagates.
BUDGETRON_INLINE Doubles at_least(double a, Doubles v) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_pd(0xff, all(a), v);
#else
  return v < a ? all(a) : v;
#endif
}
BUDGETRON_INLINE Singles at_least(float a, Singles v) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xffff, all_singles(a), v);
#else
  return v < a ? all_singles(a) : v;
#endif
}

// min(a, v); NaN in v propagates.
BUDGETRON_INLINE Doubles at_most(double a, Doubles v) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_pd(0xff, all(a), v);
#else
  return v > a ? all(a) : v;
#endif
}
BUDGETRON_INLINE Singles at_most(float a, Singles v) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_ps(0xffff, all_singles(a), v);
#else
  return v > a ? all_singles(a) : v;
#endif
}

// max(a, b) per lane; if a is NaN, b.
BUDGETRON_INLINE Doubles larger(Doubles a, Doubles b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_pd(0xff, a, b);
#else
  return a > b ? a : b;
#endif
}
BUDGETRON_INLINE Singles larger(Singles a, Singles b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xffff, a, b);
#else
  return a > b ? a : b;
#endif
}

// max(|a|, b) per lane for b >= 0; if a is NaN, b.
BUDGETRON_INLINE Doubles larger_size(Doubles a, Doubles b) {
#if defined(__AVX512DQ__)
  return _mm512_maskz_range_pd(0xff, a, b, 0xb);
#else
  return larger(absolute(a), b);
#endif
}
BUDGETRON_INLINE Singles larger_size(Singles a, Singles b) {
#if defined(__AVX512DQ__)
  return _mm512_maskz_range_ps(0xffff, a, b, 0xb);
#else
  return larger(absolute(a), b);
#endif
}

// min(a, b) per lane; if a is NaN, b.
BUDGETRON_INLINE Doubles smaller(Doubles a, Doubles b) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_pd(0xff, a, b);
#else
  return a < b ? a : b;
#endif
}

BUDGETRON_INLINE Doubles positive_part(Doubles v) { return at_least(0.0, v); }
BUDGETRON_INLINE Singles positive_part(Singles v) { return at_least(0.0f, v); }

}  // namespace
}  // namespace budgetron
