// Losses l(f, y) and their slopes in f. At a kink the slope is 0: an example exactly at the margin is not learned from.
// `implicit` solves beta = -s l'(a + beta k, y), a step along the slope at its own end, for s, k > 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace budgetron {

class Loss {
 public:
  virtual ~Loss() = default;
  virtual double value(double f, double y) const = 0;
  virtual double slope(double f, double y) const = 0;
  // By bisection between no step and that of the slope at a, which is too long.
  virtual double implicit(double a, double s, double k, double y) const {
    const double longest = -s * slope(a, y);
    double low = std::min(0.0, longest), high = std::max(0.0, longest);
    while (true) {
      const double middle = low + (high - low) / 2;
      if (!(low < middle && middle < high)) return middle;
      (middle + s * slope(a + middle * k, y) < 0 ? low : high) = middle;
    }
  }
};

// Returns l, or 0 if l is rounding error relative to the numbers it is a difference of. Without this, a step that has
// just removed the loss at x would be followed by another.
inline double clear_loss(double l, double scale) { return l > 1e-12 * std::max(1.0, scale) ? l : 0; }

// max(0, 1 - y f)
class Hinge final : public Loss {
 public:
  double value(double f, double y) const override { return std::max(0.0, 1 - y * f); }
  double slope(double f, double y) const override { return y * f < 1 ? -y : 0.0; }
  double implicit(double a, double s, double k, double y) const override {
    return y * std::min(s, clear_loss(1 - y * a, std::fabs(a)) / k);
  }
};

// max(0, 1 - y f)^2 / 2
class SquaredHinge final : public Loss {
 public:
  double value(double f, double y) const override {
    const double l = std::max(0.0, 1 - y * f);
    return l * l / 2;
  }
  double slope(double f, double y) const override { return -y * std::max(0.0, 1 - y * f); }
  double implicit(double a, double s, double k, double y) const override {
    return y * s * std::max(0.0, 1 - y * a) / (1 + s * k);
  }
};

// log(1 + exp(-y f))
class Logistic final : public Loss {
 public:
  double value(double f, double y) const override {
    return std::max(0.0, -y * f) + std::log1p(std::exp(-std::fabs(f)));
  }
  double slope(double f, double y) const override { return -y / (1 + std::exp(y * f)); }
};

// (f - y)^2 / 2
class Squared final : public Loss {
 public:
  double value(double f, double y) const override { return (f - y) * (f - y) / 2; }
  double slope(double f, double y) const override { return f - y; }
  double implicit(double a, double s, double k, double y) const override { return s * (y - a) / (1 + s * k); }
};

inline double sign(double v) { return static_cast<double>((v > 0) - (v < 0)); }

// |f - y|
class Absolute final : public Loss {
 public:
  double value(double f, double y) const override { return std::fabs(f - y); }
  double slope(double f, double y) const override { return sign(f - y); }
  double implicit(double a, double s, double k, double y) const override {
    return sign(y - a) * std::min(s, clear_loss(std::fabs(y - a), std::fabs(y)) / k);
  }
};

// max(0, |f - y| - epsilon)
class EpsilonInsensitive final : public Loss {
 public:
  explicit EpsilonInsensitive(double epsilon) : epsilon_(epsilon) {}
  double value(double f, double y) const override { return std::max(0.0, std::fabs(f - y) - epsilon_); }
  double slope(double f, double y) const override { return std::fabs(f - y) > epsilon_ ? sign(f - y) : 0.0; }
  double implicit(double a, double s, double k, double y) const override {
    return sign(y - a) * std::min(s, clear_loss(std::fabs(y - a) - epsilon_, std::fabs(y)) / k);
  }

 private:
  double epsilon_;
};

// Another loss, set to 0 within the tube |y - f| <= epsilon.
class OutsideTube final : public Loss {
 public:
  OutsideTube(std::shared_ptr<const Loss> loss, double epsilon) : loss_(std::move(loss)), epsilon_(epsilon) {}
  double value(double f, double y) const override { return outside(f, y) ? loss_->value(f, y) : 0; }
  double slope(double f, double y) const override { return outside(f, y) ? loss_->slope(f, y) : 0; }

 private:
  bool outside(double f, double y) const { return std::fabs(y - f) > epsilon_; }

  std::shared_ptr<const Loss> loss_;
  double epsilon_;
};

}  // namespace budgetron
