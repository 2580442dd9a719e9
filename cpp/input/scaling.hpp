// Running scaling of columns. A row is scaled by the statistics of the rows before it, and then added to them. A column
// without a scale so far (constant, or all zeros) gives 0.
//
// Each column is summed in row order, so results do not depend on how a stream is split into blocks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "input/rows.hpp"
#include "state/fields.hpp"

namespace budgetron {

// Sums stay finite: at this size all digits that differ have been lost anyway.
inline double added(double sum, double more) { return std::min(sum + more, std::numeric_limits<double>::max()); }

// Whether restored sums can be those of this many rows.
inline bool possible_sums(double rows, const std::vector<double>& missing, const std::vector<double>& squares,
                          std::size_t columns) {
  const auto none_negative = [](double v) { return v >= 0; };
  return rows >= 0 && std::isfinite(rows) && missing.size() == columns && squares.size() == columns &&
         all_finite(squares) && std::all_of(squares.begin(), squares.end(), none_negative) &&
         std::all_of(missing.begin(), missing.end(), [&](double v) { return v >= 0 && v <= rows; });
}

// (x - mean) / standard deviation, for dense rows (Welford 1962). NaN is a missing value: it gives 0, which is the
// mean, and is not counted.
class Moments {
 public:
  static constexpr bool missing = true;  // NaN is a missing value
  explicit Moments(std::size_t columns) : missing_(columns), mean_(columns), squares_(columns) {}

  double scaled(std::size_t j, double x) const {
    return squares_[j] > 0 && !std::isnan(x) ? (x - mean_[j]) / deviation(j) : 0;
  }
  void next_row() { ++rows_; }
  void count(std::size_t j, double x) {
    if (std::isnan(x)) {
      ++missing_[j];
      return;
    }
    const double d = x - mean_[j];
    mean_[j] += d / (rows_ - missing_[j]);
    squares_[j] = added(squares_[j], d * (x - mean_[j]));
  }
  double deviation(std::size_t j) const { return std::sqrt(squares_[j] / (rows_ - missing_[j])); }
  // New columns were missing so far.
  void widen(std::size_t columns) {
    missing_.resize(columns, rows_);
    mean_.resize(columns);
    squares_.resize(columns);
  }
  void fields(Fields& io) {
    io.field("rows", rows_);
    io.field("missing", missing_);
    io.field("mean", mean_);
    io.field("squares", squares_);  // sums of squares about the mean
  }
  bool is_consistent(std::size_t columns) const {
    return mean_.size() == columns && possible_sums(rows_, missing_, squares_, columns) && all_finite(mean_);
  }

 private:
  double rows_ = 0;
  std::vector<double> missing_, mean_, squares_;
};

// x / root mean square, for sparse rows: 0 stays 0. NaN gives 0 and is not counted.
class Squares {
 public:
  static constexpr bool missing = true;  // NaN is a missing value
  explicit Squares(std::size_t columns) : missing_(columns), squares_(columns) {}

  double scaled(std::size_t j, double x) const {
    return squares_[j] > 0 && !std::isnan(x) ? x / std::sqrt(squares_[j] / (rows_ - missing_[j])) : 0;
  }
  void next_row() { ++rows_; }
  void count(std::size_t j, double x) {
    if (std::isnan(x))
      ++missing_[j];
    else
      squares_[j] = added(squares_[j], x * x);
  }
  void widen(std::size_t columns) {
    missing_.resize(columns, rows_);
    squares_.resize(columns);
  }
  void fields(Fields& io) {
    io.field("rows", rows_);
    io.field("missing", missing_);
    io.field("squares", squares_);
  }
  bool is_consistent(std::size_t columns) const { return possible_sums(rows_, missing_, squares_, columns); }

 private:
  double rows_ = 0;
  std::vector<double> missing_, squares_;
};

// (x - least) / (largest - least), for dense rows.
class Range {
 public:
  static constexpr bool missing = false;
  explicit Range(std::size_t columns) : least_(columns, INFINITY), largest_(columns, -INFINITY) {}

  double scaled(std::size_t j, double x) const {
    const double width = largest_[j] - least_[j];
    return width > 0 ? (x - least_[j]) / width : 0;
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
    io.field("rows", rows_);
    io.field("least", least_);
    io.field("largest", largest_);
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
  void next_row() { ++rows_; }
  void count(std::size_t j, double x) { largest_[j] = std::max(largest_[j], std::abs(x)); }
  void widen(std::size_t columns) { largest_.resize(columns); }
  void fields(Fields& io) {
    io.field("rows", rows_);
    io.field("largest", largest_);
  }
  bool is_consistent(std::size_t columns) const { return largest_.size() == columns; }

 private:
  double rows_ = 0;
  std::vector<double> largest_;
};

// Writes the scaled rows to `out`, one number per stored value. RowKind is DenseRow<T> or SparseRow<T>.
template <class RowKind, class Scale, class T>
void scale_rows(const Scale& scale, const Rows& rows, T* out) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::get<RowKind>(rows[i]).each([&](std::size_t j, double x) { *out++ = static_cast<T>(scale.scaled(j, x)); });
}

// The same; after scaling, each row is added to the statistics.
template <class RowKind, class Scale, class T>
void scale_and_count(Scale& scale, const Rows& rows, T* out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowKind row = std::get<RowKind>(rows[i]);
    row.each([&](std::size_t j, double x) { *out++ = static_cast<T>(scale.scaled(j, x)); });
    scale.next_row();
    row.each([&](std::size_t j, double x) { scale.count(j, x); });
  }
}

}  // namespace budgetron
