// K^-1 = W'W under append, remove and swap, O(n^2) each. An explicit inverse under rank-one updates (Orabona et al.
// 2008, Eq. 11) loses log10 cond(K) digits, and soon all of them on rows of one or two features. A factor loses half as
// many, and removal is an orthogonal reflection. K itself is stored too: if the residual of a solution shows drift, the
// factor is recomputed. A swap reads W three times: for a projection, for a column of K^-1, and to reflect the rows.
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
    if (changes_ <= size() || residual(k, looks_++) <= drift) return;
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

  // Removes r; the last one moves to its slot. Returns column r of K^-1 as it was before.
  Vector remove(std::size_t r) {
    const std::size_t last = size() - 1;
    find_column(r);
    reflect(r, W_[last], last);
    for (std::size_t i = 0; i < last; ++i) W_[i][r] = W_[i][last];
    W_.drop_last();
    K_.remove(r);
    return q_;
  }

  // Replaces r by the x that was last projected. Returns column r of K^-1, with x appended, as it was before. The
  // column that x adds to W is 0, and takes the place of column r.
  Vector swap(std::size_t r, Vector k, double kxx) {
    const std::size_t n = size();
    find_column(r);
    append_to_column(r);
    find_row();
    if (keeps_diagonal()) append_to_diagonal();
    reflect(r, row_, n);
    for (std::size_t i = 0; i < n; ++i) W_[i][r] = reflection_[i] * v_[n];
    ++changes_;
    K_.replace(r, k, kxx);
    return q_;
  }

  // (K^-1)_ii for every i. They are kept from the first call on, and recomputed after size() changes.
  Vector diagonal() {
    if (!keeps_diagonal() || diagonal_age_ > size()) remake_diagonal();
    return diagonal_;
  }

  // Column r of K^-1.
  Vector column(std::size_t r) {
    find_column(r);
    return q_;
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(v_) + bytes_of(d_) + bytes_of(q_) + bytes_of(row_) + bytes_of(reflection_));
    K_.fields(io);
    W_.fields(io, "factor.n", "factor.values");
    io.field("factor.changes", changes_);
    io.field("factor.looks", looks_);
    io.field("factor.diagonal", diagonal_);
    io.field("factor.diagonal_age", diagonal_age_);
  }
  bool is_consistent(std::size_t n) const {
    if (!K_.is_consistent(n) || !W_.is_consistent(n)) return false;
    if (keeps_diagonal() && (diagonal_.size() != n || !all_finite(diagonal_))) return false;
    const Vector kii = K_.diagonal();  // a vector with k(x,x) = 0 lies in every span
    return std::all_of(kii.begin(), kii.end(), [](double k) { return k > 0; });
  }

 private:
  static constexpr double drift = 1e-8;
  // Removals lose digits, appending alone does not. With this tolerance coefficients stay below 1e4 on streams of one
  // and two features; with 1e-7 they reached 1e8, and with that of Span nothing is left of f.
  static constexpr double in_the_span = 1e-6;

  static constexpr std::size_t rows_at_once = 8;

  // Calls use(first, count) for the rows of W, eight at a time.
  template <class Use>
  void each_rows(std::size_t n, Use use) const {
    for (std::size_t i = 0; i < n; i += rows_at_once) use(i, std::min(rows_at_once, n - i));
  }

  void solve(Vector k, double kxx) {
    const std::size_t n = k.size();
    v_.resize(n);
    d_.assign(n, 0.0);
    each_rows(n, [&](std::size_t i, std::size_t count) {
      loops->project_rows(W_[i].data(), W_.stride(), count, n, k.data(), &v_[i], d_.data());
    });
    delta2_ = kxx - dot(v_, v_);
    inside_ = !(delta2_ > in_the_span * kxx && joins());  // also if delta2 is NaN
  }

  // Whether K^-1 stays within the limits if x is appended: its diagonal grows by d^2 / delta2 and by 1 / delta2.
  bool joins() const { return moderate_square((dot(d_, d_) + 1) / delta2_); }

  // The largest error of K d = k, relative to the largest entry of k. Of many rows, one in 16 is checked, in turn.
  double residual(Vector k, Counter turn) const {
    const std::size_t step = size() < 64 ? 1 : 16;
    double most = 0;
    for (std::size_t i = static_cast<std::size_t>(turn) % step; i < size(); i += step)
      most = std::max(most, std::fabs(k[i] - dot(K_[i], d_)));
    if (most == 0) return 0;
    double scale_of_k = 0;
    for (const double value : k) scale_of_k = std::max(scale_of_k, std::fabs(value));
    return scale_of_k > 0 ? most / scale_of_k : 0;
  }

  void append_row() {
    const std::size_t n = W_.size();
    find_row();
    W_.grow();
    std::copy(row_.begin(), row_.end(), W_[n].begin());
    if (keeps_diagonal()) append_to_diagonal();
    ++changes_;
  }

  // The row of W for the x that was last projected.
  void find_row() {
    assert(delta2_ > 0);
    const double delta = std::sqrt(delta2_);
    row_.resize(d_.size() + 1);
    for (std::size_t j = 0; j < d_.size(); ++j) row_[j] = -d_[j] / delta;
    row_[d_.size()] = 1 / delta;
  }

  // q = column r of K^-1 = W'h, h = column r of W
  void find_column(std::size_t r) {
    const std::size_t n = W_.size();
    q_.assign(n, 0.0);
    reflection_.resize(n);
    each_rows(n, [&](std::size_t i, std::size_t count) {
      for (std::size_t a = i; a < i + count; ++a) reflection_[a] = W_[a][r];
      loops->add_rows(&reflection_[i], W_[i].data(), W_.stride(), count, n, q_.data());
    });
  }

  // Both with the x that was last projected: K^-1 gains d d' / delta2, and the column (-d, 1) / delta2.
  void append_to_column(std::size_t r) {
    add(d_[r] / delta2_, d_, q_);
    q_.push_back(-d_[r] / delta2_);
    reflection_.push_back(-d_[r] / std::sqrt(delta2_));
  }

  // Reflects the rows of W so that column r is nonzero only in the last row, which is given. All but the last `rows`
  // rows are written. With u = h + sign |h| e_last, |h|^2 = q_r, the reflection subtracts 2 u (W'u)' / |u|^2, and W'u =
  // q + sign |h| last.
  void reflect(std::size_t r, Vector last, std::size_t rows) {
    const double length = std::sqrt(std::max(q_[r], 0.0)), step = std::copysign(length, reflection_[rows]);
    v_.assign(q_.begin(), q_.end());
    add(step, last, v_);
    const double squared = 2 * length * (length + std::fabs(reflection_[rows]));
    scale(squared > 0 ? -2 / squared : 0, reflection_);
    each_rows(rows, [&](std::size_t i, std::size_t count) {
      loops->add_to_rows(&reflection_[i], v_.data(), W_[i].data(), W_.stride(), count, W_.size());
    });
    if (keeps_diagonal()) remove_from_diagonal(r);
    ++changes_;
  }

  bool keeps_diagonal() const { return !diagonal_.empty(); }

  void append_to_diagonal() {
    loops->add_scaled_squares(1 / delta2_, d_.data(), diagonal_.data(), d_.size());
    diagonal_.push_back(1 / delta2_);
    ++diagonal_age_;
  }

  // K^-1 loses q q' / q_r; its diagonal is at least 1 / K_ii.
  void remove_from_diagonal(std::size_t r) {
    loops->add_scaled_squares(-1 / q_[r], q_.data(), diagonal_.data(), q_.size());
    const Vector kii = K_.diagonal();
    for (std::size_t i = 0; i < kii.size(); ++i) diagonal_[i] = std::max(diagonal_[i], 1 / kii[i]);
    diagonal_[r] = diagonal_.back();
    diagonal_.pop_back();
    ++diagonal_age_;
  }

  void remake_diagonal() {
    diagonal_.assign(size(), 0.0);
    for (std::size_t i = 0; i < size(); ++i) loops->add_squares(W_[i].data(), diagonal_.data(), size());
    diagonal_age_ = 0;
  }

  // Recomputes W from K, row by row. A vector that is now in the span of the others counts as just outside it.
  void rebuild() {
    W_ = {};
    diagonal_.clear();
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
  Counter changes_ = 0;           // since the factor was last recomputed
  Counter looks_ = 0;             // that were checked for drift
  std::vector<double> diagonal_;  // of K^-1; empty if it is not kept
  Counter diagonal_age_ = 0;      // changes since it was last recomputed
  std::vector<double> v_, d_, q_, row_, reflection_;
  double delta2_ = 0;
  bool inside_ = true;
};

}  // namespace budgetron
