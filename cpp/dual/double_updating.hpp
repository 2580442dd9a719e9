// Double updating (Zhao, Hoi & Jin 2011) and its budgeted form (Zhao & Hoi 2012, Algorithm 1). A new example with a
// loss gets a weight. In the same step the weight of the support vector that conflicts with it most is corrected. The
// two weights maximise the dual objective D = sum g_i - |f|^2 / 2.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "dual/dual_maintenance.hpp"
#include "dual/dual_variables.hpp"
#include "linalg/cholesky.hpp"
#include "model/learner.hpp"
#include "model/rules.hpp"
#include "model/tasks.hpp"

namespace budgetron {

// Maximises g l + d l_b - kxx g^2 / 2 - kbb d^2 / 2 - w g d over 0 <= g <= C and lo <= d <= hi.
struct PairProblem {
  double l, l_b, kxx, kbb, w;
  double C, lo, hi;

  struct Answer {
    double g, d;
  };

  double rise(Answer a) const { return a.g * l + a.d * l_b - (kxx * a.g * a.g + kbb * a.d * a.d) / 2 - w * a.g * a.d; }

  // The maximiser: the vertex of the paraboloid if it is feasible, else the best point of the four edges. Covers Eq. 1,
  // and the cases that Eq. 1 omits.
  Answer solve() const {
    const double det = kxx * kbb - w * w;
    if (det > in_the_span * kxx * kbb) {
      const Answer top{(kbb * l - w * l_b) / det, (kxx * l_b - w * l) / det};
      if (0 <= top.g && top.g <= C && lo <= top.d && top.d <= hi) return top;
    }
    Answer best = along_g(0);
    for (const Answer edge : {along_g(C), along_d(lo), along_d(hi)})
      if (rise(edge) > rise(best)) best = edge;
    return best;
  }

 private:
  Answer along_g(double g) const { return {g, std::clamp((l_b - w * g) / kbb, lo, hi)}; }
  Answer along_d(double d) const { return {std::clamp((l - w * d) / kxx, 0.0, C), d}; }
};

class DoubleUpdating final : public ExpansionLearner {
 public:
  DoubleUpdating(std::shared_ptr<const Kernel> kernel, double C, double rho,
                 std::shared_ptr<DualMaintenance> maintenance, std::size_t features)
      : ExpansionLearner(std::move(kernel), features, Precision::Double, 1),  // pairs may be nearly identical
        C_(C),
        rho_(rho),
        maintenance_(std::move(maintenance)),
        dual_(f_) {}

  void widen(std::size_t features, std::size_t outputs) override {
    if (outputs > 1) throw std::invalid_argument("DoubleUpdating is defined for two classes.");
    ExpansionLearner::widen(features, outputs);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(k_));
    f_.fields(io);
    dual_.fields(io);
    maintenance_->fields(io);
    io.field("dual.objective", D_);
    io.field("dual.ascents", DA_);
    io.field("dual.changes", changes_);
  }

  bool is_consistent(std::size_t n) const override {
    return f_.is_consistent(n) && dual_.is_consistent(n) && maintenance_->is_consistent(n);
  }

 protected:
  bool learn(const Row& x, const KernelRow& row, Vector f, double y, double weight) override {
    const double C = weight * C_;
    if (!moderate(C) || !moderate_square(C * C * row.kxx)) return false;
    if (loss(y, f[0]) == 0 || row.kxx <= 0) return true;  // if k(x,.) = 0 no step can help
    const bool full = dual_.size() == maintenance_->budget();
    const Newcomer t{x, row, y, C, full ? make_room() : dual_.size()};
    const double l = loss(y, dot(f_.alpha(0), row.k));
    const double g = l > 0 ? update(t, l) : 0;
    if (g > 0)
      enter(t, g);
    else if (full)
      leave(t.place);
    if (++changes_ > 16 * dual_.size()) refresh();
    return true;
  }

 private:
  // The new example, and its slot if it gets a weight: a vacant slot, or the next one.
  struct Newcomer {
    const Row& x;
    const KernelRow& row;
    double y, C;
    std::size_t place;
  };

  static double loss(double y, double fx) { return clear_loss(1 - y * fx, std::fabs(fx)); }
  // Whether the margin of s_i is at most 1, up to rounding.
  bool within_margin(std::size_t i) const { return clear_loss(dual_.m(i) - 1, std::fabs(dual_.m(i))) == 0; }

  // Sets the weight of one support vector to 0; returns its slot.
  std::size_t make_room() {
    const Departure gone = maintenance_->make_room(dual_);
    D_ += gone.ascent;
    DA_ += gone.ascent;
    return gone.j;
  }

  // The weight of the new example, whose loss is l. Also changes the weight of the most conflicting support vector.
  double update(const Newcomer& t, double l) {
    const double kxx = t.row.kxx;
    const std::size_t b = conflicting(t);
    if (b == none) {
      const double g = std::min(t.C, l / kxx);
      D_ += g * l - kxx * g * g / 2;
      return g;
    }
    const double m = dual_.m(b), w = t.y * dual_.y(b) * t.row.k[b];
    const PairProblem pair{l, clear_loss(1 - m, std::fabs(m)), kxx, f_.self(b), w, t.C, dual_.lo(b), dual_.hi(b)};
    const auto [g, d] = pair.solve();
    D_ += pair.rise({g, d});
    dual_.change(b, d, maintenance_->row(dual_, b));
    return g;
  }

  // The support vector that conflicts most with the new example: margin at most 1 and the smallest w = y y_b k(x, s_b),
  // newest on ties (Algorithm 1, line 16). `none` unless w < 0 and w <= -rho.
  std::size_t conflicting(const Newcomer& t) const {
    std::size_t b = none;
    double least = std::min(-rho_, -std::numeric_limits<double>::denorm_min());
    for (std::size_t i = 0; i < dual_.size(); ++i) {
      const double w = t.y * dual_.y(i) * t.row.k[i];
      if (w > least || i == t.place || !within_margin(i)) continue;
      if (w < least || b == none || dual_.older(b, i)) least = w, b = i;
    }
    return b;
  }

  void enter(const Newcomer& t, double g) {
    const double fx = dot(f_.alpha(0), t.row.k);
    const Round round{fx, t.y, t.row.kxx, true, 1};
    const bool last = t.place == dual_.size();
    dual_.enter(t.place, {t.x, t.row, 0, {}, round}, t.y, t.C, fx);
    k_.assign(t.row.k.begin(), t.row.k.end());
    if (last) {
      maintenance_->appended(k_, t.row.kxx);
      k_.push_back(0);
    } else {
      maintenance_->replaced(t.place, k_, t.row.kxx);
    }
    k_[t.place] = t.row.kxx;
    dual_.change(t.place, g, k_);
  }

  // Removes a vacant slot that is not used.
  void leave(std::size_t place) {
    dual_.remove(place);
    maintenance_->removed(place);
  }

  // Recomputes the margins before rounding errors accumulate.
  void refresh() {
    for (std::size_t i = 0; i < dual_.size(); ++i) dual_.refresh(i, maintenance_->row(dual_, i));
    changes_ = 0;
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  double C_, rho_;
  std::shared_ptr<DualMaintenance> maintenance_;
  DualVariables dual_;
  std::vector<double> k_;  // kernel row of x, including k(x,x)
  double D_ = 0;           // the dual objective, summed from the change of every step
  double DA_ = 0;          // the part of D_ due to maintenance: the sum of DA in Theorem 2
  Counter changes_ = 0;    // since the margins were last recomputed
};

}  // namespace budgetron
