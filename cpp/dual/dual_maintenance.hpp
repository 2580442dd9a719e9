// Budget maintenance of double updating (Zhao & Hoi 2012, Section 3). One support vector j is removed, and the others
// may absorb part of its weight, g_i += b_i. The j with the largest change of the dual objective D = sum g_i - |f|^2 /
// 2 is removed. The change is
//   DA = -sum Dg_i + sum Dg_i m_i - |Df|^2 / 2,   Dg_j = g_j,  Dg_i = -b_i,  Df = sum Dg_i y_i k(s_i,.)     (Eq. 4)
// With more than two classes (ours), the coefficients a_j of s_j leave, and those of one other may change by z:
//   DA = -a_jy + a_j'F_j - |a_j|^2 k_jj / 2 + z_y - z'F_n + a_j'z k_jn - |z|^2 k_nn / 2
// where y is the class of the support vector whose coefficients these are, and F_i has the scores f_c(s_i).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <vector>

#include "dual/class_weights.hpp"
#include "dual/dual_variables.hpp"
#include "linalg/gram.hpp"
#include "linalg/limits.hpp"
#include "linalg/neighbours.hpp"
#include "model/expansion.hpp"
#include "state/fields.hpp"

namespace budgetron {

// The support vector that is removed, and its DA.
struct Departure {
  std::size_t j;
  double ascent;
};

class DualMaintenance : public Part {
 public:
  explicit DualMaintenance(std::size_t budget) : budget_(budget) {}

  std::size_t budget() const { return budget_; }

  // The kernel row of s_i with all support vectors, valid until the next call.
  virtual Vector row(const DualVariables& dual, std::size_t i) = 0;

  // A new support vector was appended, or replaced the vacant slot j. k is its kernel row with all others (and with the
  // old one at j).
  virtual void appended(Vector k, double kxx) = 0;
  virtual void replaced(std::size_t j, Vector k, double kxx) = 0;
  // The vacant slot j was removed; the last support vector moved there.
  virtual void removed(std::size_t j) = 0;

  // Whether it is defined for more than two classes.
  virtual bool takes_classes() const { return false; }

  // Chooses the support vector to remove, lets the others absorb its weight, and sets its weight to 0.
  Departure make_room(DualVariables& dual) {
    return dual.several() ? make_room_of_classes(dual) : make_room_of_two(dual);
  }

  void fields(Fields& io) override { io.scratch(bytes_of(b_) + heir_.bytes()); }
  bool is_consistent(std::size_t n) const override { return n <= budget_; }

 protected:
  // Chooses j and writes b_i, the weight that each i absorbs; b is all zeros on entry.
  virtual Departure choose(const DualVariables& dual, std::span<double> b) = 0;
  // With more than two classes: chooses j, and finds its heir, which is nobody on entry.
  virtual Departure choose_of_classes(const DualVariables&, Heir&) {
    assert(false);
    return {0, 0};
  }

  // DA of plain removal (Eq. 7).
  static double ascent_of_removal(const DualVariables& dual, std::size_t j) {
    const double g = dual.g(j);
    return -g * (1 - dual.m(j)) - g * g * dual.f().self(j) / 2;
  }
  static std::size_t best_removal(const DualVariables& dual) {
    return dual.best([&](std::size_t j) { return ascent_of_removal(dual, j); });
  }

 private:
  Departure make_room_of_two(DualVariables& dual) {
    b_.assign(dual.size(), 0.0);
    Departure gone = choose(dual, b_);
    if (!moderate_square(gone.ascent) || !moderate(b_)) {  // beyond the limits: plain removal
      b_.assign(dual.size(), 0.0);
      gone.ascent = ascent_of_removal(dual, gone.j);
    }
    for (std::size_t i = heir(0); i < b_.size(); i = heir(i + 1)) {
      dual.hand_over_average(gone.j, i, b_[i]);
      dual.change(i, b_[i], row(dual, i));
    }
    dual.change(gone.j, -dual.g(gone.j), row(dual, gone.j));
    return gone;
  }

