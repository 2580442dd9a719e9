// The state of second-order rules: a covariance matrix Sigma per output, which starts as a multiple of the identity and
// shrinks along every observation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "features/feature_map.hpp"
#include "linalg/limits.hpp"
#include "linalg/upper_factor.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Covariance : public Part {
 public:
  explicit Covariance(double start) : start_(start) {}
  // Starts with this many outputs; memory for features is allocated at the first observation.
  virtual void begin(std::size_t outputs) = 0;
  // z'Sigma_c z; must be called before the observation of z.
  virtual double confidence(std::size_t c, Vector z) = 0;
  // Whether an observation of precision q along the z of the last `confidence` call, and a step of `factor` Sigma_c z,
  // stay within the limits.
  virtual bool possible(std::size_t c, double q, double factor) = 0;
  // Observes z with precision q: Sigma_c^-1 += q z z'. Writes Sigma_c z before and after the observation.
  virtual void observe(std::size_t c, Vector z, double q, std::span<double> before, std::span<double> after) = 0;
  // Whether it is certain in advance that `possible` will hold, for any factor up to this one; if so, observe_at_once
  // may be called instead of `confidence`, `possible` and `observe`. It returns z'Sigma_c z, with the same bits.
  virtual bool certainly_possible(std::size_t, Vector, double, double) { return false; }
  virtual double observe_at_once(std::size_t, Vector, double, std::span<double>, std::span<double>) { return 0; }
  // Adapts to changed coordinates; new ones start with the initial variance.
  virtual void change(const Change&) = 0;
  // `added` features are appended. Two classes have one matrix; with more, both start with it.
  virtual void widen(std::size_t added, std::size_t outputs) = 0;

 protected:
  double start_;
};

// The full matrix, O(m^2), as U D U'.
class FullCovariance final : public Covariance {
 public:
  using Covariance::Covariance;

  void begin(std::size_t outputs) override {
    factors_.assign(outputs, {});
    forget_bounds();
  }

  double confidence(std::size_t c, Vector z) override {
    allocate(c, z.size());
    return factors_[c].multiply(z).confidence;
  }

  // Uses an upper bound on |U| that is updated at every step in O(m). After many steps the bound may be far too large;
  // if it exceeds the limit, it is recomputed from U, so the answer depends on U alone.
  bool possible(std::size_t c, double q, double factor) override {
    if (bounded(c, q, factor)) return true;
    most_[c] = 0;
    return bounded(c, q, factor);
  }

  void observe(std::size_t c, Vector, double q, std::span<double> before, std::span<double> after) override {
    most_[c] = next_bound_[c];
    shrink(q, factors_[c].update(q, before), before, after);
  }

  // |f| is at most F = |U| |z|_1, and the sum of |v| at most S = F trace(D): coarse, but known without a pass over U.
  bool certainly_possible(std::size_t c, Vector z, double q, double factor) override {
    allocate(c, z.size());
    const double length = std::sqrt(static_cast<double>(z.size()) * dot(z, z));  // at least |z|_1
    const auto certain = [&] {
      if (most_[c] == 0) bound(c);
      const double F = most_[c] * length, S = F * total_[c], growth = q * F * S;
      return most_[c] + growth * most_[c] <= spare * UpperFactor::largest && moderate_square((1 / q + F * S) / spare) &&
             moderate(factor * S * most_[c] / spare);
    };
    if (certain()) return true;
    most_[c] = 0;
    return certain();
  }
  double observe_at_once(std::size_t c, Vector z, double q, std::span<double> before,
                         std::span<double> after) override {
    const Observed seen = factors_[c].multiply_update(z, q, before);
    most_[c] += seen.growth * most_[c];
    shrink(q, seen, before, after);
    return seen.confidence;
  }

  void change(const Change& change) override {
    forget_bounds();
    for (UpperFactor& factor : factors_)
      if (factor.size() == 0)
        continue;
      else if (change.removed == 0)
        factor.insert(change.at, change.added, start_);
      else
        factor.replace(change.at, change.removed, change.added, start_);
  }

