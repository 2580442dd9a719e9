// The state of second-order rules: a covariance matrix Sigma per output, which starts as a multiple of the identity and
// shrinks along every observation.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "features/feature_map.hpp"
#include "linalg/limits.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// The smallest precision q of an observation; smaller ones are raised to it, because 1/q must be finite.
inline constexpr double least_precision = 1e-300;

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

// The full matrix, O(m^2), as Sigma = U D U' with U unit upper triangular. The update of Bierman (1977) keeps D
// positive despite rounding; the difference Sigma - beta Sigma z z'Sigma does not.
class FullCovariance final : public Covariance {
 public:
  using Covariance::Covariance;

  void begin(std::size_t outputs) override {
    for (auto* rows : {&U_, &D_, &f_}) rows->assign(outputs, {});
    most_.assign(outputs, 0);
    total_.assign(outputs, 0);
    next_bound_.assign(outputs, 0);
  }

  double confidence(std::size_t c, Vector z) override {
    allocate(c, z.size());
    return loops->upper_multiply(U_[c].data(), D_[c].data(), z.size(), z.data(), 1, f_[c].data()).confidence;
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
    shrink(q, loops->upper_update(U_[c].data(), D_[c].data(), D_[c].size(), q, f_[c].data(), before.data()), before,
           after);
  }

  // |f| is at most F = |U| |z|_1, and the sum of |v| at most S = F trace(D): coarse, but known without a pass over U.
  bool certainly_possible(std::size_t c, Vector z, double q, double factor) override {
    allocate(c, z.size());
    const double length = std::sqrt(static_cast<double>(z.size()) * dot(z, z));  // at least |z|_1
    const auto certain = [&] {
      if (most_[c] == 0) bound(c);
      const double F = most_[c] * length, S = F * total_[c], growth = q * F * S;
      return most_[c] + growth * most_[c] <= spare * largest_in_U && moderate_square((1 / q + F * S) / spare) &&
             moderate(factor * S * most_[c] / spare);
    };
    if (certain()) return true;
    most_[c] = 0;
    return certain();
  }
  double observe_at_once(std::size_t c, Vector z, double q, std::span<double> before,
                         std::span<double> after) override {
    const Observed seen =
        loops->upper_multiply_update(U_[c].data(), D_[c].data(), z.size(), z.data(), q, f_[c].data(), before.data());
    most_[c] += seen.growth * most_[c];
    shrink(q, seen, before, after);
    return seen.confidence;
  }

  void change(const Change& change) override {
    most_.assign(U_.size(), 0);
    for (std::size_t c = 0; c < U_.size(); ++c)
      if (D_[c].empty())
        continue;
      else if (change.removed == 0)
        insert(c, change.at, change.added);
      else
        factor(c, kept(c, change), D_[c].size() - change.removed + change.added);
  }

