// Support vectors in feature-major order: the values of feature j of all support vectors are contiguous. A row then
// costs one fused pass over the support vectors per feature, without horizontal sums, and a sparse row visits only its
// nonzero features.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "input/rows.hpp"
#include "simd/loops.hpp"
#include "state/fields.hpp"
#include "support/support_set.hpp"

namespace budgetron {

template <class T>
class FeatureMajor final : public SupportSet {
 public:
  FeatureMajor(std::size_t features, const Reduction<T>& reduction) : features_(features), reduction_(reduction) {}

  std::size_t size() const override { return static_cast<std::size_t>(n_); }
  std::size_t padded() const override { return whole_lanes<T>(size()); }
  std::size_t features() const { return features_; }
  std::span<const T> norms() const { return std::span<const T>(norms_).first(padded()); }
  const Reduction<T>& reduction() const { return reduction_; }

  double norm(const Row& x) const override {
    return as_stored(x, [&](const auto& row) { return static_cast<double>(norm_of(row)); });
  }
  double norm(std::size_t i) const override { return static_cast<double>(norms_[i]); }

  double kernel_row(const Row& x, const Finish& kernel, std::span<double> k) const override {
    return as_stored(x, [&](const auto& row) { return finish(row, norm_of(row), kernel, k); });
  }

  void kernel_row(std::size_t i, const Finish& kernel, std::span<double> k) const override {
    std::vector<T> s(features_);
    take(i, s.data());
    finish(DenseRow<T>{s.data(), features_}, norms_[i], kernel, k);
  }

  std::unique_ptr<Ahead> ahead(const Rows&, std::size_t length) const override;

  // The reductions of a feature-major block of rows.
  void reduce(const T* x, std::size_t x_stride, std::size_t rows, T* r, std::size_t r_stride) const {
    reduction_.block(x, x_stride, rows, features_, values_.data(), stride_, padded(), r, r_stride);
  }

  // The number of changes so far, and the slot of change number c, which is one of the last `remembered`.
  static constexpr std::size_t remembered = 16;
  Counter changes() const { return changes_; }
  std::size_t changed(Counter c) const { return changed_[c % remembered]; }

  // Support vector i as a row.
  void take(std::size_t i, T* out) const {
    for (std::size_t j = 0; j < features_; ++j) out[j] = values_[j * stride_ + i];
  }

  void append(const Row& x, double norm) override {
    if (size() == stride_) restride(next(stride_));
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
    note_change(i);
    --n_;
  }

  void copy(std::size_t i, std::span<double> out) const override {
    for (std::size_t j = 0; j < features_; ++j) out[j] = static_cast<double>(values_[j * stride_ + i]);
  }

  void widen(std::size_t features) override {
    values_.resize(features * stride_);
    features_ = features;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.field("support.n", n_);
    io.field("support.values", values_);
    io.field("support.norms", norms_);
    if (io.restoring()) stride_ = norms_.size();
  }

  bool is_consistent(std::size_t n) const override {
    const bool sized =
        features_ == 0 ? values_.empty() : values_.size() % features_ == 0 && values_.size() / features_ == stride_;
    const auto possible = [](T norm) { return norm >= 0 && std::isfinite(norm); };
    return n_ == n && n <= stride_ && stride_ % lanes_of<T> == 0 && sized && all_finite(values_) &&
           std::all_of(norms_.begin(), norms_.end(), possible);
  }

 private:
  // Calls use(x). A row of the other precision is first converted, as if it had been passed in this one.
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

  T norm_of(const DenseRow<T>& x) const { return reduction_.norm(x.values, x.columns); }
  T norm_of(const SparseRow<T>& x) const { return reduction_.sparse_norm(x.values, x.indices, x.nonzeros); }

  template <class AnyRow>
  double finish(const AnyRow& x, T norm, const Finish& kernel, std::span<double> k) const {
    assert(k.size() >= padded());
    with_room<T>(k, padded(), [&](std::span<T> r) {
      reduce_row(x, r.data());
      kernel.finish(Reduced<T>{r, norms(), norm}, k);
    });
    return static_cast<double>(norm);
  }

  void reduce_row(const DenseRow<T>& x, T* r) const { reduce(x.values, 1, 1, r, 0); }

  void reduce_row(const SparseRow<T>& x, T* r) const {
    reduction_.sparse(x.values, x.indices, x.nonzeros, values_.data(), stride_, padded(), norms_.data(), r);
  }

  void write(std::size_t i, const Row& x, double norm) {
    norms_[i] = static_cast<T>(norm);
    note_change(i);
    std::visit(
        [&](const auto& row) {
          row.each([&](std::size_t j, auto v) { values_[j * stride_ + i] = static_cast<T>(v); });
        },
        x);
  }

  void note_change(std::size_t i) { changed_[++changes_ % remembered] = i; }

  void clear(std::size_t i) {
    for (std::size_t j = 0; j < features_; ++j) values_[j * stride_ + i] = 0;
  }

  // Grows by an eighth, so that little room is left over. Never a multiple of 64, because then the values of one
  // support vector would compete for few cache lines.
  static std::size_t next(std::size_t stride) {
    constexpr std::size_t step = lanes_of<T>;
    const std::size_t wider = stride + std::max(2 * step, stride / (8 * step) * step);
    return wider % 64 == 0 ? wider + step : wider;
  }

  void restride(std::size_t stride) {
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
  std::vector<T> values_;  // features x stride
  std::vector<T> norms_;   // length stride_
  Counter changes_ = 0;
  std::array<std::size_t, remembered> changed_{};  // slots, by the number of the change
};

}  // namespace budgetron
