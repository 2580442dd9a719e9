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
#include "simd/aligned.hpp"
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
    if (is_full() || span_.inside() || span_.delta() <= threshold_->eta(term.round, span_.P())) {
      f.spread(term, 1, span_.d());
    } else {
      span_.append();
      f.append(term);
    }
  }

  // Whether the span is final: a full budget appends nothing.
  bool is_full() const { return span_.size() >= budget_; }

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
    look(f, term.row);
    if (term.round.mistake)
      project_or_append(f, term);
    else if (term.round.y * term.round.fx > 0)
      project_margin_error(f, term);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof U_);
    Project::fields(io);
  }
  bool support_is_final() const override { return is_full(); }

 private:
  // Projects k(x,.) onto the span. When the span is final, rows to come are projected with it, if they would make a
  // step now, y f(x) < 1: most of them will when it is their turn.
  void look(const Expansion& f, const KernelRow& row) {
    if (row.block == nullptr || f.outputs() > 1) return span_.look(row.k, row.kxx);
    KernelBlock& block = *row.block;
    if (block.places.empty() || block.places.back() < row.place) solve_ahead(f, row);
    const auto at = std::ranges::find(block.places, row.place);
    if (at == block.places.end()) return span_.look(row.k, row.kxx);
    const std::size_t n = span_.size(), m = static_cast<std::size_t>(at - block.places.begin());
    span_.take(Vector(block.Z).subspan(2 * m * n, n), Vector(block.Z).subspan((2 * m + 1) * n, n), row.kxx);
  }

  void solve_ahead(const Expansion& f, const KernelRow& row) {
    KernelBlock& block = *row.block;
    const std::size_t n = span_.size();
    block.places.assign(1, row.place);
    for (std::size_t place = row.place + 1; place < block.y.size() && block.places.size() < solved_together; ++place) {
      double fx = 0;
      f.scores(block.row(place, n), {&fx, 1});
      if (block.y[place] * fx < 1) block.places.push_back(place);
    }
    if (block.places.size() < worthwhile) return block.places.clear();
    block.Z.resize(2 * solved_together * n);  // v and d of each
    SolvedTogether v{}, d{};
    for (std::size_t m = 0; m < solved_together; ++m) {
      v[m] = block.Z.data() + 2 * m * n;
      d[m] = v[m] + n;
      std::ranges::copy(block.row(block.places[std::min(m, block.places.size() - 1)], n), v[m]);
    }
    span_.solve_together(v, d);
  }

  static constexpr std::size_t worthwhile = 3;  // rows: solving for four together takes about as long as for two

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
//
// While steps are frequent, f is kept as alpha = V w: with z = V'k, f(x) = w'z and a step adds beta D^-1 z to w. So a
// row needs one product with V, and alpha is computed when it is read. After a few rows without a step (`patience`),
// f(x) = alpha'k needs none. Which form is used is part of the state, because f(x) differs in its last bits.
class ProjectLowRank final : public Budget, public OwnNumbers {
 public:
  ProjectLowRank(std::size_t budget, std::size_t rank) : budget_(budget), rank_(rank) {}

  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) return f.append(term);
    if (!cut_) cut(f);
    if (!cut_) return;  // the next update tries again
    follow(f);
    settle_if_read(f);
    const Vector z = coordinates(term.row, z_);
    q_.assign(z.size(), 0.0);
    for (std::size_t r = 0; r < D_.size(); ++r) q_[r] = z[r] / D_[r];
    if (!moderate(term.beta * largest_of(q_))) return;
    f.add_to_norm(1, term, dot(z, q_));
    for (std::size_t c = 0; c < w_.size(); ++c) {
      const double coefficient = term.coefficient(c);
      if (coefficient == 0) continue;
      add(coefficient, q_, w_[c]);
      stale_[c] = true;
    }
    rested_ = 0;
    settle_if_read(f);
  }

  void rest(Expansion& f) override {
    if (rested_ < seldom && ++rested_ == patience()) settle(f);
    settle_if_read(f);
  }

  bool scores(const Expansion& f, const Rows&, std::size_t, const KernelRow& row,
              std::span<double> out) const override {
    if (!in_coordinates() || w_.size() != out.size()) return false;
    std::vector<double> alone;
    const Vector z = coordinates(row, alone);
    for (std::size_t c = 0; c < w_.size(); ++c) out[c] = dot(w_[c], z) / f.divisor();
    return true;
  }

  void settle(Expansion& f) override {
    if (std::find(stale_.begin(), stale_.end(), true) == stale_.end()) return;
    follow(f);
    for (std::size_t i = 0; i < budget_; i += lanes)
      for (std::size_t c = 0; c < w_.size(); ++c)
        if (stale_[c])
          loops->multiply_rows(V_.data() + i * stride(), stride(), std::min(lanes, budget_ - i), stride(), w_[c].data(),
                               &f.alpha(c)[i]);
    stale_.assign(w_.size(), false);
  }

  void widen(std::size_t outputs) override {
    if (w_.empty()) return;
    widen_outputs(w_, outputs);
    stale_.assign(outputs, in_coordinates());
  }

  void shrunk(double factor) override {
    for (auto& row : w_) scale(factor, row);
    if (in_coordinates()) stale_.assign(w_.size(), true);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(w_) + bytes_of(z_) + bytes_of(q_));
    if (io.measuring()) {
      io.scratch(bytes_of(V_) + bytes_of(D_));
      for (const auto& row : w_) io.scratch(bytes_of(row));
      return;
    }
    io.field("low_rank.cut", cut_);
    std::vector<double> vectors, all;
    if (!io.restoring()) {
      vectors = eigenvectors();
      for (const auto& row : w_)
        all.insert(all.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(D_.size()));
    }
    io.field("low_rank.V", vectors);
    io.field("low_rank.D", D_);
    if (io.restoring()) set_eigenvectors(vectors);
    io.field("low_rank.weights", all, {Merged::Unsaid, OfOutputs::Rows, true});
    io.field("low_rank.rested", rested_);
    if (io.restoring()) restore(all);
  }
  bool is_consistent(std::size_t n) const override {
    if (!whole_ || rested_ > seldom || (in_coordinates() && w_.empty() && !D_.empty())) return false;
    if (cut_ == 0) return n <= budget_ && V_.empty() && D_.empty() && rested_ == seldom;
    return cut_ == 1 && n == budget_ && D_.size() <= rank_;
  }
  bool has_outputs(std::size_t outputs) const override { return w_.empty() || w_.size() == outputs; }
  bool solves() const override { return true; }
  bool support_is_final() const override { return cut_ == 1; }

 private:
  static constexpr Counter seldom = 4;           // rounds without a step, at most, until f(x) = alpha'k again
  static constexpr std::size_t small = 1 << 18;  // bytes of V that stay in the second-level cache

  // If V is large, a product for one row takes about as long as one for `seldom` rows together. If it is small, a row
  // alone takes little longer than with others.
  Counter patience() const { return is_small() ? 1 : seldom; }
  bool is_small() const { return V_.size() * sizeof(double) <= small; }
  bool in_coordinates() const { return rested_ < patience(); }
  // The length of rows of V, weights and coordinates, padded with zeros.
  std::size_t stride() const { return whole_lanes<double>(D_.size()); }

  void settle_if_read(Expansion& f) {
    if (f.reads_coefficients()) settle(f);
  }

  // w = V'alpha, at the cut, and for a model file that has no weights.
  void follow(const Expansion& f) {
    if (w_.size() == f.outputs()) return;
    w_.assign(f.outputs(), std::vector<double>(stride()));
    for (std::size_t c = 0; c < w_.size(); ++c) multiply(f.alpha(c).data(), 1, 1, w_[c].data());
    stale_.assign(w_.size(), in_coordinates());
  }

  // z = V'k, in the block of the row or in `alone`; rows to come are multiplied too, with the same bits as one by one.
  Vector coordinates(const KernelRow& row, std::vector<double>& alone) const {
    if (row.block == nullptr) {
      alone.resize(stride());
      multiply(row.k.data(), 1, 1, alone.data());
      return alone;
    }
    KernelBlock& block = *row.block;
    if (row.place >= block.last) {
      const std::size_t rows = std::min(ahead(block), block.rows - row.place);
      block.first = row.place;
      block.last = row.place + rows;
      block.Z.resize(rows * stride());
      if (rows < lanes) {
        for (std::size_t a = 0; a < rows; ++a)
          multiply(block.row(row.place + a, budget_).data(), 1, 1, block.Z.data() + a * stride());
      } else {
        block.transposed.take(DenseRows<double>{block.K.data(), block.rows, block.stride}, row.place, rows);
        multiply(block.transposed.from(0), block.transposed.stride(), rows, block.Z.data());
      }
    }
    return Vector(block.Z).subspan((row.place - block.first) * stride(), stride());
  }

  // How many rows to multiply at once. A small V starts with one row and doubles while steps go on; a large V is read
  // for as many as the loop takes at once, even if steps are rare.
  std::size_t ahead(const KernelBlock& block) const {
    if (!is_small()) return in_coordinates() ? block.rows : lanes;
    return in_coordinates() ? std::max<std::size_t>(1, 2 * (block.last - block.first)) : 1;
  }

  // Z = V'K for `rows` kernel rows; number i of row a is K[i k_stride + a].
  void multiply(const double* K, std::size_t k_stride, std::size_t rows, double* Z) const {
    dot_product<double>().block(K, k_stride, rows, budget_, V_.data(), stride(), stride(), Z, stride());
  }

  // The eigenvectors, one after the other, as model files have them.
  std::vector<double> eigenvectors() const {
    std::vector<double> vectors(D_.size() * budget_);
    for (std::size_t r = 0; r < D_.size(); ++r)
      for (std::size_t i = 0; i < budget_; ++i) vectors[r * budget_ + i] = V_[i * stride() + r];
    return vectors;
  }
  void set_eigenvectors(const std::vector<double>& vectors) {
    whole_ = vectors.size() == D_.size() * budget_;
    if (!whole_) D_.clear();
    V_.assign(budget_ * stride(), 0.0);
    for (std::size_t r = 0; r < D_.size(); ++r)
      for (std::size_t i = 0; i < budget_; ++i) V_[i * stride() + r] = vectors[r * budget_ + i];
  }

  void cut(Expansion& f) {
    const std::size_t n = f.size();
    std::vector<double> K, k, eigenvalues(n), vectors, D;
    for (std::size_t i = 0; i < n; ++i) {
      f.kernel_row(i, k);
      K.insert(K.end(), k.begin(), k.end());
    }
    if (!symmetric_eigen(K, eigenvalues)) return;
    for (std::size_t r = n; r-- > n - rank_ && eigenvalues[r] > in_the_span * eigenvalues[n - 1];) {
      D.push_back(eigenvalues[r]);
      vectors.insert(vectors.end(), K.begin() + static_cast<std::ptrdiff_t>(r * n),
                     K.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
    }
    D_ = std::move(D);
    set_eigenvectors(vectors);
    follow(f);
    stale_.assign(w_.size(), true);
    settle(f);
    f.forget_norm();
    cut_ = 1;
  }

  void restore(const std::vector<double>& all) {
    const std::size_t r = D_.size();
    whole_ = whole_ && (r == 0 ? all.empty() : all.size() % r == 0);
    w_.clear();
    for (auto row = all.begin(); whole_ && row != all.end(); row += static_cast<std::ptrdiff_t>(r))
      w_.emplace_back(row, row + static_cast<std::ptrdiff_t>(r)).resize(stride());
    stale_.assign(w_.size(), false);
  }

  std::size_t budget_, rank_;
  Counter cut_ = 0;                     // 1 once the span is reduced
  std::vector<double> D_;               // the leading eigenvalues
  AlignedVector V_;                     // and eigenvectors: number i of all, then i + 1; rows of stride() numbers
  std::vector<std::vector<double>> w_;  // outputs x stride(); empty before the cut
  std::vector<bool> stale_;             // outputs whose coefficients are not V w
  Counter rested_ = seldom;             // rounds since the last step, up to `seldom`
  bool whole_ = true;                   // false: a model file has eigenvectors or weights of another size
  std::vector<double> z_, q_;
};

}  // namespace budgetron
