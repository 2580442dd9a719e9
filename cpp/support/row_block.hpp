// A block of dense rows, transposed so that the loops can read several rows at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "input/rows.hpp"
#include "simd/loops.hpp"

namespace budgetron {

// Dense rows in feature-major order, padded with rows of zeros to a multiple of the lane count.
template <class T>
class RowBlock {
 public:
  template <class U>
  void take(const DenseRows<U>& rows, std::size_t first, std::size_t count) {
    stride_ = (count + single_lanes - 1) / single_lanes * single_lanes;
    values_.resize(stride_ * rows.columns);
    if (count < stride_) std::fill(values_.begin(), values_.end(), T{0});
    for (std::size_t a = 0; a < count; a += lanes)
      transpose(rows.values + (first + a) * rows.columns, std::min(lanes, count - a), rows.columns, &values_[a]);
  }

  std::size_t stride() const { return stride_; }
  const T* from(std::size_t a) const { return values_.data() + a; }

 private:
  template <class U>
  void transpose(const U* x, std::size_t rows, std::size_t columns, T* out) const {
    if (rows < lanes) return transpose_some(x, rows, columns, out);
    if constexpr (std::is_same_v<U, double> && std::is_same_v<T, double>)
      return loops->transpose(x, columns, out, stride_);
    if constexpr (std::is_same_v<U, float> && std::is_same_v<T, float>)
      return loops->transpose_single(x, columns, out, stride_);
    for (std::size_t j = 0; j < columns; ++j, out += stride_)
      for (std::size_t a = 0; a < lanes; ++a) out[a] = static_cast<T>(x[a * columns + j]);
  }
  template <class U>
  void transpose_some(const U* x, std::size_t rows, std::size_t columns, T* out) const {
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t j = 0; j < columns; ++j) out[j * stride_ + a] = static_cast<T>(x[a * columns + j]);
  }

  std::size_t stride_ = 0;
  std::vector<T> values_;  // columns x stride
};

}  // namespace budgetron
