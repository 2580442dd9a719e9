// Loops over one number per support vector, used by budgets.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "simd/loops.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

// Calls use(i) for each whole register and one(i) for each remaining number.
template <class Use, class One>
BUDGETRON_INLINE void each(std::size_t n, Use use, One one) {
  std::size_t i = 0;
  for (; i + width <= n; i += width) use(i);
  for (; i < n; ++i) one(i);
}

BUDGETRON_INLINE double sum_of(Doubles v) {
  double sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += v[i];
  return sum;
}

BUDGETRON_INLINE Doubles roots(Doubles v) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(0xff, v);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(v);
#else
  for (std::size_t i = 0; i < width; ++i) v[i] = std::sqrt(v[i]);
  return v;
#endif
}

// out = sqrt(a b); returns the sum of out.
double geometric_means(const double* a, const double* b, std::size_t n, double* out) {
  Doubles sums{};
  double sum = 0;
  each(
      n,
      [&](std::size_t i) {
        const Doubles v = roots(load(a + i) * load(b + i));
        store(out + i, v);
        sums += v;
      },
      [&](std::size_t i) { sum += out[i] = std::sqrt(a[i] * b[i]); });
  return sum + sum_of(sums);
}

// p <- max(0, 1 - s p); returns the sum of p.
double chances(double s, double* p, std::size_t n) {
  Doubles sums{};
  double sum = 0;
  each(
      n,
      [&](std::size_t i) {
        const Doubles v = positive_part(1.0 - s * load(p + i));
        store(p + i, v);
        sums += v;
      },
      [&](std::size_t i) { sum += p[i] = std::max(0.0, 1 - s * p[i]); });
  return sum + sum_of(sums);
}

BUDGETRON_INLINE Doubles within(double cap, Doubles v) { return at_most(cap, at_least(-cap, v)); }

// alpha <- clamp(c alpha, -cap, cap)
void scale_within(double c, double cap, double* alpha, std::size_t n) {
  each(
      n, [&](std::size_t i) { store(alpha + i, within(cap, c * load(alpha + i))); },
      [&](std::size_t i) { alpha[i] = std::clamp(c * alpha[i], -cap, cap); });
}

// alpha <- clamp(alpha / (1 - p / total), -cap, cap)
void rescale(const double* p, double total, double cap, double* alpha, std::size_t n) {
  each(
      n, [&](std::size_t i) { store(alpha + i, within(cap, load(alpha + i) * (total / (total - load(p + i))))); },
      [&](std::size_t i) { alpha[i] = std::clamp(alpha[i] * (total / (total - p[i])), -cap, cap); });
}

// out = a (b - k^2 / kxx)
void swap_costs(const double* a, const double* b, const double* k, double kxx, std::size_t n, double* out) {
  each(
      n, [&](std::size_t i) { store(out + i, load(a + i) * (load(b + i) - load(k + i) * load(k + i) / kxx)); },
      [&](std::size_t i) { out[i] = a[i] * (b[i] - k[i] * k[i] / kxx); });
}

// m += sign(alpha) (f + c k)
void add_margins(const double* alpha, const double* f, double c, const double* k, std::size_t n, double* m) {
  const auto signed_sum = [](auto a, auto v, auto zero) { return a > zero ? v : a < zero ? -v : zero; };
  each(
      n,
      [&](std::size_t i) {
        store(m + i, load(m + i) + signed_sum(load(alpha + i), fused(all(c), load(k + i), load(f + i)), Doubles{}));
      },
      [&](std::size_t i) { m[i] += signed_sum(alpha[i], fused(c, k[i], f[i]), 0.0); });
}

