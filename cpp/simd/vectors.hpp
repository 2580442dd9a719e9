// Vectors of doubles and their operations.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>

#include "simd/loops.hpp"

namespace budgetron {

using Vector = std::span<const double>;

inline double dot(Vector a, Vector b) {
  assert(a.size() <= b.size());
  return loops->dot(a.data(), b.data(), a.size());
}

// The same, if the last `tail` numbers were appended later. Zeros among them do not change a bit, however many.
inline double dot(Vector a, Vector b, std::size_t tail) {
  const std::size_t head = a.size() - tail;
  double sums[lanes] = {};
  for (std::size_t i = 0; i < tail; ++i) sums[i % lanes] += a[head + i] * b[head + i];
  double sum = dot(a.first(head), b);
  for (std::size_t lane = 0; lane < lanes && tail > 0; ++lane) sum += sums[lane];
  return sum;
}

// y += c x
inline void add(double c, Vector x, std::span<double> y) {
  assert(x.size() <= y.size());
  loops->add(c, x.data(), y.data(), x.size());
}

inline void scale(double c, std::span<double> y) { loops->scale(c, y.data(), y.size()); }

// out = exp(v - the largest v), and their sum. A few are made one by one: the same bits on all instruction sets.
inline double softmax_terms(Vector v, std::span<double> out) {
  if (v.size() > 4 * lanes) return loops->softmax_terms(v.data(), v.size(), out.data());
  const double top = *std::max_element(v.begin(), v.end());
  double sum = 0;
  for (std::size_t i = 0; i < v.size(); ++i) sum += out[i] = std::exp(v[i] - top);
  return sum;
}

}  // namespace budgetron
