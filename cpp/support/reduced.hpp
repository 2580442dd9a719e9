// The input of a kernel: the reductions of one x with all support vectors, and the norms.
#pragma once

#include <span>

namespace budgetron {

template <class T>
struct Reduced {
  std::span<const T> r;      // reductions of (x, s_i), padded
  std::span<const T> norms;  // norms of s_i, padded
  T norm;                    // norm of x
};

// Maps reductions to one number per support vector; `out` has room for the padded count.
class Finish {
 public:
  virtual ~Finish() = default;
  virtual void finish(const Reduced<float>&, std::span<double> out) const = 0;
  virtual void finish(const Reduced<double>&, std::span<double> out) const = 0;
};

}  // namespace budgetron
