// The nearest neighbour of every support vector in feature space, updated as support vectors are appended, removed and
// replaced.
//
// One support vector may be the nearest of all others, so replacing it may start a search for every one. Slots are
// therefore split into groups of 64, and the nearest within each group is stored for every support vector. A search
// then scans one group and the nearest of every group.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "linalg/gram.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Neighbours {
 public:
  // The nearest neighbour of i, the lowest slot on ties, and its kernel value with i. Needs two or more support
  // vectors.
  std::size_t nearest(std::size_t i) const { return static_cast<std::size_t>(nearest_[i]); }
  double kernel(std::size_t i) const { return kernel_[i]; }
  Vector kernels() const { return kernel_; }

  // Slot t of K was appended or replaced.
  void changed(const Gram& K, std::size_t t) {
    const bool known = grouped_ == nearest_.size();
    resize(K.size());
    if (!known || K.size() == 2) return regroup(K);
    follow(K, t);
    settle(K);
    begin(K, t);
  }

  // Slot j was removed from K; the last support vector moved there.
  void removed(const Gram& K, std::size_t j) {
    const bool known = grouped_ == nearest_.size();
    const std::size_t last = K.size();
    resize(last);
    if (!known) return regroup(K);
    for (std::size_t i = 0; i < last; ++i)
      if (i != j) forget_last(K, i, last);
    if (j != last) follow(K, j);
    settle(K);
    if (j != last) begin(K, j);
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(affected_) + bytes_of(lost_) + bytes_of(best_) + bytes_of(from_t_));
    for (const auto& group : groups_) io.scratch(bytes_of(group.distance) + bytes_of(group.place));
    io.field("neighbours.nearest", nearest_);
    io.field("neighbours.distance", distance_);
    io.field("neighbours.kernel", kernel_);
    if (io.restoring()) grouped_ = 0;
  }
  bool is_consistent(std::size_t n) const {
    if (nearest_.size() != n || distance_.size() != n || kernel_.size() != n) return false;
    for (std::size_t i = 0; i < n; ++i)
      if (nearest_[i] >= n || (nearest_[i] == i && n > 1)) return false;
    return true;
  }

 private:
  static constexpr std::size_t width = 64;  // slots in a group

  struct Near {
    double distance = std::numeric_limits<double>::infinity();
    Counter place = std::numeric_limits<Counter>::max();

    bool operator<(const Near& other) const {
      return distance < other.distance || (distance == other.distance && place < other.place);
    }
  };

  // The nearest to every support vector within one group of slots.
  struct Group {
    std::vector<double> distance;
    std::vector<Counter> place;

    Near operator[](std::size_t i) const { return {distance[i], place[i]}; }
    void set(std::size_t i, const Near& near) { distance[i] = near.distance, place[i] = near.place; }
    void resize(std::size_t n) {
      distance.resize(n, Near{}.distance);
      place.resize(n, Near{}.place);
    }
  };

  // The squared distances of all support vectors from t.
  void find_distances(const Gram& K, std::size_t t) {
    from_t_.resize(K.size());
    loops->distances(K.diagonal()[t], K.diagonal().data(), K[t].data(), K.size(), from_t_.data());
  }

  void resize(std::size_t n) {
    nearest_.resize(n);
    distance_.resize(n);
    kernel_.resize(n);
    groups_.resize((n + width - 1) / width);
    for (auto& group : groups_) group.resize(n);
    affected_.resize(n);
    lost_.reserve(nearest_.capacity());  // every nearest may be lost at once; memory then stays the same
    best_.reserve(nearest_.capacity());
    grouped_ = n;
  }

  void regroup(const Gram& K) {
    for (std::size_t i = 0; i < K.size(); ++i) {
      find_distances(K, i);
      begin(K, i);
    }
  }

  void set(const Gram& K, std::size_t i, const Near& near) {
    nearest_[i] = near.place < K.size() ? near.place : 0;  // if there is only one support vector
    distance_[i] = near.distance;
    kernel_[i] = K[i][nearest(i)];
  }

  // Recomputes all entries of i from the distances from i.
  void begin(const Gram& K, std::size_t i) {
    from_t_[i] = std::numeric_limits<double>::infinity();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::size_t first = g * width;
      groups_[g].set(i, least_of(from_t_.data() + first, i, first, std::min(width, K.size() - first)));
    }
    set(K, i, best(i));
  }

  // Updates the entries of all others after slot t has changed.
  void follow(const Gram& K, std::size_t t) {
    find_distances(K, t);
    Group& group = groups_[t / width];
    const std::size_t n =
        loops->affected(from_t_.data(), group.distance.data(), group.place.data(), t, K.size(), affected_.data());
    for (std::size_t a = 0; a < n; ++a)
      if (affected_[a] != t) follow(K, affected_[a], t, group);
  }

  // Updates the entries of i after slot t of a group has changed.
  void follow(const Gram& K, std::size_t i, std::size_t t, Group& group) {
    Near near = group[i];
    const Near now{from_t_[i], t};
    if (near.place == t && near.distance < now.distance)
      near = search(K, i, t / width);
    else if (near.place == t || now < near)
      near = now;
    group.set(i, near);
    if (nearest_[i] == t && !(near.place == t && near.distance <= distance_[i]))
      lost_.push_back(i);
    else if (nearest_[i] == t)
      set(K, i, near);
    else if (near.place == t && near < Near{distance_[i], nearest_[i]})
      set(K, i, near);
  }

  // Updates the entries of i after the last slot was removed from K.
  void forget_last(const Gram& K, std::size_t i, std::size_t last) {
    if (const std::size_t g = last / width; g < groups_.size() && groups_[g][i].place == last)
      groups_[g].set(i, search(K, i, g));
    if (nearest_[i] == last) set(K, i, best(i));
  }

  // The nearest to i within a group.
  static Near search(const Gram& K, std::size_t i, std::size_t g) {
    const std::size_t first = g * width, n = std::min(width, K.size() - first);
    std::array<double, width> d;
    loops->distances(K.diagonal()[i], K.diagonal().data() + first, K[i].data() + first, n, d.data());
    if (first <= i && i < first + n) d[i - first] = std::numeric_limits<double>::infinity();
    return least_of(d.data(), i, first, n);
  }

  // The nearest to i among the n slots from `first` on, whose distances are d.
  static Near least_of(const double* d, std::size_t i, std::size_t first, std::size_t n) {
    const std::size_t least = loops->place_of_least(d, n);
    if (least == n || d[least] == std::numeric_limits<double>::infinity()) return first_other(i, first, n);
    return {d[least], first + least};
  }

  // The result if none of the n slots from `first` on has a finite distance.
  static Near first_other(std::size_t i, std::size_t first, std::size_t n) {
    const std::size_t place = first == i ? first + 1 : first;
    return place < first + n ? Near{std::numeric_limits<double>::infinity(), place} : Near{};
  }

  // Finds new nearest neighbours for the support vectors in lost_, group by group, so that memory is read in order.
  void settle(const Gram& K) {
    best_.assign(lost_.size(), {});
    for (const auto& group : groups_)
      for (std::size_t l = 0; l < lost_.size(); ++l)
        if (group[lost_[l]] < best_[l]) best_[l] = group[lost_[l]];
    for (std::size_t l = 0; l < lost_.size(); ++l) set(K, lost_[l], best_[l]);
    lost_.clear();
  }

  // The nearest to i over all groups.
  Near best(std::size_t i) const {
    Near best;
    for (const auto& group : groups_)
      if (group[i] < best) best = group[i];
    return best;
  }

  std::vector<Counter> nearest_;
  std::vector<double> distance_;
  std::vector<double> kernel_;
  std::vector<Group> groups_;          // not saved
  std::vector<std::size_t> affected_;  // support vectors whose entries the change of a slot may alter
  std::vector<std::size_t> lost_;      // support vectors that need a new nearest neighbour
  std::vector<double> from_t_;         // squared distances from the slot that changed
  std::vector<Near> best_;             // the new nearest of each entry of lost_
  std::size_t grouped_ = 0;            // number of support vectors in groups_
};

}  // namespace budgetron
