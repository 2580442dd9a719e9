// The input of a kernel: the reductions of one x with all support vectors, and the norms.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace budgetron {

template <class T>
struct Reduced {
  std::span<const T> r;      // reductions of (x, s_i), padded
  std::span<const T> norms;  // norms of s_i, padded
  T norm;                    // norm of x
};

// Maps reductions to one number per support vector; `out` has room for the padded count, and may be where the
// reductions are: number i depends on reduction i only.
class Finish {
 public:
  virtual ~Finish() = default;
  virtual void finish(const Reduced<float>&, std::span<double> out) const = 0;
  virtual void finish(const Reduced<double>&, std::span<double> out) const = 0;
};

// Calls use(r) with room for n reductions. Doubles are where the kernel row k will be, so that fewer numbers compete
// for the first-level cache.
template <class T, class Use>
void with_room(std::span<double> k, std::size_t n, Use use) {
  if constexpr (std::is_same_v<T, double>) {
    use(k.first(n));
  } else {
    std::vector<T> r(n);
    use(std::span<T>(r));
  }
}

}  // namespace budgetron
