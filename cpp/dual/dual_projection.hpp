// Maintenance that projects the removed support vector j onto all others (Zhao & Hoi 2012, Section 3.2):
//   min |g_j y_j k(s_j,.) - sum_i b_i y_i k(s_i,.)|^2,  b_i in [-g_i, C_i - g_i]     (Eq. 8)
// Below, c_i = b_i y_i.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "dual/dual_maintenance.hpp"
#include "dual/dual_variables.hpp"
#include "linalg/box_qp.hpp"
#include "linalg/inverse_factor.hpp"

namespace budgetron {

// DA if the others absorb b.
inline double ascent_of(const DualVariables& dual, const Gram& K, std::size_t j, Vector b, std::vector<double>& c) {
  const double g = dual.g(j);
  double linear = -g * (1 - dual.m(j));
  c.resize(dual.size());
  for (std::size_t i = 0; i < dual.size(); ++i) {
    linear += b[i] * (1 - dual.m(i));
    c[i] = -b[i] * dual.y(i);
  }
  c[j] = g * dual.y(j);
  double Df2 = 0;
  for (std::size_t i = 0; i < dual.size(); ++i)
    if (c[i] != 0) Df2 += c[i] * dot(K[i], c);
  return linear - Df2 / 2;
}

// Solves Eq. 8 exactly for one j.
class ExactShares {
 public:
  // b for every i, 0 at j; valid until the next call.
  Vector operator()(const DualVariables& dual, const Gram& K, std::size_t j) {
    const std::size_t n = dual.size();
    q_.assign(K[j].begin(), K[j].end());
    scale(dual.g(j) * dual.y(j), q_);
    lo_.resize(n);
    hi_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      lo_[i] = dual.y(i) > 0 ? dual.lo(i) : -dual.hi(i);
      hi_[i] = dual.y(i) > 0 ? dual.hi(i) : -dual.lo(i);
    }
    lo_[j] = hi_[j] = 0;
    const Vector c = singular_                           ? qp_.solve_by_descent(K, q_, lo_, hi_)
                     : project(dual.g(j) * dual.y(j), j) ? qp_.solve(K, q_, lo_, hi_, free_)
                                                         : qp_.solve(K, q_, lo_, hi_);
    b_.resize(n);
    for (std::size_t i = 0; i < n; ++i) b_[i] = c[i] * dual.y(i);
    return b_;
  }

  // The number of multiplications so far.
  std::size_t work() const { return qp_.work(); }

  // Factors K, for calls with several j and the same K. Without it, every call finds its own factor. Returns null if K
  // has no inverse.
  const PartFactor* prepare(const Gram& K) {
    whole_.clear();
    known_ = true;
    for (std::size_t i = 0; i < K.size() && known_; ++i) known_ = whole_.offer(K, i);
    singular_ = !known_;
    return known_ ? &whole_ : nullptr;
  }

  Bytes bytes() const {
    return qp_.bytes() + whole_.bytes() + bytes_of(q_) + bytes_of(lo_) + bytes_of(hi_) + bytes_of(free_) + bytes_of(b_);
  }

 private:
  // free = the shares c of j without the box, -alpha_j Q_ij / Q_jj, with Q = K^-1; false if K has no inverse, or it is
  // not known.
  bool project(double alpha, std::size_t j) {
    if (!known_) return false;
    free_.assign(q_.size(), 0.0);
    free_[j] = 1;
    whole_.solve(free_);
    scale(-alpha / free_[j], free_);
    return true;
  }

  PartFactor whole_;
  bool known_ = false, singular_ = false;
  BoxQP qp_;
  std::vector<double> q_, lo_, hi_, free_, b_;
};

// Whether a choice among n support vectors has taken too many multiplications, in units of n^3. With few support
// vectors it is quick in any case, and may take more units.
inline bool too_long(std::size_t work, std::size_t units, std::size_t n) {
  return work > units * n * n * std::max<std::size_t>(n, 130);
}

