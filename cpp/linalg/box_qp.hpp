// min x'Qx / 2 - q'x over lo <= x <= hi, with Q positive semidefinite.
//
// The first method is a primal-dual active-set method (Hintermueller, Ito & Kunisch 2002). It usually converges in a
// few rounds, but it may cycle. If it has not converged, a primal active-set method takes over (as BVLS, Stark & Parker
// 1995): it frees one variable at a time, never increases the objective and cannot cycle. A free variable whose column
// lies in the span of the earlier free ones (within 1e-10) keeps its value. From round to round few variables change
// sides, so the factor of the free ones is updated, not recomputed.
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

// The Cholesky factor of a submatrix of a positive semidefinite matrix. Indices that are offered but lie in the span of
// the earlier ones are skipped.
class PartFactor {
 public:
  void clear() {
    places_.clear();
    L_.clear();
    inverse_.clear();
    w_.clear();
  }

  // Offers index i of Q; returns false if its column is in the span.
  template <class Matrix>
  bool offer(const Matrix& Q, std::size_t i) {
    const std::size_t n = places_.size();
    k_.resize(n);
    v_.resize(n);
    for (std::size_t p = 0; p < n; ++p) k_[p] = Q[i][places_[p]];
    work_ += n * n / 2;
    loops->solve_lower(L_.data(), inverse_.data(), k_.data(), n, v_.data());
    const double delta2 = Q[i][i] - dot(v_, v_);
    if (!(delta2 > in_the_span * Q[i][i])) return false;  // also if delta2 is NaN
    places_.push_back(i);
    L_.insert(L_.end(), v_.begin(), v_.end());
    L_.push_back(std::sqrt(delta2));
    inverse_.push_back(1 / L_.back());
    return true;
  }

  // Keeps L^-1 r for a right-hand side r, which then gains and loses entries with the factor: half of a solution.
  void keep(Vector r) {
    w_.resize(r.size());
    loops->solve_lower(L_.data(), inverse_.data(), r.data(), r.size(), w_.data());
  }
  // Offers index i with its entry of the kept r.
  template <class Matrix>
  bool offer(const Matrix& Q, std::size_t i, double r) {
    if (!offer(Q, i)) return false;
    w_.push_back((r - dot(v_, w_)) * inverse_.back());
    return true;
  }

  const std::vector<std::size_t>& places() const { return places_; }

  // Removes the index at this place, in O(n^2): the rows below are made triangular again by rotations.
  void remove(std::size_t place) {
    const std::size_t n = places_.size();
    std::vector<double>& L = L_;
    work_ += 2 * (n - place) * (n - place);
    const auto at = [](std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; };
    for (std::size_t k = place; k + 1 < n; ++k) {
      double &a = L[at(k + 1, k)], &b = L[at(k + 1, k + 1)];
      const double r = std::sqrt(a * a + b * b), c = a / r, s = b / r;  // L is far from the limits of doubles
      a = r;
      b = 0;
      if (!w_.empty()) {
        const double x = w_[k], y = w_[k + 1];
        w_[k] = c * x + s * y;
        w_[k + 1] = c * y - s * x;
      }
      for (std::size_t i = k + 2; i < n; ++i) {
        const double x = L[at(i, k)], y = L[at(i, k + 1)];
        L[at(i, k)] = c * x + s * y;
        L[at(i, k + 1)] = c * y - s * x;
      }
    }
    for (std::size_t i = place; i + 1 < n; ++i) std::copy_n(&L[at(i + 1, 0)], i + 1, &L[at(i, 0)]);
    L.resize(at(n - 1, 0));
    inverse_.pop_back();
    if (!w_.empty()) w_.pop_back();
    for (std::size_t i = place; i + 1 < n; ++i) inverse_[i] = 1 / L[at(i, i)];
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // r <- (L L')^-1 r
  void solve(std::span<double> r) const {
    loops->solve_lower(L_.data(), inverse_.data(), r.data(), r.size(), r.data());
    loops->solve_upper(L_.data(), inverse_.data(), r.size(), r.data());
  }

  // (L L')^-1 r for the kept r, one entry for every place.
  void solve_kept(std::vector<double>& out) const {
    out = w_;
    loops->solve_upper(L_.data(), inverse_.data(), out.size(), out.data());
  }

  // The number of multiplications that offers and removals have taken so far.
  std::size_t work() const { return work_; }

  Bytes bytes() const {
    return bytes_of(places_) + bytes_of(L_) + bytes_of(inverse_) + bytes_of(w_) + bytes_of(k_) + bytes_of(v_);
  }

 private:
  std::vector<std::size_t> places_;
  std::vector<double> L_;        // lower triangle, row after row
  std::vector<double> inverse_;  // reciprocals of the diagonal of L
  std::vector<double> w_;        // L^-1 r, if a right-hand side is kept
  std::vector<double> k_, v_;
  std::size_t work_ = 0;
};

class BoxQP {
 public:
  // The minimiser; valid until the next call.
  Vector solve(const Gram& Q, Vector q, Vector lo, Vector hi) {
    start(q.size(), lo, hi);
    return sweep_or_descend(Q, q, lo, hi, rounds);
  }

