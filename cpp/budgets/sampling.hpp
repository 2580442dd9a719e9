// BOGD: the support vector to remove is drawn at random, and the others are rescaled so that f keeps its expectation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "model/budget.hpp"
#include "model/expansion.hpp"
#include "simd/loops.hpp"
#include "state/fields.hpp"
#include "state/random.hpp"

namespace budgetron {

// BOGD (Zhao et al. 2012): when full, draws i from p, removes it and rescales the others by 1/(1 - p_i), which keeps
// the expectation of f. Then the coefficients are clamped to the cap (Eq. 10).
class Sample : public OfSize {
 public:
  Sample(std::size_t budget, double cap, Counter seed) : OfSize(budget), cap_(cap), random_(seed) {}

  void insert(Expansion& f, const Term& term) final {
    if (f.size() < budget_) return f.append(term);
    const std::size_t dropped = draw(f, random_);
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      const double alpha = f.alpha(c)[dropped];
      rescale(f.alpha(c), std::min(cap_ * f.divisor(), largest_cap));
      f.alpha(c)[dropped] = alpha;  // removed unscaled
    }
    f.forget_norm();
    f.replace(dropped, term);
  }

  void fields(Fields& io) override { random_.fields(io); }

 protected:
  // The largest effective cap: squares of coefficients times k(x,x) must not overflow.
  static constexpr double largest_cap = 1e70;

  // Draws a support vector from p.
  virtual std::size_t draw(const Expansion& f, Random& random) = 0;
  // alpha_i <- alpha_i / (1 - p_i), clamped to the cap.
  virtual void rescale(std::span<double> alpha, double cap) const = 0;

 private:
  double cap_;
  Random random_;
};

// BOGD: p_i = 1/B.
class SampleUniform final : public Sample {
 public:
  using Sample::Sample;
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    Sample::fields(io);
  }

 protected:
  std::size_t draw(const Expansion& f, Random& random) override { return random.below(f.size()); }
  void rescale(std::span<double> alpha, double cap) const override {
    const double p = 1.0 / static_cast<double>(alpha.size());
    if (p < 1) loops->scale_within(1 / (1 - p), cap, alpha.data(), alpha.size());
  }
};

// BOGD as in the program of Lu et al. 2016: when full, removes one drawn uniformly and rescales the others as above.
// After every update, if a coefficient exceeds the cap, all coefficients, including the new one, are scaled down until
// none does.
class SampleUniformScaled final : public OfSize {
 public:
  SampleUniformScaled(std::size_t budget, double cap, Counter seed) : OfSize(budget), cap_(cap), random_(seed) {}

  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) {
      f.append(term);
    } else {
      const auto B = static_cast<double>(f.size());
      if (B > 1) f.shrink(B / (B - 1));
      f.replace(random_.below(f.size()), term);
    }
    double most = 0;
    for (std::size_t i = 0; i < f.size(); ++i) most = std::max(most, f.largest(i));
    if (most > cap_ * f.divisor()) f.shrink(cap_ * f.divisor() / most);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    random_.fields(io);
  }

 private:
  double cap_;
  Random random_;
};

// BOGD++: p_i = max(0, 1 - s |alpha_i| sqrt(k(s_i,s_i))), s = (B-1) / sum_j |alpha_j| sqrt(k(s_j,s_j)) (Eq. 16).
class SampleByWeight final : public Sample {
 public:
  using Sample::Sample;
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(p_));
    Sample::fields(io);
  }

 protected:
  std::size_t draw(const Expansion& f, Random& random) override {
    f.squares(p_);
    const double sum = loops->geometric_means(p_.data(), f.selves().data(), p_.size(), p_.data());
    const double s = sum > 0 ? static_cast<double>(p_.size() - 1) / sum : 0;
    total_ = loops->chances(std::isfinite(s) ? s : 0, p_.data(), p_.size());
    return find(random.uniform() * total_);
  }
  void rescale(std::span<double> alpha, double cap) const override {
    loops->rescale(p_.data(), total_, cap, alpha.data(), alpha.size());
  }

 private:
  // The first index at which the cumulative sum of p exceeds `left`. If rounding leaves none, the last index with p >
  // 0.
  std::size_t find(double left) const {
    std::size_t i = 0;
    for (; i < p_.size() && left >= p_[i]; ++i) left -= p_[i];
    if (i < p_.size()) return i;
    do --i;
    while (i > 0 && p_[i] == 0);
    return i;
  }

  std::vector<double> p_;  // p_i times total_
  double total_ = 1;
};

}  // namespace budgetron