// DA of every j by the inverse Q of K. With only c_j held at 0, and the box ignored, c is alpha_j e_j. If the variables
// A are held at their bounds, c = alpha_j e_j + Q_A mu, where Q_AA mu is the change of c_A; mu is the slope there, and
// |Df|^2 = mu' Q_AA mu. Few variables are held, so Q_AA is small. The rounds and the descent are those of BoxQP.
class AscentsByInverse {
 public:
  explicit AscentsByInverse(bool exact) : exact_(exact) {}

  // Prepares for all j; false if K is too ill-conditioned.
  bool prepare(const DualVariables& dual, const Gram& K, const PartFactor& factor) {
    const std::size_t n = dual.size();
    Q_.remake(n);
    for (auto* values : {&low_, &high_, &slope_}) values->resize(n);
    condition_ = 0;
    work_ = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::fill(Q_[i].begin(), Q_[i].end(), 0.0);
      Q_[i][i] = 1;
      factor.solve(Q_[i]);
      if (!(Q_[i][i] * K[i][i] < 1e12)) return false;
      condition_ = std::max(condition_, Q_[i][i] * K[i][i]);
      const double alpha = dual.f().alpha(0)[i], top = dual.y(i) * dual.C(i);
      low_[i] = std::min(0.0, top) - alpha;
      high_[i] = std::max(0.0, top) - alpha;
      slope_[i] = dual.y(i) * (1 - dual.m(i));
    }
    return true;
  }

  // The largest error of an ascent: slopes up to 2e-12 |alpha| count as 0, which Q magnifies. 0 if K is
  // well-conditioned.
  double doubt(const DualVariables& dual) const {
    return well_conditioned() ? 0 : 2e-12 * condition_ * largest_of(dual.f().alpha(0)) * largest_of(slope_);
  }

  // Whether the descents since `prepare` have taken so long that no more j should be tried: where K is ill-conditioned,
  // every descent takes many steps. Never if it must be exact, and late if n is small, where all are quick.
  bool over_limit() const { return !exact_ && too_long(work_, most_work, slope_.size()); }

  // DA of j, or nothing if neither the rounds nor the descent end.
  std::optional<double> operator()(const DualVariables& dual, const Gram& K, std::size_t j) {
    const double alpha = dual.f().alpha(0)[j], rounding = 2e-12 * std::fabs(alpha) * largest_of(K[j]);
    side_.assign(dual.size(), 0);
    side_[j] = -1;
    c_.assign(dual.size(), 0.0);
    bool solved = false;
    for (int round = 0; round < 10 && !solved && well_conditioned(); ++round) {  // otherwise the rounds rarely end
      if (!hold(alpha, j)) return {};
      solved = settled(j, rounding);
    }
    if (!solved && !descend(alpha, j, rounding)) return {};
    return dot(slope_, c_) - alpha * slope_[j] - dot(change_, mu_) / 2;
  }

  Bytes bytes() const {
    return Q_.bytes() + factor_.bytes() + bytes_of(side_) + bytes_of(low_) + bytes_of(high_) + bytes_of(slope_) +
           bytes_of(c_) + bytes_of(x_) + bytes_of(change_) + bytes_of(mu_) + bytes_of(rows_) + bytes_of(by_row_) +
           bytes_of(row_of_) + bytes_of(shares_);
  }

 private:
  static constexpr std::size_t most_work = 7;  // in units of n^3: about four times what an ordinary choice takes

  bool well_conditioned() const { return condition_ < 1e6; }

  // Finds c and mu if the variables with a side are held there.
  bool hold(double alpha, std::size_t j) {
    factor_.clear();
    change_.clear();
    for (std::size_t i = 0; i < side_.size(); ++i) {
      if (side_[i] == 0) continue;
      if (!factor_.offer(Q_, i)) return false;
      change_.push_back(i == j ? -alpha : side_[i] < 0 ? low_[i] : high_[i]);
    }
    factor_.keep(change_);
    factor_.solve_kept(mu_);
    c_.assign(side_.size(), 0.0);
    for (std::size_t a = 0; a < mu_.size(); ++a) add(mu_[a], Q_[factor_.places()[a]], c_);
    put_held(j);
    return true;
  }
  bool hold_also(std::size_t i, double change) {
    if (!factor_.offer(Q_, i, change)) return false;
    change_.push_back(change);
    row_of_.push_back(row_of_.size());
    rows_.insert(rows_.end(), Q_[i].begin(), Q_[i].end());
    return true;
  }
  void release(std::size_t place) {
    const std::size_t n = side_.size(), row = row_of_[place], last = row_of_.size() - 1;
    side_[factor_.places()[place]] = 0;
    factor_.remove(place);
    change_.erase(change_.begin() + static_cast<std::ptrdiff_t>(place));
    std::copy_n(&rows_[last * n], n, &rows_[row * n]);
    rows_.resize(last * n);
    *std::find(row_of_.begin(), row_of_.end(), last) = row;
    row_of_.erase(row_of_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // The same in the descent: from copies of the held rows, which many steps use.
  void solve(std::size_t j) {
    factor_.solve_kept(mu_);
    const std::size_t n = side_.size();
    by_row_.resize(mu_.size());
    for (std::size_t a = 0; a < mu_.size(); ++a) by_row_[row_of_[a]] = mu_[a];
    c_.assign(n, 0.0);
    for (std::size_t a = 0; a < mu_.size(); a += lanes)
      loops->add_rows(&by_row_[a], &rows_[a * n], n, std::min(lanes, mu_.size() - a), n, c_.data());
    put_held(j);
  }

  void put_held(std::size_t j) {
    for (std::size_t a = 0; a < mu_.size(); ++a) c_[factor_.places()[a]] = change_[a];
    c_[j] = 0;
  }

  // Holds variables outside their box and releases those that are pulled inside; true if there were none.
  bool settled(std::size_t j, double rounding) {
    bool same = true;
    for (std::size_t a = 0; a < mu_.size(); ++a) {
      const std::size_t i = factor_.places()[a];
      if (i == j || low_[i] == high_[i] || pull(a) <= rounding) continue;
      side_[i] = 0;
      c_[i] = low_[i];  // inside its box
      same = false;
    }
    for (std::size_t i = 0; i < side_.size(); ++i) {
      if (side_[i] != 0 || (c_[i] >= low_[i] && c_[i] <= high_[i])) continue;
      side_[i] = c_[i] < low_[i] ? -1 : 1;
      same = false;
    }
    return same;
  }

  // How much the held variable at this place is pulled inside.
  double pull(std::size_t place) const { return side_[factor_.places()[place]] * mu_[place]; }

  // From the present c, clamped: towards the minimiser up to the first bound, which is then held; at the minimiser, the
  // variable that is pulled most is released.
  bool descend(double alpha, std::size_t j, double rounding) {
    x_ = c_;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      x_[i] = i == j ? 0 : std::clamp(x_[i], low_[i], high_[i]);
      side_[i] = i == j || x_[i] == low_[i] ? -1 : x_[i] == high_[i] ? 1 : 0;
    }
    if (!hold(alpha, j)) return false;
    rows_.clear();
    for (const std::size_t i : factor_.places()) rows_.insert(rows_.end(), Q_[i].begin(), Q_[i].end());
    row_of_.resize(mu_.size());
    std::iota(row_of_.begin(), row_of_.end(), std::size_t{0});
    for (std::size_t left = 100 + 20 * x_.size(); left-- > 0;) {
      if (const std::size_t hit = move(); hit < x_.size()) {
        if (!hold_also(hit, x_[hit])) return false;
      } else {
        std::size_t most = mu_.size();
        for (std::size_t a = 0; a < mu_.size(); ++a) {
          const std::size_t i = factor_.places()[a];
          if (i != j && low_[i] < high_[i] && pull(a) > (most < mu_.size() ? pull(most) : rounding)) most = a;
        }
        if (most == mu_.size()) return true;
        release(most);
      }
      solve(j);
      work_ += mu_.size() * (mu_.size() + x_.size());
      if (over_limit()) return false;
    }
    return false;
  }

  // Moves x towards c up to the first bound. Returns the variable that meets it, or x.size() if c was reached.
  std::size_t move() {
    // Several variables at once: no branches, and nothing that may be the same memory.
    shares_.resize(x_.size());
    const double *const c = c_.data(), *const low = low_.data(), *const high = high_.data();
    double* __restrict const x = x_.data(), * __restrict const shares = shares_.data();
    for (std::size_t i = 0; i < x_.size(); ++i)  // 1 if c is inside; NaN, which is not less than 1, if x = c
      shares[i] = (std::max(low[i], std::min(high[i], c[i])) - x[i]) / (c[i] - x[i]);
    double t = 1;
    std::size_t hit = x_.size();
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (shares[i] < t) t = shares[i], hit = i;
    for (std::size_t i = 0; i < x_.size(); ++i)
      x[i] = std::max(low[i], std::min(high[i], x[i] + t * (c[i] - x[i])));  // x = c where it is held
    if (hit == x_.size()) return hit;
    side_[hit] = c_[hit] < low_[hit] ? -1 : 1;
    x_[hit] = side_[hit] < 0 ? low_[hit] : high_[hit];
    return hit;
  }

  bool exact_;
  SquareMatrix Q_;
  double condition_ = 0;                    // the largest K_ii Q_ii
  std::size_t work_ = 0;                    // multiplications of all descents since `prepare`
  PartFactor factor_;                       // of Q_AA
  std::vector<signed char> side_;           // -1: held at the lower bound, 1: at the upper one, 0: free
  std::vector<double> low_, high_, slope_;  // the box of c, and y_i (1 - m_i)
  std::vector<double> c_, change_, mu_;
  std::vector<double> rows_, by_row_;  // the held rows of Q, in any order, and mu in this order
  std::vector<std::size_t> row_of_;    // place in the factor -> row
  std::vector<double> x_, shares_;     // of the descent: inside the box, and how far each variable can go
};

