// Loops over rows of doubles. Sums have a fixed tree, so they depend on the numbers alone, never on how a batch was
// cut.
#pragma once

#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace budgetron {

using Row1 = std::span<const double>;

inline double dot(Row1 a, Row1 b) {
  assert(a.size() <= b.size());
  constexpr std::size_t lanes = 8;
  double sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (std::size_t lane = 0; i < a.size(); ++i, ++lane) sums[lane] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// y += c x
inline void add(double c, Row1 x, std::span<double> y) {
  assert(x.size() <= y.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += c * x[i];
}

inline void scale(double c, std::span<double> y) {
  for (double& v : y) v *= c;
}

// exp(x) for x <= 709, branch-free so that the loop over a row is vectorised: x = n log 2 + r, |r| <= log(2)/2, a
// polynomial in r, and a scaling by 2^n in two halves so that results below the normal range are right as well.
inline double exponential(double x) {
  constexpr double to_nearest = 0x1.8p52;
  constexpr double log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33;
  x = x < -746.0 ? -746.0 : x;
  const double n = (x * 0x1.71547652b82fep0 + to_nearest) - to_nearest;
  const double r = (x - n * log2_high) - n * log2_low;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r * r + r;
  const double half = (n * 0.5 + to_nearest) - to_nearest;
  const auto power = [](double e) {  // 2^e for a whole e
    return std::bit_cast<double>((std::bit_cast<std::uint64_t>(e + (to_nearest + 1023.0))) << 52);
  };
  return (1.0 + p) * power(half) * power(n - half);
}

inline void exponential(std::span<double> row) {
  for (double& v : row) v = exponential(v);
}

}  // namespace budgetron
