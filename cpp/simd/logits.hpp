// The scores of experts for many classes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

// means, for several rows, whose sums need not wait for each other.
template <std::size_t together>
BUDGETRON_INLINE void some_means(const double* f, std::size_t stride, std::size_t n, double* out) {
  const auto divisor = static_cast<double>(n);
  double sums[together] = {};
  each(
      n,
      [&](std::size_t c) {
        double terms[together][width];
        for (std::size_t a = 0; a < together; ++a) store(terms[a], load(f + a * stride + c) / all(divisor));
        for (std::size_t lane = 0; lane < width; ++lane)
          for (std::size_t a = 0; a < together; ++a) sums[a] += terms[a][lane];
      },
      [&](std::size_t c) {
        for (std::size_t a = 0; a < together; ++a) sums[a] += f[a * stride + c] / divisor;
      });
  std::copy_n(sums, together, out);
}

// The sum of f_c / n over the first n numbers of up to four rows, in the order of c.
void means(const double* f, std::size_t stride, std::size_t rows, std::size_t n, double* out) {
  constexpr decltype(&some_means<1>) some[] = {some_means<1>, some_means<2>, some_means<3>, some_means<4>};
  some[rows - 1](f, stride, n, out);
}

// out = (f - mean) / root within +-most, and 0 where f is not finite
void logits(const double* f, double mean, double root, double most, std::size_t n, double* out) {
  const auto one = [&](auto v, auto none) {
    const auto centred = v - mean;
    const auto divided = root == 1 ? centred : centred / root;
    return centred - centred == none ? divided : none;
  };
  each(
      n, [&](std::size_t c) { store(out + c, within(most, one(load(f + c), Doubles{}))); },
      [&](std::size_t c) { out[c] = std::clamp(one(f[c], 0.0), -most, most); });
}

}  // namespace
}  // namespace budgetron