// Exact projection: solves Eq. 8 for every j. If that takes too long, and it need not be exact, only for those whose
// plain removal costs least.
class DualProjection final : public RowsOfGram {
 public:
  DualProjection(std::size_t budget, bool exact) : RowsOfGram(budget), exact_(exact), ascents_(exact) {}
  void fields(Fields& io) override {
    io.scratch(sizeof *this + shares_.bytes() + ascents_.bytes() + bytes_of(estimates_) + bytes_of(removal_) +
               bytes_of(c_) + bytes_of(order_));
    RowsOfGram::fields(io);
  }

 protected:
  Departure choose(const DualVariables& dual, std::span<double> b) override {
    const std::size_t j = most_ascending(dual);
    const Vector shares = shares_(dual, K_, j);
    std::copy(shares.begin(), shares.end(), b.begin());
    return {j, ascent_of(dual, K_, j, b, c_)};
  }

 private:
  // Estimates by the inverse of K come first. If they are in doubt, those near the largest are solved with K; if there
  // is no inverse, all are.
  std::size_t most_ascending(const DualVariables& dual) {
    const PartFactor* factor = shares_.prepare(K_);
    sort_by_removal(dual);
    estimates_.assign(dual.size(), -std::numeric_limits<double>::infinity());
    if (!factor || !ascents_.prepare(dual, K_, *factor)) return most_ascending_of(dual, order_.size());
    for (const std::size_t j : order_) {
      if (ascents_.over_limit()) break;
      const std::optional<double> found = ascents_(dual, K_, j);
      if (!found && ascents_.over_limit() && j != order_[0]) break;  // given up half-way
      estimates_[j] = found ? *found : solved(dual, j);
    }
    const double doubt = ascents_.doubt(dual);
    if (doubt == 0) return dual.best([&](std::size_t j) { return estimates_[j]; });
    std::ranges::stable_sort(order_, std::greater{}, [&](std::size_t j) { return estimates_[j]; });
    const double least = estimates_[order_[0]] - doubt;
    const auto near = std::ranges::find_if(order_, [&](std::size_t j) { return estimates_[j] < least; });
    return most_ascending_of(dual, static_cast<std::size_t>(near - order_.begin()));
  }

