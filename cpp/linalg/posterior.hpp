// The Gaussian posterior of a Kalman filter: the covariance P of m weights, which starts as prior * I, shrinks along
// every observation and grows by `drift` at every step, up to the prior. The first `full` weights have a full block of
// P, the others a variance each.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "linalg/limits.hpp"
#include "simd/loops.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// g = P z and S = z'P z, for one z.
struct Gain {
  std::vector<double> g;  // padded
  double S = 0;
};

class Posterior {
 public:
  Posterior(double prior, double drift, std::size_t full) : prior_(prior), drift_(drift), most_full_(full) {}

  void begin(std::size_t m) {
    m_ = m;
    n_ = whole_lanes<double>(full());
    P_.assign(stored(n_), 0.0);
    for (std::size_t i = 0; i < full(); ++i) at(i, i) = prior_;
    variance_.assign(m - full(), prior_);
    pending_ = false;
  }

  // P z and z'P z. Also takes up the observation before, which saves a pass over P.
  void look(Vector z, Gain& gain) {
    pad(z, gain, z_);
    const double diagonal =
        pending_ ? loops->symmetric_update_multiply(P_.data(), n_, u_.data(), drift_, prior_, z_.data(), gain.g.data())
                 : loops->symmetric_multiply(P_.data(), n_, z_.data(), gain.g.data());
    pending_ = false;
    finish(z, gain, diagonal);
  }

  // The same, and nothing changes; `padded` is working memory.
  void look(Vector z, Gain& gain, std::vector<double>& padded) const {
    pad(z, gain, padded);
    const double diagonal = loops->symmetric_multiply(P_.data(), n_, padded.data(), gain.g.data());
    finish(z, gain, diagonal);
  }

  // Observes the z of the last `look` with this precision: P^-1 += precision z z'. Then the weights drift. One row
  // shrinks P by at most 2^40: beyond that, rounding would be larger than what is left.
  void observe(const Gain& gain, double precision) {
    if (precision * gain.S > 0x1p40) precision = 0x1p40 / gain.S;
    const double root = std::sqrt(precision / (1 + precision * gain.S));
    u_.assign(n_, 0.0);
    for (std::size_t i = 0; i < full(); ++i) {
      u_[i] = root * gain.g[i];
      // Only rounding makes u_i^2 larger than P_ii. Without the bound, a P that is not positive would grow forever.
      if (const double most = at(i, i); u_[i] * u_[i] > most) u_[i] = std::copysign(std::sqrt(most), u_[i]);
    }
    for (std::size_t j = 0; j < variance_.size(); ++j) {
      const double u = root * gain.g[full() + j];
      variance_[j] = std::clamp(variance_[j] - u * u + drift_, 0.0, prior_);
    }
    pending_ = true;
    if (++observed_ % rows_between_repairs == 0 || precision * gain.S > most_told) repair();
  }

  // Takes up the last observation, if `look` has not done it.
  void settle() {
    if (pending_) loops->symmetric_update(P_.data(), n_, u_.data(), drift_, prior_);
    pending_ = false;
  }

  // `removed` weights from `at` on are replaced by `added` new ones, which start with the prior.
  void replace(std::size_t at_, std::size_t removed, std::size_t added) {
    settle();
    const std::vector<double> old = packed(), variance = variance_;
    const std::size_t before = m_, kept = full();
    begin(m_ - removed + added);
    const auto source = [&](std::size_t i) { return i < at_ ? i : i < at_ + added ? before : i - added + removed; };
    for (std::size_t i = 0; i < m_; ++i) {
      const std::size_t a = source(i);
      if (a == before) continue;
      if (i >= full()) {
        variance_[i - full()] = a < kept ? old[a * (a + 1) / 2 + a] : variance[a - kept];
        continue;
      }
      for (std::size_t j = 0; j <= i; ++j) {
        const std::size_t b = source(j);
        if (b == before) continue;
        const double p = a < kept && b < kept ? old[a * (a + 1) / 2 + b] : a == b ? variance[a - kept] : 0;
        set(i, j, p);
      }
    }
  }

  // `added` weights are appended. They join the full block, unless there are weights beyond it.
  void widen(std::size_t before, std::size_t added) {
    if (before <= most_full_) most_full_ += added;
    tail_ += added;
    if (m_ > 0) replace(m_, 0, added);
  }

  // The last weight m, of a full block, becomes two, (s - m)/2 and (s + m)/2, where s is independent of all.
  void split_last() {
    ++most_full_;
    if (m_ == 0) return;
    const std::size_t last = m_ - 1;
    replace(m_, 0, 1);
    const double of_m = at(last, last), of_s = 2 * prior_;
    for (std::size_t j = 0; j < last; ++j) set(last + 1, j, at(last, j) / 2), set(last, j, -at(last, j) / 2);
    set(last, last, (of_s + of_m) / 4);
    set(last + 1, last + 1, (of_s + of_m) / 4);
    set(last + 1, last, (of_s - of_m) / 4);
  }

