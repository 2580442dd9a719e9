// f = sum_i alpha_i k(s_i, .): support vectors with one coefficient row per output. Places (slots) stay where they are
// when a support vector is replaced; births tell which is the oldest.
#pragma once

#include <algorithm>
#include <cassert>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fields.hpp"
#include "kernels.hpp"
#include "rows.hpp"
#include "support_set.hpp"
#include "tasks.hpp"
#include "vectors.hpp"

namespace budgetron {

// The kernel row of an example: k_i = k(s_i, x) for the support vectors as they are now.
struct KernelRow {
  Row1 k;
  double kxx;
  double norm;  // of x, as the kernel's reduction defines it
};

// What is offered to a budget: beta v k(x,.), with what the round already knows about it.
struct Term {
  const Row& x;
  const KernelRow& row;
  double beta;
  Direction v;
  const Round& round;

  // beta v_c
  double coefficient(std::size_t c) const { return beta * v[c]; }
};

class Expansion final : public Part {
 public:
  Expansion(std::shared_ptr<const Kernel> kernel, std::size_t features, Precision precision, std::size_t outputs)
      : kernel_(std::move(kernel)), support_(kernel_->support_set(features, precision)), alpha_(outputs) {}

  std::size_t size() const { return births_.size(); }
  std::size_t outputs() const { return alpha_.size(); }
  const Kernel& kernel() const { return *kernel_; }
  const SupportSet& support() const { return *support_; }
  std::span<double> alpha(std::size_t c) { return alpha_[c]; }
  Row1 alpha(std::size_t c) const { return alpha_[c]; }
  const std::vector<Counter>& births() const { return births_; }

  // f_c(x) for every output c.
  void scores(Row1 k, std::span<double> f) const {
    for (std::size_t c = 0; c < outputs(); ++c) f[c] = dot(alpha_[c], k);
  }

  void shrink(double factor) {
    if (factor == 1) return;
    for (auto& row : alpha_) scale(factor, row);
  }

  void append(const Term& term) {
    support_->append(term.x, term.row.norm);
    births_.push_back(born_++);
    for (auto& row : alpha_) row.push_back(0);
    enter(size() - 1, term);
  }

  // The term takes the place of support vector i, and with it a share of the coefficients that stood there.
  void replace(std::size_t i, const Term& term, double share = 0) {
    support_->replace(i, term.x, term.row.norm);
    births_[i] = born_++;
    for (auto& row : alpha_) row[i] *= share;
    enter(i, term);
  }

  // A share of the coefficients of support vector i is added to those of j.
  void lend(std::size_t i, std::size_t j, double share) {
    for (auto& row : alpha_) row[j] += share * row[i];
  }

  // The last support vector moves to place i.
  void remove(std::size_t i) {
    support_->remove(i);
    births_[i] = births_.back();
    births_.pop_back();
    for (auto& row : alpha_) {
      row[i] = row.back();
      row.pop_back();
    }
  }

  // alpha += beta v (x) d: the term written on the support vectors that are there.
  void spread(double beta, const Direction& v, Row1 d) {
    add(beta, d, alpha_[v.plus]);
    if (v.lifted()) add(-beta, d, alpha_[static_cast<std::size_t>(v.minus)]);
  }

  std::size_t oldest() const {
    return static_cast<std::size_t>(std::min_element(births_.begin(), births_.end()) - births_.begin());
  }

  double self(std::size_t i) const { return kernel_->self(support_->norms()[i]); }

  // k(s_i, s_j) for all j.
  void kernel_row(std::size_t i, std::vector<double>& k) const {
    k.resize(support_->padded());
    support_->reduce(i, k);
    kernel_->finish(k, support_->norms(), support_->norms()[i]);
    k.resize(size());
  }

  // Of the coefficients of support vector i: the largest in size, and the sum of squares.
  double largest(std::size_t i) const {
    double most = 0;
    for (const auto& row : alpha_) most = std::max(most, std::fabs(row[i]));
    return most;
  }
  double squared(std::size_t i) const {
    double sum = 0;
    for (const auto& row : alpha_) sum += row[i] * row[i];
    return sum;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(alpha_) + kernel_->bytes());
    support_->fields(io);
    io.field("expansion.births", births_);
    io.field("expansion.born", born_);
    for (std::size_t c = 0; c < outputs(); ++c) io.field(("expansion.alpha." + std::to_string(c)).c_str(), alpha_[c]);
  }

  bool fits(std::size_t n) const override {
    const auto right = [n](const auto& row) { return row.size() == n; };
    return right(births_) && std::all_of(alpha_.begin(), alpha_.end(), right) && support_->fits(n);
  }

 private:
  void enter(std::size_t i, const Term& term) {
    for (std::size_t c = 0; c < outputs(); ++c) alpha_[c][i] += term.coefficient(c);
  }

  std::shared_ptr<const Kernel> kernel_;
  std::unique_ptr<SupportSet> support_;
  std::vector<std::vector<double>> alpha_;  // outputs x n
  std::vector<Counter> births_;
  Counter born_ = 0;
};

}  // namespace budgetron
