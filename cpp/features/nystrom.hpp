// The Nystrom map (Williams & Seeger 2001; Lu et al. 2016, Sec. 4.2): with K = V D V' the Gram matrix of the landmarks,
// z(x) = D_r^(-1/2) V_r' k(x) for the r leading eigenpairs.
//
// The landmarks come from the stream. Until the selection is complete, the coordinates are those of the orthonormal
// basis that Gram-Schmidt makes of the rows: a new row adds a coordinate, and functions are represented exactly. Then
// the map is built once, and functions are projected onto its span.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "features/feature_map.hpp"
#include "features/landmarks.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/eigen.hpp"
#include "linalg/limits.hpp"
#include "model/kernels.hpp"
#include "support/layouts.hpp"
#include "support/support_set.hpp"

namespace budgetron {

class Nystrom final : public FeatureMap {
 public:
  Nystrom(std::shared_ptr<const Kernel> kernel, std::size_t landmarks, std::size_t rank,
          std::shared_ptr<LandmarkSelection> selection, std::size_t features)
      : kernel_(std::move(kernel)),
        selection_(std::move(selection)),
        most_(landmarks),
        rank_(rank),
        features_(features),
        basis_(points_like_the_first()),
        candidates_(points_like_the_first()) {}

  std::size_t size() const override {
    return settled_ ? A_.size() / std::max<std::size_t>(candidates_->size(), 1) : basis_->size();
  }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    std::vector<double> padded(points().padded());
    const Vector k = Vector(padded).first(points().size());
    const auto kernel_rows = points().ahead(rows.rows, rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto z = Z.subspan(i * size(), size());
      kernel_rows->kernel_row(rows.first + i, *kernel_, padded);
      if (settled_)
        multiply(k, z);
      else
        span_.solve(k, z);
    }
  }

  double squared_norm(const Row& x, Vector z) const override {
    if (settled_) return dot(z, z);
    const bool part_of_it = candidates_->size() < most_ || selection_->takes_dependent();
    const double kxx = kernel_->self(basis_->norm(x));
    return part_of_it || !moderate(kxx) ? kxx : dot(z, z);
  }

  void widen(std::size_t columns) override {
    features_ = columns;
    basis_->widen(columns);
    candidates_->widen(columns);
  }

  bool learns() const override { return !settled_; }

  void before_step(const Row& x, bool steps, std::vector<Change>& changes) override {
    if (selection_->over_before(candidates_->size(), steps)) settle(changes);
    if (settled_) return;
    const std::size_t held = candidates_->size();
    if (held == 0) lay_out(layout_for(x, features_));
    const double norm = candidates_->norm(x);
    if (held < most_ && !selection_->takes_dependent() && depends(x, norm)) return;
    const auto place = selection_->place(held, steps);
    if (!place) return;
    if (held < most_) extend_basis(x, norm, changes);
    if (*place == candidates_->size())
      candidates_->append(x, norm);
    else
      candidates_->replace(*place, x, norm);
  }

  void after_step(std::vector<Change>& changes) override {
    if (!settled_ && selection_->over_after(candidates_->size())) settle(changes);
  }

  void settle(std::vector<Change>& changes) override {
    if (settled_ || candidates_->size() == 0) return;
    keep(selection_->choose(gram(), candidates_->size()));
    std::vector<double> V = gram(), D(candidates_->size());
    if (!symmetric_eigen(V, D)) return;  // the next round tries again
    const std::size_t n = D.size();
    A_.clear();
    for (std::size_t r = n; r-- > n - std::min(rank_, n) && D[r] > in_the_span * D[n - 1];)
      for (std::size_t i = 0; i < n; ++i) A_.push_back(V[r * n + i] / std::sqrt(D[r]));
    if (A_.empty()) return candidates_.swap(basis_);  // all landmarks have k(x,x) = 0: discard them, the basis is empty
    changes.push_back(from_basis());
    settled_ = 1;
    basis_ = points_like_the_first();
    span_ = Span();
  }

