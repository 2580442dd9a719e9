// The nearest neighbour in feature space of every support vector, kept up to date as support vectors are replaced.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "fields.hpp"
#include "gram.hpp"

namespace budgetron {

class Neighbours {
 public:
  // Of two or more support vectors: the nearest to i, lowest place on ties.
  std::size_t nearest(std::size_t i) const { return static_cast<std::size_t>(nearest_[i]); }

  // Place t of K is new, appended or replaced.
  void changed(const Gram& K, std::size_t t) {
    nearest_.resize(K.size());
    distance_.resize(K.size());
    search(K, t);
    for (std::size_t i = 0; i < K.size(); ++i) {
      if (i == t) continue;
      if (nearest_[i] == t || K.size() == 2)
        search(K, i);
      else if (const double d = squared_distance(K, i, t); d < distance_[i] || (d == distance_[i] && t < nearest_[i]))
        nearest_[i] = t, distance_[i] = d;
    }
  }

  void fields(Fields& io) {
    io.field("neighbours.nearest", nearest_);
    io.field("neighbours.distance", distance_);
  }
  bool fits(std::size_t n) const {
    for (const Counter i : nearest_)
      if (i >= n) return false;
    return nearest_.size() == n && distance_.size() == n;
  }

 private:
  static double squared_distance(const Gram& K, std::size_t i, std::size_t j) {
    return K[i][i] + K[j][j] - 2 * K[i][j];
  }

  void search(const Gram& K, std::size_t i) {
    distance_[i] = std::numeric_limits<double>::infinity();
    nearest_[i] = 0;
    for (std::size_t j = 0; j < K.size(); ++j)
      if (const double d = squared_distance(K, i, j); j != i && d < distance_[i]) nearest_[i] = j, distance_[i] = d;
  }

  std::vector<Counter> nearest_;
  std::vector<double> distance_;
};

}  // namespace budgetron
