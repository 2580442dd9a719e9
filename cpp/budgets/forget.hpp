// The Forgetron: all coefficients shrink, then the oldest support vector is removed.
#pragma once

#include <cassert>
#include <cmath>
#include <cstddef>
#include <vector>

#include "linalg/limits.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"
#include "model/losses.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// What both Forgetrons share. When over the budget, all coefficients are scaled by phi and the oldest support vector is
// removed. psi(phi) = q (sigma phi)^2 + 2 sigma phi (1 - phi mu) bounds the cost of this. It must stay within the slack
// 15/32 M - Q, where M counts the mistakes and Q sums psi so far.
class Forgetting : public OfSize {
 public:
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(k_));
    io.field("forget.M", M_);
    io.field("forget.Q", Q_);
  }
  bool is_consistent(std::size_t n) const override { return n <= budget_ && std::isfinite(Q_); }

 protected:
  using OfSize::OfSize;

  struct Cost {  // psi(phi) = a phi^2 + 2 sigma phi
    double a, sigma, slack;
    double psi(double phi) const { return a * phi * phi + 2 * sigma * phi; }
  };

  // The cost of removing the oldest support vector. With own_class, mu and q use only its class.
  Cost cost_of(std::size_t oldest, Expansion& f, const Term& term, bool own_class) {
    const double sigma = f.largest(oldest) / f.divisor();
    f.kernel_row(oldest, k_);
    double mu = 0, q = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      const double y = sign(f.alpha(c)[oldest]);
      if (own_class && f.outputs() > 1 && y < 0) continue;
      mu += y * (dot(f.alpha(c), k_) + term.coefficient(c) * term.row.k[oldest]);
      q += y * y * k_[oldest];
    }
    mu /= f.divisor();
    return {q * sigma * sigma - 2 * sigma * mu, sigma, 15.0 / 32.0 * static_cast<double>(M_) - Q_};
  }

  void forget(std::size_t oldest, Expansion& f, const Term& term, double phi, double psi) {
    Q_ += psi;
    f.replace(oldest, term);
    f.shrink(phi);
  }

  Counter M_ = 0;

 private:
  double Q_ = 0;
  std::vector<double> k_;
};

// The self-tuned Forgetron (Dekel et al. 2008): phi is the largest value in (0, 1] with psi(phi) <= 15/32 M - Q.
class Forget final : public Forgetting {
 public:
  explicit Forget(std::size_t budget) : Forgetting(budget) {}

  void insert(Expansion& f, const Term& term) override {
    M_ += term.round.mistake;
    if (f.size() < budget_) return f.append(term);
    const std::size_t oldest = f.oldest();
    const Cost cost = cost_of(oldest, f, term, false);
    const auto [a, sigma, slack] = cost;
    if (cost.psi(1) > slack && slack <= 0) return;  // no phi exists; happens only if the prediction was right
    const double phi = cost.psi(1) <= slack ? 1 : slack / (sigma + std::sqrt(sigma * sigma + a * slack));
    if (!(phi > 0) || !moderate_square(cost.psi(phi))) return;  // the squares of the coefficients overflow
    assert(phi <= 1);
    forget(oldest, f, term, phi, cost.psi(phi));
  }
};

// The Forgetron as in the program of Lu et al. 2016. If psi(phi) = 15/32 M - Q has two positive roots, phi is the
// larger one, which exceeds 1. With several classes, mu and q use only the class of the oldest support vector.
class ForgetLargerRoot final : public Forgetting {
 public:
  explicit ForgetLargerRoot(std::size_t budget) : Forgetting(budget) {}

  void insert(Expansion& f, const Term& term) override {
    M_ += term.round.mistake;
    if (f.size() < budget_) return f.append(term);
    const std::size_t oldest = f.oldest();
    const Cost cost = cost_of(oldest, f, term, true);
    const auto [a, sigma, slack] = cost;
    double phi = 1, psi = cost.psi(1);
    if (psi > slack) {
      const double root = std::sqrt(sigma * sigma + a * slack);
      phi = a < 0 ? -(sigma + root) / a : slack / (sigma + root);
      psi = slack;
    }
    const bool within = moderate(phi * term.beta) && moderate_square(psi) && f.can_grow(phi);
    if (!(phi > 0) || !within) return;  // no phi exists, or f would exceed the limits
    forget(oldest, f, term, phi, psi);
  }
};

}  // namespace budgetron