  std::size_t size() const { return m_; }

  // The rows of the full block of P, as `look` sees them, and the variances of the other weights.
  std::vector<double> full_block() const {
    std::vector<double> rows, unit(m_), padded;
    Gain gain;
    for (std::size_t i = 0; i < full(); ++i) {
      unit.assign(m_, 0.0);
      unit[i] = 1;
      look(unit, gain, padded);
      rows.insert(rows.end(), gain.g.begin(), gain.g.begin() + static_cast<std::ptrdiff_t>(full()));
    }
    return rows;
  }
  const std::vector<double>& variances() const { return variance_; }

  void fields(Fields& io) {
    io.scratch(bytes_of(u_) + bytes_of(z_));
    io.field("posterior.rows", observed_);
    io.field("posterior.variance", variance_);
    if (io.measuring()) {
      io.scratch(bytes_of(P_));
      return;
    }
    assert(!pending_);
    std::vector<double> P = packed();
    io.field("posterior.P", P);
    if (io.restoring()) unpack(P);
  }

  bool is_consistent(std::size_t m) const {
    const auto possible = [&](double v) { return v >= 0 && v <= prior_; };
    if (!sound_ || m_ != m || variance_.size() != m_ - full()) return false;
    if (!std::all_of(variance_.begin(), variance_.end(), possible)) return false;
    for (std::size_t i = 0; i < full(); ++i)
      if (!possible(at(i, i))) return false;
    return all_finite(P_);
  }

 private:
  // Rounding makes a random walk of a few units in the last place. Now and then the diagonal grows by more than that,
  // so that P stays positive definite; also after a row that tells so much that rounding may exceed what is left.
  static constexpr Counter rows_between_repairs = 1024;
  static constexpr double most_told = 1e6;
  static constexpr double repair_factor = 1 + 0x1p-48;

  void repair() {
    settle();
    for (std::size_t i = 0; i < full(); ++i) at(i, i) = std::clamp(at(i, i) * repair_factor, 0.0, prior_);
  }

  std::size_t full() const { return std::min(m_, most_full_); }

  // Numbers stored for n rows, n a multiple of eight.
  static std::size_t stored(std::size_t n) { return n * (n + lanes) / 2; }
  static std::size_t place(std::size_t i, std::size_t j) {
    const std::size_t block = i / lanes * lanes;
    return stored(block) + (i - block) * (block + lanes) + j;
  }
  double& at(std::size_t i, std::size_t j) { return P_[place(i, j)]; }
  const double& at(std::size_t i, std::size_t j) const { return P_[place(i, j)]; }

  // P_ij = P_ji = p, for j <= i.
  void set(std::size_t i, std::size_t j, double p) {
    at(i, j) = p;
    if (i / lanes == j / lanes) at(j, i) = p;
  }

  // The lower triangle of the full block, row by row.
  std::vector<double> packed() const {
    std::vector<double> out;
    out.reserve(full() * (full() + 1) / 2);
    for (std::size_t i = 0; i < full(); ++i)
      for (std::size_t j = 0; j <= i; ++j) out.push_back(at(i, j));
    return out;
  }
  void unpack(const std::vector<double>& P) {
    const auto rows = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(P.size()) + 1) - 1) / 2 + 0.5);
    const std::vector<double> variance = variance_;
    sound_ = rows * (rows + 1) / 2 == P.size() && rows <= most_full_ && (variance.empty() || rows == most_full_);
    if (!sound_) return;
    begin(rows + variance.size());
    variance_ = variance;
    const double* next = P.data();
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j <= i; ++j) set(i, j, *next++);
  }

  void pad(Vector z, Gain& gain, std::vector<double>& padded) const {
    gain.g.resize(std::max(n_, m_));
    padded.resize(n_);
    std::copy_n(z.begin(), full(), padded.begin());
    std::fill(padded.begin() + static_cast<std::ptrdiff_t>(full()), padded.end(), 0.0);
  }
  // S is at least what rounding makes of it: a smaller one is noise, of any sign, and would take more from P than there
  // is.
  void finish(Vector z, Gain& gain, double diagonal) const {
    for (std::size_t j = 0; j < variance_.size(); ++j) gain.g[full() + j] = variance_[j] * z[full() + j];
    gain.S = std::max(dot(z, gain.g, tail_), 0x1p-49 * diagonal);
  }

  double prior_, drift_;
  std::size_t most_full_;
  std::size_t m_ = 0, n_ = 0;     // weights; rows of P with padding
  std::size_t tail_ = 0;          // weights that were appended
  std::vector<double> P_;         // as in simd/symmetric.hpp
  std::vector<double> variance_;  // of the weights beyond the full block
  std::vector<double> u_, z_;     // the pending update u u'; z with padding
  bool pending_ = false, sound_ = true;
  Counter observed_ = 0;
};

}  // namespace budgetron
