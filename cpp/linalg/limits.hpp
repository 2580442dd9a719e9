// How large the numbers of a model may become. A step that would make one larger is refused before anything changes, or
// left out where it is a budget's; what is then done with such numbers (products of two, sums over a stream) cannot
// overflow.
#pragma once

#include <algorithm>
#include <cmath>

#include "simd/vectors.hpp"

namespace budgetron {

// Coefficients, weights, scores and kernel values.
inline constexpr double largest = 1e150;
// Squared norms of steps and of explicit features.
inline constexpr double largest_square = 1e250;
// Kernel values below are rounded to few digits, or to 0: k(x,x) below counts as 0, and x as a row of zeros.
inline constexpr double least_self = 1e-290;

// All of these are false for what is no number.
inline bool moderate(double v) { return std::fabs(v) <= largest; }
inline bool moderate(Vector v) {
  return std::all_of(v.begin(), v.end(), [](double x) { return moderate(x); });
}
// No number of v is larger in size; infinite, or no number, where one of them is or its square overflows.
inline double largest_of(Vector v) { return std::sqrt(dot(v, v)); }
inline bool moderate_square(double v) { return std::fabs(v) <= largest_square; }

}  // namespace budgetron
