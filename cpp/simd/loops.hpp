// The tight loops, one table of them per instruction set; the best that the processor has is picked when the module is
// loaded. Within one instruction set a result depends on the numbers alone: every sum has a fixed order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace budgetron {

// A nonzero of a column: of which support vector.
template <class T>
struct Listed {
  std::uint32_t slot;
  T value;
};

// One reduction over features, r_ab of (x_a, s_b), for rows x_a and support vectors s_b. Each is summed in order of the
// features with the same operations, whichever function makes it. Support vectors, and rows where there are several,
// are feature-major: features x stride. Counts of support vectors n, and of rows in norms, are whole lanes.
template <class T>
struct Reduction {
  T (*norm)(const T* x, std::size_t columns);
  T (*sparse_norm)(const T* x, const std::int32_t* indices, std::size_t nonzeros);
  void (*norms)(const T* x, std::size_t x_stride, std::size_t rows, std::size_t columns, T* norms);
  void (*block)(const T* x, std::size_t x_stride, std::size_t rows, std::size_t columns, const T* s, std::size_t stride,
                std::size_t n, T* r, std::size_t r_stride);
  // Of a sparse x only the nonzeros are visited; norms are those of the support vectors.
  void (*sparse)(const T* x, const std::int32_t* indices, std::size_t nonzeros, const T* s, std::size_t stride,
                 std::size_t n, const T* norms, T* r);
  // The same from the nonzeros of the support vectors in the columns where x has its own; r is 0 at first.
  void (*listed)(const T* x, const std::int32_t* indices, std::span<const std::span<const Listed<T>>> lists, T norm,
                 const T* norms, std::span<T> r);
};

// exp(-gamma t) as 2^(c t), where t is cut at a limit beyond which that is 0.
template <class T>
struct Rate {
  explicit Rate(T gamma)
      : c(std::max(-gamma * static_cast<T>(0x1.71547652b82fep0), std::numeric_limits<T>::lowest())),
        limit((sizeof(T) == 4 ? -152 : -1080) / c) {}

  T c, limit;
};

struct Loops {
  const char* name;
  // <x, s> = sum_j x_j s_j, with norm |x|^2.
  Reduction<float> dot_product_single;
  Reduction<double> dot_product_double;
  // |x - s|_1 = sum_j |x_j - s_j|, with norm |x|_1.
  Reduction<float> l1_distance_single;
  Reduction<double> l1_distance_double;
  // k = exp(-gamma max(norm + norms - 2 r, 0)), k = exp(-gamma max(r, 0)) and r <- exp(r); exp of arguments up to 709,
  // to 2 ulp; n is a whole number of lanes.
  void (*gaussian)(const double* r, const double* norms, double norm, Rate<double> gamma, std::size_t n, double* k);
  void (*gaussian_single)(const float* r, const float* norms, float norm, Rate<float> gamma, std::size_t n, double* k);
  void (*laplacian)(const double* r, Rate<double> gamma, std::size_t n, double* k);
  void (*laplacian_single)(const float* r, Rate<float> gamma, std::size_t n, double* k);
  void (*exponential)(double* r, std::size_t n);
  void (*exponential_single)(float* r, std::size_t n);  // whole lanes of floats; arguments up to 88
  // sin and cos of r, times scale, to 2 ulp; r is padded to whole lanes (of floats: twice as many).
  void (*sine_cosine)(const double* r, double scale, std::size_t n, double* sine, double* cosine);
  void (*sine_cosine_single)(const float* r, float scale, std::size_t n, double* sine, double* cosine);
  // The Walsh-Hadamard transform of n numbers in place, n a power of 2.
  void (*hadamard)(double* v, std::size_t n);
  // Eight rows of the same length, turned into columns: out is columns x out_stride.
  void (*transpose)(const double* x, std::size_t columns, double* out, std::size_t out_stride);
  double (*dot)(const double* a, const double* b, std::size_t n);
  // y += c x, y += x^2, and y *= c
  void (*add)(double c, const double* x, double* y, std::size_t n);
  void (*add_single)(float c, const float* x, float* y, std::size_t n);
  void (*add_squares)(const double* x, double* y, std::size_t n);
  void (*scale)(double c, double* y, std::size_t n);
  // out = sqrt(a b) and p <- max(0, 1 - s p), both with the sum; alpha <- c alpha and alpha <- alpha / (1 - p / total),
  // both within the cap; out = a (b - k^2 / kxx); and the least number of all.
  double (*geometric_means)(const double* a, const double* b, std::size_t n, double* out);
  double (*chances)(double s, double* p, std::size_t n);
  void (*scale_within)(double c, double cap, double* alpha, std::size_t n);
  void (*rescale)(const double* p, double total, double cap, double* alpha, std::size_t n);
  void (*swap_costs)(const double* a, const double* b, const double* k, double kxx, std::size_t n, double* out);
  double (*least)(const double* v, std::size_t n);
  // v = L^-1 k and d <- L'^-1 d, L lower triangular, its rows one after the other, the inverse of its diagonal beside.
  void (*solve_lower)(const double* L, const double* inverse, const double* k, std::size_t n, double* v);
  void (*solve_upper)(const double* L, const double* inverse, std::size_t n, double* d);
};

// Numbers come in groups of this many; buffers over support vectors are padded to it.
inline constexpr std::size_t lanes = 8;
inline constexpr std::size_t single_lanes = 16;  // the same of floats
// Sums of floats over features are put aside after each run of so many columns.
inline constexpr std::size_t single_run = 128;
template <class T>
inline constexpr std::size_t lanes_of = sizeof(T) == sizeof(float) ? single_lanes : lanes;
// n rounded up to whole lanes.
template <class T>
constexpr std::size_t whole_lanes(std::size_t n) {
  return (n + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>;
}

inline const Loops* loops = nullptr;

template <class T>
const Reduction<T>& dot_product() {
  if constexpr (sizeof(T) == sizeof(float))
    return loops->dot_product_single;
  else
    return loops->dot_product_double;
}

template <class T>
const Reduction<T>& l1_distance() {
  if constexpr (sizeof(T) == sizeof(float))
    return loops->l1_distance_single;
  else
    return loops->l1_distance_double;
}

}  // namespace budgetron