  // The same, if the minimiser without the box is known, which saves the first and largest factor. Variables with lo =
  // hi may have any value in it.
  Vector solve(const Gram& Q, Vector q, Vector lo, Vector hi, Vector without_box) {
    start(q.size(), lo, hi);
    bool inside = true;
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (side_[i] != Side::Free) continue;
      x_[i] = without_box[i];
      side_[i] = side_of(i, lo, hi);
      inside = inside && side_[i] == Side::Free;
    }
    return inside ? finish(lo, hi) : sweep_or_descend(Q, q, lo, hi, rounds - 1);
  }

  // Skips the primal-dual method.
  Vector solve_by_descent(const Gram& Q, Vector q, Vector lo, Vector hi) {
    start(q.size(), lo, hi);
    descend(Q, q, lo, hi);
    return finish(lo, hi);
  }

  // The number of multiplications so far.
  std::size_t work() const { return work_ + factor_.work(); }

  Bytes bytes() const {
    return factor_.bytes() + bytes_of(side_) + bytes_of(x_) + bytes_of(held_) + bytes_of(z_) + bytes_of(slope_);
  }

 private:
  enum class Side : signed char { Lower, Free, Upper };
  static constexpr int rounds = 10;

  void start(std::size_t n, Vector lo, Vector hi) {
    x_.resize(n);
    slope_.resize(n);
    factor_.clear();
    all_taken_ = false;
    side_.assign(n, Side::Free);
    for (std::size_t i = 0; i < n; ++i) {
      x_[i] = std::clamp(0.0, lo[i], hi[i]);
      if (lo[i] == hi[i]) side_[i] = Side::Lower;
    }
  }

  // If some free variables are in the span of others, the sweeps rarely end.
  Vector sweep_or_descend(const Gram& Q, Vector q, Vector lo, Vector hi, int sweeps) {
    while (sweeps-- > 0) {
      if (sweep(Q, q, lo, hi)) return finish(lo, hi);
      if (!all_taken_) return solve_by_descent(Q, q, lo, hi);
    }
    descend(Q, q, lo, hi);
    return finish(lo, hi);
  }

