// Budget maintenance of stochastic gradient descent (Wang, Crammer & Vucetic 2012; Le et al. 2016). A new term is
// appended. If there are then more than B support vectors, one step of maintenance removes the smallest term, p =
// argmin |alpha_i|^2 k(s_i,s_i).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "linalg/cholesky.hpp"
#include "linalg/gram.hpp"
#include "linalg/inverse_factor.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"
#include "state/random.hpp"

namespace budgetron {

class Maintained : public Budget {
 public:
  explicit Maintained(std::size_t budget) : budget_(budget) {}

  std::size_t most() const override { return budget_; }
  void insert(Expansion& f, const Term& term) final {
    if (admit(f, term) && over(f)) maintain(f);
  }

  // Appends the term, unless it lies in the span of the support vectors; returns whether it was appended.
  virtual bool admit(Expansion& f, const Term& term) {
    f.append(term);
    return true;
  }
  // Removes one support vector.
  virtual void maintain(Expansion& f) = 0;

  bool over(const Expansion& f) const { return f.size() > budget_; }

 protected:
  // The smallest term, the oldest on ties.
  std::size_t smallest(const Expansion& f) {
    f.squares(sizes_);
    loops->multiply(f.selves().data(), sizes_.data(), sizes_.size());
    return f.slot_of_least(sizes_);
  }

  Bytes scratch_bytes() const { return bytes_of(sizes_); }

 private:
  std::size_t budget_;
  std::vector<double> sizes_;
};

// Removes the smallest term.
class RemoveSmallest final : public Maintained {
 public:
  using Maintained::Maintained;
  void maintain(Expansion& f) override { f.remove(smallest(f)); }
  void fields(Fields& io) override { io.scratch(sizeof *this + scratch_bytes()); }
};

// Projects the smallest term onto the span of all others. With Q = K^-1 the shares are -Q_pi / Q_pp and the squared
// distance is 1/Q_pp. A new vector that already lies in the span is projected onto it and never appended.
class ProjectSmallest final : public Maintained {
 public:
  using Maintained::Maintained;

  bool admit(Expansion& f, const Term& term) override {
    inverse_.look(term.row.k, term.row.kxx);
    if (inverse_.inside()) {
      f.spread(term, 1, inverse_.d());
      return false;
    }
    inverse_.append(term.row.k, term.row.kxx);
    return Maintained::admit(f, term);
  }

  void maintain(Expansion& f) override {
    const std::size_t p = smallest(f);
    const Vector q = inverse_.remove(p);
    shares_.assign(q.begin(), q.end());
    const double Qpp = shares_[p];
    scale(-1 / Qpp, shares_);
    f.project_out(p, shares_, 1 / Qpp);
  }

  bool solves() const override { return true; }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + scratch_bytes() + bytes_of(shares_));
    inverse_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return inverse_.is_consistent(n); }

 private:
  InverseFactor inverse_;
  std::vector<double> shares_;
};

// Projects the smallest term onto the span of its nearest neighbours in feature space (Le et al. 2016, Sec. 6.2.2).
class ProjectNearest final : public Maintained {
 public:
  ProjectNearest(std::size_t budget, std::size_t neighbours) : Maintained(budget), neighbours_(neighbours) {}

  bool admit(Expansion& f, const Term& term) override {
    K_.append(term.row.k, term.row.kxx);
    return Maintained::admit(f, term);
  }

  void maintain(Expansion& f) override {
    const std::size_t p = smallest(f);
    span_neighbours(f, p);
    row_of(p);
    span_.look(k_, K_.diagonal()[p]);
    for (std::size_t m = 0; m < members_.size(); ++m) f.lend(p, members_[m], span_.d()[m]);
    f.remove(p);
    K_.remove(p);
  }

