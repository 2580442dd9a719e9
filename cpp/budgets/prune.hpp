// POLK (Koppel et al. 2019): support vectors are removed as long as f stays close to what it was after the step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "linalg/inverse_factor.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"

namespace budgetron {

// Destructive kernel orthogonal matching pursuit. With g = f after the step, f is always the projection of g onto the
// span of the support vectors that are left. With Q = K^-1, removing i adds |alpha_i|^2 / Q_ii to |g - f|^2; the i that
// adds least is removed while |g - f| <= error, or while there are more than B. A step that adds nothing to f is
// followed by removals too.
class Prune final : public Budget {
 public:
  // budget = 0: only the error limits the number of support vectors.
  Prune(double error, std::size_t budget) : error_(error), budget_(budget) {}

  std::size_t most() const override { return budget_; }
  bool takes_every_row() const override { return true; }
  bool solves() const override { return true; }

  void insert(Expansion& f, const Term& term) override {
    double left = error_ * error_ * f.divisor() * f.divisor();  // of |g - f|^2, of undivided coefficients
    if (term.beta != 0) left -= enter(f, term, left);
    while (f.size() > 0) {
      find_costs(f);
      const std::size_t p = f.slot_of_least(costs_);
      if (!affordable(costs_[p], left, f.size())) return;
      left -= costs_[p];
      project_out(f, p);
    }
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(costs_) + bytes_of(shares_));
    inverse_.fields(io);
  }
  bool is_consistent(std::size_t n) const override {
    return (budget_ == 0 || n <= budget_) && inverse_.is_consistent(n);
  }

 private:
  // Appends the term. If it would be removed at once, or lies in the span, it is projected instead. Returns what that
  // adds to |g - f|^2.
  double enter(Expansion& f, const Term& term, double left) {
    inverse_.look(term.row.k, term.row.kxx);
    const double cost = std::max(inverse_.delta2(), 0.0) * squared(term, f.outputs());
    if (inverse_.inside() || (affordable(cost, left, f.size() + 1) && costs_least(f, cost))) {
      f.spread(term, 1, inverse_.d());
      return cost;
    }
    inverse_.append(term.row.k, term.row.kxx);
    f.append(term);
    return 0;
  }

  bool affordable(double cost, double left, std::size_t n) const {
    return cost <= left || (budget_ > 0 && n > budget_);
  }

  // Whether the removal of each support vector would cost more, if the term were appended: Q_ii grows by d_i^2 /
  // delta2.
  bool costs_least(const Expansion& f, double cost) {
    f.squares(costs_);
    const Vector q = inverse_.diagonal(), d = inverse_.d();
    for (std::size_t i = 0; i < costs_.size(); ++i)
      if (!(costs_[i] / (q[i] + d[i] * d[i] / inverse_.delta2()) > cost)) return false;
    return true;
  }

  void find_costs(const Expansion& f) {
    f.squares(costs_);
    const Vector q = inverse_.diagonal();
    for (std::size_t i = 0; i < costs_.size(); ++i) costs_[i] /= q[i];
  }

  void project_out(Expansion& f, std::size_t p) {
    const Vector q = inverse_.remove(p);
    shares_.assign(q.begin(), q.end());
    const double Qpp = shares_[p];
    scale(-1 / Qpp, shares_);
    f.project_out(p, shares_, 1 / Qpp);
  }

  static double squared(const Term& term, std::size_t outputs) {
    double sum = 0;
    for (std::size_t c = 0; c < outputs; ++c) sum += term.coefficient(c) * term.coefficient(c);
    return sum;
  }

  double error_;
  std::size_t budget_;
  InverseFactor inverse_;
  std::vector<double> costs_;
  std::vector<double> shares_;
};

}  // namespace budgetron
