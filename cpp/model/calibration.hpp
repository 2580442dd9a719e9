// The last step of a stack for labels: a score f becomes g(f), and with it a probability what its row deserves. Sums of
// logits are straight where the truth bends: where a tenth of the labels is noise, no probability should reach 0.95.
//
//   g(f) = sum_k max(s_k, least) * (the part of f between knots k and k + 1),   for f >= 0;   g(-f) = -g(f)
//
// g rises, so it changes the order of no classes, and no prediction. The slopes s begin at 1. They are learned as the
// stack's weights are, ten times more slowly: v_k = d log p_y / d s_k, h = p_y / (1 - p_y), c the example's weight,
//
//   s += c g / (1 + c max(h, 1/4) v'g);   P -= c h g g' / (1 + c h v'g);   g = P v
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "linalg/limits.hpp"
#include "linalg/posterior.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// In the steps of a stack. A row that all experts are sure of, wrongly, has h near 0, and would turn their weights
// over.
inline constexpr double least_curvature = 0.25;

class Calibration {
 public:
  Calibration(double prior, double drift) : filter_(prior, drift / 10, knots.size()), slopes_(knots.size(), 1.0) {}

  void begin() { filter_.begin(slopes_.size()); }
  // Two classes become more: their scores halve.
  void halve() { unit_ *= 2; }

  // g(f) / f
  double factor(double f) const {
    const double size = std::fabs(f) * unit_;
    double sum = 0;
    for (std::size_t k = 0; k < knots.size() && size > knots[k]; ++k) sum += used(k) * part(k, size);
    return size > 0 ? sum / size : used(0);
  }

  // From the scores f, the probabilities p that g made of them (of more than two classes), and that of all wrong ones.
  void learn(Vector f, std::size_t right, Vector p, double wrong, double weight) {
    v_.assign(knots.size(), 0.0);
    if (f.size() == 1) {
      for (std::size_t k = 0; k < v_.size(); ++k) v_[k] = (right == 1 ? wrong : -wrong) * signed_part(k, f[0]);
    } else {
      for (std::size_t c = 0; c < f.size(); ++c)
        for (std::size_t k = 0; k < v_.size() && std::fabs(f[c]) * unit_ > knots[k]; ++k)
          v_[k] += ((c == right ? 1 : 0) - p[c]) * signed_part(k, f[c]);
    }
    filter_.look(v_, gain_);
    const double h = (1 - wrong) / wrong, step = weight / (1 + weight * std::max(h, least_curvature) * gain_.S);
    if (!moderate(step * largest_of(gain_.g)) || !moderate_square(weight * h * gain_.S)) return;
    add(step, gain_.g, slopes_);
    filter_.observe(gain_, weight * h);
  }
  void settle() { filter_.settle(); }

  // For exports: where the slope changes, and the slopes.
  std::vector<double> bends() const {
    std::vector<double> at(knots.begin() + 1, knots.end());
    for (double& knot : at) knot /= unit_;
    return at;
  }
  std::vector<double> slopes() const {
    std::vector<double> all(slopes_.size());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = used(k);
    return all;
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(v_));
    io.field("slopes", slopes_, {Merged::Own});
    filter_.fields(io);
  }
  bool is_consistent() const {
    return slopes_.size() == knots.size() && all_finite(slopes_) && filter_.is_consistent(knots.size());
  }

 private:
  static constexpr std::array<double, 4> knots = {0, 1, 2, 4};
  static constexpr double least = 0.05;

  double used(std::size_t k) const { return std::max(slopes_[k], least); }
  static double part(std::size_t k, double size) {
    const double end = k + 1 < knots.size() ? knots[k + 1] : std::numeric_limits<double>::infinity();
    return std::clamp(size, knots[k], end) - knots[k];
  }
  double signed_part(std::size_t k, double f) const { return std::copysign(part(k, std::fabs(f) * unit_), f) / unit_; }

  Posterior filter_;
  Gain gain_;
  std::vector<double> slopes_;  // s
  double unit_ = 1;
  std::vector<double> v_;
};

}  // namespace budgetron
