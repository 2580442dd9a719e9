// Running mean and deviation of one column. No single value ruins them, unless the column was constant before it, and
// they follow a change of unit.
//
// Let a be the mean of the m values counted so far, Q their sum of squares about it, s = sqrt(Q / m) the deviation. A
// value x is far if m >= 16 and |x - a| > 10 s > 0.
//
//   limit    From the 17th value on, x is counted as if |x - a| were at most min(10 s, sqrt(Q)), so that one value at
//            most doubles Q. Two things raise the limit. Values without one are the first 16, and the first that
//            differs from all before it: a deviation up to the largest of theirs is counted in full. And a far value is
//            counted in full up to the far value before it, if that was another one, on the same side, one of the last
//            1000 values, and not one of a run.
//   unit     A far value that differs from the far value before it is evidence of a new unit, and a value that is not
//            far is evidence against it. A run has more than 1 for it. When 32 more are for it than against it, the
//            statistics become those of the values since the first of them. A value that is repeated, such as -9999,
//            is no evidence.
//   start    If the values 17 to 32 have less than a tenth of the deviation of all 32, the first 16 are forgotten.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "state/fields.hpp"

namespace budgetron {

inline constexpr double first_values = 16;     // without a limit
inline constexpr double enough_evidence = 32;  // of a new unit
inline constexpr double far_squared = 100;     // 10 deviations, squared
inline constexpr double soon = 1000;           // values for which a far one matters to the next far one

// Sums stay finite: at this size all digits that differ have been lost anyway.
inline double added(double sum, double more) { return std::min(sum + more, std::numeric_limits<double>::max()); }

// The square that the next value adds at most, if it has a limit.
inline double square_limit(double squares, double count) { return squares * std::min(far_squared / count, 1.0); }
inline bool beyond(double square, double squares, double count) {
  return count >= first_values && squares > 0 && count * square > far_squared * squares;
}

// A number of every column, or of one: its name, where it is, and how it is merged.
template <class Member>
using NamedPart = std::tuple<const char*, Member, Merged>;

struct Spread {
  double count = 0, mean = 0, squares = 0;                    // of the values so far; squares are about the mean
  double later_count = 0, later_mean = 0, later_squares = 0;  // of the last values, which may become the only ones
  double evidence = 0;                                        // of a new unit
  double last = 0, until = 0;                                 // the last far value; the count up to which it matters
  double reach = 0;                                           // the largest deviation that had no limit

  static constexpr NamedPart<double Spread::*> parts[] = {
      {"count", &Spread::count, Merged::Own},
      {"mean", &Spread::mean, Merged::Own},
      {"squares", &Spread::squares, Merged::Own},
      {"later.count", &Spread::later_count, Merged::Restart},
      {"later.mean", &Spread::later_mean, Merged::Restart},
      {"later.squares", &Spread::later_squares, Merged::Restart},
      {"evidence", &Spread::evidence, Merged::Restart},
      {"last", &Spread::last, Merged::Restart},
      {"until", &Spread::until, Merged::Restart},
      {"reach", &Spread::reach, Merged::Most},
  };

  double deviation() const { return std::sqrt(squares / count); }
  double unscaled(double z) const { return squares > 0 ? mean + z * deviation() : mean; }
  double scaled(double x) const { return squares > 0 && !std::isnan(x) ? (x - mean) / deviation() : 0; }
  bool is_far(double x) const { return beyond((x - mean) * (x - mean), squares, count); }

  // Counts x within its limit.
  void add(double x) {
    if (is_usual(x - mean)) return add_to(count, mean, squares, x);
    const double known = is_known(x) ? std::fabs(last - mean) : 0;
    if (judge(x)) return;
    const double d = x - mean;
    if (count < first_values || squares == 0) {
      if (count > 0) reach = std::max(reach, std::fabs(d));
      return add_in_full(x);
    }
    const double full = evidence > 1 ? reach : std::max(reach, known);
    const double most = std::max(full * full, square_limit(squares, count));
    add_in_full(d * d > most ? mean + std::copysign(std::sqrt(most), d) : x, x);
  }
  // Whether x is far, and another far value came among the last ones, on the same side.
  bool is_known(double x) const { return count <= until && is_far(x) && x != last && (x - mean) * (last - mean) > 0; }
  // Counts `value`, for x.
  void add_in_full(double value, double x) {
    add_to(count, mean, squares, value);
    if (count > first_values && count <= 2 * first_values) start(x);
  }
  void add_in_full(double x) { add_in_full(x, x); }

  // Takes x as evidence. Whether the statistics became those of the last values, x among them.
  bool judge(double x) {
    if (count < 2 * first_values) return false;
    if (is_far(x)) {
      if (evidence == 0) later_count = later_mean = later_squares = 0;
      if (x != last) ++evidence;
      last = x;
      until = count + soon;
    } else if (evidence > 0) {
      --evidence;
    } else {
      return false;
    }
    add_to(later_count, later_mean, later_squares, x);
    if (evidence < enough_evidence) return false;
    take_later();
    return true;
  }

  bool is_consistent() const {
    return std::all_of(std::begin(parts), std::end(parts),
                       [&](const auto& p) { return std::isfinite(this->*std::get<1>(p)); }) &&
           std::min({count, squares, later_count, later_squares, evidence, reach}) >= 0;
  }

 private:
  // Whether the value is within all limits, and says nothing: nearly all values do.
  bool is_usual(double d) const {
    return evidence == 0 && count > 2 * first_values && d * d * std::max(count, far_squared) <= far_squared * squares;
  }
  static void add_to(double& count, double& mean, double& squares, double x) {
    const double d = x - mean;
    mean += d / ++count;
    squares = added(squares, d * (x - mean));
  }
  void take_later() {
    count = later_count, mean = later_mean, squares = later_squares;
    later_count = later_mean = later_squares = evidence = until = reach = 0;
  }
  // x is one of the values 17 to 32.
  void start(double x) {
    add_to(later_count, later_mean, later_squares, x);
    if (count < 2 * first_values) return;
    const bool all = later_count >= first_values;  // not so after a merge
    if (all && later_squares > 0 && far_squared * later_squares / later_count < squares / count) return take_later();
    later_count = later_mean = later_squares = 0;
  }
};

}  // namespace budgetron
