// What a removal costs the dual, and what another support vector absorbs, with more than two classes.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "dual/dual_variables.hpp"
#include "state/fields.hpp"

namespace budgetron {

// Replaces z by the nearest a that a support vector of class y may have: sum_c a_c = 0, a_y <= C, and a_r <= 0 for the
// other classes. With the multiplier m of the sum, a_c = min(z_c - m, bound of c). Classes at their bound stay there
// while m falls, so a pass over the others follows until none is beyond.
inline void make_possible(std::size_t y, double C, std::vector<double>& z, std::vector<bool>& bound) {
  const auto most = [&](std::size_t c) { return c == y ? C : 0.0; };
  bound.assign(z.size(), false);
  double multiplier = 0;
  for (bool again = true; again;) {
    double sum = 0;
    std::size_t free = 0;
    for (std::size_t c = 0; c < z.size(); ++c) {
      sum += bound[c] ? most(c) : z[c];
      free += !bound[c];
    }
    if (free == 0) break;
    multiplier = sum / static_cast<double>(free);
    again = false;
    for (std::size_t c = 0; c < z.size(); ++c)
      if (!bound[c] && z[c] - multiplier > most(c)) again = bound[c] = true;
  }
  double others = 0;
  for (std::size_t c = 0; c < z.size(); ++c) {
    if (c == y) continue;
    z[c] = bound[c] ? 0 : z[c] - multiplier;
    others += z[c];
  }
  z[y] = 0 - others;
}

// The support vector n that absorbs the coefficients of another, and its coefficients a then.
struct Heir {
  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

  std::size_t n = nobody;
  std::vector<double> a;

  void begin(std::size_t outputs) {
    n = nobody;
    a.assign(outputs, 0.0);
    gone_.resize(outputs);
  }

  // DA if s_j is removed and nobody absorbs anything.
  double ascent_of_removal(const DualVariables& dual, std::size_t j) {
    dual.copy(j, gone_);
    return -dual.total(j) + dual.value(j, gone_) - dual.product(j, gone_) * dual.f().self(j) / 2;
  }
  std::size_t best_removal(const DualVariables& dual) {
    return dual.best([&](std::size_t j) { return ascent_of_removal(dual, j); });
  }

  // DA if s_j is removed and s_n, of which k = k(s_j, s_n), absorbs what it may of alpha_j k / k(s_n, s_n).
  double take_over(const DualVariables& dual, std::size_t j, std::size_t heir, double k) {
    const double knn = dual.f().self(heir), removal = ascent_of_removal(dual, j);
    n = heir;
    if (knn <= 0) return n = nobody, removal;
    dual.copy(n, a);
    for (std::size_t c = 0; c < a.size(); ++c) a[c] += gone_[c] * k / knn;
    make_possible(dual.label(n), dual.C(n), a, bound_);
    double rise = 0;
    const std::size_t y = dual.label(n);
    for (std::size_t c = 0; c < a.size(); ++c) {
      const double z = a[c] - dual.f().alpha(c)[n];
      rise += (c == y ? z : 0) - z * dual.score(n, c) + gone_[c] * z * k - z * z * knn / 2;
    }
    return removal + rise;
  }

  // The share of alpha_j that the change of the heir's coefficients is nearest to.
  double share(const DualVariables& dual, std::size_t j) {
    dual.copy(j, gone_);
    double product = 0, square = 0;
    for (std::size_t c = 0; c < a.size(); ++c) {
      product += gone_[c] * (a[c] - dual.f().alpha(c)[n]);
      square += gone_[c] * gone_[c];
    }
    return square > 0 ? product / square : 0;
  }

  Bytes bytes() const { return bytes_of(a) + bytes_of(gone_) + bound_.capacity() / 8; }

 private:
  std::vector<double> gone_;  // alpha_j
  std::vector<bool> bound_;
};

}  // namespace budgetron