// out <- out times the squared distance of r from the span of t and n.
void pair_costs(Pairs k, double in_the_span, std::size_t n, double* out) {
  const double inverse = 1 / k.ktt;
  const auto distance2 = [&](auto krt, auto krr, auto krn, auto knn, auto ktn) {
    const auto alone = krt * inverse, n_on_t = ktn * inverse, rest = knn - ktn * n_on_t;
    const auto on_n = rest <= in_the_span * knn ? 0 * rest : (krn - ktn * alone) / rest;
    const auto on_t = alone - on_n * n_on_t;
    const auto found = krr - on_t * krt - on_n * krn;
    const auto rounding = 1e-15 * (krr + on_t * on_t * k.ktt + on_n * on_n * knn);
    return found < rounding ? rounding : found;
  };
  each(
      n,
      [&](std::size_t i) {
        store(out + i, load(out + i) * distance2(load(k.krt + i), load(k.krr + i), load(k.krn + i), load(k.knn + i),
                                                 load(k.ktn + i)));
      },
      [&](std::size_t i) { out[i] *= distance2(k.krt[i], k.krr[i], k.krn[i], k.knn[i], k.ktn[i]); });
}

// What stands at p: a register of it, or one number.
struct AtOnce {
  BUDGETRON_INLINE Doubles operator()(const double* p) const { return load(p); }
  BUDGETRON_INLINE Words operator()(const std::uint64_t* p) const {
    Words v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
};
struct OneByOne {
  BUDGETRON_INLINE double operator()(const double* p) const { return *p; }
  BUDGETRON_INLINE std::uint64_t operator()(const std::uint64_t* p) const { return *p; }
};

// Writes the slots from i on whose bits are set to `slots`, and returns how many. Without branches, since bits are
// random; so the other slots of the register are written as well, behind those.
BUDGETRON_INLINE std::size_t write_set(std::uint32_t found, std::size_t i, std::size_t* slots) {
#if defined(__AVX512F__)
  static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
  const Words here = Words{0, 1, 2, 3, 4, 5, 6, 7} + i;
  const __m512i set = _mm512_maskz_compress_epi64(static_cast<__mmask8>(found), reinterpret_cast<__m512i>(here));
  std::memcpy(slots, &set, sizeof set);
  return static_cast<std::size_t>(std::popcount(found));
#else
  std::size_t count = 0;
  for (std::size_t lane = 0; lane < width; ++lane) {
    slots[count] = i + lane;
    count += found >> lane & 1;
  }
  return count;
#endif
}

// Writes the slots for which picked(at, i) holds, in order; returns how many. `at` loads what stands at an address.
template <class Picked>
BUDGETRON_INLINE std::size_t select(std::size_t n, std::size_t* slots, Picked picked) {
  std::size_t count = 0;
  each(
      n, [&](std::size_t i) { count += write_set(bits(picked(AtOnce{}, i)), i, slots + count); },
      [&](std::size_t i) {
        if (picked(OneByOne{}, i)) slots[count++] = i;
      });
  return count;
}

// The slots with !(distance > reach).
std::size_t near(const double* distance, double reach, std::size_t n, std::size_t* slots) {
  return select(n, slots, [&](auto at, std::size_t i) { return !(at(distance + i) > reach); });
}

// The slots with place = t or !(distance < now).
std::size_t affected(const double* now, const double* distance, const std::uint64_t* place, std::uint64_t t,
                     std::size_t n, std::size_t* slots) {
  return select(n, slots, [&](auto at, std::size_t i) {
    const auto now_i = at(now + i);
    return !((at(place + i) == t ? now_i : at(distance + i)) < now_i);
  });
}

// y *= x
void multiply(const double* x, double* y, std::size_t n) {
  each(n, [&](std::size_t i) { store(y + i, load(y + i) * load(x + i)); }, [&](std::size_t i) { y[i] *= x[i]; });
}

// out <- out / (q + d^2 / delta2)
void project_costs(double* out, const double* q, const double* d, double delta2, std::size_t n) {
  const double inverse = 1 / delta2;
  each(
      n,
      [&](std::size_t i) {
        const Doubles d_i = load(d + i);
        store(out + i, load(out + i) / fused(d_i * d_i, all(inverse), load(q + i)));
      },
      [&](std::size_t i) { out[i] /= fused(d[i] * d[i], inverse, q[i]); });
}

// y += c x^2
void add_scaled_squares(double c, const double* x, double* y, std::size_t n) {
  each(
      n, [&](std::size_t i) { store(y + i, fused(c * load(x + i), load(x + i), load(y + i))); },
      [&](std::size_t i) { y[i] = fused(c * x[i], x[i], y[i]); });
}

// -L of partners, those with a positive product, and infinity of the others; returns whether there is a partner.
bool partner_distances(const double* product, const double* L, std::size_t n, double* out) {
  const Doubles infinite = all(std::numeric_limits<double>::infinity());
  std::uint32_t found = 0;
  each(
      n,
      [&](std::size_t i) {
        const auto partner = load(product + i) > 0;
        store(out + i, partner ? -load(L + i) : infinite);
        found |= bits(partner);
      },
      [&](std::size_t i) {
        const bool partner = product[i] > 0;
        out[i] = partner ? -L[i] : infinite[0];
        found |= partner;
      });
  return found != 0;
}

// Squared distances a + b - 2 k; infinity instead of NaN, which an overflow gives.
void distances(double a, const double* b, const double* k, std::size_t n, double* out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto distance = [&](auto b_i, auto k_i, auto far) {
    const auto d = a + b_i - 2 * k_i;
    return d == d ? d : far;
  };
  each(
      n, [&](std::size_t i) { store(out + i, distance(load(b + i), load(k + i), all(infinity))); },
      [&](std::size_t i) { out[i] = distance(b[i], k[i], infinity); });
}

// left -= row^2; distance = infinity where left is no more than the share of the whole.
void leave(const double* row, const double* whole, double share, std::size_t n, double* left, double* distance) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  each(
      n,
      [&](std::size_t i) {
        const Doubles r = load(row + i), rest = load(left + i) - r * r;
        store(left + i, rest);
        store(distance + i, rest > share * load(whole + i) ? load(distance + i) : all(infinity));
      },
      [&](std::size_t i) {
        left[i] -= row[i] * row[i];
        if (!(left[i] > share * whole[i])) distance[i] = infinity;
      });
}

