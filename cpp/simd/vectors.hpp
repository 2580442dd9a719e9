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

// y += c x
inline void add(double c, Vector x, std::span<double> y) {
  assert(x.size() <= y.size());
  loops->add(c, x.data(), y.data(), x.size());
}

inline void scale(double c, std::span<double> y) { loops->scale(c, y.data(), y.size()); }

}  // namespace budgetron
