// Kernel recursive least squares with approximate linear dependence (Engel, Mannor & Meir 2004).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/gram.hpp"
#include "linalg/limits.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"

namespace budgetron {

// f minimises sum w (y - f(x))^2 + lam |f|^2 over all rows so far, in the span of the support vectors, where a row x
// has the coordinates a = K^-1 k. P = (A'WA + lam K^-1)^-1 for the coordinates A of all rows and their weights W. The
// beta of a term is w r, the weighted residual. A row becomes a support vector if |delta|^2 > nu; it then has a
// coordinate of its own, which no earlier row has.
class LeastSquares final : public Budget {
 public:
  // budget = 0: only nu limits the number of support vectors.
  LeastSquares(std::size_t budget, double nu, double lam)
      : budget_(budget > 0 ? budget : std::numeric_limits<std::size_t>::max()), nu_(nu), lam_(lam) {}

  bool takes_every_row() const override { return true; }
  bool solves() const override { return true; }

  void insert(Expansion& f, const Term& term) override {
    span_.look(term.row.k, term.row.kxx);
    a_.assign(span_.d().begin(), span_.d().end());
    g_.resize(a_.size());
    P_.multiply(a_, g_);
    const double s = std::max(dot(a_, g_), 0.0);
    if (!span_.inside() && span_.delta2() > nu_ && f.size() < budget_)
      widen_span(f, term, s);
    else
      stay_in_span(f, term, s);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(a_) + bytes_of(g_) + bytes_of(step_));
    span_.fields(io);
    P_.fields(io, "least_squares.P.n", "least_squares.P");
  }
  bool is_consistent(std::size_t n) const override {
    return n <= budget_ && span_.is_consistent(n) && P_.is_consistent(n) && P_.finite();
  }

 private:
  // With g = P a and s = a'g: alpha += w r K^-1 g / (1 + w s), P -= w g g' / (1 + w s).
  void stay_in_span(Expansion& f, const Term& term, double s) {
    const double w = term.round.weight, share = 1 / (1 + w * s);
    step_.resize(a_.size());
    span_.solve_twice(g_, step_);
    if (!moderate(w * s) || !moderate(term.beta * share * largest_of(step_))) return;
    f.spread(term, share, step_);
    subtract(w * share);
  }

  // The same step for a span with the new support vector, where before the row P has the column (g, s + delta2 / lam)
  // more; written without 1 / lam, which may be infinite. D = lam (1 + w s) + w delta2.
  void widen_span(Expansion& f, const Term& term, double s) {
    const double w = term.round.weight, delta2 = span_.delta2(), D = lam_ * (1 + w * s) + w * delta2;
    step_.assign(a_.size(), 0.0);
    if (lam_ > 0) span_.solve_twice(g_, step_);
    scale(lam_, step_);
    add(-1, a_, step_);
    const double own = term.beta / D, corner = (lam_ * s + delta2) / D;
    if (!moderate(w * s) || !moderate(corner) || !moderate(own * (1 + largest_of(step_)))) return;
    if (!moderate_square(own * own * term.row.kxx)) return;
    f.spread(term, 1 / D, step_);
    span_.append();
    f.append({term.x, term.row, own, term.v, term.round});
    subtract(w * lam_ / D);
    P_.grow();
    const std::size_t last = P_.size() - 1;
    for (std::size_t i = 0; i < last; ++i) P_[i][last] = P_[last][i] = lam_ / D * g_[i];
    P_[last][last] = corner;
  }

  // P -= c g g', symmetric to the last bit.
  void subtract(double c) {
    if (c == 0) return;
    scale(std::sqrt(c), g_);
    for (std::size_t i = 0; i < g_.size(); ++i) add(-g_[i], g_, P_[i]);
    scale(1 / std::sqrt(c), g_);
  }

  std::size_t budget_;
  double nu_, lam_;
  Span span_;
  SquareMatrix P_;
  std::vector<double> a_, g_, step_;
};

}  // namespace budgetron
