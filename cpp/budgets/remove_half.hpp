// Ahpatron (Liao et al. 2024): when the budget is full, half of the support vectors are removed at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "linalg/cholesky.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"

namespace budgetron {

// Keeps the half with the largest coefficients; of equal ones the older stay. The others are projected onto the span of
// those kept, with a ridge, and f is scaled to the norm that it had. It costs O(B^3), once in B/2 steps.
class RemoveHalf final : public OfSize {
 public:
  RemoveHalf(std::size_t budget, double ridge) : OfSize(budget), ridge_(ridge) {}

  bool solves() const override { return true; }
  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) return f.append(term);
    k_.assign(term.row.k.begin(), term.row.k.end());
    halve(f);
    const KernelRow row{k_, term.row.kxx, term.row.norm};
    f.append({term.x, row, term.beta, term.v, term.round, term.own});
    f.forget_norm();
  }

  void fields(Fields& io) override { io.scratch(sizeof *this + bytes_of(k_)); }

 private:
  void halve(Expansion& f) {
    choose(f);
    const double before = squared_norm(f);
    span_kept(f);
    for (const std::size_t i : removed_) project(f, i);
    for (const std::size_t i : removed_) take_out(f, i);
    const double after = squared_norm(f);
    if (after > 0 && before > 0) f.shrink(std::sqrt(before / after));
    K_ = {};
  }

  // Fills kept_, the oldest first, and removed_, the last slot first.
  void choose(const Expansion& f) {
    std::vector<double> sizes;
    f.squares(sizes);
    std::vector<std::size_t> order(f.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto older = [&](std::size_t i, std::size_t j) { return f.births()[i] < f.births()[j]; };
    std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
      return sizes[i] > sizes[j] || (sizes[i] == sizes[j] && older(i, j));
    });
    const auto half = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    kept_.assign(order.begin(), half);
    removed_.assign(half, order.end());
    std::sort(kept_.begin(), kept_.end(), older);
    std::sort(removed_.rbegin(), removed_.rend());
  }

  // |f|^2; K_ has the kernel rows afterwards.
  double squared_norm(const Expansion& f) {
    double sum = 0;
    K_.resize(f.size());
    for (std::size_t i = 0; i < f.size(); ++i) {
      f.kernel_row(i, K_[i]);
      for (std::size_t c = 0; c < f.outputs(); ++c) sum += f.alpha(c)[i] * dot(f.alpha(c), K_[i]);
    }
    return sum;
  }

  // The Cholesky factor of K + ridge diag(K) for those kept. One that still lies in the span of older ones is left out.
  void span_kept(const Expansion& f) {
    span_.clear();
    members_.clear();
    for (const std::size_t j : kept_) {
      gather(K_[j]);
      span_.measure(values_, (1 + ridge_) * f.self(j));
      if (span_.inside()) continue;
      span_.append();
      members_.push_back(j);
    }
  }

  // Adds the projection of term i to those kept, in f and in its average.
  void project(Expansion& f, std::size_t i) {
    gather(K_[i]);
    shares_.resize(values_.size());
    span_.solve_twice(values_, shares_);
    if (!moderate(f.largest(i) * largest_of(shares_))) return;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      f.lend_in_average(i, members_[m], shares_[m]);
      for (std::size_t c = 0; c < f.outputs(); ++c) f.alpha(c)[members_[m]] += shares_[m] * f.alpha(c)[i];
    }
  }

  // Removes slot i; the last one moves there, in k_ as in f.
  void take_out(Expansion& f, std::size_t i) {
    f.remove(i);
    k_[i] = k_.back();
    k_.pop_back();
  }

  // The kernel values with the members.
  void gather(Vector k) {
    values_.clear();
    for (const std::size_t m : members_) values_.push_back(k[m]);
  }

  double ridge_;
  std::vector<double> k_;  // the kernel row of the term
  // While the set is halved:
  std::vector<std::size_t> kept_, removed_, members_;
  std::vector<std::vector<double>> K_;
  Span span_;
  std::vector<double> values_, shares_;
};

}  // namespace budgetron