  Vector finish(Vector lo, Vector hi) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = std::clamp(x_[i], lo[i], hi[i]);
    return x_;
  }

  Side side_of(std::size_t i, Vector lo, Vector hi) const {
    return x_[i] < lo[i] ? Side::Lower : x_[i] > hi[i] ? Side::Upper : Side::Free;
  }

  void factor_free(const Gram& Q) {
    factor_.clear();
    all_taken_ = true;
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (side_[i] == Side::Free) all_taken_ = factor_.offer(Q, i) && all_taken_;
  }

  // The same, from the factor of the round before.
  void refactor_free(const Gram& Q) {
    if (!all_taken_) return factor_free(Q);
    held_.assign(x_.size(), 0.0);
    std::size_t leaving = 0, entering = 0;
    for (const std::size_t i : factor_.places()) {
      held_[i] = 1;
      leaving += side_[i] != Side::Free;
    }
    for (std::size_t i = 0; i < x_.size(); ++i) entering += side_[i] == Side::Free && held_[i] == 0;
    const std::size_t kept = factor_.places().size() - leaving;
    if (8 * leaving + 2 * entering > kept) return factor_free(Q);  // a removal takes several times as long as an offer
    for (std::size_t p = factor_.places().size(); p-- > 0;)
      if (side_[factor_.places()[p]] != Side::Free) factor_.remove(p);
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (side_[i] == Side::Free && held_[i] == 0 && !factor_.offer(Q, i)) return factor_free(Q);
  }

  // z = the minimiser over the variables in the factor, with all others fixed.
  void minimise(const Gram& Q, Vector q) {
    held_ = x_;
    for (const std::size_t i : factor_.places()) held_[i] = 0;
    z_.clear();
    for (const std::size_t i : factor_.places()) z_.push_back(q[i] - dot(Q[i], held_));
    factor_.solve(z_);
    work_ += z_.size() * (z_.size() + x_.size());
  }

  // slope = Qx - q; returns the threshold below which a slope counts as rounding error.
  double find_slope(const Gram& Q, Vector q) {
    Q.multiply(x_, slope_);
    work_ += x_.size() * x_.size();
    double scale = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      scale = std::max(scale, std::fabs(slope_[i]) + std::fabs(q[i]));
      slope_[i] -= q[i];
    }
    return 1e-12 * scale;
  }

  // The decrease of the objective per unit if i is freed.
  double pull(std::size_t i, Vector lo, Vector hi) const {
    if (side_[i] == Side::Free || lo[i] == hi[i]) return 0;
    return side_[i] == Side::Lower ? -slope_[i] : slope_[i];
  }

  // One round of the primal-dual method; true if no variable changed sides, i.e. x is optimal.
  bool sweep(const Gram& Q, Vector q, Vector lo, Vector hi) {
    for (std::size_t i = 0; i < x_.size(); ++i)
      x_[i] = side_[i] == Side::Lower ? lo[i] : side_[i] == Side::Upper ? hi[i] : std::clamp(0.0, lo[i], hi[i]);
    refactor_free(Q);
    minimise(Q, q);
    for (std::size_t p = 0; p < z_.size(); ++p) x_[factor_.places()[p]] = z_[p];
    const double rounding = find_slope(Q, q);
    bool same = true;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const Side before = side_[i];
      if (before == Side::Free)
        side_[i] = side_of(i, lo, hi);
      else if (pull(i, lo, hi) > rounding)
        side_[i] = Side::Free;
      same = same && side_[i] == before;
    }
    return same;
  }

  // A step costs O(n r) for r variables in the factor, which gains or loses one. The slope follows x; it is made again
  // before it decides that x is optimal.
  void descend(const Gram& Q, Vector q, Vector lo, Vector hi) {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] = std::clamp(x_[i], lo[i], hi[i]);
      side_[i] = x_[i] == lo[i] ? Side::Lower : x_[i] == hi[i] ? Side::Upper : Side::Free;
    }
    factor_free(Q);
    double rounding = find_slope(Q, q);
    bool fresh = true, lost = true;  // whether the slope was just made; whether a variable left since the last offers
    for (std::size_t left = 100 + 20 * x_.size(); left-- > 0;) {
      z_.clear();
      for (const std::size_t i : factor_.places()) z_.push_back(-slope_[i]);
      factor_.solve(z_);
      work_ += z_.size() * (z_.size() + x_.size());
      if (const std::size_t hit = move(Q, lo, hi); hit < z_.size()) {
        factor_.remove(hit);
        fresh = false;
        lost = true;
        continue;
      }
      const bool again = lost && offer_again(Q, rounding);
      lost = false;
      if (again || free_most_pulled(Q, lo, hi, rounding)) {
        fresh = false;
        continue;
      }
      if (fresh) return;
      rounding = find_slope(Q, q);
      fresh = true;
    }
  }

  // Frees the variable that is pulled most; one in the span of others keeps its value, and the next is tried. False if
  // there is none.
  bool free_most_pulled(const Gram& Q, Vector lo, Vector hi, double rounding) {
    while (true) {
      std::size_t most = x_.size();
      double strongest = rounding;
      for (std::size_t i = 0; i < x_.size(); ++i)
        if (const double p = pull(i, lo, hi); p > strongest) strongest = p, most = i;
      if (most == x_.size()) return false;
      side_[most] = Side::Free;
      if (factor_.offer(Q, most)) return true;
    }
  }

  // Offers the free variables that were in the span of others, if they are not any more; true if one was taken.
  bool offer_again(const Gram& Q, double rounding) {
    held_.assign(x_.size(), 0.0);
    for (const std::size_t i : factor_.places()) held_[i] = 1;
    bool taken = false;
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (side_[i] == Side::Free && held_[i] == 0 && std::fabs(slope_[i]) > rounding)
        taken = factor_.offer(Q, i) || taken;
    return taken;
  }

  // Moves x by z, the slope with it, up to the first bound, which then becomes active. Returns the place of that
  // variable in the factor, or z.size() if all of z was gone.
  std::size_t move(const Gram& Q, Vector lo, Vector hi) {
    double t = 1;
    std::size_t place = z_.size();
    for (std::size_t p = 0; p < z_.size(); ++p) {
      const std::size_t i = factor_.places()[p];
      const double room = (z_[p] < 0 ? lo[i] : hi[i]) - x_[i];
      if (std::fabs(z_[p]) <= std::fabs(room)) continue;
      if (const double share = room / z_[p]; place == z_.size() || share < t) t = share, place = p;
    }
    for (std::size_t p = 0; p < z_.size(); ++p) {
      const std::size_t i = factor_.places()[p];
      const double before = x_[i];
      x_[i] = p == place ? (z_[p] < 0 ? lo[i] : hi[i]) : std::clamp(x_[i] + t * z_[p], lo[i], hi[i]);
      if (p == place) side_[i] = z_[p] < 0 ? Side::Lower : Side::Upper;
      add(x_[i] - before, Q[i], slope_);
    }
    return place;
  }

  PartFactor factor_;
  bool all_taken_ = false;  // whether the factor has all variables that were free when it was made
  std::vector<Side> side_;
  std::vector<double> x_, held_, z_, slope_;
  std::size_t work_ = 0;
};

}  // namespace budgetron
