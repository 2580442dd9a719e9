// The nearest neighbour in feature space of every support vector, kept up to date as support vectors come, go and are
// replaced.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "fields.hpp"
#include "gram.hpp"

namespace budgetron {

class Neighbours {
 public:
  // Of two or more support vectors: the nearest to i, lowest place on ties, and its kernel with i.
  std::size_t nearest(std::size_t i) const { return static_cast<std::size_t>(nearest_[i]); }
  double kernel(std::size_t i) const { return kernel_[i]; }

  // Place t of K is new, appended or replaced.
  void changed(const Gram& K, std::size_t t) {
    resize(K.size());
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < K.size(); ++i) {
      if (i == t) continue;
      const double d = squared_distance(K, t, i);
      if (d < least) nearest = i, least = d;
      if (nearest_[i] == t || K.size() == 2)
        search(K, i);
      else if (d < distance_[i] || (d == distance_[i] && t < nearest_[i]))
        set(K, i, t, d);
    }
    set(K, t, nearest, least);
  }

  // Place j is gone from K; the support vector that was last is there now.
  void removed(const Gram& K, std::size_t j) {
    const std::size_t last = K.size();
    nearest_[j] = nearest_[last], distance_[j] = distance_[last], kernel_[j] = kernel_[last];
    resize(last);
    for (std::size_t i = 0; i < last; ++i) {
      if (nearest_[i] == j)
        search(K, i);
      else if (nearest_[i] == last)
        nearest_[i] = j;
    }
  }

  void fields(Fields& io) {
    io.field("neighbours.nearest", nearest_);
    io.field("neighbours.distance", distance_);
    io.field("neighbours.kernel", kernel_);
  }
  bool fits(std::size_t n) const {
    if (nearest_.size() != n || distance_.size() != n || kernel_.size() != n) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (nearest_[i] >= n || (nearest_[i] == i && n > 1)) return false;
    return true;
  }

 private:
  static double squared_distance(const Gram& K, std::size_t i, std::size_t j) {
    return K.diagonal()[i] + K.diagonal()[j] - 2 * K[i][j];
  }

  void resize(std::size_t n) {
    nearest_.resize(n);
    distance_.resize(n);
    kernel_.resize(n);
  }

  void set(const Gram& K, std::size_t i, std::size_t nearest, double distance) {
    nearest_[i] = nearest;
    distance_[i] = distance;
    kernel_[i] = K[i][nearest];
  }

  void search(const Gram& K, std::size_t i) {
    const Vector k = K[i], kjj = K.diagonal();
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < k.size(); ++j)
      if (const double d = kjj[i] + kjj[j] - 2 * k[j]; d < least && j != i) nearest = j, least = d;
    set(K, i, nearest, least);
  }

  std::vector<Counter> nearest_;
  std::vector<double> distance_;
  std::vector<double> kernel_;
};

}  // namespace budgetron
