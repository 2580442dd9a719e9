// The dual variables of f = sum_i g_i y_i k(s_i,.): weights g_i in [0, C_i], labels y_i, and margins m_i = y_i f(s_i).
// The margins are updated in O(n) for every changed weight. The weights are stored in the expansion, alpha_i = g_i y_i.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/expansion.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

class DualVariables {
 public:
  explicit DualVariables(Expansion& f) : f_(f) {}

  std::size_t size() const { return y_.size(); }
  const Expansion& f() const { return f_; }
  double g(std::size_t i) const { return y_[i] * f_.alpha(0)[i]; }
  double y(std::size_t i) const { return y_[i]; }
  double C(std::size_t i) const { return C_[i]; }
  double m(std::size_t i) const { return y_[i] * F_[i]; }
  bool older(std::size_t i, std::size_t j) const { return f_.births()[i] < f_.births()[j]; }

  // The allowed change of g_i: [lo_i, hi_i] = [-g_i, C_i - g_i].
  double lo(std::size_t i) const { return -g(i); }
  double hi(std::size_t i) const { return C_[i] - g(i); }

  // The slot with the largest ascent, oldest on ties.
  template <class Ascent>
  std::size_t best(Ascent ascent) const {
    std::size_t best = 0;
    double most = ascent(0);
    for (std::size_t i = 1; i < size(); ++i)
      if (const double a = ascent(i); a > most || (a == most && older(i, best))) most = a, best = i;
    return best;
  }

  // g_i += d, clamped to [0, C_i]; k is the kernel row of s_i.
  void change(std::size_t i, double d, Vector k) {
    double& alpha = f_.alpha(0)[i];
    const double before = alpha;
    alpha = y_[i] * std::clamp(y_[i] * alpha + d, 0.0, C_[i]);
    add(alpha - before, k, F_);
  }

  // Moves the share b / g_j of j's part of the average to i.
  void hand_over_average(std::size_t j, std::size_t i, double b) {
    if (g(j) > 0) f_.lend_in_average(j, i, b * y_[i] / f_.alpha(0)[j]);
  }

  // Adds a support vector with weight 0 and fx = f(x) at slot i, which is vacant or the next one.
  void enter(std::size_t i, const Term& term, double y, double C, double fx) {
    if (i == size()) {
      f_.append(term);
      for (auto* values : {&y_, &C_, &F_}) push(*values, 0.0);
    } else {
      f_.replace(i, term);
    }
    y_[i] = y;
    C_[i] = C;
    F_[i] = fx;
  }

  // Removes slot j; the last support vector moves there.
  void remove(std::size_t j) {
    f_.remove(j);
    for (auto* values : {&y_, &C_, &F_}) {
      (*values)[j] = values->back();
      values->pop_back();
    }
  }

  // Recomputes m_i; k is the kernel row of s_i.
  void refresh(std::size_t i, Vector k) { F_[i] = dot(f_.alpha(0), k); }

  void fields(Fields& io) {
    io.field("dual.y", y_, {Merged::Unsaid, OfOutputs::All, true});
    io.field("dual.C", C_);
    io.field("dual.F", F_, {Merged::Unsaid, OfOutputs::All, true});
  }
  bool is_consistent(std::size_t n) const {
    const auto label = [](double y) { return y == 1 || y == -1; };
    const auto possible = [](double C) { return C >= 0 && std::isfinite(C); };
    return y_.size() == n && C_.size() == n && F_.size() == n && std::all_of(y_.begin(), y_.end(), label) &&
           std::all_of(C_.begin(), C_.end(), possible);
  }

 private:
  Expansion& f_;
  std::vector<double> y_;
  std::vector<double> C_;
  std::vector<double> F_;  // f(s_i)
};

}  // namespace budgetron
