// exp, sin and cos of a register to 2 ulp, in single and double precision; to 3.5 ulp if sin and cos are multiplied by
// a scale. Each reduces its argument to a short interval and evaluates a polynomial there.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "simd/loops.hpp"
#include "simd/registers.hpp"
#include "simd/wide_product.hpp"

namespace budgetron {
namespace {

// exp(x): x = n log 2 + r with |r| <= log(2)/2, then a polynomial in r, then scaling by 2^n. The scaling is done in two
// halves, so that subnormal results are correct. Arguments are at most 709 (88 in single precision).
[[maybe_unused]] BUDGETRON_INLINE Doubles power_of_two(Doubles whole) {
  return reinterpret_cast<Doubles>(reinterpret_cast<Words>(whole + (0x1.8p52 + 1023.0)) << 52);
}

// p 2^n. The masked intrinsics are used because GCC 12 warns about its own header for the unmasked ones.
BUDGETRON_INLINE Doubles times_power(Doubles p, Doubles n) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_pd(0xff, p, n);
#else
  const Doubles half = (n * 0.5 + 0x1.8p52) - 0x1.8p52;
  return p * power_of_two(half) * power_of_two(n - half);
#endif
}

BUDGETRON_INLINE Doubles exponential(Doubles x) {
  x = at_least(-746.0, x);
  const Doubles n = fused(x, all(0x1.71547652b82fep0), all(0x1.8p52)) - 0x1.8p52;
  const Doubles r = fused(n, all(-0x1.a39ef35793c76p-33), fused(n, all(-0x1.62e42fee00000p-1), x));
  const Doubles r2 = r * r, r4 = r2 * r2;  // sum of r^i / i!, in pairs to shorten the dependency chain
  const auto pair = [&](double first, double second) { return fused(r, all(second), all(first)); };
  const Doubles a = fused(r2, pair(1.0 / 24, 1.0 / 120), pair(0.5, 1.0 / 6));
  const Doubles b = fused(r2, pair(1.0 / 40320, 1.0 / 362880), pair(1.0 / 720, 1.0 / 5040));
  const Doubles c = fused(r2, pair(1.0 / 479001600, 1.0 / 6227020800), pair(1.0 / 3628800, 1.0 / 39916800));
  return times_power(1.0 + fused(r2, fused(r4, fused(r4, c, b), a), r), n);
}

[[maybe_unused]] BUDGETRON_INLINE Singles power_of_two(Singles whole) {
  return reinterpret_cast<Singles>(reinterpret_cast<HalfWords>(whole + (0x1.8p23f + 127.0f)) << 23);
}

BUDGETRON_INLINE Singles times_power(Singles p, Singles n) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_ps(0xffff, p, n);
#else
  const Singles half = (n * 0.5f + 0x1.8p23f) - 0x1.8p23f;
  return p * power_of_two(half) * power_of_two(n - half);
#endif
}

BUDGETRON_INLINE Singles exponential(Singles x) {
  x = at_least(-105.0f, x);
  const Singles n = fused(x, all_singles(0x1.715476p0f), all_singles(0x1.8p23f)) - 0x1.8p23f;
  const Singles r = fused(n, all_singles(0x1.bd0106p-13f), fused(n, all_singles(-0x1.63p-1f), x));
  const Singles r2 = r * r;
  const auto pair = [&](float first, float second) { return fused(r, all_singles(second), all_singles(first)); };
  const Singles a = fused(r2, pair(1.0f / 24, 1.0f / 120), pair(0.5f, 1.0f / 6));
  return times_power(1.0f + fused(r2, fused(r2 * r2, pair(1.0f / 720, 1.0f / 5040), a), r), n);
}

// exp(-gamma t) for t > 0, and 1 for t <= 0, computed as 2^(c t) with c t = n + f, |f| <= 1/2. c t - n is rounded once,
// so the result is as accurate as exp(gamma t) with gamma t rounded, in fewer operations. The polynomial interpolates
// (2^f - 1) / f at the Chebyshev nodes.
//
// With AVX-512, n is a multiple of 1/16 and |f| <= 1/32, so the polynomial is shorter. A table has 2^n for the part of
// n behind the point.
struct Decay {
  explicit Decay(Rate<double> gamma) : c(gamma.c), limit(gamma.limit) {}

