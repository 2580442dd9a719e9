// Merging for the Gaussian kernel (Wang, Crammer & Vucetic 2012). The smallest term i and a partner j become one vector
// z = h s_i + (1-h) s_j with coefficient alpha_z = alpha_i kap^((1-h)^2) + alpha_j kap^(h^2), where kap = k(s_i,s_j). h
// is the argmax of m kap^((1-h)^2) + (1-m) kap^(h^2), with m = |alpha_i| / (|alpha_i| + |alpha_j|). The partner is the
// one of the same sign with the lowest cost |alpha_i|^2 + |alpha_j|^2 + 2 alpha_i alpha_j kap - |alpha_z|^2.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "budgets/maintenance.hpp"

namespace budgetron {

// The best h for m <= 1/2 and L = log kap. It lies in [0, 1/2], where the slope of the objective changes sign once.
class BestMerge {
 public:
  static constexpr double lowest = -700;  // below, s_i is so far away that it contributes nothing

  static double h(double m, double L) {
    if (L == 0) return 0.5;  // the two points are equal: any h will do
    if (L < lowest) return 0;
    return refine(m, L, look_up(m, std::exp(L / 4)));
  }

  // The table of h, cells x cells: over 2 m and kap^(1/4), each in [0, 1].
  static constexpr std::size_t cells = 256;
  static const double* table() { return the_table()[0].data(); }

 private:
  // From the table only, accurate to about 1e-3; q = kap^(1/4).
  static double look_up(double m, double q) {
    const Table& table = the_table();
    const double a = std::min(2 * m, 1.0) * (cells - 1), b = q * (cells - 1);
    const auto cell = [](double x) {
      return x > 0 ? std::min(static_cast<std::size_t>(x), cells - 2) : 0;
    };  // NaN gives 0
    const std::size_t i = cell(a), j = cell(b);
    const double u = a - static_cast<double>(i), v = b - static_cast<double>(j);
    return (1 - u) * ((1 - v) * table[i][j] + v * table[i][j + 1]) +
           u * ((1 - v) * table[i + 1][j] + v * table[i + 1][j + 1]);
  }

  // Newton's method from a guess, safeguarded by the bracket that the sign of the slope gives.
  static double refine(double m, double L, double h) {
    double low = 0, high = 0.5;
    for (int i = 0; i < 100; ++i) {
      const double a = m * std::exp(L * (1 - h) * (1 - h)), b = (1 - m) * std::exp(L * h * h);
      const double slope = a * (1 - h) - b * h;  // slope of the objective divided by -2 L > 0
      const double bend = -a * (1 + 2 * L * (1 - h) * (1 - h)) - b * (1 + 2 * L * h * h);
      (slope > 0 ? low : high) = h;
      double next = h - slope / bend;
      if (!(bend < 0) || next < low || next > high) next = 0.5 * (low + high);
      if (std::fabs(next - h) <= 1e-16 + 1e-15 * h) return next;
      h = next;
    }
    return h;
  }

  using Table = std::array<std::array<double, cells>, cells>;

  // A grid over 2 m and kap^(1/4), each in [0, 1].
  static const Table& the_table() {
    static const Table table = [] {
      Table made{};
      for (std::size_t i = 0; i < cells; ++i)
        for (std::size_t j = 0; j < cells; ++j) {
          const double m = 0.5 * static_cast<double>(i) / (cells - 1), q = static_cast<double>(j) / (cells - 1);
          const double L = 4 * std::log(q);
          made[i][j] = L < lowest ? 0 : refine(m, std::min(L, -1e-9), 0.25);
        }
      return made;
    }();
    return table;
  }
};

// log k(x, s) = -gamma |x - s|^2 for the Gaussian kernel.
class Logarithms final : public Finish {
 public:
  explicit Logarithms(double gamma) : gamma_(gamma) {}
  void finish(const Reduced<float>& x, std::span<double> L) const override { each(x, L); }
  void finish(const Reduced<double>& x, std::span<double> L) const override { each(x, L); }

 private:
  template <class T>
  void each(const Reduced<T>& x, std::span<double> L) const {
    for (std::size_t j = 0; j < x.r.size(); ++j) {
      const T distance2 = (x.norm + x.norms[j]) - 2 * x.r[j];
      const double L_j = -gamma_ * std::max(static_cast<double>(distance2), 0.0);
      L[j] = std::max(L_j, std::numeric_limits<double>::lowest());  // avoids -inf * 0 = NaN
    }
  }

