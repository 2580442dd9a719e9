// Budgeted Passive-Aggressive (Wang & Vucetic 2010). When full, the new vector t replaces one support vector r, whose
// term alpha_r k(s_r,.) is projected onto the span of a set V that contains t. r minimises |f_new - f|^2 / 2 + C
// hinge(f_new at x). Because t is in V, the lost part of k(s_r,.) is orthogonal to k(x,.): f_new(x) and the hinge loss
// are the same for every r. The best r is therefore the one with the smallest |alpha_r|^2 times its squared distance to
// the span of V.
#pragma once

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "linalg/gram.hpp"
#include "linalg/inverse_factor.hpp"
#include "linalg/neighbours.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"

namespace budgetron {

// A squared distance computed as a difference of numbers of this size, bounded below by its rounding error.
inline double no_less_than_rounding(double distance2, double size) { return std::max(distance2, 1e-15 * size); }

// The slot r with the smallest |alpha_r|^2 distance2(r), lowest on ties.
template <class Distance2>
std::size_t cheapest(const Expansion& f, Distance2 distance2) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < f.size(); ++r)
    if (const double cost = f.squared(r) * distance2(r); cost < least) least = cost, best = r;
  return best;
}

// The slot of the smallest number, lowest on ties.
inline std::size_t first_least(Vector cost) {
  const double least = loops->least(cost.data(), cost.size());
  const auto found = std::find(cost.begin(), cost.end(), least);
  return found == cost.end() ? 0 : static_cast<std::size_t>(found - cost.begin());
}

// BPA-S: V = {t}.
class Swap final : public Budget {
 public:
  explicit Swap(std::size_t budget) : budget_(budget) {}

  void insert(Expansion& f, const Term& term) override {
    const Vector k = term.row.k;
    const double kxx = term.row.kxx;
    if (kxx <= 0) return;  // k(x,.) = 0 changes nothing
    if (f.size() < budget_) return f.append(term);
    f.squares(cost_);
    loops->swap_costs(cost_.data(), f.selves().data(), k.data(), kxx, f.size(), cost_.data());
    const std::size_t r = first_least(cost_);
    f.replace(r, term, k[r] / kxx);
  }
  void fields(Fields& io) override { io.scratch(sizeof *this + bytes_of(cost_)); }
  bool is_consistent(std::size_t n) const override { return n <= budget_; }

 private:
  std::size_t budget_;
  std::vector<double> cost_;
};

// BPA-NN: V = {t, the nearest neighbour of r}.
class SwapNearest final : public Budget {
 public:
  explicit SwapNearest(std::size_t budget) : budget_(budget) {}

  void insert(Expansion& f, const Term& term) override {
    if (term.row.kxx <= 0) return;  // k(x,.) = 0 changes nothing
    const Vector k = term.row.k;
    std::size_t place = f.size();
    if (place < budget_) {
      K_.append(k, term.row.kxx);
      f.append(term);
    } else {
      place = cheapest(f, [&](std::size_t r) { return share(term, r).distance2; });
      const Share shares = share(term, place);
      if (f.size() > 1) f.lend(place, neighbours_.nearest(place), shares.on_nearest);
      f.replace(place, term, shares.on_t);
      K_.replace(place, k, term.row.kxx);
    }
    neighbours_.changed(K_, place);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    K_.fields(io);
    neighbours_.fields(io);
  }
  bool is_consistent(std::size_t n) const override {
    return n <= budget_ && K_.is_consistent(n) && neighbours_.is_consistent(n);
  }
  bool solves() const override { return true; }

 private:
  struct Share {
    double on_t, on_nearest, distance2;
  };

  // The projection of k(s_r,.) onto V, K_V^-1 k_{r,V}, and its squared distance to the span of V.
  Share share(const Term& term, std::size_t r) const {
    const Vector k = term.row.k;
    const double ktt = term.row.kxx, krt = k[r], krr = K_[r][r];
    const double alone = krt / ktt;
    const Share on_t_alone{alone, 0, no_less_than_rounding(krr - alone * krt, krr + alone * alone * ktt)};
    if (K_.size() < 2) return on_t_alone;
    const std::size_t n = neighbours_.nearest(r);
    const double knn = K_[n][n], ktn = k[n], krn = K_[r][n];
    const double rest = knn - ktn * (ktn / ktt);  // the squared distance of n from t
    if (rest <= in_the_span * knn) return on_t_alone;
    const double on_n = (krn - ktn * alone) / rest, on_t = alone - on_n * (ktn / ktt);
    return {on_t, on_n,
            no_less_than_rounding(krr - on_t * krt - on_n * krn, krr + on_t * on_t * ktt + on_n * on_n * knn)};
  }

  std::size_t budget_;
  Gram K_;
  Neighbours neighbours_;
};

// BPA-P: V = everything except r. With Q the inverse of the Gram matrix of all support vectors and t, the squared
// distance is 1/Q_rr and the share of i is -Q_ri / Q_rr. If t lies in the span of the support vectors, it is projected
// and replaces nothing.
class SwapProject final : public Budget {
 public:
  explicit SwapProject(std::size_t budget) : budget_(budget) {}

  void insert(Expansion& f, const Term& term) override {
    const Vector k = term.row.k;
    inverse_.look(k, term.row.kxx);
    if (inverse_.inside()) return f.spread(term, 1, inverse_.d());
    if (f.size() < budget_) {
      inverse_.append(k, term.row.kxx);
      return f.append(term);
    }
    // Q = [K^-1 + d d'/delta2, -d/delta2; ., 1/delta2] (Eq. 11 of the Projectron paper)
    const Vector d = inverse_.d();
    const double delta2 = inverse_.delta2();
    f.squares(cost_);
    loops->project_costs(cost_.data(), inverse_.diagonal().data(), d.data(), delta2, f.size());
    const std::size_t r = first_least(cost_);
    const Vector q = inverse_.swap(r, k, term.row.kxx);
    shares_.assign(q.begin(), q.end());
    scale(-1 / q[r], shares_);
    const double on_t = shares_.back();
    shares_[r] = 0;
    f.lend_all(r, Vector(shares_).first(f.size()));
    f.replace(r, term, on_t);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(cost_) + bytes_of(shares_));
    inverse_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return n <= budget_ && inverse_.is_consistent(n); }
  bool solves() const override { return true; }

 private:
  std::size_t budget_;
  InverseFactor inverse_;
  std::vector<double> cost_, shares_;
};

}  // namespace budgetron
