// Budgets that remove a support vector when full, or ignore the new term.
#pragma once

#include <cstddef>

#include "linalg/gram.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"
#include "model/losses.hpp"
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
class Stop final : public Budget {
 public:
  explicit Stop(std::size_t budget) : budget_(budget) {}
  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) f.append(term);
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }
  bool is_consistent(std::size_t n) const override { return n <= budget_; }

 private:
  std::size_t budget_;
};

// When full, the term replaces a support vector drawn uniformly (Cesa-Bianchi et al. 2006).
class RemoveRandom final : public Budget {
 public:
  RemoveRandom(std::size_t budget, Counter seed) : budget_(budget), random_(seed) {}
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
  bool is_consistent(std::size_t n) const override { return n <= budget_; }

 private:
  std::size_t budget_;
  Random random_;
};

// When full, the term replaces the oldest support vector.
class RemoveOldest final : public Budget {
 public:
  explicit RemoveOldest(std::size_t budget) : budget_(budget) {}
  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_)
      f.append(term);
    else
      f.replace(f.oldest(), term);
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }
  bool is_consistent(std::size_t n) const override { return n <= budget_; }

 private:
  std::size_t budget_;
};

// When over the budget, removes the support vector that is best classified without itself (Crammer et al. 2003):
// argmax_i y_i (f(s_i) - alpha_i k(s_i,s_i)), the oldest on ties. f includes the new term, which is a candidate too.
class RemoveRedundant final : public Budget {
 public:
  explicit RemoveRedundant(std::size_t budget) : budget_(budget) {}

  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) {
      K_.append(term.row.k, term.row.kxx);
      f.append(term);
      return;
    }
    std::size_t worst = 0;
    double most = margin(f, term, 0);
    for (std::size_t i = 1; i < f.size(); ++i) {
      const double m = margin(f, term, i);
      if (m > most || (m == most && f.births()[i] < f.births()[worst])) worst = i, most = m;
    }
    if (margin(f, term) > most) return;
    f.replace(worst, term);
    K_.replace(worst, term.row.k, term.row.kxx);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    K_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return n <= budget_ && K_.is_consistent(n); }

 private:
  // y_i (f(s_i) - alpha_i k(s_i,s_i)), where y_i are the signs of the coefficients of s_i.
  double margin(const Expansion& f, const Term& term, std::size_t i) const {
    double m = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      const Vector alpha = f.alpha(c), k = K_[i];
      const double others = dot(alpha.first(i), k) + dot(alpha.subspan(i + 1), k.subspan(i + 1));
      m += sign(alpha[i]) * (others + term.coefficient(c) * term.row.k[i]);
    }
    return m;
  }

  // The same for the new term: y f(x) without it.
  static double margin(const Expansion& f, const Term& term) {
    double m = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) m += sign(term.coefficient(c)) * dot(f.alpha(c), term.row.k);
    return m;
  }

  std::size_t budget_;
  Gram K_;
};

}  // namespace budgetron
