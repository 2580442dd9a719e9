// What second-order rules keep of the rows they have seen: for every output a covariance matrix Sigma, which starts as
// a multiple of the identity and shrinks along every observation.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "feature_map.hpp"
#include "fields.hpp"
#include "vectors.hpp"

namespace budgetron {

class Covariance : public Part {
 public:
  explicit Covariance(double start) : start_(start) {}
  // Begins with so many outputs and features.
  virtual void begin(std::size_t outputs, std::size_t features) = 0;
  // Sz = Sigma_c z
  virtual void multiply(std::size_t c, Vector z, std::span<double> Sz) const = 0;
  // An observation of precision q along z: Sigma_c^-1 += q z z'. Sz is Sigma_c z before, and on return after it.
  virtual void observe(std::size_t c, Vector z, std::span<double> Sz, double q) = 0;
  // New coordinates start afresh.
  virtual void change(const Change&) = 0;

 protected:
  double start_;
};

// All of it: O(m^2). The lower triangle, rows one after the other, so that every number is read and written once.
class FullCovariance final : public Covariance {
 public:
  using Covariance::Covariance;

  void begin(std::size_t outputs, std::size_t features) override {
    m_ = features;
    sigma_.assign(outputs, std::vector<double>(features * (features + 1) / 2));
    for (auto& sigma : sigma_)
      for (std::size_t i = 0; i < m_; ++i) sigma[at(i) + i] = start_;
  }

  void multiply(std::size_t c, Vector z, std::span<double> Sz) const override {
    for (std::size_t i = 0; i < m_; ++i) {
      const Vector row = Vector(sigma_[c]).subspan(at(i), i + 1);
      Sz[i] = dot(row, z);
      add(z[i], row.first(i), Sz);
    }
  }

  void observe(std::size_t c, Vector z, std::span<double> Sz, double q) override {
    const double beta = q / (1 + q * dot(z, Sz));
    for (std::size_t i = 0; i < m_; ++i)
      add(-beta * Sz[i], Vector(Sz).first(i + 1), std::span(sigma_[c]).subspan(at(i), i + 1));
    scale(1 - beta * dot(z, Sz), Sz);
  }

  void change(const Change& change) override {
    const std::size_t m = m_ - change.removed + change.added;
    const auto old = [&](std::size_t i) {  // the place of coordinate i before the change; m_ if it is new
      return i < change.at ? i : i < change.at + change.added ? m_ : i - change.added + change.removed;
    };
    for (auto& sigma : sigma_) {
      std::vector<double> next(m * (m + 1) / 2);
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          next[at(i) + j] = old(i) < m_ && old(j) < m_ ? sigma[at(old(i)) + old(j)] : i == j ? start_ : 0;
      sigma = std::move(next);
    }
    m_ = m;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    for (std::size_t c = 0; c < sigma_.size(); ++c) io.field(("covariance." + std::to_string(c)).c_str(), sigma_[c]);
    if (io.restoring() && !sigma_.empty()) {
      const std::size_t numbers = sigma_[0].size();
      for (m_ = 0; at(m_ + 1) < numbers;) ++m_;
      if (numbers > 0) ++m_;
    }
  }
  bool fits(std::size_t features) const override {
    for (const auto& sigma : sigma_)
      if (sigma.size() != features * (features + 1) / 2) return false;
    return m_ == features;
  }

 private:
  static std::size_t at(std::size_t i) { return i * (i + 1) / 2; }

  std::size_t m_ = 0;
  std::vector<std::vector<double>> sigma_;  // outputs x triangle
};

// Its diagonal: O(m).
class DiagonalCovariance final : public Covariance {
 public:
  using Covariance::Covariance;

  void begin(std::size_t outputs, std::size_t features) override {
    sigma_.assign(outputs, std::vector<double>(features, start_));
  }
  void multiply(std::size_t c, Vector z, std::span<double> Sz) const override {
    for (std::size_t i = 0; i < z.size(); ++i) Sz[i] = sigma_[c][i] * z[i];
  }
  void observe(std::size_t c, Vector z, std::span<double> Sz, double q) override {
    for (std::size_t i = 0; i < z.size(); ++i) {
      sigma_[c][i] /= 1 + q * z[i] * z[i] * sigma_[c][i];
      Sz[i] = sigma_[c][i] * z[i];
    }
  }
  void change(const Change& change) override {
    const std::vector<double> fresh(change.added, start_);
    for (auto& sigma : sigma_) change.replace_in(sigma, fresh);
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    for (std::size_t c = 0; c < sigma_.size(); ++c) io.field(("covariance." + std::to_string(c)).c_str(), sigma_[c]);
  }
  bool fits(std::size_t features) const override {
    for (const auto& sigma : sigma_)
      if (sigma.size() != features) return false;
    return true;
  }

 private:
  std::vector<std::vector<double>> sigma_;  // outputs x features
};

}  // namespace budgetron
