// Budgeted Passive-Aggressive (Wang & Vucetic 2010). When full, the new vector t replaces one support vector r, whose
// term alpha_r k(s_r,.) is projected onto the span of a set V that contains t. r minimises |f_new - f|^2 / 2 + C
// hinge(f_new at x). Because t is in V, the lost part of k(s_r,.) is orthogonal to k(x,.): f_new(x) and the hinge loss
// are the same for every r. The best r is therefore the one with the smallest |alpha_r|^2 times its squared distance to
// the span of V.
#pragma once

#include <vector>

#include "linalg/gram.hpp"
#include "linalg/inverse_factor.hpp"
#include "linalg/neighbours.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"

namespace budgetron {

// The slot of the smallest number, lowest on ties.
inline std::size_t first_least(Vector cost) {
  const std::size_t least = loops->place_of_least(cost.data(), cost.size());
  return least == cost.size() ? 0 : least;
}

// BPA-S: V = {t}.
class Swap final : public OfSize {
 public:
  using OfSize::OfSize;
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

 private:
  std::vector<double> cost_;
};

// BPA-NN: V = {t, the nearest neighbour of r}.
class SwapNearest final : public OfSize {
 public:
  using OfSize::OfSize;
  void insert(Expansion& f, const Term& term) override {
    if (term.row.kxx <= 0) return;  // k(x,.) = 0 changes nothing
    const Vector k = term.row.k;
    std::size_t place = f.size();
    if (place < budget_) {
      K_.append(k, term.row.kxx);
      f.append(term);
    } else {
      place = cheapest(f, term);
      const Share shares = share(term, place);
      if (f.size() > 1) f.lend(place, neighbours_.nearest(place), shares.on_nearest);
      f.replace(place, term, shares.on_t);
      K_.replace(place, k, term.row.kxx);
    }
    neighbours_.changed(K_, place);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(cost_) + bytes_of(knn_) + bytes_of(ktn_));
    K_.fields(io);
    neighbours_.fields(io);
  }
  bool is_consistent(std::size_t n) const override {
    return n <= budget_ && K_.is_consistent(n) && neighbours_.is_consistent(n);
  }
  bool solves() const override { return true; }

 private:
  // The slot r with the smallest |alpha_r|^2 distance2(r), lowest on ties.
  std::size_t cheapest(const Expansion& f, const Term& term) {
    const Vector k = term.row.k, kii = K_.diagonal();
    knn_.resize(f.size());
    ktn_.resize(f.size());
    for (std::size_t r = 0; r < f.size(); ++r) {
      const std::size_t n = neighbours_.nearest(r);
      knn_[r] = kii[n];
      ktn_[r] = k[n];
    }
    f.squares(cost_);
    loops->pair_costs({k.data(), kii.data(), neighbours_.kernels().data(), knn_.data(), ktn_.data(), term.row.kxx},
                      in_the_span, f.size(), cost_.data());
    return first_least(cost_);
  }

  struct Share {
    double on_t, on_nearest;
  };

  // The projection of k(s_r,.) onto V, K_V^-1 k_{r,V}.
  Share share(const Term& term, std::size_t r) const {
    const Vector k = term.row.k;
    const double alone = k[r] / term.row.kxx;
    if (K_.size() < 2) return {alone, 0};
    const std::size_t n = neighbours_.nearest(r);
    const double knn = K_.diagonal()[n], on_t = k[n] / term.row.kxx;
    const double rest = knn - k[n] * on_t;  // the squared distance of n from t
    if (rest <= in_the_span * knn) return {alone, 0};
    const double on_n = (neighbours_.kernel(r) - k[n] * alone) / rest;
    return {alone - on_n * on_t, on_n};
  }

  Gram K_;
  Neighbours neighbours_;
  std::vector<double> cost_, knn_, ktn_;
};

// BPA-P: V = everything except r. With Q the inverse of the Gram matrix of all support vectors and t, the squared
// distance is 1/Q_rr and the share of i is -Q_ri / Q_rr. If t lies in the span of the support vectors, it is projected
// and replaces nothing.
class SwapProject final : public OfSize {
 public:
  using OfSize::OfSize;
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
  InverseFactor inverse_;
  std::vector<double> cost_, shares_;
};

}  // namespace budgetron
