// The span of k(s_1,.) .. k(s_n,.), stored as the Cholesky factor of the Gram matrix, K = L L', row by row. Solving
// with L is numerically stable, unlike an explicit inverse, and also costs O(n^2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// If |delta|^2 is below this fraction of k(x,x), it may be rounding error: x counts as lying in the span.
inline constexpr double in_the_span = 1e-10;

class Span {
 public:
  void clear() {
    L_.clear();
    inverse_.clear();
  }
  std::size_t size() const { return inverse_.size(); }

  // Projects k(x,.) onto the span: computes d = K^-1 k, P = k'd = |P k(x,.)|^2 and delta2 = kxx - P.
  void look(Vector k, double kxx) {
    measure(k, kxx);
    d_ = v_;
    loops->solve_upper(L_.data(), inverse_.data(), k.size(), d_.data());
  }

  // The same without d, at half the cost.
  void measure(Vector k, double kxx) {
    v_.resize(k.size());
    solve(k, v_);
    judge(kxx);
  }

  // v = L^-1 k and d = K^-1 k of four vectors, in one look at L and with the same bits as one by one. v holds k before.
  void solve_together(const SolvedTogether& v, const SolvedTogether& d) const {
    const std::size_t n = inverse_.size();
    loops->solve_lower_together(L_.data(), inverse_.data(), n, v);
    for (std::size_t m = 0; m < v.size(); ++m) std::copy_n(v[m], n, d[m]);
    loops->solve_upper_together(L_.data(), inverse_.data(), n, d);
  }
  // As `look`, with v and d that were solved together.
  void take(Vector v, Vector d, double kxx) {
    v_.assign(v.begin(), v.end());
    d_.assign(d.begin(), d.end());
    judge(kxx);
  }

  // v = L^-1 k: the coordinates of P k(x,.) in the orthonormal basis that Gram-Schmidt makes of the vectors.
  void solve(Vector k, std::span<double> v) const {
    loops->solve_lower(L_.data(), inverse_.data(), k.data(), k.size(), v.data());
  }

  // d = K^-1 k.
  void solve_twice(Vector k, std::span<double> d) const {
    solve(k, d);
    loops->solve_upper(L_.data(), inverse_.data(), k.size(), d.data());
  }

  Vector d() const { return d_; }
  double P() const { return P_; }
  double delta() const { return std::sqrt(std::max(0.0, delta2_)); }
  double delta2() const { return delta2_; }
  bool inside() const { return inside_; }

  // Appends the vector that was last projected; it must not lie in the span.
  void append() {
    assert(!inside_);
    if (const std::size_t size = L_.size() + v_.size() + 1; size > L_.capacity()) L_.reserve(size + size / 16);
    L_.insert(L_.end(), v_.begin(), v_.end());
    L_.push_back(std::sqrt(delta2_));
    push(inverse_, 1 / L_.back());
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(v_) + bytes_of(d_) + bytes_of(inverse_));
    io.field("span.L", L_);
    if (!io.restoring()) return;
    inverse_.clear();
    for (std::size_t i = 0, at = 0; at < L_.size(); at += ++i + 1) inverse_.push_back(1 / L_[at]);
  }
  bool is_consistent(std::size_t n) const {
    if (L_.size() != n * (n + 1) / 2 || !all_finite(L_)) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (row(i)[i] <= 0) return false;
    return true;
  }

 private:
  void judge(double kxx) {
    P_ = dot(v_, v_);
    delta2_ = kxx - P_;
    inside_ = !(delta2_ > in_the_span * kxx);  // also if delta2 is NaN
  }

  Vector row(std::size_t i) const { return {L_.data() + i * (i + 1) / 2, i + 1}; }

  std::vector<double> L_;        // lower triangle, row after row
  std::vector<double> inverse_;  // reciprocals of the diagonal of L
  std::vector<double> v_;        // L^-1 k
  std::vector<double> d_;
  double P_ = 0, delta2_ = 0;
  bool inside_ = true;
};

}  // namespace budgetron