  BUDGETRON_INLINE Doubles operator()(Doubles t) const {
    t = at_most(limit, positive_part(t));
#if defined(__AVX512F__)
    const Doubles first = {0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
                           0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0};
    const Doubles second = {0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
                            0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
    const Doubles shifted = fused(t, all(c), all(0x1.8p48)), n = shifted - 0x1.8p48;  // the low bits hold 16 n
    const Doubles power = _mm512_permutex2var_pd(first, reinterpret_cast<__m512i>(shifted), second);
    const Doubles f = fused(t, all(c), -n);
    Doubles p = all(0x1.430a1d08ec681p-13);
    p = fused(p, f, all(0x1.5d897e525c216p-10));
    p = fused(p, f, all(0x1.3b2ab6fb41213p-7));
    p = fused(p, f, all(0x1.c6b08d6f2a289p-5));
    p = fused(p, f, all(0x1.ebfbdff82c590p-3));
    p = fused(p, f, all(0x1.62e42fefa39f3p-1));
    return times_power(fused(power, f * p, power), n);  // times 2 to the floor of n
#else
    const Doubles n = fused(t, all(c), all(0x1.8p52)) - 0x1.8p52;
    const Doubles f = fused(t, all(c), -n), f2 = f * f, f4 = f2 * f2;
    const auto pair = [&](double first, double second) { return fused(f, all(second), all(first)); };
    const Doubles low =
        fused(f2, pair(0x1.c6b08d704a0c2p-5, 0x1.3b2ab6fba1ddap-7), pair(0x1.62e42fefa39efp-1, 0x1.ebfbdff82c598p-3));
    const Doubles middle = fused(f2, pair(0x1.ffcbfc670dcd4p-17, 0x1.62bfd47773353p-20),
                                 pair(0x1.5d87fe78a5276p-10, 0x1.430913096fd9fp-13));
    const Doubles high = fused(f2, all(0x1.e9d3fe3952179p-32), pair(0x1.b524fae627834p-24, 0x1.e6063f7217bc6p-28));
    return times_power(fused(f, fused(f4, fused(f4, high, middle), low), all(1.0)), n);
#endif
  }

  double c, limit;
};

struct SingleDecay {
  explicit SingleDecay(Rate<float> gamma) : c(gamma.c), limit(gamma.limit) {}

  BUDGETRON_INLINE Singles operator()(Singles t) const {
    t = at_most(limit, positive_part(t));
    const Singles n = fused(t, all_singles(c), all_singles(0x1.8p23f)) - 0x1.8p23f;
    const Singles f = fused(t, all_singles(c), -n), f2 = f * f;
    const auto pair = [&](float first, float second) { return fused(f, all_singles(second), all_singles(first)); };
    const Singles high = fused(f2, pair(0x1.5f0890p-10f, 0x1.44138ap-13f), pair(0x1.c6af6cp-5f, 0x1.3b2a54p-7f));
    return times_power(fused(f, fused(f2, high, pair(0x1.62e430p-1f, 0x1.ebfbe0p-3f)), all_singles(1.0f)), n);
  }

