// The support vectors s_1 .. s_n, and the one reduction over features that a kernel needs of (x, s_i), for all i at
// once.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "fields.hpp"
#include "loops.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace budgetron {

class SupportSet : public Part {
 public:
  virtual std::size_t size() const = 0;
  // How many numbers a buffer for one row over the support vectors must hold (size() rounded up to whole lanes).
  virtual std::size_t padded() const = 0;
  virtual double norm(const Row&) const = 0;
  virtual Vector norms() const = 0;  // padded() of them
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
template <class T>
class FeatureMajor final : public SupportSet {
 public:
  FeatureMajor(std::size_t features, const Reduction<T>& reduction) : features_(features), reduction_(reduction) {}

  std::size_t size() const override { return static_cast<std::size_t>(n_); }
  std::size_t padded() const override { return (size() + lanes - 1) / lanes * lanes; }
  Vector norms() const override { return Vector(norms_).first(padded()); }

  double norm(const Row& x) const override {
    return as_stored(x, [&](const auto& row) { return reduction_.norm(row.values, row.size()); });
  }

  void reduce(const Row& x, std::span<double> r) const override {
    assert(r.size() >= padded());
    as_stored(x, [&](const auto& row) { reduce_row(row, r); });
  }

  void reduce(std::size_t i, std::span<double> r) const override {
    std::vector<T> s(features_);
    for (std::size_t j = 0; j < features_; ++j) s[j] = values_[j * stride_ + i];
    reduce_row(DenseRow<T>{s.data(), features_}, r);
  }

  void append(const Row& x, double norm) override {
    if (size() == stride_) widen(2 * stride_ + 2 * lanes);
    write(n_++, x, norm);
  }

  void replace(std::size_t i, const Row& x, double norm) override {
    clear(i);
    write(i, x, norm);
  }

  void remove(std::size_t i) override {
    const std::size_t last = size() - 1;
    for (std::size_t j = 0; j < features_; ++j) values_[j * stride_ + i] = values_[j * stride_ + last];
    clear(last);
    norms_[i] = norms_[last];
    --n_;
  }

  void copy(std::size_t i, std::span<double> out) const override {
    for (std::size_t j = 0; j < features_; ++j) out[j] = static_cast<double>(values_[j * stride_ + i]);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.field("support.n", n_);
    io.field("support.values", values_);
    io.field("support.norms", norms_);
    if (io.restoring()) stride_ = norms_.size();
  }

  bool fits(std::size_t n) const override {
    const bool sized =
        features_ == 0 ? values_.empty() : values_.size() % features_ == 0 && values_.size() / features_ == stride_;
    const auto possible = [](double norm) { return norm >= 0 && std::isfinite(norm); };
    return n_ == n && n <= stride_ && stride_ % lanes == 0 && sized && all_finite(values_) &&
           std::all_of(norms_.begin(), norms_.end(), possible);
  }

 private:
  // Hands x to use; a row of the other precision is converted first, as if it had come in this one.
  template <class Use>
  static auto as_stored(const Row& x, Use use) {
    return std::visit(
        [&](const auto& row) {
          using Value = std::remove_cvref_t<decltype(*row.values)>;
          if constexpr (std::is_same_v<Value, T>) {
            return use(row);
          } else {
            const std::vector<T> converted(row.values, row.values + row.size());
            return use(row.with(converted.data()));
          }
        },
        x);
  }

  void reduce_row(const DenseRow<T>& x, std::span<double> r) const {
    reduction_.dense(x.values, x.columns, values_.data(), stride_, padded(), r.data());
  }

  void reduce_row(const SparseRow<T>& x, std::span<double> r) const {
    reduction_.sparse(x.values, x.indices, x.nonzeros, values_.data(), stride_, padded(), norms_.data(), size(),
                      r.data());
  }

  void write(std::size_t i, const Row& x, double norm) {
    norms_[i] = norm;
    std::visit(
        [&](const auto& row) {
          row.each([&](std::size_t j, auto v) { values_[j * stride_ + i] = static_cast<T>(v); });
        },
        x);
  }

  void clear(std::size_t i) {
    for (std::size_t j = 0; j < features_; ++j) values_[j * stride_ + i] = 0;
  }

  // Strides are 16, 48, 112 ..., never a power of 2: values of one support vector would then share few cache lines.
  void widen(std::size_t stride) {
    std::vector<T> wider(features_ * stride);
    for (std::size_t j = 0; j < features_; ++j)
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(j * stride_), size(),
                  wider.begin() + static_cast<std::ptrdiff_t>(j * stride));
    values_ = std::move(wider);
    norms_.resize(stride);
    stride_ = stride;
  }

  std::size_t features_;
  const Reduction<T>& reduction_;
  Counter n_ = 0;
  std::size_t stride_ = 0;
  std::vector<T> values_;      // features x stride
  std::vector<double> norms_;  // stride of them
};

}  // namespace budgetron
