// Kernels: k(x, s) from one reduction over features and the norms of x and s.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "linalg/limits.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"
#include "support/layouts.hpp"
#include "support/reduced.hpp"

namespace budgetron {

// Maps reductions of (x, s_i) to k(s_i, x).
class Kernel : public Finish {
 public:
  virtual ReductionKind reduction() const = 0;
  // k(x, x) from the norm of x.
  virtual double self(double norm) const = 0;
  virtual Bytes bytes() const = 0;
};

// Kernels computed from the dot product.
template <class Derived>
class OfDotProduct : public Kernel {
 public:
  ReductionKind reduction() const override { return ReductionKind::DotProduct; }
  Bytes bytes() const override { return sizeof(Derived); }
};

// Kernels computed from the L1 distance.
template <class Derived>
class OfL1Distance : public Kernel {
 public:
  ReductionKind reduction() const override { return ReductionKind::L1Distance; }
  Bytes bytes() const override { return sizeof(Derived); }
};

// Kernels computed from <x, s> number by number, in double precision.
template <class Derived>
class OneByOne : public OfDotProduct<Derived> {
 public:
  void finish(const Reduced<float>& x, std::span<double> k) const final { each(x, k); }
  void finish(const Reduced<double>& x, std::span<double> k) const final { each(x, k); }
  double self(double norm) const final {
    const double k = static_cast<const Derived&>(*this).of(norm);
    return std::fabs(k) < least_self ? 0 : k;
  }

 private:
  template <class T>
  void each(const Reduced<T>& x, std::span<double> k) const {
    const auto& kernel = static_cast<const Derived&>(*this);
    for (std::size_t i = 0; i < x.r.size(); ++i) k[i] = kernel.of(static_cast<double>(x.r[i]));
  }
};

// gamma as a float. Overflow gives the largest float instead of infinity, so that gamma * 0 = 0.
inline float single(double gamma) {
  return static_cast<float>(std::min(gamma, static_cast<double>(std::numeric_limits<float>::max())));
}

// exp(-gamma |x - s|^2)
class Gaussian final : public OfDotProduct<Gaussian> {
 public:
  explicit Gaussian(double gamma) : gamma_(gamma), single_(single(gamma)) {}
  void finish(const Reduced<float>& x, std::span<double> k) const override {
    loops->gaussian_single(x.r.data(), x.norms.data(), x.norm, single_, x.r.size(), k.data());
  }
  void finish(const Reduced<double>& x, std::span<double> k) const override {
    loops->gaussian(x.r.data(), x.norms.data(), x.norm, gamma_, x.r.size(), k.data());
  }
  double self(double) const override { return 1.0; }

 private:
  Rate<double> gamma_;
  Rate<float> single_;
};

// exp(-gamma |x - s|_1)
class Laplacian final : public OfL1Distance<Laplacian> {
 public:
  explicit Laplacian(double gamma) : gamma_(gamma), single_(single(gamma)) {}
  void finish(const Reduced<float>& x, std::span<double> k) const override {
    loops->laplacian_single(x.r.data(), single_, x.r.size(), k.data());
  }
  void finish(const Reduced<double>& x, std::span<double> k) const override {
    loops->laplacian(x.r.data(), gamma_, x.r.size(), k.data());
  }
  double self(double) const override { return 1.0; }

 private:
  Rate<double> gamma_;
  Rate<float> single_;
};

// (gamma <x, s> + coef0)^degree
class Polynomial final : public OneByOne<Polynomial> {
 public:
  Polynomial(double gamma, double coef0, int degree) : gamma_(gamma), coef0_(coef0), degree_(degree) {}
  double of(double product) const {
    const double base = gamma_ * product + coef0_;
    if (degree_ > 100) return std::pow(base, degree_);  // the loop would take too long for a degree of billions
    double power = 1;
    for (int i = 0; i < degree_; ++i) power *= base;
    return power;
  }

 private:
  double gamma_, coef0_;
  int degree_;
};

// <x, s>
class Linear final : public OneByOne<Linear> {
 public:
  double of(double product) const { return product; }
};

// tanh(gamma <x, s> + coef0)
class Sigmoid final : public OneByOne<Sigmoid> {
 public:
  Sigmoid(double gamma, double coef0) : gamma_(gamma), coef0_(coef0) {}
  double of(double product) const { return std::tanh(gamma_ * product + coef0_); }

 private:
  double gamma_, coef0_;
};

}  // namespace budgetron
