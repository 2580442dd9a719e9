// Where moments lie in a period, such as a day or a week, as angles.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace budgetron {

// The angles of some moments, and zeros behind them up to a multiple of `step`. Each moment and `start` is divided by
// the length, and what is left of the whole periods is the angle, so the same hour of any day has the same bits.
inline std::vector<double> angles_in_period(const double* moments, std::size_t n, double length, double start,
                                            std::size_t step) {
  constexpr double whole_numbers = 0x1.8p52, largest = 0x1p51;  // adding the first rounds numbers up to the second
  std::vector<double> angles((n + step - 1) / step * step);
  const double turn = 2 * std::numbers::pi / length;
  bool large = false;
  for (std::size_t i = 0; i < n; ++i) {
    const double since = moments[i] + start, periods = since / length;
    double whole = (periods + whole_numbers) - whole_numbers;
    whole -= whole > periods ? 1.0 : 0.0;
    large |= !(std::abs(periods) < largest);
    angles[i] = (since - whole * length) * turn;
  }
  for (std::size_t i = 0; large && i < n; ++i) {
    const double since = moments[i] + start;
    angles[i] = (since - std::floor(since / length) * length) * turn;
  }
  return angles;
}

}  // namespace budgetron
