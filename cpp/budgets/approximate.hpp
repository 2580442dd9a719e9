// Approximation vectors (Le, Nguyen, Nguyen & Phung 2017): f has no budget, but no two support vectors are near each
// other.
#pragma once

#include <algorithm>
#include <cstddef>

#include "model/budget.hpp"
#include "model/expansion.hpp"

namespace budgetron {

// A term near a support vector is added to the coefficients of the nearest one. The kernel falls with the distance, so
// the nearest has the largest k(x, s_i), and near means k(x, s_i) >= threshold.
class Approximate final : public Budget {
 public:
  explicit Approximate(double threshold) : threshold_(threshold) {}

  void insert(Expansion& f, const Term& term) override {
    const Vector k = term.row.k;
    const auto nearest = std::max_element(k.begin(), k.end());  // the first, and so the oldest, on ties
    const bool near = nearest != k.end() && *nearest >= threshold_;
    f.append(term);
    if (!near) return;
    const std::size_t newest = f.size() - 1;
    f.lend(newest, static_cast<std::size_t>(nearest - k.begin()), 1);
    f.remove(newest);
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  double threshold_;
};

}  // namespace budgetron
