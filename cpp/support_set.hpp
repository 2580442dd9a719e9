// The support vectors s_1 .. s_n, and the one reduction over features that a kernel needs of (x, s_i), for all i at
// once.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "fields.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace budgetron {

// <x, s> = sum_j x_j s_j, with norm |x|^2.
struct DotProduct {
  static double norm(double x) { return x * x; }
  static double start(double) { return 0.0; }
  static double dense(double x, double s) { return x * s; }
  static double sparse(double x, double s) { return x * s; }
};

// |x - s|_1 = sum_j |x_j - s_j|, with norm |x|_1. Of a sparse x only the nonzeros are visited: where x_j = 0 the term
// is |s_j|.
struct L1Distance {
  static double norm(double x) { return std::fabs(x); }
  static double start(double norm) { return norm; }
  static double dense(double x, double s) { return std::fabs(x - s); }
  static double sparse(double x, double s) { return std::fabs(x - s) - std::fabs(s); }
};

class SupportSet : public Part {
 public:
  virtual std::size_t size() const = 0;
  // How many numbers a buffer for one row over the support vectors must hold (size() rounded up to whole tiles).
  virtual std::size_t padded() const = 0;
  virtual double norm(const Row&) const = 0;
  virtual Row1 norms() const = 0;
  // r_i = the reduction of (x, s_i); r has room for padded() numbers. Each is summed in order of the features.
  virtual void reduce(const Row& x, std::span<double> r) const = 0;
  virtual void reduce(std::size_t i, std::span<double> r) const = 0;
  virtual void append(const Row& x, double norm) = 0;
  virtual void replace(std::size_t i, const Row& x, double norm) = 0;
  // The last one moves to place i.
  virtual void remove(std::size_t i) = 0;
  // Support vector i as dense numbers.
  virtual void copy(std::size_t i, std::span<double> out) const = 0;
};

// Feature-major: the values of feature j of all support vectors lie side by side, so that one row costs a fused pass
// over the support vectors per feature with no horizontal sums, and a sparse x touches only its nonzero features.
template <class T, class Reduction>
class FeatureMajor final : public SupportSet {
 public:
  explicit FeatureMajor(std::size_t features) : features_(features) {}

  std::size_t size() const override { return norms_.size(); }
  std::size_t padded() const override { return (size() + tile - 1) / tile * tile; }
  Row1 norms() const override { return norms_; }

  double norm(const Row& x) const override {
    double sum = 0;
    std::visit([&](const auto& row) { row.each([&](std::size_t, double v) { sum += Reduction::norm(stored(v)); }); },
               x);
    return sum;
  }

  void reduce(const Row& x, std::span<double> r) const override {
    assert(r.size() >= padded());
    std::visit([&](const auto& row) { reduce_tiles(row, r); }, x);
  }

  void reduce(std::size_t i, std::span<double> r) const override {
    std::vector<T> s(features_);
    for (std::size_t j = 0; j < features_; ++j) s[j] = values_[j * stride_ + i];
    reduce_tiles(DenseRow<T>{s.data(), features_}, r);
  }

  void append(const Row& x, double norm) override {
    if (size() == stride_) widen(std::max<std::size_t>(tile, 2 * stride_));
    norms_.push_back(norm);
    write(size() - 1, x);
  }

  void replace(std::size_t i, const Row& x, double norm) override {
    clear(i);
    norms_[i] = norm;
    write(i, x);
  }

  void remove(std::size_t i) override {
    const std::size_t last = size() - 1;
    for (std::size_t j = 0; j < features_; ++j) {
      values_[j * stride_ + i] = values_[j * stride_ + last];
      values_[j * stride_ + last] = 0;
    }
    norms_[i] = norms_[last];
    norms_.pop_back();
  }

  void copy(std::size_t i, std::span<double> out) const override {
    for (std::size_t j = 0; j < features_; ++j) out[j] = static_cast<double>(values_[j * stride_ + i]);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.field("support.values", values_);
    io.field("support.norms", norms_);
    stride_ = features_ == 0 ? 0 : values_.size() / features_;
  }

  bool fits(std::size_t n) const override {
    return values_.size() == stride_ * features_ && norms_.size() == n && n <= stride_ && stride_ % tile == 0;
  }

 private:
  static constexpr std::size_t tile = 16;

  // A number as this set keeps it: rows of another precision are read as if they had been converted first.
  static double stored(double v) { return static_cast<double>(static_cast<T>(v)); }

  template <class AnyRow>
  static constexpr bool is_dense = requires(AnyRow row) { row.columns; };

  template <class AnyRow>
  void reduce_tiles(const AnyRow& row, std::span<double> r) const {
    for (std::size_t first = 0; first < size(); first += tile) {
      double sums[tile] = {};
      row.each([&](std::size_t j, double value) {
        const double v = stored(value);
        const T* s = values_.data() + j * stride_ + first;
        for (std::size_t i = 0; i < tile; ++i)
          if constexpr (is_dense<AnyRow>)
            sums[i] += Reduction::dense(v, static_cast<double>(s[i]));
          else
            sums[i] += Reduction::sparse(v, static_cast<double>(s[i]));
      });
      for (std::size_t i = 0; i < tile; ++i) r[first + i] = sums[i];
    }
    if constexpr (!is_dense<AnyRow>)
      for (std::size_t i = 0; i < size(); ++i) r[i] += Reduction::start(norms_[i]);
  }

  void write(std::size_t i, const Row& x) {
    std::visit(
        [&](const auto& row) {
          row.each([&](std::size_t j, double v) { values_[j * stride_ + i] = static_cast<T>(v); });
        },
        x);
  }

  void clear(std::size_t i) {
    for (std::size_t j = 0; j < features_; ++j) values_[j * stride_ + i] = 0;
  }

  void widen(std::size_t stride) {
    std::vector<T> wider(features_ * stride);
    for (std::size_t j = 0; j < features_; ++j)
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(j * stride_), size(),
                  wider.begin() + static_cast<std::ptrdiff_t>(j * stride));
    values_ = std::move(wider);
    stride_ = stride;
  }

  std::size_t features_;
  std::size_t stride_ = 0;
  std::vector<T> values_;  // features x stride
  std::vector<double> norms_;
};

}  // namespace budgetron
