// Whether the last values of a column lie far outside all earlier ones: a changed unit is seen within a few rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "state/fields.hpp"

namespace budgetron::drift {

// A value is far if it is outside the range of the n values before the last few by four times that range. If the order
// of values means nothing, k of the last w are outside that range with a probability of C(w, k) (k + 1)! n! / (n + k)!
// at most, whatever their distribution is. That they are far as well is for values that depend on those before.
class Gross {
 public:
  // Adds a value; whether it is far.
  bool add(double value) {
    double& oldest = recent_[added_ % window];
    if (added_ >= window) {
      low_ = added_ == window ? oldest : std::min(low_, oldest);
      high_ = added_ == window ? oldest : std::max(high_, oldest);
    }
    oldest = value;
    ++added_;
    return is_far(value);
  }

  // The last values that are far, if so many are less probable than exp(-level).
  std::vector<double> found(double level) const {
    std::vector<double> far;
    double evidence = 0.0;
    for (const double value : recent_) {
      if (!is_far(value)) continue;
      far.push_back(value);
      const auto n = static_cast<double>(added_ - window), k = static_cast<double>(far.size());
      evidence += std::log((n + k) * k / ((k + 1.0) * (window - k + 1.0)));
    }
    return evidence > level ? far : std::vector<double>();
  }

  void fields(Fields& io) {
    io.field("recent", recent_);
    io.field("added", added_);
    io.field("low", low_);
    io.field("high", high_);
  }

  bool is_consistent() const { return recent_.size() == window; }

 private:
  static constexpr std::size_t window = 8;

  bool is_far(double value) const {
    const double margin = 4.0 * (high_ - low_);
    return added_ > window && margin > 0.0 && (value > high_ + margin || value < low_ - margin);
  }

  std::vector<double> recent_ = std::vector<double>(window);  // the newest takes the place of the oldest
  Counter added_ = 0;
  double low_ = 0.0, high_ = 0.0;  // of the earlier values
};

}  // namespace budgetron::drift