  Departure make_room_of_classes(DualVariables& dual) {
    heir_.begin(dual.f().outputs());
    Departure gone = choose_of_classes(dual, heir_);
    if (!moderate_square(gone.ascent) || !moderate(heir_.a)) {  // beyond the limits: plain removal
      heir_.begin(dual.f().outputs());
      gone.ascent = heir_.ascent_of_removal(dual, gone.j);
    }
    if (heir_.n != Heir::nobody) {
      dual.lend_average(gone.j, heir_.n, heir_.share(dual, gone.j));
      dual.set(heir_.n, heir_.a, row(dual, heir_.n));
    }
    heir_.a.assign(heir_.a.size(), 0.0);
    dual.set(gone.j, heir_.a, row(dual, gone.j));
    return gone;
  }

  // The first slot from i on that absorbs weight, or size().
  std::size_t heir(std::size_t i) const {
    const auto from = b_.begin() + static_cast<std::ptrdiff_t>(i);
    return static_cast<std::size_t>(std::find_if(from, b_.end(), [](double b) { return b != 0; }) - b_.begin());
  }

  std::size_t budget_;
  std::vector<double> b_;
  Heir heir_;
};

// Computes kernel rows on demand: O(n d) time, no n x n matrix.
class RowsOnDemand : public DualMaintenance {
 public:
  using DualMaintenance::DualMaintenance;
  Vector row(const DualVariables& dual, std::size_t i) override {
    dual.f().kernel_row(i, k_);
    return k_;
  }
  void appended(Vector, double) override {}
  void replaced(std::size_t, Vector, double) override {}
  void removed(std::size_t) override {}
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(k_));
    DualMaintenance::fields(io);
  }

 private:
  std::vector<double> k_;
};

// Stores the Gram matrix and reads kernel rows from it.
class RowsOfGram : public DualMaintenance {
 public:
  using DualMaintenance::DualMaintenance;
  Vector row(const DualVariables&, std::size_t i) override { return K_[i]; }
  void appended(Vector k, double kxx) override { K_.append(k, kxx); }
  void replaced(std::size_t j, Vector k, double kxx) override { K_.replace(j, k, kxx); }
  void removed(std::size_t j) override { K_.remove(j); }
  void fields(Fields& io) override {
    DualMaintenance::fields(io);
    K_.fields(io, "dual.gram");
  }
  bool is_consistent(std::size_t n) const override { return DualMaintenance::is_consistent(n) && K_.is_consistent(n); }

 protected:
  Gram K_;
};

// No budget: nothing is removed.
class DualUnbounded final : public RowsOnDemand {
 public:
  DualUnbounded() : RowsOnDemand(std::numeric_limits<std::size_t>::max()) {}
  bool takes_classes() const override { return true; }

 protected:
  Departure choose(const DualVariables&, std::span<double>) override {
    assert(false);
    return {0, 0};
  }
};

// Removal (Eq. 6, 7): the others absorb nothing.
class DualRemoval final : public RowsOnDemand {
 public:
  using RowsOnDemand::RowsOnDemand;
  bool takes_classes() const override { return true; }

 protected:
  Departure choose(const DualVariables& dual, std::span<double>) override {
    const std::size_t j = best_removal(dual);
    return {j, ascent_of_removal(dual, j)};
  }
  Departure choose_of_classes(const DualVariables& dual, Heir& heir) override {
    const std::size_t j = heir.best_removal(dual);
    return {j, heir.ascent_of_removal(dual, j)};
  }
};

// The paper's remark: chooses j by plain removal (Eq. 7); the support vector nearest to s_j in feature space absorbs
// what its box allows (Eq. 13). Only the kernel row of s_j is needed, so no matrix is stored.
class DualRemovalThenNearest final : public RowsOnDemand {
 public:
  using RowsOnDemand::RowsOnDemand;
  bool takes_classes() const override { return true; }

 protected:
  Departure choose(const DualVariables& dual, std::span<double> b) override {
    const std::size_t j = best_removal(dual);
    const double ascent = ascent_of_removal(dual, j);
    const Vector k = row(dual, j);
    const std::size_t n = nearest(dual, j, k);
    if (n == j || dual.f().self(n) <= 0) return {j, ascent};
    const double g = dual.g(j) * dual.y(j) * dual.y(n), knn = dual.f().self(n);
    b[n] = std::clamp(g * k[n] / knn, dual.lo(n), dual.hi(n));
    return {j, ascent + b[n] * (1 - dual.m(n) + g * k[n] - b[n] * knn / 2)};
  }
  Departure choose_of_classes(const DualVariables& dual, Heir& heir) override {
    const std::size_t j = heir.best_removal(dual);
    const Vector k = row(dual, j);
    const std::size_t n = nearest(dual, j, k);
    return {j, n == j ? heir.ascent_of_removal(dual, j) : heir.take_over(dual, j, n, k[n])};
  }

