// k(x, s) from one reduction over features and the norms.
#pragma once

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
  virtual void finish(std::span<double> r, Vector norms, double norm) const = 0;
  // k(x, x) from the norm of x.
  virtual double self(double norm) const = 0;
  virtual Bytes bytes() const = 0;
};

// Kernels of the dot product.
template <class Derived>
class OfDotProduct : public Kernel {
 public:
  std::unique_ptr<SupportSet> support_set(std::size_t features, Precision precision) const override {
    if (precision == Precision::Single)
      return std::make_unique<FeatureMajor<float>>(features, loops->dot_product_single);
    return std::make_unique<FeatureMajor<double>>(features, loops->dot_product_double);
  }
  Bytes bytes() const override { return sizeof(Derived); }
};

// Kernels of the L1 distance.
template <class Derived>
class OfL1Distance : public Kernel {
 public:
  std::unique_ptr<SupportSet> support_set(std::size_t features, Precision precision) const override {
    if (precision == Precision::Single)
      return std::make_unique<FeatureMajor<float>>(features, loops->l1_distance_single);
    return std::make_unique<FeatureMajor<double>>(features, loops->l1_distance_double);
  }
  Bytes bytes() const override { return sizeof(Derived); }
};

// exp(-gamma |x - s|^2)
class Gaussian final : public OfDotProduct<Gaussian> {
 public:
  explicit Gaussian(double gamma) : gamma_(gamma) {}
  void finish(std::span<double> r, Vector norms, double norm) const override {
    loops->gaussian(r.data(), norms.data(), norm, gamma_, norms.size());
  }
  double self(double) const override { return 1.0; }

 private:
  double gamma_;
};

// exp(-gamma |x - s|_1)
class Laplacian final : public OfL1Distance<Laplacian> {
 public:
  explicit Laplacian(double gamma) : gamma_(gamma) {}
  void finish(std::span<double> r, Vector norms, double) const override {
    loops->laplacian(r.data(), gamma_, norms.size());
  }
  double self(double) const override { return 1.0; }

 private:
  double gamma_;
};

// (gamma <x, s> + coef0)^degree
class Polynomial final : public OfDotProduct<Polynomial> {
 public:
  Polynomial(double gamma, double coef0, int degree) : gamma_(gamma), coef0_(coef0), degree_(degree) {}
  void finish(std::span<double> r, Vector norms, double) const override {
    for (std::size_t i = 0; i < norms.size(); ++i) r[i] = self(r[i]);
  }
  double self(double norm) const override {
    const double base = gamma_ * norm + coef0_;
    if (degree_ > 100) return std::pow(base, degree_);  // a loop over a degree of billions would never end
    double power = 1;
    for (int i = 0; i < degree_; ++i) power *= base;
    return power;
  }

 private:
  double gamma_, coef0_;
  int degree_;
};

// <x, s>
class Linear final : public OfDotProduct<Linear> {
 public:
  void finish(std::span<double>, Vector, double) const override {}
  double self(double norm) const override { return norm; }
};

// tanh(gamma <x, s> + coef0)
class Sigmoid final : public OfDotProduct<Sigmoid> {
 public:
  Sigmoid(double gamma, double coef0) : gamma_(gamma), coef0_(coef0) {}
  void finish(std::span<double> r, Vector norms, double) const override {
    for (std::size_t i = 0; i < norms.size(); ++i) r[i] = self(r[i]);
  }
  double self(double norm) const override { return std::tanh(gamma_ * norm + coef0_); }

 private:
  double gamma_, coef0_;
};

}  // namespace budgetron
