// The state of second-order rules: a covariance matrix Sigma per output, which starts as a multiple of the identity and
// shrinks along every observation.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
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
    next_bound_.assign(outputs, 0);
  }

  double confidence(std::size_t c, Vector z) override {
    const std::size_t m = z.size();
    if (D_[c].empty()) {
      U_[c].assign(start_of(m), 0.0);
      D_[c].assign(m, start_);
    }
    auto& f = f_[c];  // U'z
    f.resize(m);
    double conf = 0;
    for (std::size_t j = 0; j < m; ++j) {
      f[j] = z[j] + dot(column(c, j), z);
      conf += D_[c][j] * f[j] * f[j];
    }
    return conf;
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
    const std::vector<double>& f = f_[c];
    std::vector<double>& D = D_[c];
    std::fill(before.begin(), before.end(), 0.0);  // becomes Sigma z, column by column
    old_.resize(D.size());
    double last = 1 / q;
    for (std::size_t j = 0; j < D.size(); ++j) {
      const double v = D[j] * f[j], next = last + f[j] * v;
      const auto u = column(c, j);
      std::copy(u.begin(), u.end(), old_.begin());
      add(-f[j] / last, before.first(j), u);
      add(v, Vector(old_).first(j), before);
      before[j] = v;
      D[j] *= last / next;
      last = next;
    }
    for (std::size_t j = 0; j < D.size(); ++j) after[j] = before[j] / (q * last);
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
    next_bound_.assign(U_.size(), 0);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(U_) + bytes_of(D_) + bytes_of(f_) + bytes_of(old_) + bytes_of(most_) +
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

  // The same with the current bound; stores the bound after the observation in next_bound_.
  bool bounded(std::size_t c, double q, double factor) {
    const std::vector<double>&f = f_[c], &D = D_[c];
    if (most_[c] == 0) most_[c] = std::max(largest_of(U_[c]), 1.0);
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
  // The part of column j above the diagonal.
  std::span<double> column(std::size_t c, std::size_t j) { return std::span(U_[c]).subspan(start_of(j), j); }

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
  std::vector<double> next_bound_;      // the same after the pending observation
  std::vector<double> old_;
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
