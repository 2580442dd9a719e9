// Running scaling of columns. A row is scaled by the statistics of the rows before it, and then added to them. A column
// without a scale so far (constant, or all zeros) gives 0.
//
// Each column is summed in row order, so results do not depend on how a stream is split into blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <tuple>
#include <vector>

#include "input/rows.hpp"
#include "input/spread.hpp"
#include "state/fields.hpp"

namespace budgetron {

// (x - mean) / standard deviation, for dense rows. NaN is a missing value: it gives 0, which is the mean, and is not
// counted.
class Moments {
 public:
  static constexpr bool missing = true;  // NaN is a missing value
  static constexpr double middle = 0;    // of scaled values
  explicit Moments(std::size_t columns) : columns_(columns) {}

  double scaled(std::size_t j, double x) const { return columns_[j].scaled(x); }
  double unscaled(std::size_t j, double z) const { return columns_[j].unscaled(z); }
  void next_row() { ++rows_; }
  void count(std::size_t j, double x) {
    if (!std::isnan(x)) columns_[j].add(x);
  }
  void widen(std::size_t columns) { columns_.resize(columns); }
  void fields(Fields& io) {
    io.field("rows", rows_, {Merged::Sum});
    if (io.measuring()) return io.scratch(bytes_of(columns_));
    if (io.restoring()) sound_ = true;
    for (const auto& [name, part, merged] : Spread::parts) field(io, name, part, merged);
  }
  bool is_consistent(std::size_t columns) const {
    return sound_ && columns_.size() == columns && rows_ >= 0 && std::isfinite(rows_) &&
           std::all_of(columns_.begin(), columns_.end(), [](const Spread& c) { return c.is_consistent(); });
  }

 private:
  void field(Fields& io, const char* name, double Spread::* part, Merged merged) {
    std::vector<double> values;
    for (const Spread& column : columns_) values.push_back(column.*part);
    io.field(name, values, {merged});
    if (!io.restoring()) return;
    if (part == std::get<1>(Spread::parts[0])) columns_.resize(values.size());
    sound_ = sound_ && values.size() == columns_.size();
    for (std::size_t j = 0; j < values.size() && sound_; ++j) columns_[j].*part = values[j];
  }

  double rows_ = 0;
  std::vector<Spread> columns_;
  bool sound_ = true;  // the restored fields are equally long
};

// x / root mean square, for sparse rows: 0 stays 0. NaN gives 0 and is not counted. Limits and units are those of
// `Spread`, with 0 in place of the mean. A 0 is evidence of nothing.
class Squares {
 public:
  static constexpr bool missing = true;  // NaN is a missing value
  explicit Squares(std::size_t columns) { widen(columns); }

  double scaled(std::size_t j, double x) const {
    return squares_[j] > 0 && !std::isnan(x) ? x / std::sqrt(squares_[j] / (rows_ - missing_[j])) : 0;
  }
  double unscaled(std::size_t j, double z) const {
    return squares_[j] > 0 ? z * std::sqrt(squares_[j] / (rows_ - missing_[j])) : 0;
  }
  void next_row() { ++rows_; }
  void count(std::size_t j, double x) {
    if (std::isnan(x))
      ++missing_[j];
    else if (x != 0)
      add(j, x);
  }
  void widen(std::size_t columns) {
    missing_.resize(columns, rows_);
    for (const auto& [name, part, merged] : parts) (this->*part).resize(columns);
  }
  void fields(Fields& io) {
    io.field("rows", rows_, {Merged::Sum});
    for (const auto& [name, part, merged] : parts) io.field(name, this->*part, {merged});
  }
  bool is_consistent(std::size_t columns) const {
    const auto possible = [&](const auto& part) {
      const std::vector<double>& values = this->*std::get<1>(part);
      return values.size() == columns && all_finite(values);
    };
    const auto none_negative = [](const std::vector<double>& v) {
      return std::all_of(v.begin(), v.end(), [](double x) { return x >= 0; });
    };
    return rows_ >= 0 && std::isfinite(rows_) && std::all_of(std::begin(parts), std::end(parts), possible) &&
           none_negative(squares_) && none_negative(missing_) &&
           std::all_of(missing_.begin(), missing_.end(), [&](double v) { return v <= rows_; });
  }

 private:
  double rows_ = 0;
  std::vector<double> missing_, squares_;
  std::vector<double> before_, later_;  // the sum of the last rows, and the number of rows before them, not 0
  std::vector<double> evidence_, last_, until_, reach_;  // as in `Spread`; reach is squared
  static constexpr NamedPart<std::vector<double> Squares::*> parts[] = {
      {"missing", &Squares::missing_, Merged::Sum},       {"squares", &Squares::squares_, Merged::Sum},
      {"later.before", &Squares::before_, Merged::Own},   {"later.squares", &Squares::later_, Merged::Restart},
      {"evidence", &Squares::evidence_, Merged::Restart}, {"last", &Squares::last_, Merged::Restart},
      {"until", &Squares::until_, Merged::Restart},       {"reach", &Squares::reach_, Merged::Most},
  };

  // The number of values before that of this row.
  double counted(std::size_t j) const { return rows_ - 1 - missing_[j]; }

