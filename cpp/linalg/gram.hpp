// The Gram matrix K of the support vectors, K_ij = k(s_i, s_j), updated as support vectors are appended, removed and
// replaced.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// A square matrix that grows.
class SquareMatrix {
 public:
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  std::size_t stride() const { return stride_; }
  std::span<double> operator[](std::size_t i) { return {values_.data() + i * stride_, size()}; }
  Vector operator[](std::size_t i) const { return {values_.data() + i * stride_, size()}; }

  // Adds a row and a column, uninitialised.
  void make_room() {
    if (size() == stride_) widen(next(stride_));
    ++n_;
  }

  // Adds a row and a column of zeros.
  void grow() {
    make_room();
    for (std::size_t i = 0; i < size(); ++i) (*this)[i][size() - 1] = (*this)[size() - 1][i] = 0;
  }

  void drop_last() { --n_; }

  // n rows and columns, uninitialised.
  void remake(std::size_t n) {
    while (size() < n) make_room();
    while (size() > n) drop_last();
  }

  // Removes row and column i; the last ones move there.
  void remove(std::size_t i) {
    const std::size_t last = size() - 1;
    for (std::size_t j = 0; j < last; ++j) (*this)[i][j] = (*this)[j][i] = (*this)[last][j];
    (*this)[i][i] = (*this)[last][last];
    drop_last();
  }

  // out = A v
  void multiply(Vector v, std::span<double> out) const {
    for (std::size_t i = 0; i < size(); ++i) out[i] = dot((*this)[i], v);
  }

  void fields(Fields& io, const char* size_name, const char* values_name) {
    io.field(size_name, n_);
    io.field(values_name, values_);
    if (!io.restoring()) return;
    stride_ = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(values_.size()))));
  }

  bool is_consistent(std::size_t n) const { return n_ == n && n <= stride_ && stride_ * stride_ == values_.size(); }
  bool finite() const { return all_finite(values_); }
  Bytes bytes() const { return bytes_of(values_); }

 private:
  // Steps of eight up to 512, then of a thirty-second, so that little room is left over. Never a multiple of 64,
  // because then the entries of one column would compete for few cache lines.
  static std::size_t next(std::size_t stride) {
    const std::size_t wider = stride + std::max<std::size_t>(8, stride / 256 * 8);
    return wider % 64 == 0 ? wider + 8 : wider;
  }

  void widen(std::size_t stride) {
    std::vector<double> wider(stride * stride);
    for (std::size_t i = 0; i < size(); ++i)
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(i * stride_), size(),
                  wider.begin() + static_cast<std::ptrdiff_t>(i * stride));
    values_ = std::move(wider);
    stride_ = stride;
  }

  Counter n_ = 0;
  std::size_t stride_ = 0;
  std::vector<double> values_;  // stride x stride
};

class Gram {
 public:
  std::size_t size() const { return K_.size(); }
  Vector operator[](std::size_t i) const { return K_[i]; }
  Vector diagonal() const { return diagonal_; }
  void multiply(Vector v, std::span<double> out) const { K_.multiply(v, out); }

  void append(Vector k, double kxx) {
    assert(k.size() == size());
    K_.make_room();
    push(diagonal_, kxx);
    write(size() - 1, k, kxx);
  }

  // k[i] still holds the kernel value with the support vector that is replaced.
  void replace(std::size_t i, Vector k, double kxx) {
    assert(k.size() == size());
    write(i, k, kxx);
  }

  // Removes support vector i; the last one moves to its slot.
  void remove(std::size_t i) {
    K_.remove(i);
    diagonal_[i] = diagonal_.back();
    diagonal_.pop_back();
  }

  void fields(Fields& io, const std::string& name = "gram") {
    K_.fields(io, (name + ".n").c_str(), (name + ".values").c_str());
    io.field((name + ".diagonal").c_str(), diagonal_);
  }
  bool is_consistent(std::size_t n) const {
    if (!K_.is_consistent(n) || !K_.finite() || diagonal_.size() != n) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (K_[i][i] != diagonal_[i]) return false;
    return true;
  }

 private:
  void write(std::size_t i, Vector k, double kxx) {
    for (std::size_t j = 0; j < k.size(); ++j) K_[i][j] = K_[j][i] = k[j];
    K_[i][i] = diagonal_[i] = kxx;
  }

  SquareMatrix K_;
  std::vector<double> diagonal_;
};

}  // namespace budgetron
