// The last rows learned, dense. Maps of cells draw their thresholds from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "input/rows.hpp"
#include "simd/loops.hpp"
#include "state/fields.hpp"

namespace budgetron {

// Cells look at the first columns only, so that memory is bounded however many columns come.
inline constexpr std::size_t most_columns = 1024;

// Writes the first columns of a row, as the caller gave it.
inline void make_dense(const Row& row, std::span<double> x) {
  std::visit(
      [&](const auto& values) {
        if constexpr (std::decay_t<decltype(values)>::sparse) {
          std::fill(x.begin(), x.end(), 0.0);
          values.each([&](std::size_t j, auto v) {
            if (j < x.size()) x[j] = static_cast<double>(v);
          });
        } else {
          for (std::size_t j = 0; j < x.size(); ++j)
            x[j] = j < values.columns ? static_cast<double>(values.values[j]) : 0;
        }
      },
      row);
}

class RecentRows {
 public:
  explicit RecentRows(std::size_t columns) : capacity_(columns <= 64 ? 256 : columns <= 128 ? 128 : 64) {
    widen(columns);
  }

  // The number of rows kept, a power of two.
  std::size_t capacity() const { return capacity_; }
  std::size_t columns() const { return columns_; }
  std::size_t size() const { return static_cast<std::size_t>(std::min<Counter>(learned_, capacity_)); }
  Counter learned() const { return learned_; }
  const double* operator[](std::size_t i) const { return values_.data() + i * columns_; }
  // The newest row has age 0.
  const double* of_age(std::size_t age) const {
    return (*this)[static_cast<std::size_t>((learned_ - 1 - age) % capacity_)];
  }

  void push(std::span<const double> x) {
    const auto at = static_cast<std::ptrdiff_t>(learned_ % capacity_ * columns_);
    if (learned_ < capacity_)
      values_.insert(values_.end(), x.begin(), x.end());
    else
      std::copy(x.begin(), x.end(), values_.begin() + at);
    ++learned_;
  }

  // The values of a column that are not missing, sorted.
  std::vector<double> sorted(std::size_t column) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < size(); ++i)
      if (const double v = (*this)[i][column]; !std::isnan(v)) values.push_back(v);
    std::sort(values.begin(), values.end());
    return values;
  }

  // What is known of every column without sorting it: its least and largest value, the number of values that are not
  // missing, and that of fractions. A number above 2^51 may count as a fraction.
  struct Extents {
    std::vector<double> low, high, numbers, fractions;
  };
  Extents extents() const {
    const std::vector<double> none(columns_);
    Extents e{none, none, none, none};
    loops->extents(values_.data(), size(), columns_, e.low.data(), e.high.data(), e.numbers.data(), e.fractions.data());
    return e;
  }

  // New columns are missing in the rows that are kept.
  void widen(std::size_t columns) {
    columns = std::min(columns, most_columns);
    if (columns <= columns_) return;
    std::vector<double> wide;
    for (std::size_t i = 0; i < size(); ++i) {
      wide.insert(wide.end(), (*this)[i], (*this)[i] + columns_);
      wide.insert(wide.end(), columns - columns_, std::numeric_limits<double>::quiet_NaN());
    }
    values_ = std::move(wide);
    columns_ = columns;
  }

  void fields(Fields& io) {
    io.field("recent.rows", values_, {Merged::Own});
    io.field("recent.learned", learned_, {Merged::Own});
  }
  bool is_consistent() const {
    return values_.size() == size() * columns_ && learned_ < ~Counter{0} / 2 &&
           std::none_of(values_.begin(), values_.end(), [](double v) { return std::isinf(v); });
  }

 private:
  std::size_t capacity_, columns_ = 0;
  std::vector<double> values_;  // row after row; the next one goes to learned_ % capacity_
  Counter learned_ = 0;
};

}  // namespace budgetron