  void add(std::size_t j, double x) {
    if (before_[j] == 0 && counted(j) >= 2 * first_values) end_start(j);
    const double n = counted(j), square = x * x, known = is_known(j, x) ? last_[j] * last_[j] : 0;
    if (before_[j] > 0) {
      if (judge(j, x)) return;
    } else if (n >= first_values) {
      later_[j] = added(later_[j], square);
    }
    if (n < first_values || squares_[j] == 0) {
      reach_[j] = std::max(reach_[j], square);
      squares_[j] = added(squares_[j], square);
    } else {
      const double full = evidence_[j] > 1 ? reach_[j] : std::max(reach_[j], known);
      squares_[j] = added(squares_[j], std::min(square, std::max(full, square_limit(squares_[j], n))));
    }
  }
  // Whether x is far, and another far value of its sign came among the last values.
  bool is_known(std::size_t j, double x) const {
    const double n = counted(j);
    return n <= until_[j] && x * last_[j] > 0 && x != last_[j] && beyond(x * x, squares_[j], n);
  }
  // Called once: by the first value after the first 32 that is not 0.
  void end_start(std::size_t j) {
    if (later_[j] > 0 && 2 * far_squared * later_[j] < squares_[j]) take_later(j, counted(j) - first_values);
    before_[j] = 1;
    later_[j] = 0;
  }
  // Takes x as evidence. Whether the statistics became those of the last rows, this one among them.
  bool judge(std::size_t j, double x) {
    const double n = counted(j);
    if (beyond(x * x, squares_[j], n)) {
      if (evidence_[j] == 0) before_[j] = n, later_[j] = 0;
      if (x != last_[j]) ++evidence_[j];
      last_[j] = x;
      until_[j] = n + soon;
    } else if (evidence_[j] > 0) {
      --evidence_[j];
    } else {
      return false;
    }
    later_[j] = added(later_[j], x * x);
    if (evidence_[j] < enough_evidence) return false;
    take_later(j, n - before_[j]);
    return true;
  }
  // The statistics become those of the last rows: this many before this row.
  void take_later(std::size_t j, double count) {
    missing_[j] = rows_ - 1 - count;
    squares_[j] = later_[j];
    evidence_[j] = later_[j] = until_[j] = reach_[j] = 0;
  }
};

// (x - least) / (largest - least), for dense rows.
class Range {
 public:
  static constexpr bool missing = false;
  static constexpr double middle = 0.5;
  explicit Range(std::size_t columns) : least_(columns, INFINITY), largest_(columns, -INFINITY) {}

  double scaled(std::size_t j, double x) const {
    const double width = largest_[j] - least_[j];
    return width > 0 ? (x - least_[j]) / width : 0;
  }
  double unscaled(std::size_t j, double z) const {
    return largest_[j] >= least_[j] ? least_[j] + z * (largest_[j] - least_[j]) : 0;
  }
  void next_row() { ++rows_; }
  void count(std::size_t j, double x) {
    least_[j] = std::min(least_[j], x);
    largest_[j] = std::max(largest_[j], x);
  }
  void widen(std::size_t columns) {
    least_.resize(columns, INFINITY);
    largest_.resize(columns, -INFINITY);
  }
  void fields(Fields& io) {
    io.field("rows", rows_, {Merged::Sum});
    io.field("least", least_, {Merged::Least});
    io.field("largest", largest_, {Merged::Most});
  }
  bool is_consistent(std::size_t columns) const { return least_.size() == columns && largest_.size() == columns; }

 private:
  double rows_ = 0;
  std::vector<double> least_, largest_;
};

// x / largest absolute value, for sparse rows.
class Largest {
 public:
  static constexpr bool missing = false;
  explicit Largest(std::size_t columns) : largest_(columns) {}

  double scaled(std::size_t j, double x) const { return largest_[j] > 0 ? x / largest_[j] : 0; }
  double unscaled(std::size_t j, double z) const { return z * largest_[j]; }
  void next_row() { ++rows_; }
  void count(std::size_t j, double x) { largest_[j] = std::max(largest_[j], std::abs(x)); }
  void widen(std::size_t columns) { largest_.resize(columns); }
  void fields(Fields& io) {
    io.field("rows", rows_, {Merged::Sum});
    io.field("largest", largest_, {Merged::Most});
  }
  bool is_consistent(std::size_t columns) const { return largest_.size() == columns; }

 private:
  double rows_ = 0;
  std::vector<double> largest_;
};

// A scaled value of a transform; standardised ones are at most 10 deviations, so that a learner can bear an absurd
// value.
template <class Scale>
double transformed(const Scale& scale, std::size_t j, double x) {
  const double most = Scale::missing ? 10.0 : std::numeric_limits<double>::infinity();
  return std::clamp(scale.scaled(j, x), -most, most);
}

// Writes the scaled rows to `out`, one number per stored value. RowKind is DenseRow<T> or SparseRow<T>.
template <class RowKind, class Scale, class T>
void scale_rows(const Scale& scale, const Rows& rows, T* out) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::get<RowKind>(rows[i]).each(
        [&](std::size_t j, double x) { *out++ = static_cast<T>(transformed(scale, j, x)); });
}

// The same; after scaling, each row is added to the statistics.
template <class RowKind, class Scale, class T>
void scale_and_count(Scale& scale, const Rows& rows, T* out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowKind row = std::get<RowKind>(rows[i]);
    row.each([&](std::size_t j, double x) { *out++ = static_cast<T>(transformed(scale, j, x)); });
    scale.next_row();
    row.each([&](std::size_t j, double x) { scale.count(j, x); });
  }
}

}  // namespace budgetron
