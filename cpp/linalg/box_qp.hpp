// min x'Qx / 2 - q'x over lo <= x <= hi, Q positive semidefinite. First a primal-dual active-set method (Hintermueller,
// Ito & Kunisch 2002), which mostly ends after a few rounds but may cycle; then, where it did not end, a primal
// active-set method (as BVLS, Stark & Parker 1995), which frees one variable at a time, never goes uphill and cannot
// cycle. A free variable whose column lies in the span of the free ones before it (within 1e-10) is left where it is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/gram.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// The Cholesky factor of a part of a positive semidefinite matrix: of the rows and columns offered, those that are not
// in the span of the ones before.
class PartFactor {
 public:
  void clear() {
    places_.clear();
    L_.clear();
  }

  // Offers place i of Q; false if it is in the span.
  bool offer(const Gram& Q, std::size_t i) {
    const std::size_t n = places_.size();
    v_.resize(n);
    for (std::size_t p = 0; p < n; ++p) v_[p] = (Q[i][places_[p]] - dot(row(p).first(p), v_)) / row(p)[p];
    const double delta2 = Q[i][i] - dot(v_, v_);
    if (!(delta2 > in_the_span * Q[i][i])) return false;  // also where it is no number
    places_.push_back(i);
    L_.insert(L_.end(), v_.begin(), v_.end());
    L_.push_back(std::sqrt(delta2));
    return true;
  }

  const std::vector<std::size_t>& places() const { return places_; }

  // r <- (L L')^-1 r
  void solve(std::span<double> r) const {
    for (std::size_t p = 0; p < r.size(); ++p) r[p] = (r[p] - dot(row(p).first(p), r)) / row(p)[p];
    for (std::size_t p = r.size(); p-- > 0;) {
      r[p] /= row(p)[p];
      add(-r[p], row(p).first(p), r);
    }
  }

  Bytes bytes() const { return bytes_of(places_) + bytes_of(L_) + bytes_of(v_); }

 private:
  Vector row(std::size_t p) const { return {L_.data() + p * (p + 1) / 2, p + 1}; }

  std::vector<std::size_t> places_;
  std::vector<double> L_;  // lower triangle, rows one after the other
  std::vector<double> v_;
};

class BoxQP {
 public:
  // The minimiser; valid until the next call.
  Vector solve(const Gram& Q, Vector q, Vector lo, Vector hi) {
    start(q.size(), lo, hi);
    for (int round = 0; round < rounds; ++round)
      if (sweep(Q, q, lo, hi)) return finish(lo, hi);
    descend(Q, q, lo, hi);
    return finish(lo, hi);
  }

  // Straight to the method that cannot cycle.
  Vector solve_by_descent(const Gram& Q, Vector q, Vector lo, Vector hi) {
    start(q.size(), lo, hi);
    descend(Q, q, lo, hi);
    return finish(lo, hi);
  }

  Bytes bytes() const {
    return factor_.bytes() + bytes_of(side_) + bytes_of(x_) + bytes_of(held_) + bytes_of(z_) + bytes_of(slope_);
  }

 private:
  enum class Side : signed char { Lower, Free, Upper };
  static constexpr int rounds = 25;

  void start(std::size_t n, Vector lo, Vector hi) {
    x_.resize(n);
    slope_.resize(n);
    side_.assign(n, Side::Free);
    for (std::size_t i = 0; i < n; ++i) {
      x_[i] = std::clamp(0.0, lo[i], hi[i]);
      if (lo[i] == hi[i]) side_[i] = Side::Lower;
    }
  }

  Vector finish(Vector lo, Vector hi) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = std::clamp(x_[i], lo[i], hi[i]);
    return x_;
  }

  // z = the minimiser over the free variables with the others where they are.
  void minimise_free(const Gram& Q, Vector q) {
    factor_.clear();
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (side_[i] == Side::Free) factor_.offer(Q, i);
    held_ = x_;
    for (const std::size_t i : factor_.places()) held_[i] = 0;
    z_.clear();
    for (const std::size_t i : factor_.places()) z_.push_back(q[i] - dot(Q[i], held_));
    factor_.solve(z_);
  }

  // slope = Qx - q; returns how large it must be to be more than rounding.
  double find_slope(const Gram& Q, Vector q) {
    Q.multiply(x_, slope_);
    double scale = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      scale = std::max(scale, std::fabs(slope_[i]) + std::fabs(q[i]));
      slope_[i] -= q[i];
    }
    return 1e-12 * scale;
  }

  // How much could be gained per unit by freeing i.
  double pull(std::size_t i, Vector lo, Vector hi) const {
    if (side_[i] == Side::Free || lo[i] == hi[i]) return 0;
    return side_[i] == Side::Lower ? -slope_[i] : slope_[i];
  }

  // One round of the primal-dual method; true if nothing changed sides, which is optimality.
  bool sweep(const Gram& Q, Vector q, Vector lo, Vector hi) {
    for (std::size_t i = 0; i < x_.size(); ++i)
      x_[i] = side_[i] == Side::Lower ? lo[i] : side_[i] == Side::Upper ? hi[i] : std::clamp(0.0, lo[i], hi[i]);
    minimise_free(Q, q);
    for (std::size_t p = 0; p < z_.size(); ++p) x_[factor_.places()[p]] = z_[p];
    const double rounding = find_slope(Q, q);
    bool same = true;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const Side before = side_[i];
      if (before == Side::Free)
        side_[i] = x_[i] < lo[i] ? Side::Lower : x_[i] > hi[i] ? Side::Upper : Side::Free;
      else if (pull(i, lo, hi) > rounding)
        side_[i] = Side::Free;
      same = same && side_[i] == before;
    }
    return same;
  }

  void descend(const Gram& Q, Vector q, Vector lo, Vector hi) {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] = std::clamp(x_[i], lo[i], hi[i]);
      side_[i] = x_[i] == lo[i] ? Side::Lower : x_[i] == hi[i] ? Side::Upper : Side::Free;
    }
    for (std::size_t left = 100 + 20 * x_.size(); left-- > 0;) {
      minimise_free(Q, q);
      if (!move(lo, hi)) continue;
      const double rounding = find_slope(Q, q);
      std::size_t most = 0;
      for (std::size_t i = 1; i < x_.size(); ++i)
        if (pull(i, lo, hi) > pull(most, lo, hi)) most = i;
      if (pull(most, lo, hi) <= rounding) return;
      side_[most] = Side::Free;
    }
  }

  // From x towards z until the first bound, which is then held; true if z was reached.
  bool move(Vector lo, Vector hi) {
    double t = 1;
    std::size_t hit = x_.size();
    for (std::size_t p = 0; p < z_.size(); ++p) {
      const std::size_t i = factor_.places()[p];
      const double bound = std::clamp(z_[p], lo[i], hi[i]);
      if (bound == z_[p]) continue;
      if (const double share = (bound - x_[i]) / (z_[p] - x_[i]); hit == x_.size() || share < t) t = share, hit = i;
    }
    for (std::size_t p = 0; p < z_.size(); ++p) {
      const std::size_t i = factor_.places()[p];
      if (i == hit) side_[i] = z_[p] < lo[i] ? Side::Lower : Side::Upper;
      x_[i] = i == hit ? std::clamp(z_[p], lo[i], hi[i]) : std::clamp(x_[i] + t * (z_[p] - x_[i]), lo[i], hi[i]);
    }
    return hit == x_.size();
  }

  PartFactor factor_;
  std::vector<Side> side_;
  std::vector<double> x_, held_, z_, slope_;
};

}  // namespace budgetron
