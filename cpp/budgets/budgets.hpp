// How a new term joins f. Here: the budgets that drop a support vector, or the term itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "linalg/gram.hpp"
#include "linalg/limits.hpp"
#include "model/expansion.hpp"
#include "model/losses.hpp"
#include "state/fields.hpp"
#include "state/random.hpp"

namespace budgetron {

class Budget : public Part {
 public:
  virtual void insert(Expansion& f, const Term& term) = 0;
  // Whether it solves systems of the kernel matrix: the rounding of single precision would be magnified by their
  // condition, so kernels are then computed in double.
  virtual bool solves() const { return false; }
};

// Every term is kept.
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

// When over the budget, the support vector goes that is best classified without itself (Crammer et al. 2003):
// argmax_i y_i (f(s_i) - alpha_i k(s_i,s_i)), f with the new term, which is a candidate too; the oldest on ties.
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
  // y_i (f(s_i) - alpha_i k(s_i,s_i)), y_i the signs of the coefficients of s_i.
  double margin(const Expansion& f, const Term& term, std::size_t i) const {
    double m = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      const Vector alpha = f.alpha(c), k = K_[i];
      const double others = dot(alpha.first(i), k) + dot(alpha.subspan(i + 1), k.subspan(i + 1));
      m += sign(alpha[i]) * (others + term.coefficient(c) * term.row.k[i]);
    }
    return m;
  }

  // The same of the new term: what f gives at x without it.
  static double margin(const Expansion& f, const Term& term) {
    double m = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) m += sign(term.coefficient(c)) * dot(f.alpha(c), term.row.k);
    return m;
  }

  std::size_t budget_;
  Gram K_;
};

// The self-tuned Forgetron (Dekel et al. 2008): when over the budget, everything shrinks by phi and the oldest goes.
// psi(phi) = q (sigma phi)^2 + 2 sigma phi (1 - phi mu) bounds what that costs; phi is the largest value in (0, 1] with
// psi(phi) <= 15/32 M - Q, M the mistakes and Q the sum of psi so far.
class Forget final : public Budget {
 public:
  explicit Forget(std::size_t budget) : budget_(budget) {}

  void insert(Expansion& f, const Term& term) override {
    M_ += term.round.mistake;
    if (f.size() < budget_) return f.append(term);
    const std::size_t oldest = f.oldest();
    const double sigma = f.largest(oldest) / f.divisor();
    f.kernel_row(oldest, k_);
    double mu = 0, q = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      const double y = sign(f.alpha(c)[oldest]);
      mu += y * (dot(f.alpha(c), k_) + term.coefficient(c) * term.row.k[oldest]);
      q += y * y * k_[oldest];
    }
    mu /= f.divisor();
    const double a = q * sigma * sigma - 2 * sigma * mu;
    const auto psi = [&](double phi) { return a * phi * phi + 2 * sigma * phi; };
    const double slack = 15.0 / 32.0 * static_cast<double>(M_) - Q_;
    if (psi(1) > slack && slack <= 0) return;  // no phi: only where the prediction was right
    const double phi = psi(1) <= slack ? 1 : slack / (sigma + std::sqrt(sigma * sigma + a * slack));
    if (!(phi > 0) || !moderate_square(psi(phi))) return;  // coefficients so large that their squares are no numbers
    assert(phi <= 1);
    Q_ += psi(phi);
    f.replace(oldest, term);
    f.shrink(phi);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(k_));
    io.field("forget.M", M_);
    io.field("forget.Q", Q_);
  }
  bool is_consistent(std::size_t n) const override { return n <= budget_ && std::isfinite(Q_); }

 private:
  std::size_t budget_;
  Counter M_ = 0;
  double Q_ = 0;
  std::vector<double> k_;
};

// The Forgetron as in the program of Lu et al. 2016: where psi(phi) = 15/32 M - Q has two positive roots, phi is the
// larger one, which is above 1. With several classes, mu and q are those of the oldest one's own class.
class ForgetLargerRoot final : public Budget {
 public:
  explicit ForgetLargerRoot(std::size_t budget) : budget_(budget) {}

  void insert(Expansion& f, const Term& term) override {
    M_ += term.round.mistake;
    if (f.size() < budget_) return f.append(term);
    const std::size_t oldest = f.oldest();
    const double sigma = f.largest(oldest) / f.divisor();
    f.kernel_row(oldest, k_);
    double mu = 0, q = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      const double y = sign(f.alpha(c)[oldest]);
      if (f.outputs() > 1 && y < 0) continue;  // not its own class
      mu += y * (dot(f.alpha(c), k_) + term.coefficient(c) * term.row.k[oldest]);
      q += y * y * k_[oldest];
    }
    mu /= f.divisor();
    const double a = q * sigma * sigma - 2 * sigma * mu;
    const double slack = 15.0 / 32.0 * static_cast<double>(M_) - Q_;
    double phi = 1, psi = a + 2 * sigma;
    if (psi > slack) {
      const double root = std::sqrt(sigma * sigma + a * slack);
      phi = a < 0 ? -(sigma + root) / a : slack / (sigma + root);
      psi = slack;
    }
    if (!(phi > 0) || !std::isfinite(phi)) return;  // no phi, or coefficients whose squares are not finite
    Q_ += psi;
    f.replace(oldest, term);
    f.shrink(phi);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(k_));
    io.field("forget.M", M_);
    io.field("forget.Q", Q_);
  }
  bool is_consistent(std::size_t n) const override { return n <= budget_ && std::isfinite(Q_); }

 private:
  std::size_t budget_;
  Counter M_ = 0;
  double Q_ = 0;
  std::vector<double> k_;
};