  float c, limit;
};

// sin and cos: x = n pi/2 + r with |r| <= pi/4, then polynomials in r. pi/2 is split into pieces, so that x - n piece_1
// is exact. Without fused multiply-add the pieces are short enough that every product is exact, and rounding errors of
// the differences are carried along. Accurate for |x| up to largest_angle.
//
// With AVX-512, doubles are turned back to the nearest multiple of pi/8 instead: a table of 16 sines fits in two
// registers, and its look-up costs less than the longer polynomials.
#if defined(__AVX512F__)
constexpr double angle_step = 0.25;  // of a Turned<Doubles>, in quarters of a turn
#else
constexpr double angle_step = 1;
#endif

template <class Register>
struct Turned {
  Register shifted;  // the low bits hold n
  Register r;
};

BUDGETRON_INLINE Turned<Doubles> turn_back(Doubles x) {
  const Doubles shifted = fused(x, all(0x1.45f306dc9c883p-1 / angle_step), all(0x1.8p52)), n = shifted - 0x1.8p52;
#if defined(__FMA__) || defined(__aarch64__)
  const Doubles t =
      fused(n, all(-0x1.1a62633145c07p-54 * angle_step), fused(n, all(-0x1.921fb54442d18p+0 * angle_step), x));
  return {shifted, fused(n, all(0x1.f1976b7ed8fbcp-110 * angle_step), t)};
#else
  const Doubles first = x - n * 0x1.921fb54400000p+0, second = n * 0x1.0b4611a600000p-34;
  const Doubles t = first - second;
  return {shifted, t - (n * 0x1.b839a252049c1p-104 + n * 0x1.3198a2e000000p-69 - ((first - t) - second))};
#endif
}

BUDGETRON_INLINE Turned<Singles> turn_back(Singles x) {
  const Singles shifted = fused(x, all_singles(0x1.45f306p-1f), all_singles(0x1.8p23f)), n = shifted - 0x1.8p23f;
#if defined(__FMA__) || defined(__aarch64__)
  const Singles t = fused(n, all_singles(0x1.777a5cp-25f), fused(n, all_singles(-0x1.921fb6p+0f), x));
  return {shifted, fused(n, all_singles(0x1.ee59dap-50f), t)};
#else
  const Singles first = x - n * 0x1.92p0f, second = n * 0x1.fb4p-12f, third = n * 0x1.444p-24f;
  const Singles t = first - second, u = t - third;
  return {shifted, u - (n * 0x1.68c234p-39f - (((first - t) - second) + ((t - u) - third)))};
#endif
}

constexpr double largest_angle = 0x1.8p20;
constexpr float largest_single_angle = 0x1.8p12f;

// 2/pi in words of 64 bits; the first word is the integer part.
constexpr std::uint64_t two_over_pi[] = {
    0x0000000000000000u, 0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u,
    0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u,
    0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu};

// For every exponent of an angle beyond the limit, the 192 bits of 2/pi that count. With |x| = m 2^q, m a whole number,
// those are the bits from q - 2 on: the bits before them make whole turns.
constexpr int first_exponent = 1023 + 20;
constexpr auto windows = [] {
  std::array<std::array<std::uint64_t, 3>, 2047 - first_exponent> made{};
  for (int e = first_exponent; e < 2047; ++e)
    for (int k = 0; k < 3; ++k) {
      const int from = e - 1075 - 2 + 64 + 64 * k, word = from / 64, bit = from % 64;
      made[static_cast<std::size_t>(e - first_exponent)][static_cast<std::size_t>(k)] =
          bit == 0 ? two_over_pi[word] : two_over_pi[word] << bit | two_over_pi[word + 1] >> (64 - bit);
    }
  return made;
}();

// The same for one angle beyond the limit, of any size (Payne & Hanek 1983).
struct OneTurned {
  double shifted, r;
};
inline OneTurned turn_far_back(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) return {x - x, x - x};
  const std::uint64_t m = (bits & 0xfffffffffffffu) | std::uint64_t{1} << 52;
  const auto& window = windows[static_cast<std::size_t>(exponent - first_exponent)];
  // The part of a whole turn, in units of 2^-128: m window[0] 2^64 + m window[1] + m window[2] / 2^64.
  const auto [high_word, low_word] = wide_product(m, window[1]);
  const std::uint64_t rest = low_word + wide_product(m, window[2]).high;
  const std::uint64_t turns = m * window[0] + high_word + (rest < low_word ? 1 : 0);
  constexpr int one = angle_step == 1 ? 62 : 60;                             // a step is 2^one, a whole turn 2^64
  const std::uint64_t n = (turns + (std::uint64_t{1} << (one - 1))) >> one;  // steps, rounded to nearest
  const auto top = static_cast<std::int64_t>(turns - (n << one));
  const double high = static_cast<double>(top);
  const double low = static_cast<double>(top - static_cast<std::int64_t>(high)) +
                     0x1p-63 * static_cast<double>(static_cast<std::int64_t>(rest >> 1));
  const double r =
      0x1p-62 * __builtin_fma(high, 0x1.921fb54442d18p+0, high * 0x1.1a62633145c07p-54 + low * 0x1.921fb54442d18p+0);
  const double sign = __builtin_copysign(1.0, x);  // no branch, which random signs would mispredict
  return {0x1.8p52 + sign * static_cast<double>(n), sign * r};
}

BUDGETRON_INLINE Turned<Doubles> turn_far_back(const double* x) {
  Turned<Doubles> turned = turn_back(load(x));
  for (std::size_t i = 0; i < width; ++i)
    if (absolute(x[i]) > largest_angle) {
      const OneTurned one = turn_far_back(x[i]);
      turned.shifted[i] = one.shifted;
      turned.r[i] = one.r;
    }
  return turned;
}

