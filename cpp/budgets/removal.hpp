// Budgets that remove a support vector when full, or ignore the new term.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/budget.hpp"
#include "model/expansion.hpp"
#include "model/losses.hpp"
#include "model/tasks.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"
#include "state/random.hpp"

namespace budgetron {

// Keeps every term.
class Unbounded final : public Budget {
 public:
  void insert(Expansion& f, const Term& term) override { f.append(term); }
  void fields(Fields& io) override { io.scratch(sizeof *this); }
};

// When full, the term is ignored.
class Stop final : public OfSize {
 public:
  using OfSize::OfSize;
  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) f.append(term);
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }
};

// When full, the term replaces a support vector drawn uniformly (Cesa-Bianchi et al. 2006).
class RemoveRandom final : public OfSize {
 public:
  RemoveRandom(std::size_t budget, Counter seed) : OfSize(budget), random_(seed) {}
  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_)
      f.append(term);
    else
      f.replace(random_.below(f.size()), term);
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    random_.fields(io);
  }

 private:
  Random random_;
};

// When full, the term replaces the oldest support vector.
class RemoveOldest final : public OfSize {
 public:
  using OfSize::OfSize;
  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_)
      f.append(term);
    else
      f.replace(f.oldest(), term);
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }
};

// When over the budget, removes the support vector that is best classified without itself (Crammer et al. 2003):
// argmax_i y_i (f(s_i) - alpha_i k(s_i,s_i)), the oldest on ties. f includes the new term, which is a candidate too.
// f(s_i) - alpha_i k(s_i,s_i) is kept for every i and output: a change takes one kernel row more.
class RemoveRedundant final : public OfSize {
 public:
  using OfSize::OfSize;
  void insert(Expansion& f, const Term& term) override {
    follow_outputs(f);
    if (f.size() < budget_) return append(f, term);
    find_margins(f, term);
    std::size_t worst = 0;
    for (std::size_t i = 1; i < f.size(); ++i)
      if (margins_[i] > margins_[worst] || (margins_[i] == margins_[worst] && f.births()[i] < f.births()[worst]))
        worst = i;
    if (margin(f, term) > margins_[worst]) return;
    replace(f, worst, term);
    if (++changes_ > 16 * f.size()) remake(f);
  }

  void shrunk(double factor) override {
    for (auto& row : without_) scale(factor, row);
  }
  void widen(std::size_t outputs) override {
    if (!without_.empty()) widen_outputs(without_, outputs);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(without_) + bytes_of(margins_) + bytes_of(k_));
    Counter outputs = static_cast<Counter>(without_.size());
    io.field("redundant.changes", changes_);
    io.field("redundant.outputs", outputs);
    if (io.measuring()) {
      for (const auto& row : without_) io.scratch(bytes_of(row));
      return;
    }
    std::vector<double> all;
    for (const auto& row : without_) all.insert(all.end(), row.begin(), row.end());
    io.field("redundant.without", all, {Merged::Unsaid, OfOutputs::Rows, true});
    if (io.restoring()) restore(all, outputs);
  }
  bool is_consistent(std::size_t n) const override {
    return n <= budget_ && whole_ && (n == 0 || !without_.empty()) &&
           std::all_of(without_.begin(), without_.end(),
                       [n](const auto& row) { return row.size() == n && all_finite(row); });
  }

 private:
  void append(Expansion& f, const Term& term) {
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      add_term(c, term.coefficient(c), term.row.k);
      push(without_[c], dot(f.alpha(c), term.row.k));
    }
    f.append(term);
  }

  void replace(Expansion& f, std::size_t i, const Term& term) {
    f.kernel_row(i, k_);
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      add_term(c, -f.alpha(c)[i], k_);
      add_term(c, term.coefficient(c), term.row.k);
      without_[c][i] = score_without(f.alpha(c), term.row.k, i);
    }
    f.replace(i, term);
  }

  void add_term(std::size_t c, double coefficient, Vector k) {
    if (coefficient != 0) add(coefficient, k, without_[c]);
  }

  // alpha'k without the term of support vector i.
  static double score_without(Vector alpha, Vector k, std::size_t i) {
    return dot(alpha.first(i), k) + dot(alpha.subspan(i + 1), k.subspan(i + 1));
  }

  // y_i (f(s_i) - alpha_i k(s_i,s_i)) for every i, where y_i are the signs of the coefficients of s_i.
  void find_margins(const Expansion& f, const Term& term) {
    margins_.assign(f.size(), 0.0);
    for (std::size_t c = 0; c < f.outputs(); ++c)
      loops->add_margins(f.alpha(c).data(), without_[c].data(), term.coefficient(c), term.row.k.data(), f.size(),
                         margins_.data());
  }

  // The same for the new term: y f(x) without it.
  static double margin(const Expansion& f, const Term& term) {
    double m = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c)
      if (const double y = sign(term.coefficient(c)); y != 0) m += y * dot(f.alpha(c), term.row.k);
    return m;
  }

  // Starts with the outputs of f.
  void follow_outputs(const Expansion& f) {
    if (without_.size() != f.outputs()) remake(f);
  }

  // Recomputes the scores before rounding errors accumulate.
  void remake(const Expansion& f) {
    without_.assign(f.outputs(), std::vector<double>(f.size()));
    for (std::size_t i = 0; i < f.size(); ++i) {
      f.kernel_row(i, k_);
      for (std::size_t c = 0; c < f.outputs(); ++c) without_[c][i] = score_without(f.alpha(c), k_, i);
    }
    changes_ = 0;
  }

  void restore(const std::vector<double>& all, Counter outputs) {
    const auto rows = static_cast<std::size_t>(outputs);
    whole_ = all.empty() || (rows > 0 && rows <= all.size() && all.size() % rows == 0);
    without_.clear();
    if (!whole_ || all.empty()) return;
    for (std::size_t c = 0; c < rows; ++c) {
      const auto row = all.begin() + static_cast<std::ptrdiff_t>(c * (all.size() / rows));
      without_.emplace_back(row, row + static_cast<std::ptrdiff_t>(all.size() / rows));
    }
  }

  std::vector<std::vector<double>> without_;  // outputs x n: f(s_i) - alpha_i k(s_i,s_i)
  std::vector<double> margins_, k_;
  Counter changes_ = 0;  // since without_ was last recomputed
  bool whole_ = true;    // false: the restored scores are not a matrix
};

}  // namespace budgetron