// BOGD (Zhao et al. 2012): when full, drop i drawn from p and rescale the others by 1/(1 - p_i), which leaves f right
// on average; then cap the coefficients (Eq. 10).
class Sample : public Budget {
 public:
  Sample(std::size_t budget, double cap, Counter seed) : budget_(budget), cap_(cap), random_(seed) {}

  void insert(Expansion& f, const Term& term) final {
    if (f.size() < budget_) return f.append(term);
    const std::size_t dropped = draw(f, random_);
    for (std::size_t c = 0; c < f.outputs(); ++c) {
      const double alpha = f.alpha(c)[dropped];
      rescale(f.alpha(c), std::min(cap_ * f.divisor(), largest_cap));
      f.alpha(c)[dropped] = alpha;  // it goes as it is
    }
    f.forget_norm();
    f.replace(dropped, term);
  }

  void fields(Fields& io) override { random_.fields(io); }
  bool is_consistent(std::size_t n) const final { return n <= budget_; }

 protected:
  // A cap above is no cap: squares of coefficients, times k(x,x), must stay far from overflow.
  static constexpr double largest_cap = 1e70;

  // Draws one from p.
  virtual std::size_t draw(const Expansion& f, Random& random) = 0;
  // alpha_i <- alpha_i / (1 - p_i), kept within the cap.
  virtual void rescale(std::span<double> alpha, double cap) const = 0;

 private:
  std::size_t budget_;
  double cap_;
  Random random_;
};

// BOGD: p_i = 1/B.
class SampleUniform final : public Sample {
 public:
  using Sample::Sample;
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    Sample::fields(io);
  }

 protected:
  std::size_t draw(const Expansion& f, Random& random) override { return random.below(f.size()); }
  void rescale(std::span<double> alpha, double cap) const override {
    const double p = 1.0 / static_cast<double>(alpha.size());
    if (p < 1) loops->scale_within(1 / (1 - p), cap, alpha.data(), alpha.size());
  }
};

// BOGD as in the program of Lu et al. 2016: when full, drop a uniform one and rescale the others as above. After every
// update, if a coefficient exceeds the cap, the whole vector is scaled down until none does, the new one included.
class SampleUniformScaled final : public Budget {
 public:
  SampleUniformScaled(std::size_t budget, double cap, Counter seed) : budget_(budget), cap_(cap), random_(seed) {}

  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) {
      f.append(term);
    } else {
      const auto B = static_cast<double>(f.size());
      if (B > 1) f.shrink(B / (B - 1));
      f.replace(random_.below(f.size()), term);
    }
    double most = 0;
    for (std::size_t i = 0; i < f.size(); ++i) most = std::max(most, f.largest(i));
    if (most > cap_ * f.divisor()) f.shrink(cap_ * f.divisor() / most);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    random_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return n <= budget_; }

 private:
  std::size_t budget_;
  double cap_;
  Random random_;
};

// BOGD++: p_i = 1 - s |alpha_i| sqrt(k(s_i,s_i)), s = (B-1) / sum_j |alpha_j| sqrt(k(s_j,s_j)) (Eq. 16), negative ones
// set to 0.
class SampleByWeight final : public Sample {
 public:
  using Sample::Sample;
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(p_));
    Sample::fields(io);
  }

 protected:
  std::size_t draw(const Expansion& f, Random& random) override {
    f.squares(p_);
    const double sum = loops->geometric_means(p_.data(), f.selves().data(), p_.size(), p_.data());
    const double s = sum > 0 ? static_cast<double>(p_.size() - 1) / sum : 0;
    total_ = loops->chances(std::isfinite(s) ? s : 0, p_.data(), p_.size());
    return find(random.uniform() * total_);
  }
  void rescale(std::span<double> alpha, double cap) const override {
    loops->rescale(p_.data(), total_, cap, alpha.data(), alpha.size());
  }

 private:
  // The first index at which the sum of p exceeds `left`; where rounding took it, the last with a chance.
  std::size_t find(double left) const {
    std::size_t i = 0;
    for (; i < p_.size() && left >= p_[i]; ++i) left -= p_[i];
    if (i < p_.size()) return i;
    do --i;
    while (i > 0 && p_[i] == 0);
    return i;
  }

  std::vector<double> p_;  // times the total
  double total_ = 1;
};

}  // namespace budgetron