// How many numbers of v are not above `most`. A few dozen are counted faster than a binary search finds the place.
std::size_t count_up_to(const double* v, double most, std::size_t n) {
  std::size_t count = 0;
  each(
      n, [&](std::size_t i) { count += static_cast<std::size_t>(std::popcount(bits(load(v + i) <= most))); },
      [&](std::size_t i) { count += v[i] <= most ? 1 : 0; });
  return count;
}

// The smallest number of v, ignoring NaN; infinity if v is empty or all NaN.
double least(const double* v, std::size_t n) {
  const Doubles infinite = all(std::numeric_limits<double>::infinity());
  Doubles lows[] = {infinite, infinite, infinite, infinite};  // several, to shorten the dependency chain
  std::size_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    for (std::size_t k = 0; k < 4; ++k) lows[k] = smaller(load(v + i + k * width), lows[k]);
  for (; i + width <= n; i += width) lows[0] = smaller(load(v + i), lows[0]);
  double low[width];
  store(low, smaller(smaller(lows[0], lows[1]), smaller(lows[2], lows[3])));
  for (; i < n; ++i) low[0] = v[i] < low[0] ? v[i] : low[0];
  for (std::size_t half = width / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) low[lane] = std::min(low[lane], low[lane + half]);
  return low[0];
}

// The first place of the smallest number of v, ignoring NaN; n if v is empty or all NaN.
std::size_t place_of_least(const double* v, std::size_t n) {
  const double low = least(v, n);
  std::size_t i = 0;
  for (; i + width <= n; i += width)
    if (const std::uint32_t found = bits(load(v + i) == low))
      return i + static_cast<std::size_t>(std::countr_zero(found));
  while (i < n && v[i] != low) ++i;
  return i;
}

}  // namespace
}  // namespace budgetron
