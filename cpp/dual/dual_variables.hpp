// The dual variables of f = sum_i g_i y_i k(s_i,.): weights g_i in [0, C_i], labels y_i, and margins m_i = y_i f(s_i).
// The margins are updated in O(n) for every changed weight. The weights are stored in the expansion, alpha_i = g_i y_i.
//
// With more than two classes there is a weight g_ir >= 0 for every wrong class r of s_i, and their sum is at most C_i.
// With y the class of s_i, the coefficients are alpha_y = sum_r g_ir and alpha_r = -g_ir, so they hold the weights too.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "model/expansion.hpp"
#include "model/tasks.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

class DualVariables {
 public:
  explicit DualVariables(Expansion& f) : f_(f), F_(f.outputs()) {}

  std::size_t size() const { return y_.size(); }
  const Expansion& f() const { return f_; }
  bool older(std::size_t i, std::size_t j) const { return f_.births()[i] < f_.births()[j]; }
  double C(std::size_t i) const { return C_[i]; }

  // ---- two classes

  double g(std::size_t i) const { return y_[i] * f_.alpha(0)[i]; }
  double y(std::size_t i) const { return y_[i]; }
  double m(std::size_t i) const { return y_[i] * F_[0][i]; }

  // The allowed change of g_i: [lo_i, hi_i] = [-g_i, C_i - g_i].
  double lo(std::size_t i) const { return -g(i); }
  double hi(std::size_t i) const { return C_[i] - g(i); }

  // g_i += d, clamped to [0, C_i]; k is the kernel row of s_i.
  void change(std::size_t i, double d, Vector k) {
    double& alpha = f_.alpha(0)[i];
    const double before = alpha;
    alpha = y_[i] * std::clamp(y_[i] * alpha + d, 0.0, C_[i]);
    add(alpha - before, k, F_[0]);
  }

  // Moves the share b / g_j of j's part of the average to i.
  void hand_over_average(std::size_t j, std::size_t i, double b) {
    if (g(j) > 0) f_.lend_in_average(j, i, b * y_[i] / f_.alpha(0)[j]);
  }

  // ---- more than two classes

  bool several() const { return F_.size() > 1; }
  std::size_t label(std::size_t i) const { return static_cast<std::size_t>(y_[i]); }
  // The sum of the weights of s_i, and the weight of its wrong class r.
  double total(std::size_t i) const { return f_.alpha(label(i))[i]; }
  double g(std::size_t i, std::size_t r) const { return -f_.alpha(r)[i]; }

  // The best wrong class of s_i, the lowest on ties.
  std::size_t rival(std::size_t i) const {
    std::size_t r = label(i) == 0 ? 1 : 0;
    for (std::size_t c = r + 1; c < F_.size(); ++c)
      if (c != label(i) && F_[c][i] > F_[r][i]) r = c;
    return r;
  }
  double score(std::size_t i, std::size_t c) const { return F_[c][i]; }
  // f_y(s_i) - f_r(s_i)
  double m(std::size_t i, std::size_t r) const { return F_[label(i)][i] - F_[r][i]; }

  // g_ir += d, clamped to [0, C_i]; k is the kernel row of s_i.
  void change(std::size_t i, std::size_t r, double d, Vector k) {
    double& alpha = f_.alpha(r)[i];
    const double before = alpha;
    alpha = -std::clamp(d - alpha, 0.0, C_[i]);
    f_.alpha(label(i))[i] += before - alpha;
    add(before - alpha, k, F_[label(i)]);
    add(alpha - before, k, F_[r]);
  }

  // The coefficients of s_i become a.
  void set(std::size_t i, Vector a, Vector k) {
    for (std::size_t c = 0; c < F_.size(); ++c) {
      double& alpha = f_.alpha(c)[i];
      add(a[c] - alpha, k, F_[c]);
      alpha = a[c];
    }
  }