  bool solves() const override { return true; }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + scratch_bytes() + bytes_of(members_) + bytes_of(coordinates_) + bytes_of(left_) +
               bytes_of(distances_) + bytes_of(ties_) + bytes_of(k_));
    K_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return K_.is_consistent(n); }

 private:
  // Builds the span of the nearest neighbours of p, skipping those that are already in it. left_ holds the part of
  // every support vector outside the span (from a partial Cholesky factor of K), so the cost does not depend on the
  // rows.
  void span_neighbours(const Expansion& f, std::size_t p) {
    span_.clear();
    members_.clear();
    coordinates_.clear();
    left_.assign(K_.diagonal().begin(), K_.diagonal().end());
    distances_.resize(K_.size());
    loops->distances(K_.diagonal()[p], K_.diagonal().data(), K_[p].data(), K_.size(), distances_.data());
    for (std::size_t i = 0; i < K_.size(); ++i)
      if (!(left_[i] > 0)) distances_[i] = infinity;  // k(s_i,s_i) = 0
    distances_[p] = infinity;
    for (std::size_t j; members_.size() < neighbours_ && (j = nearest_outside(f)) != none;) {
      row_of(j);
      span_.measure(k_, K_.diagonal()[j]);
      if (!span_.inside()) {
        span_.append();
        take_away(j);
        members_.push_back(j);
      }
      distances_[j] = infinity;
    }
  }

  // The nearest to p outside the span, oldest on ties.
  std::size_t nearest_outside(const Expansion& f) {
    const std::size_t n = distances_.size(), first = loops->place_of_least(distances_.data(), n);
    if (first == n || !(distances_[first] < infinity)) return none;
    const double least = distances_[first];
    ties_.resize(n);
    const std::size_t ties = loops->near(distances_.data(), least, n, ties_.data());
    const auto older = [&](std::size_t i, std::size_t j) { return f.births()[i] < f.births()[j]; };
    return *std::min_element(ties_.data(), ties_.data() + ties, older);
  }

  // Adds j to the span: every support vector gets one more coordinate, and left_ shrinks accordingly. Those that lie in
  // the span now are infinitely far.
  void take_away(std::size_t j) {
    if (members_.size() + 1 == neighbours_) return;  // left_ is not used again
    const std::size_t n = K_.size(), first = coordinates_.size();
    coordinates_.insert(coordinates_.end(), K_[j].begin(), K_[j].end());
    const auto row = std::span(coordinates_).subspan(first);
    for (std::size_t at = 0; at < first; at += n) add(-coordinates_[at + j], {coordinates_.data() + at, n}, row);
    scale(1 / std::sqrt(left_[j]), row);
    loops->leave(row.data(), K_.diagonal().data(), in_the_span, n, left_.data(), distances_.data());
  }

  // The kernel values of i with the members.
  void row_of(std::size_t i) {
    k_.clear();
    for (const std::size_t m : members_) k_.push_back(K_[m][i]);
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  std::size_t neighbours_;
  Gram K_;
  Span span_;
  std::vector<std::size_t> members_;
  std::vector<double> coordinates_;  // members x n: the coordinate of every support vector along each member
  std::vector<double> left_;         // the part of k(s_i,s_i) outside the span of the members
  std::vector<double> distances_;    // from p, squared; infinite for members and what lies in their span
  std::vector<std::size_t> ties_;
  std::vector<double> k_;
};

// Applies the inner maintenance with probability min(beta/t, 1), so f may exceed the budget (NBSGD; Le et al. 2016,
// Alg. 3).
class Sometimes final : public Budget {
 public:
  Sometimes(std::shared_ptr<Maintained> inner, double beta, Counter seed)
      : inner_(std::move(inner)), beta_(beta), random_(seed) {}

  void insert(Expansion& f, const Term& term) override {
    if (!inner_->admit(f, term) || !inner_->over(f)) return;
    if (random_.uniform() < beta_ / static_cast<double>(term.round.t)) inner_->maintain(f);
  }

  bool solves() const override { return inner_->solves(); }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    inner_->fields(io);
    random_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return inner_->is_consistent(n); }

 private:
  std::shared_ptr<Maintained> inner_;
  double beta_;
  Random random_;
};

}  // namespace budgetron