  std::size_t landmarks() const override { return points().size(); }
  void landmark(std::size_t i, std::span<double> out) const override { points().copy(i, out); }
  std::vector<double> from_kernel_row() const override {
    if (settled_) return A_;
    const std::size_t n = basis_->size();
    std::vector<double> inverse(n * n), column(n), unit(n);
    for (std::size_t j = 0; j < n; ++j) {
      unit.assign(n, 0.0);
      unit[j] = 1;
      span_.solve(unit, column);
      for (std::size_t i = 0; i < n; ++i) inverse[i * n + j] = column[i];
    }
    return inverse;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + kernel_->bytes());
    io.field("nystrom.settled", settled_);
    io.field("nystrom.A", A_);
    selection_->fields(io);
    span_.fields(io);
    Counter layout = saved_number(layout_);
    io.field("nystrom.layout", layout);
    if (io.restoring()) {
      layout_known_ = layout_from(layout).has_value();
      lay_out(layout_from(layout).value_or(layout_));
    }
    Prefixed basis(io, "nystrom.basis."), candidates(io, "nystrom.candidates.");
    basis_->fields(basis);
    candidates_->fields(candidates);
  }

  bool is_consistent(std::size_t) const override {
    const std::size_t n = candidates_->size();
    if (!layout_known_) return false;
    if (!basis_->is_consistent(basis_->size()) || !candidates_->is_consistent(n) ||
        !span_.is_consistent(basis_->size()))
      return false;
    if (settled_ == 0) return A_.empty() && basis_->size() <= std::min(n, most_);
    return settled_ == 1 && n > 0 && A_.size() % n == 0 && A_.size() / n <= rank_ && basis_->size() == 0;
  }

 private:
  // z = A k
  void multiply(Vector k, std::span<double> z) const {
    const std::size_t n = k.size();
    for (std::size_t r = 0; r < z.size(); r += lanes)
      loops->multiply_rows(A_.data() + r * n, n, std::min(lanes, z.size() - r), n, k.data(), z.data() + r);
  }

  // Kernels are always computed in double precision, because systems of K are solved.
  std::unique_ptr<SupportSet> points_like_the_first() const {
    return support_set(layout_, kernel_->reduction(), Precision::Double, features_);
  }
  void lay_out(Layout layout) {
    layout_ = layout;
    basis_ = points_like_the_first();
    candidates_ = points_like_the_first();
  }

  const SupportSet& points() const { return settled_ ? *candidates_ : *basis_; }

  void kernel_row(const SupportSet& points, const Row& x, std::vector<double>& k) const {
    k.resize(points.padded());
    points.kernel_row(x, *kernel_, k);
    k.resize(points.size());
  }

  bool depends(const Row& x, double norm) {
    std::vector<double> k;
    kernel_row(*basis_, x, k);
    span_.look(k, kernel_->self(norm));
    return span_.inside();
  }

  void extend_basis(const Row& x, double norm, std::vector<Change>& changes) {
    if (depends(x, norm)) return;
    span_.append();
    changes.push_back({basis_->size(), 0, 1, {}});
    basis_->append(x, norm);
  }

  // Candidate i as a row.
  Row candidate(std::size_t i, std::vector<double>& values) const {
    values.resize(features_);
    candidates_->copy(i, values);
    return DenseRow<double>{values.data(), features_};
  }

  std::vector<double> gram() const {
    std::vector<double> K, k, values;
    for (std::size_t i = 0; i < candidates_->size(); ++i) {
      kernel_row(*candidates_, candidate(i, values), k);
      K.insert(K.end(), k.begin(), k.end());
    }
    return K;
  }

  void keep(const std::vector<std::size_t>& chosen) {
    if (chosen.size() == candidates_->size()) return;
    auto kept = points_like_the_first();
    std::vector<double> values;
    for (const std::size_t i : chosen) kept->append(candidate(i, values), candidates_->norm(i));
    candidates_ = std::move(kept);
  }

  // Maps weights in coordinates of the basis to coordinates of the projection: <g, phi_r> = sum_i A_ri g(s_i).
  Change from_basis() const {
    const std::size_t n = candidates_->size(), b = basis_->size(), r = A_.size() / n;
    Change change{0, b, r, std::vector<double>(r * b)};
    std::vector<double> k, z(b), values;
    for (std::size_t i = 0; i < n; ++i) {
      kernel_row(*basis_, candidate(i, values), k);
      span_.solve(k, z);
      for (std::size_t q = 0; q < r; ++q) add(A_[q * n + i], z, std::span(change.T).subspan(q * b, b));
    }
    return change;
  }

  std::shared_ptr<const Kernel> kernel_;
  std::shared_ptr<LandmarkSelection> selection_;
  std::size_t most_, rank_, features_;
  Layout layout_ = Layout::FeatureMajor;    // chosen by the first landmark
  bool layout_known_ = true;                // false: the model file names an unknown layout
  std::unique_ptr<SupportSet> basis_;       // linearly independent rows; empty once the map is built
  Span span_;                               // span of basis_
  std::unique_ptr<SupportSet> candidates_;  // the landmarks, once the map is built
  Counter settled_ = 0;                     // 1 once the map is built
  std::vector<double> A_;                   // D_r^(-1/2) V_r', rank x landmarks
};

}  // namespace budgetron