// sine = scale sin(x), cosine = scale cos(x)
#if defined(__AVX512F__)
// sin(a + r) = sin a + (cos a sin r + sin a (cos r - 1)), where a is a multiple of pi/8, and likewise the cosine.
BUDGETRON_INLINE void sine_cosine(Turned<Doubles> x, Doubles scale, Doubles& sine, Doubles& cosine) {
  constexpr double s1 = 0x1.87de2a6aea963p-2, s2 = 0x1.6a09e667f3bcdp-1, s3 = 0x1.d906bcf328d46p-1;  // sin(k pi/8)
  const Doubles half = scale * Doubles{0, s1, s2, s3, 1, s3, s2, s1}, other_half = -half;            // of a turn
  const auto sine_of = [&](Words n) { return _mm512_permutex2var_pd(half, reinterpret_cast<__m512i>(n), other_half); };
  const Words n = reinterpret_cast<Words>(x.shifted);
  const Doubles sin_a = sine_of(n), cos_a = sine_of(n + 4);
  const Doubles r = x.r, r2 = r * r;
  Doubles s = all(0x1.719be0e183ad0p-19);  // sin r = r + r^3 s
  s = fused(s, r2, all(-0x1.a019fb3b29fa9p-13));
  s = fused(s, r2, all(0x1.11111110de94dp-7));
  s = fused(s, r2, all(-0x1.5555555555546p-3));
  Doubles c = all(-0x1.27adb0fc467d0p-22);  // cos r = 1 + r^2 c
  c = fused(c, r2, all(0x1.a019fa2a5bbf2p-16));
  c = fused(c, r2, all(-0x1.6c16c16bad946p-10));
  c = fused(c, r2, all(0x1.5555555555514p-5));
  c = fused(c, r2, all(-0.5));
  const Doubles sin_r = fused(r * r2, s, r), less = r2 * c;
  sine = sin_a + fused(cos_a, sin_r, sin_a * less);
  cosine = cos_a + fused(-sin_a, sin_r, cos_a * less);
}
#else
BUDGETRON_INLINE void sine_cosine(Turned<Doubles> x, Doubles scale, Doubles& sine, Doubles& cosine) {
  const auto [shifted, r] = x;
  const Doubles r2 = r * r, r4 = r2 * r2, scaled = scale * r;
  const auto pair = [r2 = r2](double a, double b) { return fused(r2, all(b), all(a)); };
  const Doubles s = fused(r4,
                          fused(r4, pair(-0x1.ae600a926c899p-26, 0x1.5e0af186af6e1p-33),
                                pair(-0x1.a01a019e8357dp-13, 0x1.71de37961e4c6p-19)),
                          pair(-0x1.5555555555555p-3, 0x1.1111111110bb1p-7));
  const Doubles c =
      fused(r4,
            fused(r4, fused(r4, all(-0x1.907d7aebd5de5p-37), pair(-0x1.27e4fa17a41b4p-22, 0x1.1eeb68b109172p-29)),
                  pair(-0x1.6c16c16c16966p-10, 0x1.a01a019f4e867p-16)),
            pair(-0.5, 0x1.5555555555555p-5));
  const Doubles sin_r = fused(scaled * r2, s, scaled), cos_r = fused(scale * r2, c, scale);
  const Words quadrant = reinterpret_cast<Words>(shifted), sign = Words{} + (std::uint64_t{1} << 63);
  const auto odd = (quadrant & 1) != 0;
  sine = reinterpret_cast<Doubles>(reinterpret_cast<Words>(odd ? cos_r : sin_r) ^ ((quadrant << 62) & sign));
  cosine = reinterpret_cast<Doubles>(reinterpret_cast<Words>(odd ? sin_r : cos_r) ^ (((quadrant + 1) << 62) & sign));
}
#endif

BUDGETRON_INLINE void sine_cosine(Doubles x, Doubles scale, Doubles& sine, Doubles& cosine) {
  sine_cosine(turn_back(x), scale, sine, cosine);
}

BUDGETRON_INLINE void sine_cosine(Singles x, Singles scale, Singles& sine, Singles& cosine) {
  const auto [shifted, r] = turn_back(x);
  const Singles r2 = r * r, scaled = scale * r;
  const auto three = [r2 = r2](float a, float b, float c) {
    return fused(r2, fused(r2, all_singles(c), all_singles(b)), all_singles(a));
  };
  const Singles sin_r = fused(scaled * r2, three(-0x1.555552p-3f, 0x1.110c28p-7f, -0x1.9ac96cp-13f), scaled);
  const Singles c = fused(r2, three(0x1.555554p-5f, -0x1.6c12d2p-10f, 0x1.9bd864p-16f), all_singles(-0.5f));
  const Singles cos_r = fused(scale * r2, c, scale);
  const HalfWords quadrant = reinterpret_cast<HalfWords>(shifted), sign = HalfWords{} + (std::uint32_t{1} << 31);
  const auto odd = (quadrant & 1) != 0;
  sine = reinterpret_cast<Singles>(reinterpret_cast<HalfWords>(odd ? cos_r : sin_r) ^ ((quadrant << 30) & sign));
  cosine =
      reinterpret_cast<Singles>(reinterpret_cast<HalfWords>(odd ? sin_r : cos_r) ^ (((quadrant + 1) << 30) & sign));
}

}  // namespace
}  // namespace budgetron
