// Upper limits for the numbers of a model. A step that would exceed them is refused before anything changes; a budget
// skips its own operation instead. Products of two such numbers, and sums over a stream, then cannot overflow.
#pragma once

#include <algorithm>
#include <cmath>

#include "simd/vectors.hpp"

namespace budgetron {

// Coefficients, weights, scores and kernel values.
inline constexpr double largest = 1e150;
// Squared norms of steps and of explicit features.
inline constexpr double largest_square = 1e250;
// Smaller kernel values lose digits or underflow. k(x,x) below this counts as 0, and x as a row of zeros.
inline constexpr double least_self = 1e-290;

// The smallest precision q of an observation; smaller ones are raised to it, because 1/q must be finite.
inline constexpr double least_precision = 1e-300;

// All of these return false for NaN.
inline bool moderate(double v) { return std::fabs(v) <= largest; }
inline bool moderate(Vector v) {
  return std::all_of(v.begin(), v.end(), [](double x) { return moderate(x); });
}
// An upper bound on the absolute values of v. Infinite or NaN if v has such a number or a square overflows.
inline double largest_of(Vector v) { return std::sqrt(dot(v, v)); }
inline bool moderate_square(double v) { return std::fabs(v) <= largest_square; }

}  // namespace budgetron
