// Vectors of doubles and their operations.
#pragma once

#include <cassert>
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

}  // namespace budgetron
