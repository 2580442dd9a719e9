// Views of input rows in the caller's memory: dense or compressed sparse, single or double precision, never copied.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "simd/vectors.hpp"

namespace budgetron {

template <class T>
struct DenseRow {
  static constexpr bool sparse = false;
  const T* values;
  std::size_t columns;

  std::size_t size() const { return columns; }
  template <class U>
  DenseRow<U> with(const U* other) const {
    return {other, columns};
  }
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t j = 0; j < columns; ++j) visit(j, values[j]);
  }
};

// Nonzeros, sorted by column.
template <class T>
struct SparseRow {
  static constexpr bool sparse = true;
  const T* values;
  const std::int32_t* indices;
  std::size_t nonzeros;

  std::size_t size() const { return nonzeros; }
  template <class U>
  SparseRow<U> with(const U* other) const {
    return {other, indices, nonzeros};
  }
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < nonzeros; ++i) visit(static_cast<std::size_t>(indices[i]), values[i]);
  }
};

using Row = std::variant<DenseRow<float>, DenseRow<double>, SparseRow<float>, SparseRow<double>>;

template <class T>
struct DenseRows {
  using Value = T;
  static constexpr bool sparse = false;
  const T* values;
  std::size_t rows, columns;

  std::size_t size() const { return rows; }
  Row operator[](std::size_t i) const { return DenseRow<T>{values + i * columns, columns}; }
  DenseRows slice(std::size_t first, std::size_t last) const {
    return {values + first * columns, last - first, columns};
  }
};

template <class T>
struct SparseRows {
  using Value = T;
  static constexpr bool sparse = true;
  const T* values;
  const std::int32_t* indices;
  const std::int64_t* starts;  // length size() + 1
  std::size_t rows, columns;

  std::size_t size() const { return rows; }
  Row operator[](std::size_t i) const {
    return SparseRow<T>{values + starts[i], indices + starts[i], static_cast<std::size_t>(starts[i + 1] - starts[i])};
  }
  SparseRows slice(std::size_t first, std::size_t last) const {
    return {values, indices, starts + first, last - first, columns};
  }
};

// A batch of rows of any of the four kinds.
class Rows {
 public:
  using View = std::variant<DenseRows<float>, DenseRows<double>, SparseRows<float>, SparseRows<double>>;
  Rows(View view) : Rows(view, view) {}
  // Rows that were scaled, and what they were before.
  Rows(View view, View original) : view_(view), original_(original), id_(++views_made) {}
  const View& view() const { return view_; }
  // The rows as the caller gave them.
  Rows original() const { return Rows(original_); }
  // Rows first .. last.
  Rows slice(std::size_t first, std::size_t last) const {
    const auto cut = [&](const View& whole) {
      return std::visit([&](const auto& v) { return View(v.slice(first, last)); }, whole);
    };
    return Rows(cut(view_), cut(original_));
  }
  // A number of its own for every view, so that work on a view can be remembered and shared. Copies keep it.
  std::uint64_t id() const { return id_; }

  bool sparse() const {
    return std::visit([](const auto& v) { return std::decay_t<decltype(v)>::sparse; }, view_);
  }
  std::size_t size() const {
    return std::visit([](const auto& v) { return v.size(); }, view_);
  }
  Row operator[](std::size_t i) const {
    return std::visit([i](const auto& v) { return v[i]; }, view_);
  }

 private:
  inline static std::atomic<std::uint64_t> views_made = 0;
  View view_, original_;
  std::uint64_t id_;
};

// Whether |x|^2 is small enough that |x - s|^2 = |x|^2 + |s|^2 - 2<x, s> cannot overflow.
template <class T>
bool not_too_large(T squares) {
  return std::isfinite(8 * squares);
}

// Whether the squared norm of a row is far enough from overflow in precision T. NaN is, if missing values are allowed.
template <class T, class Value>
bool squares(const Value* x, std::size_t count, bool missing = false) {
  if (missing) {
    T sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (!std::isnan(x[i])) sum += static_cast<T>(x[i]) * static_cast<T>(x[i]);
    return not_too_large(sum);
  }
  T sums[8] = {};  // eight accumulators, to shorten the dependency chain
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += static_cast<T>(x[i + k]) * static_cast<T>(x[i + k]);
  for (; i < count; ++i) sums[0] += static_cast<T>(x[i]) * static_cast<T>(x[i]);
  return not_too_large(((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])));
}

// Whether these are compressed rows: within their arrays and columns, and each row sorted without duplicates.
inline bool are_compressed_rows(const std::int32_t* indices, std::size_t nonzeros, const std::int64_t* starts,
                                std::size_t rows, std::size_t columns) {
  if (starts[0] != 0) return false;
  for (std::size_t i = 0; i < rows; ++i) {
    if (starts[i + 1] < starts[i] || starts[i + 1] > static_cast<std::int64_t>(nonzeros)) return false;
    std::int64_t before = -1;
    for (std::int64_t p = starts[i]; p < starts[i + 1]; before = indices[p++])
      if (indices[p] <= before || indices[p] >= static_cast<std::int64_t>(columns)) return false;
  }
  return true;
}

// The first row whose squared norm is too large; rows.size() if there is none.
template <class T>
std::size_t first_too_large(const Rows& rows, bool missing = false) {
  // If the squares of the whole batch have a finite sum, so have those of each row.
  if constexpr (std::is_same_v<T, double>) {
    Vector numbers;
    if (const auto* dense = std::get_if<DenseRows<double>>(&rows.view()))
      numbers = {dense->values, dense->rows * dense->columns};
    else if (const auto* sparse = std::get_if<SparseRows<double>>(&rows.view()))
      numbers = {sparse->values + sparse->starts[0], sparse->values + sparse->starts[sparse->rows]};
    if (!numbers.empty() && not_too_large(dot(numbers, numbers))) return rows.size();
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!std::visit([&](const auto& row) { return squares<T>(row.values, row.size(), missing); }, rows[i])) return i;
  return rows.size();
}

}  // namespace budgetron
