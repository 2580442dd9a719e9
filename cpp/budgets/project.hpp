// Budgets that project a new term onto the span of the support vectors: f + beta P k(x,.) instead of f + beta k(x,.),
// where P is the projection (Orabona et al. 2008; with a rank-r span, NOGD of Lu et al. 2016).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/eigen.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"
#include "simd/vectors.hpp"

namespace budgetron {

// How close k(x,.) must be to the span to be projected although the budget is not full.
class Threshold {
 public:
  virtual ~Threshold() = default;
  virtual double eta(const Round&, double P) const = 0;
};

class FixedThreshold final : public Threshold {
 public:
  explicit FixedThreshold(double eta) : eta_(eta) {}
  double eta(const Round&, double) const override { return eta_; }

 private:
  double eta_;
};

// Eq. 13: the largest threshold that keeps the progress of the mistake bound; U bounds the competitor's norm.
class ProgressThreshold final : public Threshold {
 public:
  explicit ProgressThreshold(double U) : U_(U) {}
  double eta(const Round& r, double P) const override {
    const double l = std::max(0.0, 1 - r.y * r.fx);
    return (2 * l - P - 0.5) / (2 * U_);
  }

 private:
  double U_;
};

// Projectron, Algorithm 2: a term is projected if it is close to the span or the budget is full, and appended
// otherwise. A vector in the span is never appended.
class Project : public Budget {
 public:
  Project(std::size_t budget, std::shared_ptr<const Threshold> threshold)
      : budget_(budget), threshold_(std::move(threshold)) {}

  void insert(Expansion& f, const Term& term) override {
    span_.look(term.row.k, term.row.kxx);
    project_or_append(f, term);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    span_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return n <= budget_ && span_.is_consistent(n); }
  bool solves() const override { return true; }

 protected:
  void project_or_append(Expansion& f, const Term& term) {
    const bool full = f.size() >= budget_;
    if (full || span_.inside() || span_.delta() <= threshold_->eta(term.round, span_.P())) {
      f.spread(term, 1, span_.d());
    } else {
      span_.append();
      f.append(term);
    }
  }

  Span span_;

 private:
  std::size_t budget_;
  std::shared_ptr<const Threshold> threshold_;
};

// Projectron++, Sec. 4.1: margin errors, 0 < y f < 1, are also projected, with step tau = min(l/P, 1), if that makes
// progress.
class ProjectPlus final : public Project {
 public:
  ProjectPlus(std::size_t budget, std::shared_ptr<const Threshold> threshold, double U)
      : Project(budget, std::move(threshold)), U_(U) {}

  void insert(Expansion& f, const Term& term) override {
    span_.look(term.row.k, term.row.kxx);
    if (term.round.mistake)
      project_or_append(f, term);
    else if (term.round.y * term.round.fx > 0)
      project_margin_error(f, term);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof U_);
    Project::fields(io);
  }

 private:
  void project_margin_error(Expansion& f, const Term& term) {
    const double l = 1 - term.round.y * term.round.fx, P = span_.P(), delta = span_.delta();
    const double tau = P > l ? l / P : 1;
    const double b = tau * (2 * l - tau * P - (delta > 0 ? 2 * U_ * delta : 0));
    if (b >= 0) f.spread(term, tau, span_.d());
  }

  double U_;
};

// NOGD: f is exact until the budget is full. At the first update after that, the span is reduced once to the r leading
// eigenvectors of K = V D V': alpha <- V V' alpha, and from then on d = V D^-1 V' k.
class ProjectLowRank final : public Budget {
 public:
  ProjectLowRank(std::size_t budget, std::size_t rank) : budget_(budget), rank_(rank) {}

  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) return f.append(term);
    if (!cut_) cut(f);
    KernelBlock* const block = term.row.block;
    if (block == nullptr) {  // the row of the cut, or the cut has failed
      d_.resize(f.size());
      project(term.row.k.data(), f.size(), 1, d_.data());
      return f.spread(term, 1, d_);
    }
    if (term.row.place >= block->last) project_ahead(*block, term.row.place);
    block->asked = term.row.place + 1;
    const std::size_t at = (term.row.place - block->first) * block->stride;
    f.spread(term, 1, Vector(block->projections).subspan(at, f.size()));
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(d_) + bytes_of(z_));
    io.field("low_rank.cut", cut_);
    io.field("low_rank.V", V_);
    io.field("low_rank.D", D_);
  }
  bool is_consistent(std::size_t n) const override {
    if (cut_ == 0) return n <= budget_ && V_.empty() && D_.empty();
    return cut_ == 1 && n == budget_ && D_.size() <= rank_ && V_.size() == n * D_.size();
  }
  bool solves() const override { return true; }
  bool support_is_final() const override { return cut_ == 1; }

 private:
  Vector vector(std::size_t r) const { return {V_.data() + r * budget_, budget_}; }

  // Projects the row at `place` and, if rows have been projected often enough lately, those after it.
  void project_ahead(KernelBlock& block, std::size_t place) {
    constexpr std::size_t seldom = 4;  // projecting a row alone takes about this many times as long
    const std::size_t rows = place - block.asked < seldom ? block.rows - place : 1;
    block.first = place;
    block.last = place + rows;
    block.projections.resize(rows * block.stride);
    project(block.K.data() + place * block.stride, block.stride, rows, block.projections.data());
  }

  // d = V D^-1 V'k for several rows k, with the same bits as one by one.
  void project(const double* k, std::size_t stride, std::size_t rows, double* d) {
    const std::size_t n = budget_, whole = n / lanes * lanes;
    z_.resize(D_.size() * KernelBlock::most_rows);
    loops->products(V_.data(), D_.size(), k, stride, rows, n, z_.data(), rows);
    for (std::size_t r = 0; r < D_.size(); ++r)
      for (std::size_t a = 0; a < rows; ++a) z_[r * rows + a] /= D_[r];
    if (D_.empty()) std::fill_n(d, rows * stride, 0.0);
    dot_product<double>().block(z_.data(), rows, rows, D_.size(), V_.data(), n, whole, d, stride);
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t i = whole; i < n; ++i) {
        double sum = 0;
        for (std::size_t r = 0; r < D_.size(); ++r) sum += z_[r * rows + a] * V_[r * n + i];
        d[a * stride + i] = sum;
      }
  }

  void cut(Expansion& f) {
    const std::size_t n = f.size();
    std::vector<double> K, k, eigenvalues(n), V, D;
    for (std::size_t i = 0; i < n; ++i) {
      f.kernel_row(i, k);
      K.insert(K.end(), k.begin(), k.end());
    }
    if (!symmetric_eigen(K, eigenvalues)) return;  // not reduced yet: the next update tries again
    for (std::size_t r = n; r-- > n - rank_ && eigenvalues[r] > in_the_span * eigenvalues[n - 1];) {
      D.push_back(eigenvalues[r]);
      V.insert(V.end(), K.begin() + static_cast<std::ptrdiff_t>(r * n),
               K.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
    }
    V_ = std::move(V);
    D_ = std::move(D);
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      d_.assign(n, 0.0);
      for (std::size_t r = 0; r < D_.size(); ++r) add(dot(vector(r), f.alpha(c)), vector(r), d_);
      std::copy(d_.begin(), d_.end(), f.alpha(c).begin());
    }
    f.forget_norm();
    cut_ = 1;
  }

  std::size_t budget_, rank_;
  Counter cut_ = 0;            // 1 once the span is reduced
  std::vector<double> V_, D_;  // leading eigenvectors, concatenated, and their eigenvalues
  std::vector<double> d_, z_;
};

}  // namespace budgetron
