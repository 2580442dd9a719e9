// A covariance as Sigma = U D U', with U unit upper triangular. The update of Bierman (1977) keeps D positive despite
// rounding; the difference Sigma - beta Sigma z z'Sigma does not. The layout of U is that of simd/unit_upper.hpp.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linalg/limits.hpp"
#include "simd/aligned.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

class UpperFactor {
 public:
  static constexpr double largest = 1e70;  // of the numbers in U

  std::size_t size() const { return m_; }  // 0 before the first observation
  Vector D() const { return Vector(D_).first(m_); }
  Vector f() const { return Vector(f_).first(m_); }

  // A multiple of the identity.
  void begin(std::size_t m, double variance) {
    resize(m);
    std::fill_n(D_.begin(), m, variance);
  }

  // f = U'z. `multiply` alone leaves Sigma as it is, `update` then observes z with precision q, and multiply_update
  // does both in one pass; they write Sigma z as it was before.
  Observed multiply(Vector z) {
    pad(z);
    return loops->upper_multiply(U_.data(), D_.data(), D_.size(), z_.data(), 1, f_.data());
  }
  Observed update(double q, std::span<double> before) {
    return observed(loops->upper_update(U_.data(), D_.data(), D_.size(), q, f_.data(), before_.data()), before);
  }
  Observed multiply_update(Vector z, double q, std::span<double> before) {
    pad(z);
    return observed(
        loops->upper_multiply_update(U_.data(), D_.data(), D_.size(), z_.data(), q, f_.data(), before_.data()), before);
  }

  double largest_in_U() const { return std::max(largest_of(U_), 1.0); }  // an upper bound
  double trace_of_D() const { return std::accumulate(D_.begin(), D_.end(), 0.0); }

  // Inserts new, independent coordinates at `at`.
  void insert(std::size_t at, std::size_t added, double variance) {
    UpperFactor wider;
    wider.begin(m_ + added, variance);
    const auto now = [&](std::size_t i) { return i < at ? i : i + added; };
    for (std::size_t j = 0; j < m_; ++j) {
      wider.D_[now(j)] = D_[j];
      for (std::size_t i = 0; i < j; ++i) wider.U_[place(now(i), now(j))] = U_[place(i, j)];
    }
    *this = std::move(wider);
  }

  // Replaces coordinates by new, independent ones.
  void replace(std::size_t at, std::size_t removed, std::size_t added, double variance) {
    const std::size_t before = m_, m = before - removed + added;
    const auto old = [&](std::size_t i) {  // index of coordinate i before the change; `before` if it is new
      return i < at ? i : i < at + added ? before : i - added + removed;
    };
    std::vector<double> S(m * m);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        S[i * m + j] = S[j * m + i] = old(i) < before && old(j) < before ? entry(old(j), old(i))
                                      : i == j                           ? variance
                                                                         : 0;
    factor(std::move(S), m, 1e-16 * variance);
  }

  // In files U is a strict upper triangle, column by column.
  void fields(Fields& io, std::size_t output) {
    io.scratch(bytes_of(z_) + bytes_of(f_) + bytes_of(before_));
    if (io.measuring()) return io.scratch(bytes_of(U_) + bytes_of(D_));
    std::vector<double> U, D;
    if (!io.restoring()) U = packed(), D.assign(D_.begin(), D_.begin() + static_cast<std::ptrdiff_t>(m_));
    io.field(Fields::of_output("covariance.U", output).c_str(), U, {Merged::Own, OfOutputs::All});
    io.field(Fields::of_output("covariance.D", output).c_str(), D, {Merged::Own, OfOutputs::All});
    if (io.restoring()) restore(U, D);
  }
  bool is_consistent(std::size_t m) const {
    const auto possible = [](double d) { return d >= 0 && std::isfinite(d); };
    return sound_ && (m_ == 0 || m_ == m) && all_finite(U_) && std::all_of(D_.begin(), D_.end(), possible);
  }

 private:
  static std::size_t place(std::size_t i, std::size_t j) {
    const std::size_t panel = j / lanes;
    return (panel * (panel + 1) / 2 + i / lanes) * lanes * lanes + j % lanes * lanes + i % lanes;
  }

  // Zeros for m coordinates. If there is no memory for them, nothing changes.
  void resize(std::size_t m) {
    const std::size_t n = whole_lanes<double>(m);
    AlignedVector U(n / lanes * (n / lanes + 1) / 2 * lanes * lanes), D(n), z(n), f(n), before(n);
    U_ = std::move(U), D_ = std::move(D), z_ = std::move(z), f_ = std::move(f), before_ = std::move(before);
    m_ = m;
  }

  void pad(Vector z) {
    assert(z.size() == m_);
    std::copy(z.begin(), z.end(), z_.begin());
  }
  Observed observed(const Observed& seen, std::span<double> before) const {
    std::copy_n(before_.begin(), m_, before.begin());
    return seen;
  }

  // Sigma_ij for i <= j.
  double entry(std::size_t i, std::size_t j) const {
    const auto u = [&](std::size_t a, std::size_t k) { return a == k ? 1.0 : U_[place(a, k)]; };
    double sum = 0;
    for (std::size_t k = j; k < m_; ++k) sum += u(i, k) * D_[k] * u(j, k);
    return sum;
  }
  // U D U' = S, which has m rows.
  void factor(std::vector<double> S, std::size_t m, double least) {
    resize(m);
    for (std::size_t j = m; j-- > 0;) {
      const double d = std::max(S[j * m + j], least);
      D_[j] = d;
      for (std::size_t i = 0; i < j; ++i) {
        const double u = S[j * m + i] / d;
        U_[place(i, j)] = std::fabs(u) <= largest ? u : 0;
      }
      for (std::size_t i = 0; i < j; ++i)
        for (std::size_t k = 0; k <= i; ++k) {
          S[i * m + k] -= U_[place(i, j)] * d * U_[place(k, j)];
          S[k * m + i] = S[i * m + k];
        }
    }
  }

  std::vector<double> packed() const {
    std::vector<double> out;
    out.reserve(m_ * m_ / 2);
    for (std::size_t j = 0; j < m_; ++j)
      for (std::size_t i = 0; i < j; ++i) out.push_back(U_[place(i, j)]);
    return out;
  }
  void restore(const std::vector<double>& U, const std::vector<double>& D) {
    const std::size_t m = D.size();
    sound_ = U.size() == (m == 0 ? 0 : m * (m - 1) / 2);
    if (!sound_) return;
    resize(m);
    std::copy(D.begin(), D.end(), D_.begin());
    const double* next = U.data();
    for (std::size_t j = 0; j < m; ++j)
      for (std::size_t i = 0; i < j; ++i) U_[place(i, j)] = *next++;
  }

  std::size_t m_ = 0;
  AlignedVector U_, D_;           // padded with zeros
  AlignedVector z_, f_, before_;  // of the last observation, padded
  bool sound_ = true;             // whether restored fields fit each other
};

}  // namespace budgetron