  // Solves for the first j of the order, until that has taken too long.
  std::size_t most_ascending_of(const DualVariables& dual, std::size_t first) {
    const std::size_t before = shares_.work();
    estimates_.assign(dual.size(), -std::numeric_limits<double>::infinity());
    for (const std::size_t j : std::span(order_).first(first)) {
      estimates_[j] = solved(dual, j);
      if (!exact_ && too_long(shares_.work() - before, most_work, dual.size())) break;
    }
    return dual.best([&](std::size_t j) { return estimates_[j]; });
  }

  double solved(const DualVariables& dual, std::size_t j) { return ascent_of(dual, K_, j, shares_(dual, K_, j), c_); }

  // Those whose plain removal (Eq. 7) costs least come first.
  void sort_by_removal(const DualVariables& dual) {
    removal_.resize(dual.size());
    order_.resize(dual.size());
    for (std::size_t j = 0; j < dual.size(); ++j) removal_[j] = ascent_of_removal(dual, j);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return removal_[a] > removal_[b]; });
  }

  static constexpr std::size_t most_work = 5;  // in units of n^3: each takes longer than in the estimates

  bool exact_;
  ExactShares shares_;
  AscentsByInverse ascents_;
  std::vector<double> estimates_, removal_, c_;
  std::vector<std::size_t> order_;
};

