// What a kernel is made of: the reductions over features of one x with all support vectors, and the norms.
#pragma once

#include <span>

namespace budgetron {

template <class T>
struct Reduced {
  std::span<const T> r;      // of (x, s_i); whole lanes
  std::span<const T> norms;  // of s_i; as many
  T norm;                    // of x
};

// From reductions to numbers, one for each support vector; out has room for whole lanes of them.
class Finish {
 public:
  virtual ~Finish() = default;
  virtual void finish(const Reduced<float>&, std::span<double> out) const = 0;
  virtual void finish(const Reduced<double>&, std::span<double> out) const = 0;
};

}  // namespace budgetron
