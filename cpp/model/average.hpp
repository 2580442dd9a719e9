// The average of f over all rounds, or over a suffix of them, stored as one more row of coefficients per output: O(n) a
// round. Whatever happens to a support vector in f (lent, projected, merged, removed) also happens to its part of the
// average.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "linalg/limits.hpp"
#include "model/tasks.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Average {
 public:
  // suffix in (0, 1]: the fraction of rounds, counted from the last, that the average must cover. The length of a
  // stream is unknown, so two sums are kept; the younger replaces the older when it covers enough rounds. The average
  // then covers at least the suffix, and at most 1 - (1 - suffix)^2 of the rounds.
  Average(std::size_t outputs, double suffix) : suffix_(suffix), older_(outputs), younger_(outputs) {}

  // The number of rounds in the average.
  double rounds() const { return static_cast<double>(t_ - older_start_); }
  // The coefficients of output c, summed over the rounds.
  Vector sum(std::size_t c) const { return older_[c]; }

  // Applies a change to every row of sums.
  template <class Change>
  void each(Change change) {
    for (auto& sums : older_) change(sums);
    for (auto& sums : younger_) change(sums);
  }

  void append() {
    each([](std::vector<double>& sums) { push(sums, 0.0); });
  }
  // Removes slot i; the last slot moves there.
  void take_out(std::size_t i) {
    each([i](std::vector<double>& sums) {
      sums[i] = sums.back();
      sums.pop_back();
    });
  }
  void keep_share(std::size_t i, double share) {
    each([=](std::vector<double>& sums) { sums[i] = part(sums[i], share); });
  }
  void lend(std::size_t i, std::size_t j, double share) {
    each([=](std::vector<double>& sums) { sums[j] += part(sums[i], share); });
  }
  void project_out(std::size_t i, Vector shares) {
    each([=](std::vector<double>& sums) {
      const double sum = sums[i];
      if (moderate_square(sum * largest_of(shares))) add(sum, shares, sums);
      sums[i] = 0;
    });
  }

  // More outputs.
  void widen(std::size_t outputs) {
    widen_outputs(older_, outputs);
    widen_outputs(younger_, outputs);
  }

  // Adds a round with f = sum_i alpha_i k(s_i,.) / divisor.
  void add_round(const std::vector<std::vector<double>>& alpha, double divisor) {
    ++t_;
    for (std::size_t c = 0; c < alpha.size(); ++c) {
      add(1 / divisor, alpha[c], older_[c]);
      if (suffix_ < 1) add(1 / divisor, alpha[c], younger_[c]);
    }
    if (static_cast<double>(younger_start_) <= (1 - suffix_) * static_cast<double>(t_) && suffix_ < 1) take_over();
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(older_) + bytes_of(younger_));
    io.field("average.t", t_, {Merged::Sum});
    io.field("average.older_start", older_start_, {Merged::Sum});
    io.field("average.younger_start", younger_start_, {Merged::Sum});
    io.outputs("average.older", older_, Merged::Sum, true);
    io.outputs("average.younger", younger_, Merged::Sum, true);
  }
  bool is_consistent(std::size_t n) const {
    for (std::size_t c = 0; c < older_.size(); ++c)
      if (older_[c].size() != n || younger_[c].size() != n) return false;
    return older_start_ <= younger_start_ && younger_start_ <= t_;
  }

 private:
  // share * sum, or 0 if that exceeds the limits.
  static double part(double sum, double share) { return moderate_square(share * sum) ? share * sum : 0; }

  void take_over() {
    older_.swap(younger_);
    older_start_ = younger_start_;
    younger_start_ = t_;
    for (auto& sums : younger_) std::fill(sums.begin(), sums.end(), 0.0);
  }

  double suffix_;
  Counter t_ = 0;                                     // rounds so far
  Counter older_start_ = 0, younger_start_ = 0;       // rounds before the start of each sum
  std::vector<std::vector<double>> older_, younger_;  // outputs x n
};

}  // namespace budgetron
