// K^-1 under append and swap by rank-one updates, O(n^2) each (Orabona et al. 2008, Eq. 11; Cauwenberghs & Poggio
// 2000). K is kept beside it: every solution is refined once against K, and when the first residual shows drift the
// inverse is made anew.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "cholesky.hpp"
#include "fields.hpp"
#include "gram.hpp"

namespace budgetron {

class InverseGram {
 public:
  std::size_t size() const { return K_.size(); }
  Row1 operator[](std::size_t i) const { return inverse_[i]; }

  // Looks at k(x,.) from the span: d = K^-1 k and delta2 = kxx - k'd.
  void look(Row1 k, double kxx) {
    if (solve(k) > drift && changes_ > size()) {
      rebuild();
      solve(k);
    }
    delta2_ = kxx - dot(k, d_);
    inside_ = delta2_ <= in_the_span * kxx;
  }

  Row1 d() const { return d_; }
  double delta2() const { return delta2_; }
  bool inside() const { return inside_; }

  // x, just looked at, joins: K^-1 <- [K^-1 0; 0 0] + v v' / delta2, v = (d, -1).
  void append(Row1 k, double kxx) {
    inverse_.grow();
    K_.append(k, kxx);
    d_.push_back(-1);
    add_outer(1 / delta2_, d_);
    ++changes_;
  }

  // r goes, the last one moves to its place: K^-1 <- K^-1 - q q' / q_r without row and column r, q = column r.
  void remove(std::size_t r) {
    K_.remove(r);
    remove_from_inverse(r);
  }

  // x, just looked at, takes the place of r.
  void swap(std::size_t r, Row1 k, double kxx) {
    K_.replace(r, k, kxx);
    d_.push_back(-1);
    inverse_.grow();
    add_outer(1 / delta2_, d_);
    remove_from_inverse(r);
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(d_) + bytes_of(residual_) + bytes_of(column_));
    K_.fields(io);
    inverse_.fields(io, "inverse.n", "inverse.values");
    io.field("inverse.changes", changes_);
  }
  bool fits(std::size_t n) const { return K_.fits(n) && inverse_.fits(n); }

 private:
  static constexpr double drift = 1e-10;

  // d = K^-1 k, refined once; returns the largest residual before the refinement, relative to k.
  double solve(Row1 k) {
    assert(k.size() == size());
    d_.resize(size());
    residual_.resize(size());
    inverse_.multiply(k, d_);
    K_.multiply(d_, residual_);
    double most = 0, scale_of_k = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      residual_[i] = k[i] - residual_[i];
      most = std::max(most, std::fabs(residual_[i]));
      scale_of_k = std::max(scale_of_k, std::fabs(k[i]));
    }
    for (std::size_t i = 0; i < size(); ++i) d_[i] += dot(inverse_[i], residual_);
    return scale_of_k > 0 ? most / scale_of_k : 0;
  }

  void remove_from_inverse(std::size_t r) {
    column_.assign(inverse_[r].begin(), inverse_[r].end());
    add_outer(-1 / column_[r], column_);
    inverse_.remove(r);
    ++changes_;
  }

  // K^-1 += c v v'
  void add_outer(double c, Row1 v) {
    for (std::size_t i = 0; i < v.size(); ++i) add(c * v[i], v, inverse_[i]);
  }

  void rebuild() {
    SquareMatrix fresh;
    std::swap(inverse_, fresh);
    std::vector<double> k;
    Span span;
    for (std::size_t i = 0; i < size(); ++i) {
      span.look(K_[i].first(i), K_[i][i]);
      if (span.inside()) {  // K itself is no longer clearly regular: the old inverse serves on
        std::swap(inverse_, fresh);
        break;
      }
      k.assign(span.d().begin(), span.d().end());
      k.push_back(-1);
      const double delta = span.delta();
      inverse_.grow();
      add_outer(1 / (delta * delta), k);
      span.append();
    }
    changes_ = 0;
  }

  Gram K_;
  SquareMatrix inverse_;
  Counter changes_ = 0;  // since the inverse was last made anew
  std::vector<double> d_, residual_, column_;
  double delta2_ = 0;
  bool inside_ = true;
};

}  // namespace budgetron
