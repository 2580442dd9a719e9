// The loops themselves, compiled once for every instruction set, which BUDGETRON_ISA names; a vector below is one
// register of it. A product and a sum are fused where it says so, if the instruction set can, so that equal operations
// round alike.
#include "loops.hpp"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace budgetron {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t width = 8;  // doubles in a register
#elif defined(__AVX__)
constexpr std::size_t width = 4;
#else
constexpr std::size_t width = 2;
#endif
constexpr std::size_t tile = 8;  // registers that hold sums
static_assert(lanes % width == 0);

using Doubles = double __attribute__((vector_size(width * sizeof(double))));
using Floats = float __attribute__((vector_size(width * sizeof(float))));
using Words = std::uint64_t __attribute__((vector_size(width * sizeof(double))));

// a b + c, rounded once where the instruction set can.
inline __attribute__((always_inline)) Doubles fused(Doubles a, Doubles b, Doubles c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__ARM_NEON)
  return vfmaq_f64(c, a, b);
#else
  return a * b + c;
#endif
}

inline __attribute__((always_inline)) double fused(double a, double b, double c) {
#if defined(__FMA__) || defined(__ARM_NEON)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

inline __attribute__((always_inline)) Doubles load(const double* p) {
  Doubles v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline __attribute__((always_inline)) Doubles load(const float* p) {
  Floats v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Doubles);
}

inline __attribute__((always_inline)) void store(double* p, Doubles v) { std::memcpy(p, &v, sizeof v); }

inline __attribute__((always_inline)) Doubles all(double v) { return v - Doubles{}; }

inline __attribute__((always_inline)) Doubles absolute(Doubles v) {
  return reinterpret_cast<Doubles>(reinterpret_cast<Words>(v) & ~(Words{} + (std::uint64_t{1} << 63)));
}

struct DotProduct {
  static double norm(double x, double sum) { return fused(x, x, sum); }
  static double absent(double) { return 0; }
  static __attribute__((always_inline)) Doubles dense(Doubles x, Doubles s, Doubles sum) { return fused(x, s, sum); }
  static __attribute__((always_inline)) Doubles sparse(Doubles x, Doubles s, Doubles sum) { return fused(x, s, sum); }
};

// Where x_j = 0 the term is |s_j|: a sparse x starts from |s|_1 and corrects at its nonzeros.
struct L1Distance {
  static double norm(double x, double sum) { return sum + __builtin_fabs(x); }
  static double absent(double norm) { return norm; }
  static __attribute__((always_inline)) Doubles dense(Doubles x, Doubles s, Doubles sum) {
    return sum + absolute(x - s);
  }
  static __attribute__((always_inline)) Doubles sparse(Doubles x, Doubles s, Doubles sum) {
    return sum + (absolute(x - s) - absolute(s));
  }
};

template <class R, class T>
double norm(const T* x, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum = R::norm(static_cast<double>(x[i]), sum);
  return sum;
}

// The support vectors from `first` on, as many groups as fit the registers.
template <class R, std::size_t groups, class T>
inline __attribute__((always_inline)) void dense_tile(const T* x, std::size_t columns, const T* s, std::size_t stride,
                                                      double* r) {
  Doubles sums[groups] = {};
  for (std::size_t j = 0; j < columns; ++j, s += stride) {
    const Doubles v = all(static_cast<double>(x[j]));
    for (std::size_t g = 0; g < groups; ++g) sums[g] = R::dense(v, load(s + g * width), sums[g]);
  }
  for (std::size_t g = 0; g < groups; ++g) store(r + g * width, sums[g]);
}

template <class R, class T>
void dense(const T* x, std::size_t columns, const T* s, std::size_t stride, std::size_t n, double* r) {
  std::size_t i = 0;
  for (; i + tile * width <= n; i += tile * width) dense_tile<R, tile>(x, columns, s + i, stride, r + i);
  for (; i < n; i += width) dense_tile<R, 1>(x, columns, s + i, stride, r + i);
}

template <class R, std::size_t groups, class T>
inline __attribute__((always_inline)) void sparse_tile(const T* x, const std::int32_t* indices, std::size_t nonzeros,
                                                       const T* s, std::size_t stride, double* r) {
  Doubles sums[groups] = {};
  for (std::size_t i = 0; i < nonzeros; ++i) {
    const Doubles v = all(static_cast<double>(x[i]));
    const T* at = s + static_cast<std::size_t>(indices[i]) * stride;
    for (std::size_t g = 0; g < groups; ++g) sums[g] = R::sparse(v, load(at + g * width), sums[g]);
  }
  for (std::size_t g = 0; g < groups; ++g) store(r + g * width, sums[g]);
}

template <class R, class T>
void sparse(const T* x, const std::int32_t* indices, std::size_t nonzeros, const T* s, std::size_t stride,
            std::size_t n, const double* norms, std::size_t size, double* r) {
  std::size_t i = 0;
  for (; i + tile * width <= n; i += tile * width) sparse_tile<R, tile>(x, indices, nonzeros, s + i, stride, r + i);
  for (; i < n; i += width) sparse_tile<R, 1>(x, indices, nonzeros, s + i, stride, r + i);
  for (std::size_t k = 0; k < size; ++k) r[k] += R::absent(norms[k]);
}

// exp by x = n log 2 + r, |r| <= log(2)/2, a polynomial in r, and a scaling by 2^n in two halves so that results below
// the normal range are right as well.
inline __attribute__((always_inline)) Doubles power_of_two(Doubles whole) {
  return reinterpret_cast<Doubles>(reinterpret_cast<Words>(whole + (0x1.8p52 + 1023.0)) << 52);
}

inline __attribute__((always_inline)) Doubles exponential(Doubles x) {
  x = x < all(-746.0) ? all(-746.0) : x;
  const Doubles n = (x * 0x1.71547652b82fep0 + 0x1.8p52) - 0x1.8p52;
  const Doubles r = fused(n, all(-0x1.a39ef35793c76p-33), fused(n, all(-0x1.62e42fee00000p-1), x));
  const Doubles r2 = r * r, r4 = r2 * r2;  // sum r^i / i!, in pairs so that few products wait for each other
  const auto pair = [&](double first, double second) { return fused(r, all(second), all(first)); };
  const Doubles a = fused(r2, pair(1.0 / 24, 1.0 / 120), pair(0.5, 1.0 / 6));
  const Doubles b = fused(r2, pair(1.0 / 40320, 1.0 / 362880), pair(1.0 / 720, 1.0 / 5040));
  const Doubles c = fused(r2, pair(1.0 / 479001600, 1.0 / 6227020800), pair(1.0 / 3628800, 1.0 / 39916800));
  const Doubles p = 1.0 + fused(r2, fused(r4, fused(r4, c, b), a), r);
  const Doubles half = (n * 0.5 + 0x1.8p52) - 0x1.8p52;
  return p * power_of_two(half) * power_of_two(n - half);
}

inline __attribute__((always_inline)) Doubles positive_part(Doubles v) { return v < 0.0 ? all(0.0) : v; }

void gaussian(double* r, const double* norms, double norm, double gamma, std::size_t n) {
  for (std::size_t i = 0; i < n; i += width)
    store(r + i, exponential(-gamma * positive_part((norm + load(norms + i)) - 2.0 * load(r + i))));
}

void laplacian(double* r, double gamma, std::size_t n) {
  for (std::size_t i = 0; i < n; i += width) store(r + i, exponential(-gamma * positive_part(load(r + i))));
}

void exponential_row(double* r, std::size_t n) {
  for (std::size_t i = 0; i < n; i += width) store(r + i, exponential(load(r + i)));
}

// Sums run over four times eight lanes, whatever the width of a register.
double dot(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t registers = lanes / width;
  Doubles sums[4][registers] = {};
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t g = 0; g < registers; ++g) {
        const std::size_t at = i + k * lanes + g * width;
        sums[k][g] = fused(load(a + at), load(b + at), sums[k][g]);
      }
  for (; i + lanes <= n; i += lanes)
    for (std::size_t g = 0; g < registers; ++g)
      sums[0][g] = fused(load(a + i + g * width), load(b + i + g * width), sums[0][g]);
  double sum[lanes];
  for (std::size_t g = 0; g < registers; ++g)
    store(sum + g * width, (sums[0][g] + sums[1][g]) + (sums[2][g] + sums[3][g]));
  for (std::size_t lane = 0; i < n; ++i, ++lane) sum[lane] = fused(a[i], b[i], sum[lane]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

void add(double c, const double* x, double* y, std::size_t n) {
  std::size_t i = 0;
  for (; i + width <= n; i += width) store(y + i, fused(all(c), load(x + i), load(y + i)));
  for (; i < n; ++i) y[i] = fused(c, x[i], y[i]);
}

void add_squares(const double* x, double* y, std::size_t n) {
  std::size_t i = 0;
  for (; i + width <= n; i += width) store(y + i, fused(load(x + i), load(x + i), load(y + i)));
  for (; i < n; ++i) y[i] = fused(x[i], x[i], y[i]);
}

void scale(double c, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] *= c;
}

template <class R, class T>
constexpr Reduction<T> reduction = {norm<R, T>, dense<R, T>, sparse<R, T>};

#define BUDGETRON_STRING_(x) #x
#define BUDGETRON_STRING(x) BUDGETRON_STRING_(x)
#define BUDGETRON_JOIN_(a, b) a##b
#define BUDGETRON_JOIN(a, b) BUDGETRON_JOIN_(a, b)

}  // namespace

extern const Loops BUDGETRON_JOIN(loops_, BUDGETRON_ISA);
const Loops BUDGETRON_JOIN(loops_, BUDGETRON_ISA) = {
    BUDGETRON_STRING(BUDGETRON_ISA),
    reduction<DotProduct, float>,
    reduction<DotProduct, double>,
    reduction<L1Distance, float>,
    reduction<L1Distance, double>,
    gaussian,
    laplacian,
    exponential_row,
    dot,
    add,
    add_squares,
    scale,
};

}  // namespace budgetron