  // sum_c a_c f_c(s_i), sum_c a_c alpha_ci and sum_c alpha_ci^2
  double value(std::size_t i, Vector a) const {
    double sum = 0;
    for (std::size_t c = 0; c < F_.size(); ++c) sum += a[c] * F_[c][i];
    return sum;
  }
  double product(std::size_t i, Vector a) const {
    double sum = 0;
    for (std::size_t c = 0; c < F_.size(); ++c) sum += a[c] * f_.alpha(c)[i];
    return sum;
  }
  // The coefficients of s_i.
  void copy(std::size_t i, std::span<double> a) const {
    for (std::size_t c = 0; c < F_.size(); ++c) a[c] = f_.alpha(c)[i];
  }

  // ---- any number of classes

  // The slot with the largest ascent, oldest on ties.
  template <class Ascent>
  std::size_t best(Ascent ascent) const {
    std::size_t best = 0;
    double most = ascent(0);
    for (std::size_t i = 1; i < size(); ++i)
      if (const double a = ascent(i); a > most || (a == most && older(i, best))) most = a, best = i;
    return best;
  }

  // The share of j's part of the average is added to that of i.
  void lend_average(std::size_t j, std::size_t i, double share) { f_.lend_in_average(j, i, share); }

  // Adds a support vector with weight 0 and fx = f(x) at slot i, which is vacant or the next one.
  void enter(std::size_t i, const Term& term, double y, double C, Vector fx) {
    if (i == size()) {
      f_.append(term);
      for (auto* values : {&y_, &C_}) push(*values, 0.0);
      for (auto& row : F_) push(row, 0.0);
    } else {
      f_.replace(i, term);
    }
    y_[i] = y;
    C_[i] = C;
    for (std::size_t c = 0; c < F_.size(); ++c) F_[c][i] = fx[c];
  }

  // Removes slot j; the last support vector moves there.
  void remove(std::size_t j) {
    f_.remove(j);
    const auto take_out = [j](std::vector<double>& values) {
      values[j] = values.back();
      values.pop_back();
    };
    for (auto* values : {&y_, &C_}) take_out(*values);
    for (auto& row : F_) take_out(row);
  }

  // Recomputes the margins of s_i; k is its kernel row.
  void refresh(std::size_t i, Vector k) {
    for (std::size_t c = 0; c < F_.size(); ++c) F_[c][i] = dot(f_.alpha(c), k);
  }

  // f has more outputs: the labels -1 and +1 of two classes become 0 and 1.
  void widen(std::size_t outputs) {
    if (!several() && outputs > 1)
      for (double& y : y_) y = y > 0 ? 1 : 0;
    widen_outputs(F_, outputs);
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(F_));
    if (several())
      io.field("dual.label", y_, {Merged::Unsaid, OfOutputs::Codes});
    else
      io.field("dual.y", y_, {Merged::Unsaid, OfOutputs::All, true});
    io.field("dual.C", C_);
    if (several())
      io.outputs("dual.F", F_, Merged::Unsaid, true);
    else
      io.field("dual.F", F_[0], {Merged::Unsaid, OfOutputs::All, true});
  }
  bool is_consistent(std::size_t n) const {
    const auto label = [this](double y) {
      return several() ? y >= 0 && y < static_cast<double>(F_.size()) && y == std::floor(y) : y == 1 || y == -1;
    };
    const auto possible = [](double C) { return C >= 0 && std::isfinite(C); };
    return y_.size() == n && C_.size() == n && std::all_of(y_.begin(), y_.end(), label) &&
           std::all_of(C_.begin(), C_.end(), possible) &&
           std::all_of(F_.begin(), F_.end(), [n](const auto& row) { return row.size() == n; });
  }

 private:
  Expansion& f_;
  std::vector<double> y_;  // -1 and +1; for several classes, their numbers
  std::vector<double> C_;
  std::vector<std::vector<double>> F_;  // f_c(s_i): outputs x n
};

}  // namespace budgetron