  void widen(std::size_t added, std::size_t outputs) override {
    for (std::size_t c = 0; c < U_.size(); ++c)
      if (!D_[c].empty()) insert(c, D_[c].size(), added);
    for (auto* rows : {&U_, &D_, &f_}) copy_outputs(*rows, outputs, {});
    most_.assign(U_.size(), 0);
    total_.assign(U_.size(), 0);
    next_bound_.assign(U_.size(), 0);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(U_) + bytes_of(D_) + bytes_of(f_) + bytes_of(most_) + bytes_of(total_) +
               bytes_of(next_bound_));
    if (io.restoring()) most_.assign(U_.size(), 0);
    for (const auto& f : f_) io.scratch(bytes_of(f));
    for (std::size_t c = 0; c < U_.size(); ++c) {
      io.field(("covariance.U." + std::to_string(c)).c_str(), U_[c]);
      io.field(("covariance.D." + std::to_string(c)).c_str(), D_[c]);
    }
  }
  bool is_consistent(std::size_t features) const override {
    const auto possible = [](double d) { return d >= 0 && std::isfinite(d); };
    for (std::size_t c = 0; c < U_.size(); ++c) {
      if (D_[c].empty() && U_[c].empty()) continue;
      if (D_[c].size() != features || U_[c].size() != start_of(features) || !all_finite(U_[c]) ||
          !std::all_of(D_[c].begin(), D_[c].end(), possible))
        return false;
    }
    return true;
  }

 private:
  static constexpr double largest_in_U = 1e70;
  static constexpr double spare = 1e-3;  // for rounding

  void allocate(std::size_t c, std::size_t m) {
    if (D_[c].empty()) {
      U_[c].assign(start_of(m), 0.0);
      D_[c].assign(m, start_);
    }
    f_[c].resize(m);
  }

  // Sigma z after the observation, from Sigma z before it.
  static void shrink(double q, const Observed& seen, std::span<const double> before, std::span<double> after) {
    for (std::size_t j = 0; j < before.size(); ++j) after[j] = before[j] / (q * seen.last);
  }

  // Bounds on U and D. No observation makes D larger.
  void bound(std::size_t c) {
    most_[c] = std::max(largest_of(U_[c]), 1.0);
    total_[c] = std::accumulate(D_[c].begin(), D_[c].end(), 0.0);
  }

  // The same with the current bound; stores the bound after the observation in next_bound_.
  bool bounded(std::size_t c, double q, double factor) {
    const std::vector<double>&f = f_[c], &D = D_[c];
    if (most_[c] == 0) bound(c);
    double last = 1 / q, sum = 0, growth = 0;  // sum of |v|
    for (std::size_t j = 0; j < D.size(); ++j) {
      const double v = D[j] * f[j], more = std::fabs(f[j]) / last * sum;
      growth = more <= growth ? growth : more;
      sum += std::fabs(v);
      last += f[j] * v;
    }
    next_bound_[c] = most_[c] + growth * most_[c];
    return next_bound_[c] <= largest_in_U && moderate_square(last) && moderate(factor * sum * most_[c]);
  }

  static std::size_t start_of(std::size_t j) { return j * (j - (j > 0 ? 1 : 0)) / 2; }

  // Inserts new, independent coordinates at `at`.
  void insert(std::size_t c, std::size_t at, std::size_t added) {
    const std::size_t m = D_[c].size() + added;
    std::vector<double> U;
    U.reserve(start_of(m));
    for (std::size_t j = 0; j < m; ++j) {
      const bool fresh = j >= at && j < at + added;
      for (std::size_t i = 0; i < j; ++i) {
        const bool new_row = i >= at && i < at + added;
        const std::size_t row = i < at ? i : i - added, old = j < at ? j : j - added;
        U.push_back(fresh || new_row ? 0 : U_[c][start_of(old) + row]);
      }
    }
    U_[c] = std::move(U);
    D_[c].insert(D_[c].begin() + static_cast<std::ptrdiff_t>(at), added, start_);
  }

  // Sigma after the change, row by row.
  std::vector<double> kept(std::size_t c, const Change& change) const {
    const std::size_t before = D_[c].size(), m = before - change.removed + change.added;
    const auto old = [&](std::size_t i) {  // index of coordinate i before the change; `before` if it is new
      return i < change.at ? i : i < change.at + change.added ? before : i - change.added + change.removed;
    };
    std::vector<double> S(m * m);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        S[i * m + j] = S[j * m + i] = old(i) < before && old(j) < before ? entry(c, old(j), old(i))
                                      : i == j                           ? start_
                                                                         : 0;
    return S;
  }
  // Sigma_ij for i <= j.
  double entry(std::size_t c, std::size_t i, std::size_t j) const {
    const auto u = [&](std::size_t a, std::size_t k) { return a == k ? 1.0 : U_[c][start_of(k) + a]; };
    double sum = 0;
    for (std::size_t k = j; k < D_[c].size(); ++k) sum += u(i, k) * D_[c][k] * u(j, k);
    return sum;
  }
  // U D U' = S
  void factor(std::size_t c, std::vector<double> S, std::size_t m) {
    U_[c].assign(start_of(m), 0.0);
    D_[c].assign(m, 0.0);
    for (std::size_t j = m; j-- > 0;) {
      const double d = std::max(S[j * m + j], 1e-16 * start_);
      D_[c][j] = d;
      for (std::size_t i = 0; i < j; ++i) {
        const double u = S[j * m + i] / d;
        U_[c][start_of(j) + i] = std::fabs(u) <= largest_in_U ? u : 0;
      }
      for (std::size_t i = 0; i < j; ++i)
        for (std::size_t k = 0; k <= i; ++k) {
          S[i * m + k] -= U_[c][start_of(j) + i] * d * U_[c][start_of(j) + k];
          S[k * m + i] = S[i * m + k];
        }
    }
  }

  std::vector<std::vector<double>>
      U_;  // outputs x strict upper triangle, column by column; empty before the first step
  std::vector<std::vector<double>> D_;  // outputs x m
  std::vector<std::vector<double>> f_;  // outputs x m
  std::vector<double> most_;            // outputs: upper bound on |U|, at least 1; 0 if unknown
  std::vector<double> total_;           // outputs: upper bound on the trace of D, if most_ is known
  std::vector<double> next_bound_;      // most_ after the pending observation
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
    for (std::size_t c = 0; c < sigma_.size(); ++c) io.field(("covariance." + std::to_string(c)).c_str(), sigma_[c]);
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
