// K^-1 = W'W under append, remove and swap, O(n^2) each. An explicit inverse under rank-one updates (Orabona et al.
// 2008, Eq. 11) loses log10 cond(K) digits, and soon all of them on rows of one or two features. A factor loses half as
// many, and removal is an orthogonal reflection. K itself is stored too: if the residual of a solution shows drift, the
// factor is recomputed.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/gram.hpp"
#include "linalg/limits.hpp"
#include "state/fields.hpp"

namespace budgetron {

class InverseFactor {
 public:
  std::size_t size() const { return K_.size(); }

  // Projects k(x,.) onto the span: d = K^-1 k and delta2 = kxx - k'd.
  void look(Vector k, double kxx) {
    assert(k.size() == size());
    solve(k, kxx);
    if (changes_ <= size() || residual(k) <= drift) return;
    rebuild();
    solve(k, kxx);
  }

  Vector d() const { return d_; }
  double delta2() const { return delta2_; }
  bool inside() const { return inside_; }

  // Appends the x that was last projected: W gets the row (-d, 1) / delta.
  void append(Vector k, double kxx) {
    K_.append(k, kxx);
    append_row();
  }

  // Removes r; the last one moves to its slot.
  void remove(std::size_t r) {
    K_.remove(r);
    remove_column(r);
  }

  // Replaces r by the x that was last projected.
  void swap(std::size_t r, Vector k, double kxx) {
    K_.replace(r, k, kxx);
    append_row();
    remove_column(r);
  }

  // (K^-1)_ii for every i.
  void diagonal(std::vector<double>& q) const {
    q.assign(size(), 0.0);
    for (std::size_t i = 0; i < size(); ++i) loops->add_squares(W_[i].data(), q.data(), size());
  }

  // Column r of K^-1.
  void column(std::size_t r, std::vector<double>& q) const {
    q.assign(size(), 0.0);
    for (std::size_t i = 0; i < size(); ++i) add(W_[i][r], W_[i], q);
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(v_) + bytes_of(d_) + bytes_of(reflection_));
    K_.fields(io);
    W_.fields(io, "factor.n", "factor.values");
    io.field("factor.changes", changes_);
  }
  bool is_consistent(std::size_t n) const {
    if (!K_.is_consistent(n) || !W_.is_consistent(n)) return false;
    const Vector kii = K_.diagonal();  // a vector with k(x,x) = 0 lies in every span
    return std::all_of(kii.begin(), kii.end(), [](double k) { return k > 0; });
  }

 private:
  static constexpr double drift = 1e-8;
  // Removals lose digits, appending alone does not. With this tolerance coefficients stay below 1e4 on streams of one
  // and two features; with 1e-7 they reached 1e8, and with that of Span nothing is left of f.
  static constexpr double in_the_span = 1e-6;

  void solve(Vector k, double kxx) {
    v_.resize(k.size());
    W_.multiply(k, v_);
    d_.assign(k.size(), 0.0);
    for (std::size_t i = 0; i < k.size(); ++i) add(v_[i], W_[i].first(k.size()), d_);
    delta2_ = kxx - dot(v_, v_);
    inside_ = !(delta2_ > in_the_span * kxx && joins());  // also if delta2 is NaN
  }

  // Whether K^-1 stays within the limits if x is appended: its diagonal grows by d^2 / delta2 and by 1 / delta2.
  bool joins() const { return moderate_square((dot(d_, d_) + 1) / delta2_); }

  // The largest error of K d = k, relative to the largest entry of k.
  double residual(Vector k) const {
    double most = 0, scale_of_k = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      most = std::max(most, std::fabs(k[i] - dot(K_[i], d_)));
      scale_of_k = std::max(scale_of_k, std::fabs(k[i]));
    }
    return scale_of_k > 0 ? most / scale_of_k : 0;
  }

  void append_row() {
    assert(delta2_ > 0);
    const double delta = std::sqrt(delta2_);
    W_.grow();
    const auto row = W_[W_.size() - 1];
    for (std::size_t j = 0; j < d_.size(); ++j) row[j] = -d_[j] / delta;
    row[d_.size()] = 1 / delta;
    ++changes_;
  }

  // Reflects the rows so that column r is nonzero only in the last row, then drops both.
  void remove_column(std::size_t r) {
    const std::size_t n = W_.size(), last = n - 1;
    std::vector<double>& h = reflection_;
    h.resize(n);
    for (std::size_t i = 0; i < n; ++i) h[i] = W_[i][r];
    h[last] += std::copysign(std::sqrt(dot(h, h)), h[last]);
    v_.assign(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) add(h[i], W_[i], v_);
    const double factor = -2 / dot(h, h);
    for (std::size_t i = 0; i < last; ++i) {
      add(factor * h[i], v_, W_[i]);
      W_[i][r] = W_[i][last];
    }
    W_.drop_last();
    ++changes_;
  }

  // Recomputes W from K, row by row. A vector that is now in the span of the others counts as just outside it.
  void rebuild() {
    W_ = {};
    for (std::size_t i = 0; i < size(); ++i) {
      solve(K_[i].first(i), K_[i][i]);
      const double least = std::max(in_the_span * K_[i][i], std::numeric_limits<double>::min());
      if (!(delta2_ > least)) delta2_ = least;
      if (!joins()) d_.assign(i, 0.0), delta2_ = K_[i][i];
      append_row();
    }
    changes_ = 0;
  }

  Gram K_;
  SquareMatrix W_;
  Counter changes_ = 0;  // since the factor was last recomputed
  std::vector<double> v_, d_, reflection_;
  double delta2_ = 0;
  bool inside_ = true;
};

}  // namespace budgetron