// The paper's remark: chooses j by plain removal (Eq. 7), then solves Eq. 8 for it.
class DualRemovalThenProjection final : public RowsOfGram {
 public:
  using RowsOfGram::RowsOfGram;
  void fields(Fields& io) override {
    io.scratch(sizeof *this + shares_.bytes() + bytes_of(c_));
    RowsOfGram::fields(io);
  }

 protected:
  Departure choose(const DualVariables& dual, std::span<double> b) override {
    const std::size_t j = best_removal(dual);
    const Vector shares = shares_(dual, K_, j);
    std::copy(shares.begin(), shares.end(), b.begin());
    return {j, ascent_of(dual, K_, j, b, c_)};
  }

 private:
  ExactShares shares_;
  std::vector<double> c_;
};

// The inverse Gram matrix Q over a basis of the support vectors, i.e. a linearly independent subset. Q is updated by
// rank-one changes taken from a factor, and rebuilt from the factor every size() updates.
class Basis {
 public:
  // Whether the support vector at a slot is in the basis, and its index in the basis.
  bool holds(std::size_t place) const { return stand_[place] != outside; }
  std::size_t stand(std::size_t place) const { return static_cast<std::size_t>(stand_[place]); }
  std::size_t place(std::size_t stand) const { return static_cast<std::size_t>(place_[stand]); }
  std::size_t size() const { return place_.size(); }
  const SquareMatrix& Q() const { return Q_; }

  // The support vector in the last slot of K is new.
  void appended(const Gram& K) {
    stand_.push_back(outside);
    try_to_enter(K, K.size() - 1);
  }

  // Slot j is about to leave K. Support vectors that were dependent only because of it enter the basis.
  void removing(const Gram& K, std::size_t j) {
    if (!holds(j)) return;
    find_kept_out(K, j);
    leave(j);
    for (const std::size_t i : kept_out_) try_to_enter(K, i);
  }

  // After `removing`: slot j of K holds another support vector.
  void replaced(const Gram& K, std::size_t j) { try_to_enter(K, j); }

  // After `removing`: slot j was removed and the last support vector moved there.
  void removed(std::size_t j) {
    const std::size_t last = stand_.size() - 1;
    if (holds(last)) place_[stand(last)] = j;
    stand_[j] = stand_[last];
    stand_.pop_back();
  }

