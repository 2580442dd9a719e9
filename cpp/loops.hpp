// The tight loops, one table of them per instruction set; the best that the processor has is picked when the module is
// loaded. Within one instruction set a result depends on the numbers alone: every sum has a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

// One reduction over features of (x, s_i), for all support vectors i: s is feature-major, features x stride, and n is a
// whole number of lanes. Each r_i is summed in order of the features.
template <class T>
struct Reduction {
  double (*norm)(const T* x, std::size_t count);
  void (*dense)(const T* x, std::size_t columns, const T* s, std::size_t stride, std::size_t n, double* r);
  // Of a sparse x only the nonzeros are visited; norms are those of the support vectors.
  void (*sparse)(const T* x, const std::int32_t* indices, std::size_t nonzeros, const T* s, std::size_t stride,
                 std::size_t n, const double* norms, std::size_t size, double* r);
};

struct Loops {
  const char* name;
  // <x, s> = sum_j x_j s_j, with norm |x|^2.
  Reduction<float> dot_product_single;
  Reduction<double> dot_product_double;
  // |x - s|_1 = sum_j |x_j - s_j|, with norm |x|_1.
  Reduction<float> l1_distance_single;
  Reduction<double> l1_distance_double;
  // r <- exp(-gamma max(norm + norms - 2 r, 0)), r <- exp(-gamma max(r, 0)) and r <- exp(r); exp of arguments up to
  // 709, to 2 ulp; n is a whole number of lanes.
  void (*gaussian)(double* r, const double* norms, double norm, double gamma, std::size_t n);
  void (*laplacian)(double* r, double gamma, std::size_t n);
  void (*exponential)(double* r, std::size_t n);
  void (*exponential_single)(float* r, std::size_t n);  // whole lanes of floats; arguments up to 88
  // sin and cos of r, times scale, to 2 ulp; r is padded to whole lanes (of floats: twice as many).
  void (*sine_cosine)(const double* r, double scale, std::size_t n, double* sine, double* cosine);
  void (*sine_cosine_single)(const float* r, float scale, std::size_t n, double* sine, double* cosine);
  // The Walsh-Hadamard transform of n numbers in place, n a power of 2.
  void (*hadamard)(double* v, std::size_t n);
  double (*dot)(const double* a, const double* b, std::size_t n);
  // y += c x, y += x^2, and y *= c
  void (*add)(double c, const double* x, double* y, std::size_t n);
  void (*add_squares)(const double* x, double* y, std::size_t n);
  void (*scale)(double c, double* y, std::size_t n);
};

// Numbers come in groups of this many; buffers over support vectors are padded to it.
inline constexpr std::size_t lanes = 8;
inline constexpr std::size_t single_lanes = 16;  // the same of floats

inline const Loops* loops = nullptr;

}  // namespace budgetron