  double gamma_;
};

class Merge final : public Maintained {
 public:
  Merge(std::size_t budget, double gamma) : Maintained(budget), gamma_(gamma) {}

  void maintain(Expansion& f) override {
    const std::size_t i = smallest(f);
    logarithms(f, i);
    if (!find_distances(f, i)) return f.remove(i);
    find_partners(reach(f, i));
    coarse_costs(f, i);
    merge(f, i, cheapest(f, i));
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + scratch_bytes() + bytes_of(partners_) + bytes_of(cheap_));
    for (const auto* values : {&L_, &products_, &distances_, &partner_L_, &jj_, &ij_, &cost_, &z_, &s_})
      io.scratch(bytes_of(*values));
  }

 private:
  // Upper bounds on the error of a cost from the table, in units of |alpha_i|^2, for all partners and for near ones.
  // Found were at most 9e-5, and 2.3e-5 L^2 beyond rounding. With several outputs the coefficients need not be
  // parallel. The cost is then not stationary at h, so an error in h has a larger effect: 1e-2, and 0.05 L^2.
  static double coarse(const Expansion& f) { return f.outputs() == 1 ? 1e-3 : 2e-2; }
  static double coarse(const Expansion& f, double L) {
    return std::min(coarse(f), (f.outputs() == 1 ? 5e-4 : 0.2) * L * L);
  }

  // L_j = log k(s_i, s_j) = -gamma |s_i - s_j|^2.
  void logarithms(const Expansion& f, std::size_t i) {
    L_.resize(f.support().padded());
    f.support().kernel_row(i, Logarithms(gamma_), L_);
  }

  // -L_j of the partners, i.e. the support vectors whose coefficients have a positive dot product with those of i;
  // infinity for the others. False if there is no partner.
  bool find_distances(const Expansion& f, std::size_t i) {
    products_.assign(f.alpha(0).begin(), f.alpha(0).begin() + static_cast<std::ptrdiff_t>(f.size()));
    scale(f.alpha(0)[i], products_);
    for (std::size_t c = 1; c < f.outputs(); ++c) add(f.alpha(c)[i], f.alpha(c), products_);
    products_[i] = 0;
    distances_.resize(f.size());
    return loops->partner_distances(products_.data(), L_.data(), f.size(), distances_.data());
  }

  // The distance beyond which every partner costs more than the nearest one. The cost divided by |alpha_i|^2 grows with
  // |alpha_j|, and it is least if the coefficients are parallel. So it is at least that of |alpha_j| = |alpha_i|, which
  // is 2 (1 - sqrt(kap))^2 if L >= -2, since h = 1/2 there, and which grows as kap decreases.
  double reach(const Expansion& f, std::size_t i) {
    constexpr double anywhere = std::numeric_limits<double>::max(), cost_at_minus_2 = 0.799;  // 2 (1 - 1/e)^2
    const std::size_t nearest = loops->place_of_least(distances_.data(), distances_.size());
    if (nearest == distances_.size()) return anywhere;  // NaN
    partners_.assign(1, nearest);
    coarse_costs(f, i);
    const double most = cost_[0] / f.squared(i) + coarse(f);
    if (!(most < cost_at_minus_2)) return anywhere;
    // The cost of a tiny term is mostly rounding, and may be too low: the nearest is a partner in any case.
    return std::max(-2 * std::log1p(-std::sqrt(std::max(most, 0.0) / 2)), distances_[nearest]);
  }

  void find_partners(double reach) {
    partners_.resize(distances_.size());
    partners_.resize(loops->near(distances_.data(), reach, distances_.size(), partners_.data()));  // NaN is near
  }

  // |alpha_i| / (|alpha_i| + |alpha_j|), at most 1/2
  static double share(double ii, double jj) { return std::min(std::sqrt(ii) / (std::sqrt(ii) + std::sqrt(jj)), 0.5); }

  // |alpha_i|^2 + |alpha_j|^2 + 2 alpha_i alpha_j kap - |alpha_z|^2, with u = kap^((1-h)^2), v = kap^(h^2).
  static double cost(double ii, double jj, double ij, double kap, double u, double v) {
    return ii * (1 - u * u) + jj * (1 - v * v) + 2 * ij * (kap - u * v);
  }