  // The projection of k(s_j,.) onto the basis, for j outside it, and the squared norm of the lost part.
  struct Look {
    Vector d;
    double lost;
  };
  Look look(const Gram& K, std::size_t j) {
    k_.resize(size());
    for (std::size_t s = 0; s < size(); ++s) k_[s] = K[j][place(s)];
    factor_.look(k_, K[j][j]);
    return {factor_.d(), std::max(0.0, factor_.delta2())};
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(k_) + bytes_of(q_) + bytes_of(kept_out_));
    factor_.fields(io);
    Q_.fields(io, "basis.n", "basis.Q");
    io.field("basis.stand", stand_);
    io.field("basis.place", place_);
    io.field("basis.changes", changes_);
  }
  bool is_consistent(std::size_t n) const {
    if (stand_.size() != n || !factor_.is_consistent(size()) || !Q_.is_consistent(size())) return false;
    for (std::size_t s = 0; s < size(); ++s)
      if (place_[s] >= n || stand_[place(s)] != s) return false;
    return static_cast<std::size_t>(std::count(stand_.begin(), stand_.end(), outside)) == n - size();
  }

 private:
  static constexpr Counter outside = std::numeric_limits<Counter>::max();

  // Finds the i outside the basis that become independent without j: their squared distance grows by d_j^2 / Q_jj.
  void find_kept_out(const Gram& K, std::size_t j) {
    kept_out_.clear();
    const Vector Qj = Q_[stand(j)];
    for (std::size_t i = 0; i < K.size(); ++i) {
      if (holds(i)) continue;
      double d = 0;
      for (std::size_t s = 0; s < size(); ++s) d += Qj[s] * K[i][place(s)];
      if (d * d > in_the_span * K[i][i] * Qj[stand(j)]) kept_out_.push_back(i);
    }
  }

  // Q <- [Q 0; 0 0] + v v' / delta2, v = (d, -1).
  void try_to_enter(const Gram& K, std::size_t i) {
    look(K, i);
    if (factor_.inside()) return;
    q_.assign(factor_.d().begin(), factor_.d().end());
    q_.push_back(-1);
    Q_.grow();
    add_outer(1 / factor_.delta2());
    factor_.append(k_, K[i][i]);
    stand_[i] = size();
    place_.push_back(i);
    changed();
  }

  // Q <- Q - q q' / q_s without row and column s, q = column s.
  void leave(std::size_t j) {
    const std::size_t s = stand(j);
    const Vector q = factor_.remove(s);
    q_.assign(q.begin(), q.end());
    add_outer(-1 / q_[s]);
    Q_.remove(s);
    stand_[place(size() - 1)] = s;
    place_[s] = place_.back();
    place_.pop_back();
    stand_[j] = outside;
    changed();
  }

  // Q += c q q'
  void add_outer(double c) {
    for (std::size_t i = 0; i < q_.size(); ++i) add(c * q_[i], q_, Q_[i]);
  }

  void changed() {
    if (++changes_ <= size()) return;
    for (std::size_t s = 0; s < size(); ++s) {
      const Vector q = factor_.column(s);
      std::copy(q.begin(), q.end(), Q_[s].begin());
    }
    changes_ = 0;
  }

  InverseFactor factor_;
  SquareMatrix Q_;
  std::vector<Counter> stand_;  // slot -> index in the basis, or outside
  std::vector<Counter> place_;  // index in the basis -> slot
  Counter changes_ = 0;         // since Q was last rebuilt
  std::vector<double> k_, q_;
  std::vector<std::size_t> kept_out_;
};

// Approximate projection (Eq. 9, 11): solved without the box, then clipped to it. With Q = K^-1 over the basis, j
// included, the shares are c_i = -g_j y_j Q_ij / Q_jj. The loss before clipping, g_j^2 / Q_jj, is orthogonal to all
// k(s_i,.), so a clipping by e adds e'Ke. DA without e'Ke is therefore an upper bound on DA, and e'Ke is computed only
// for those j whose bound reaches the best DA found.
class DualProjectionClipped final : public RowsOfGram {
 public:
  using RowsOfGram::RowsOfGram;

