// Double updating (Zhao, Hoi & Jin 2011) and its budgeted form (Zhao & Hoi 2012, Algorithm 1). A new example with a
// loss gets a weight. In the same step the weight of the support vector that conflicts with it most is corrected. The
// two weights maximise the dual objective D = sum g_i - |f|^2 / 2.
//
// More than two classes are ours: the same step on the dual of Crammer and Singer. An example of class y stands for its
// best wrong class r at the time, that is for the term v k(x,.) with v = e_y - e_r, whose margin is f_y(x) - f_r(x).
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
                 std::shared_ptr<DualMaintenance> maintenance, std::size_t features, std::size_t outputs)
      : ExpansionLearner(std::move(kernel), features, Precision::Double, outputs),  // pairs may be nearly identical
        C_(C),
        rho_(rho),
        maintenance_(std::move(maintenance)),
        dual_(f_) {}

  void widen(std::size_t features, std::size_t outputs) override {
    if (outputs > 1 && !maintenance_->takes_classes())
      throw std::invalid_argument("DoubleUpdating: this maintenance is defined for two classes.");
    if (!dual_.several() && outputs > 1) D_ /= 2, DA_ /= 2;  // f becomes -f/2 and f/2
    ExpansionLearner::widen(features, outputs);
    dual_.widen(outputs);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(k_) + bytes_of(fx_));
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
    if (loss(ask(f, y)) == 0 || row.kxx <= 0) return true;  // if k(x,.) = 0 no step can help
    const bool full = dual_.size() == maintenance_->budget();
    Newcomer t{x, row, y, C, full ? make_room() : dual_.size(), {}};
    fx_.resize(outputs());
    f_.scores(row.k, fx_);
    const Question question = ask(fx_, y);
    t.v = question.v;
    const double l = loss(question);
    const double g = l > 0 ? dual_.several() ? update(t, l, Classes(dual_, t)) : update(t, l, TwoClasses(dual_, t)) : 0;
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
    Direction v;  // of its term
  };

  // What the support vectors are to the new example, if there are two classes.
  struct TwoClasses {
    DualVariables& dual;
    const Newcomer& t;

    TwoClasses(DualVariables& variables, const Newcomer& newcomer) : dual(variables), t(newcomer) {}
    double square() const { return 1; }  // of the direction of a term
    // A number that w(i) is not below, where that takes long.
    static double least_w(std::size_t) { return -std::numeric_limits<double>::infinity(); }
    double w(std::size_t i) const { return t.y * dual.y(i) * t.row.k[i]; }
    double m(std::size_t i) const { return dual.m(i); }
    double lo(std::size_t i) const { return dual.lo(i); }
    double hi(std::size_t i) const { return dual.hi(i); }
    void change(std::size_t i, double d, Vector k) const { dual.change(i, d, k); }
  };

  // The same for more classes: each stands for its best wrong class.
  struct Classes {
    DualVariables& dual;
    const Newcomer& t;
    std::size_t y, s;  // the class of x, and its best wrong class

    Classes(DualVariables& variables, const Newcomer& newcomer)
        : dual(variables), t(newcomer), y(newcomer.v.plus), s(static_cast<std::size_t>(newcomer.v.minus)) {}
    double square() const { return 2; }
    double least_w(std::size_t i) const {
      const double k = t.row.k[i];
      return k < 0 ? 2 * k : dual.label(i) == y ? 0 : dual.label(i) == s ? -2 * k : -k;
    }
    double w(std::size_t i) const { return agreement(dual.label(i), dual.rival(i)) * t.row.k[i]; }
    double m(std::size_t i) const { return dual.m(i, dual.rival(i)); }
    double lo(std::size_t i) const { return -dual.g(i, dual.rival(i)); }
    double hi(std::size_t i) const { return std::max(lo(i), dual.C(i) - dual.total(i)); }
    void change(std::size_t i, double d, Vector k) const { dual.change(i, dual.rival(i), d, k); }

   private:
    // (e_y - e_s)'(e_z - e_r)
    double agreement(std::size_t z, std::size_t r) const { return (y == z) - (y == r) - (s == z) + (s == r); }
  };

  // The scalar question that a row asks: f(x) for two classes, f_y(x) - f_s(x) for more, s the best wrong class.
  Question ask(Vector f, double y) const {
    return dual_.several() ? Multiclass(outputs()).ask(f, y, 0, 1) : Binary().ask(f, y, 0, 1);
  }
  static double loss(const Question& q) { return clear_loss(1 - q.round.y * q.round.fx, std::fabs(q.round.fx)); }
  // Whether a margin is at most 1, up to rounding.
  static bool within(double m) { return clear_loss(m - 1, std::fabs(m)) == 0; }

  // Sets the weight of one support vector to 0; returns its slot.
  std::size_t make_room() {
    const Departure gone = maintenance_->make_room(dual_);
    D_ += gone.ascent;
    DA_ += gone.ascent;
    return gone.j;
  }

  // The weight of the new example, whose loss is l. Also changes the weight of the most conflicting support vector.
  template <class Others>
  double update(const Newcomer& t, double l, const Others& others) {
    const double kxx = others.square() * t.row.kxx;
    const std::size_t b = conflicting(t, others);
    if (b == none) {
      const double g = std::min(t.C, l / kxx);
      D_ += g * l - kxx * g * g / 2;
      return g;
    }
    const double m = others.m(b), kbb = others.square() * f_.self(b);
    const PairProblem pair{l, clear_loss(1 - m, std::fabs(m)), kxx, kbb, others.w(b), t.C, others.lo(b), others.hi(b)};
    const auto [g, d] = pair.solve();
    D_ += pair.rise({g, d});
    others.change(b, d, maintenance_->row(dual_, b));
    return g;
  }

  // The support vector that conflicts most with the new example: margin at most 1 and the smallest w, with two classes
  // y y_b k(x, s_b), newest on ties (Algorithm 1, line 16). `none` unless w < 0 and w <= -rho.
  template <class Others>
  std::size_t conflicting(const Newcomer& t, const Others& others) const {
    std::size_t b = none;
    double least = std::min(-rho_, -std::numeric_limits<double>::denorm_min());
    for (std::size_t i = 0; i < dual_.size(); ++i) {
      if (others.least_w(i) > least) continue;
      const double w = others.w(i);
      if (w > least || i == t.place || !within(others.m(i))) continue;
      if (w < least || b == none || dual_.older(b, i)) least = w, b = i;
    }
    return b;
  }

  void enter(const Newcomer& t, double g) {
    f_.scores(t.row.k, fx_);
    const Round round{fx_[0], t.y, t.row.kxx, true, 1};
    const bool last = t.place == dual_.size();
    dual_.enter(t.place, {t.x, t.row, 0, {}, round}, t.y, t.C, fx_);
    k_.assign(t.row.k.begin(), t.row.k.end());
    if (last) {
      maintenance_->appended(k_, t.row.kxx);
      k_.push_back(0);
    } else {
      maintenance_->replaced(t.place, k_, t.row.kxx);
    }
    k_[t.place] = t.row.kxx;
    if (t.v.lifted())
      dual_.change(t.place, static_cast<std::size_t>(t.v.minus), g, k_);
    else
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
  std::vector<double> fx_;
  double D_ = 0;         // the dual objective, summed from the change of every step
  double DA_ = 0;        // the part of D_ due to maintenance: the sum of DA in Theorem 2
  Counter changes_ = 0;  // since the margins were last recomputed
};

}  // namespace budgetron