  // The costs of the partners, with h from the table. What is beyond the last partner is computed in vain.
  void coarse_costs(const Expansion& f, std::size_t i) {
    const std::size_t n = partners_.size(), padded = whole_lanes<double>(n);
    for (auto* values : {&partner_L_, &jj_, &ij_, &cost_}) values->resize(padded);
    for (std::size_t p = 0; p < n; ++p) {
      const std::size_t j = partners_[p];
      partner_L_[p] = L_[j];
      jj_[p] = f.squared(j);
      ij_[p] = products_[j];
    }
    loops->merge_costs(partner_L_.data(), jj_.data(), ij_.data(), f.squared(i), BestMerge::table(), BestMerge::cells,
                       padded, cost_.data());
    cost_.resize(n);
  }

  static double exact_cost(const Expansion& f, std::size_t i, std::size_t j, double L) {
    if (L > (f.outputs() == 1 ? -0x1p-27 : -0x1p-54)) return 0;  // L^2, or L, is below rounding
    if (L < BestMerge::lowest) return f.squared(i);              // u = kap = 0, v = 1
    const double ii = f.squared(i), jj = f.squared(j), h = BestMerge::h(share(ii, jj), L);
    const double u = std::exp(L * (1 - h) * (1 - h)), v = std::exp(L * h * h);
    double ij = 0;
    for (std::size_t c = 0; c < f.outputs(); ++c) ij += f.alpha(c)[i] * f.alpha(c)[j];
    return cost(ii, jj, ij, std::exp(L), u, v);
  }

  // The cheapest partner by the exact h, among those whose table cost may be the lowest; the oldest on ties.
  std::size_t cheapest(const Expansion& f, std::size_t i) {
    assert(!partners_.empty());
    const double limit = loops->least(cost_.data(), cost_.size()) + coarse(f) * f.squared(i);
    std::size_t n = 0;
    cheap_.resize(partners_.size());
    for (std::size_t p = 0; p < partners_.size(); ++p)
      if (cost_[p] <= limit) cheap_[n++] = p;
    if (n > few) n = cheap_and_near(f, f.squared(i), n);
    std::size_t best = partners_[n > 0 ? cheap_[0] : 0];
    if (n <= 1) return best;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t q = 0; q < n; ++q) {
      const std::size_t j = partners_[cheap_[q]];
      const double exact = exact_cost(f, i, j, L_[j]);
      if (exact < least || (exact == least && f.births()[j] < f.births()[best])) least = exact, best = j;
    }
    return best;
  }

  // Of the first of cheap_, keeps those that may be the cheapest also by the bound for near partners; returns how many.
  std::size_t cheap_and_near(const Expansion& f, double ii, std::size_t n) {
    const auto error = [&](std::size_t p) {
      return coarse(f, partner_L_[p]) * ii + 0x1p-48 * (ii + jj_[p]);  // the last term is rounding
    };
    double limit = std::numeric_limits<double>::infinity();
    for (std::size_t q = 0; q < n; ++q) limit = std::min(limit, cost_[cheap_[q]] + error(cheap_[q]));
    std::size_t kept = 0;
    for (std::size_t q = 0; q < n; ++q)
      if (const std::size_t p = cheap_[q]; cost_[p] - error(p) <= limit) cheap_[kept++] = p;
    return kept;
  }

  void merge(Expansion& f, std::size_t i, std::size_t j) {
    const double h = BestMerge::h(share(f.squared(i), f.squared(j)), L_[j]);
    const double u = std::exp(L_[j] * (1 - h) * (1 - h)), v = std::exp(L_[j] * h * h);
    z_.resize(f.features());
    s_.resize(f.features());
    f.support().copy(i, z_);
    f.support().copy(j, s_);
    for (std::size_t k = 0; k < z_.size(); ++k) z_[k] = h * z_[k] + (1 - h) * s_[k];
    f.merge(i, j, DenseRow<double>{z_.data(), z_.size()}, u, v);
  }

  static constexpr std::size_t few = 16;  // exact costs of these are quick

  double gamma_;
  std::vector<double> L_, products_, distances_;    // of all support vectors
  std::vector<std::size_t> partners_;               // slots
  std::vector<std::size_t> cheap_;                  // places in partners_
  std::vector<double> partner_L_, jj_, ij_, cost_;  // one per partner
  std::vector<double> z_, s_;                       // rows
};

}  // namespace budgetron