  void appended(Vector k, double kxx) override {
    RowsOfGram::appended(k, kxx);
    basis_.appended(K_);
  }
  void replaced(std::size_t j, Vector k, double kxx) override {
    basis_.removing(K_, j);
    RowsOfGram::replaced(j, k, kxx);
    basis_.replaced(K_, j);
  }
  void removed(std::size_t j) override {
    basis_.removing(K_, j);
    RowsOfGram::removed(j);
    basis_.removed(j);
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(b_) + bytes_of(e_) + bytes_of(bound_) + bytes_of(order_));
    RowsOfGram::fields(io);
    basis_.fields(io);
  }
  bool is_consistent(std::size_t n) const override { return RowsOfGram::is_consistent(n) && basis_.is_consistent(n); }

 protected:
  Departure choose(const DualVariables& dual, std::span<double> b) override {
    rank_by_bound(dual);
    std::size_t best = order_[0];
    double most = -std::numeric_limits<double>::infinity();
    for (const std::size_t j : order_) {
      if (bound_[j] < most) break;
      share(dual, j);
      const double ascent = clipping_matters(bound_[j]) ? bound_[j] - clipped() / 2 : bound_[j];
      if (ascent > most || (ascent == most && dual.older(j, best))) most = ascent, best = j;
    }
    share(dual, best);
    std::copy(b_.begin(), b_.end(), b.begin());
    return {best, ascent_of(dual, K_, best, b, e_)};
  }

 private:
  void rank_by_bound(const DualVariables& dual) {
    bound_.resize(dual.size());
    order_.resize(dual.size());
    for (std::size_t j = 0; j < dual.size(); ++j) {
      const double lost = share(dual, j);
      bound_[j] = -dual.g(j) * (1 - dual.m(j)) - lost / 2;
      for (std::size_t i = 0; i < dual.size(); ++i) bound_[j] += b_[i] * (1 - dual.m(i));
      if (std::isnan(bound_[j])) bound_[j] = -std::numeric_limits<double>::infinity();  // NaN would break the sort
    }
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](auto i, auto j) { return bound_[i] > bound_[j]; });
  }

  // b = clipped shares, e = change of c by clipping; returns the loss before clipping.
  double share(const DualVariables& dual, std::size_t j) {
    b_.assign(dual.size(), 0.0);
    e_.assign(dual.size(), 0.0);
    const double g = dual.g(j);
    if (g == 0) return 0;
    if (!basis_.holds(j)) {
      const auto [d, lost] = basis_.look(K_, j);
      clip(dual, d, g * dual.y(j));
      return g * g * lost;
    }
    const Vector Qj = basis_.Q()[basis_.stand(j)];
    const double Qjj = Qj[basis_.stand(j)];
    if (Qjj <= 0) return g * g * K_[j][j];  // Q lost all digits here: plain removal
    clip(dual, Qj, -g * dual.y(j) / Qjj);
    b_[j] = e_[j] = 0;
    return g * g / Qjj;
  }

  // Sets b and e for the shares c = factor v over the basis.
  void clip(const DualVariables& dual, Vector v, double factor) {
    for (std::size_t s = 0; s < basis_.size(); ++s) {
      const std::size_t i = basis_.place(s);
      const double c = factor * v[s];
      b_[i] = std::clamp(c * dual.y(i), dual.lo(i), dual.hi(i));
      e_[i] = b_[i] * dual.y(i) - c;
      if (b_[i] == c * dual.y(i)) e_[i] = 0;
    }
  }

  // Whether e'Ke, at most (sum |e_i| |k(s_i,.)|)^2, can change the bound. Without this check, e'Ke would be computed
  // for every j if all kernel values are tiny and all bounds tie.
  bool clipping_matters(double bound) const {
    double most = 0;
    for (std::size_t i = 0; i < e_.size(); ++i) most += std::fabs(e_[i]) * std::sqrt(K_.diagonal()[i]);
    return bound - 2 * most * most != bound;
  }

  // e'Ke
  double clipped() const {
    double sum = 0;
    for (std::size_t i = 0; i < e_.size(); ++i)
      if (e_[i] != 0) sum += e_[i] * dot(K_[i], e_);
    return sum;
  }

  Basis basis_;
  std::vector<double> b_, e_, bound_;
  std::vector<std::size_t> order_;
};

}  // namespace budgetron