 private:
  // The support vector nearest to s_j in feature space, oldest on ties; j if there is no other.
  static std::size_t nearest(const DualVariables& dual, std::size_t j, Vector k) {
    std::size_t best = j;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < dual.size(); ++i) {
      if (i == j) continue;
      const double distance = dual.f().self(i) - 2 * k[i];
      if (distance < least || best == j || (distance == least && dual.older(i, best))) least = distance, best = i;
    }
    return best;
  }
};

// Nearest neighbour (Eq. 13, 14): the support vector nearest to s_j in feature space absorbs what its box allows.
class DualNearest final : public RowsOfGram {
 public:
  using RowsOfGram::RowsOfGram;
  bool takes_classes() const override { return true; }

  void appended(Vector k, double kxx) override {
    RowsOfGram::appended(k, kxx);
    neighbours_.changed(K_, K_.size() - 1);
  }
  void replaced(std::size_t j, Vector k, double kxx) override {
    RowsOfGram::replaced(j, k, kxx);
    neighbours_.changed(K_, j);
  }
  void removed(std::size_t j) override {
    RowsOfGram::removed(j);
    neighbours_.removed(K_, j);
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(low_) + bytes_of(high_) + bytes_of(slope_) + bytes_of(removal_) +
               bytes_of(costs_));
    RowsOfGram::fields(io);
    neighbours_.fields(io);
  }
  bool is_consistent(std::size_t n) const override {
    return RowsOfGram::is_consistent(n) && neighbours_.is_consistent(n);
  }

 protected:
  Departure choose(const DualVariables& dual, std::span<double> b) override {
    if (dual.size() == 1) return {0, ascent_of_removal(dual, 0)};
    prepare(dual);
    const Vector alpha = dual.f().alpha(0);
    costs_.resize(dual.size());  // computed first, in a loop without branches
    for (std::size_t i = 0; i < dual.size(); ++i) costs_[i] = -take_over(alpha, i).ascent;
    const std::size_t j = dual.f().slot_of_least(costs_);
    const TakeOver best = take_over(alpha, j);
    const std::size_t n = neighbours_.nearest(j);
    b[n] = best.c * dual.y(n);
    return {j, best.ascent};
  }
  Departure choose_of_classes(const DualVariables& dual, Heir& heir) override {
    if (dual.size() == 1) return {0, heir.ascent_of_removal(dual, 0)};
    const auto ascent = [&](std::size_t j) {
      return heir.take_over(dual, j, neighbours_.nearest(j), neighbours_.kernel(j));
    };
    const std::size_t j = dual.best(ascent);
    return {j, ascent(j)};
  }

 private:
  struct TakeOver {
    double c, ascent;
  };

  // Signed variables c_i = b_i y_i and alpha_i = g_i y_i: the box of c_i, the slope y_i (1 - m_i), and DA of plain
  // removal.
  void prepare(const DualVariables& dual) {
    for (auto* values : {&low_, &high_, &slope_, &removal_}) values->resize(dual.size());
    for (std::size_t i = 0; i < dual.size(); ++i) {
      const double alpha = dual.f().alpha(0)[i], top = dual.y(i) * dual.C(i);
      low_[i] = (top < 0 ? top : 0) - alpha;
      high_[i] = (top < 0 ? 0 : top) - alpha;
      slope_[i] = dual.y(i) * (1 - dual.m(i));
      removal_[i] = -alpha * slope_[i] - alpha * alpha * K_.diagonal()[i] / 2;
    }
  }

  // What the nearest neighbour n of j absorbs, c = clamp(alpha_j k_jn / k_nn), and the resulting DA.
  TakeOver take_over(Vector alpha, std::size_t j) const {
    const std::size_t n = neighbours_.nearest(j);
    const double knn = K_.diagonal()[n], on_n = alpha[j] * neighbours_.kernel(j);
    const double share = knn == 1 ? on_n : on_n / knn;  // the division would take half of the time
    const double low = low_[n], high = high_[n], most = share < high ? share : high;
    const double c = knn > 0 ? (most > low ? most : low) : 0;
    return {c, removal_[j] + c * (slope_[n] + on_n - c * knn / 2)};
  }

  Neighbours neighbours_;
  std::vector<double> low_, high_, slope_, removal_, costs_;
};

}  // namespace budgetron
