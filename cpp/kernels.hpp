// k(x, s) from one reduction over features and the norms.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "support_set.hpp"
#include "vectors.hpp"

namespace budgetron {

enum class Precision { Single, Double };

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::unique_ptr<SupportSet> support_set(std::size_t features, Precision) const = 0;
  // From reductions r_i of (x, s_i) to k(s_i, x), in place.
  virtual void finish(std::span<double> r, Row1 norms, double norm) const = 0;
  // k(x, x) from the norm of x.
  virtual double self(double norm) const = 0;
  virtual Bytes bytes() const = 0;
};

// A kernel and the reduction it reads.
template <class Derived, class Reduction>
class KernelOn : public Kernel {
 public:
  std::unique_ptr<SupportSet> support_set(std::size_t features, Precision precision) const override {
    if (precision == Precision::Single) return std::make_unique<FeatureMajor<float, Reduction>>(features);
    return std::make_unique<FeatureMajor<double, Reduction>>(features);
  }
  Bytes bytes() const override { return sizeof(Derived); }
};

// exp(-gamma |x - s|^2)
class Gaussian final : public KernelOn<Gaussian, DotProduct> {
 public:
  explicit Gaussian(double gamma) : gamma_(gamma) {}
  void finish(std::span<double> r, Row1 norms, double norm) const override {
    for (std::size_t i = 0; i < norms.size(); ++i) r[i] = -gamma_ * std::max((norm + norms[i]) - 2 * r[i], 0.0);
    exponential(r.first(norms.size()));
  }
  double self(double) const override { return 1.0; }

 private:
  double gamma_;
};

// exp(-gamma |x - s|_1)
class Laplacian final : public KernelOn<Laplacian, L1Distance> {
 public:
  explicit Laplacian(double gamma) : gamma_(gamma) {}
  void finish(std::span<double> r, Row1 norms, double) const override {
    for (std::size_t i = 0; i < norms.size(); ++i) r[i] = -gamma_ * std::max(r[i], 0.0);
    exponential(r.first(norms.size()));
  }
  double self(double) const override { return 1.0; }

 private:
  double gamma_;
};

// (gamma <x, s> + coef0)^degree
class Polynomial final : public KernelOn<Polynomial, DotProduct> {
 public:
  Polynomial(double gamma, double coef0, int degree) : gamma_(gamma), coef0_(coef0), degree_(degree) {}
  void finish(std::span<double> r, Row1 norms, double) const override {
    for (std::size_t i = 0; i < norms.size(); ++i) r[i] = self(r[i]);
  }
  double self(double norm) const override {
    const double base = gamma_ * norm + coef0_;
    double power = 1;
    for (int i = 0; i < degree_; ++i) power *= base;
    return power;
  }

 private:
  double gamma_, coef0_;
  int degree_;
};

// <x, s>
class Linear final : public KernelOn<Linear, DotProduct> {
 public:
  void finish(std::span<double>, Row1, double) const override {}
  double self(double norm) const override { return norm; }
};

// tanh(gamma <x, s> + coef0)
class Sigmoid final : public KernelOn<Sigmoid, DotProduct> {
 public:
  Sigmoid(double gamma, double coef0) : gamma_(gamma), coef0_(coef0) {}
  void finish(std::span<double> r, Row1 norms, double) const override {
    for (std::size_t i = 0; i < norms.size(); ++i) r[i] = self(r[i]);
  }
  double self(double norm) const override { return std::tanh(gamma_ * norm + coef0_); }

 private:
  double gamma_, coef0_;
};

}  // namespace budgetron
