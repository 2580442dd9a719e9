// Rows of input as they lie in the caller's memory: dense or compressed sparse, single or double precision, never
// copied.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>

namespace budgetron {

template <class T>
struct DenseRow {
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

// Nonzeros in order of their columns.
template <class T>
struct SparseRow {
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
  const T* values;
  std::size_t rows, columns;

  std::size_t size() const { return rows; }
  Row operator[](std::size_t i) const { return DenseRow<T>{values + i * columns, columns}; }
};

template <class T>
struct SparseRows {
  const T* values;
  const std::int32_t* indices;
  const std::int64_t* starts;  // size() + 1 of them
  std::size_t rows, columns;

  std::size_t size() const { return rows; }
  Row operator[](std::size_t i) const {
    return SparseRow<T>{values + starts[i], indices + starts[i], static_cast<std::size_t>(starts[i + 1] - starts[i])};
  }
};

// Many rows, of any of the four kinds.
class Rows {
 public:
  template <class View>
  Rows(View view) : view_(view) {}

  std::size_t size() const {
    return std::visit([](const auto& v) { return v.size(); }, view_);
  }
  Row operator[](std::size_t i) const {
    return std::visit([i](const auto& v) { return v[i]; }, view_);
  }

 private:
  std::variant<DenseRows<float>, DenseRows<double>, SparseRows<float>, SparseRows<double>> view_;
};

// The first row whose squared norm is not finite in the given precision; rows.size() if there is none.
template <class T>
std::size_t first_too_large(const Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double sum = 0;
    std::visit(
        [&](const auto& row) {
          row.each([&](std::size_t, double v) {
            sum += static_cast<double>(static_cast<T>(v)) * static_cast<double>(static_cast<T>(v));
          });
        },
        rows[i]);
    if (!std::isfinite(sum)) return i;
  }
  return rows.size();
}

}  // namespace budgetron