  void widen(std::size_t added, std::size_t outputs) override {
    for (UpperFactor& factor : factors_)
      if (factor.size() > 0) factor.insert(factor.size(), added, start_);
    copy_outputs(factors_, outputs, {});
    forget_bounds();
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(factors_) + bytes_of(most_) + bytes_of(total_) + bytes_of(next_bound_));
    if (io.restoring()) forget_bounds();
    for (std::size_t c = 0; c < factors_.size(); ++c) factors_[c].fields(io, c);
  }
  bool is_consistent(std::size_t features) const override {
    return std::all_of(factors_.begin(), factors_.end(),
                       [&](const UpperFactor& factor) { return factor.is_consistent(features); });
  }

 private:
  static constexpr double spare = 1e-3;  // for rounding

  void allocate(std::size_t c, std::size_t m) {
    if (factors_[c].size() == 0) factors_[c].begin(m, start_);
  }

  void forget_bounds() {
    for (auto* bounds : {&most_, &total_, &next_bound_}) bounds->assign(factors_.size(), 0);
  }

  // Sigma z after the observation, from Sigma z before it.
  static void shrink(double q, const Observed& seen, std::span<const double> before, std::span<double> after) {
    for (std::size_t j = 0; j < before.size(); ++j) after[j] = before[j] / (q * seen.last);
  }

  // Bounds on U and D. No observation makes D larger.
  void bound(std::size_t c) {
    most_[c] = factors_[c].largest_in_U();
    total_[c] = factors_[c].trace_of_D();
  }

  // The same with the current bound; stores the bound after the observation in next_bound_.
  bool bounded(std::size_t c, double q, double factor) {
    const Vector f = factors_[c].f(), D = factors_[c].D();
    if (most_[c] == 0) bound(c);
    double last = 1 / q, sum = 0, growth = 0;  // sum of |v|
    for (std::size_t j = 0; j < D.size(); ++j) {
      const double v = D[j] * f[j], more = std::fabs(f[j]) / last * sum;
      growth = more <= growth ? growth : more;
      sum += std::fabs(v);
      last += f[j] * v;
    }
    next_bound_[c] = most_[c] + growth * most_[c];
    return next_bound_[c] <= UpperFactor::largest && moderate_square(last) && moderate(factor * sum * most_[c]);
  }

  std::vector<UpperFactor> factors_;  // one for each output; empty before its first step
  std::vector<double> most_;          // outputs: upper bound on |U|, at least 1; 0 if unknown
  std::vector<double> total_;         // outputs: upper bound on the trace of D, if most_ is known
  std::vector<double> next_bound_;    // most_ after the pending observation
};

// The diagonal only: O(m).
class DiagonalCovariance final : public Covariance {
 public:
  using Covariance::Covariance;

  void begin(std::size_t outputs) override {
    sigma_.assign(outputs, {});
    reach_.assign(outputs, 0);
  }

  double confidence(std::size_t c, Vector z) override {
    if (sigma_[c].empty()) sigma_[c].assign(z.size(), start_);
    double conf = 0, most = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double v = sigma_[c][i] * z[i];
      conf += v * z[i];
      most = std::max(most, std::fabs(v));
    }
    reach_[c] = most;
    return conf;
  }
  bool possible(std::size_t c, double, double factor) override { return moderate(factor * reach_[c]); }
  void observe(std::size_t c, Vector z, double q, std::span<double> before, std::span<double> after) override {
    for (std::size_t i = 0; i < z.size(); ++i) {
      before[i] = sigma_[c][i] * z[i];
      sigma_[c][i] /= 1 + q * z[i] * before[i];
      after[i] = sigma_[c][i] * z[i];
    }
  }
  void change(const Change& change) override {
    const std::vector<double> fresh(change.added, start_);
    for (auto& sigma : sigma_)
      if (!sigma.empty()) change.replace_in(sigma, fresh);
  }
  void widen(std::size_t added, std::size_t outputs) override {
    append_to(sigma_, added, start_);
    copy_outputs(sigma_, outputs, {});
    reach_.resize(sigma_.size());
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(sigma_) + bytes_of(reach_));
    io.outputs("covariance", sigma_, Merged::Own, false);
  }
  bool is_consistent(std::size_t features) const override {
    for (const auto& sigma : sigma_)
      if (!sigma.empty() && sigma.size() != features) return false;
    return true;
  }

 private:
  std::vector<std::vector<double>> sigma_;  // outputs x features; empty before the first step
  std::vector<double> reach_;               // outputs: the largest |Sigma z|
};

}  // namespace budgetron
