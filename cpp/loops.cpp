// The loops themselves, compiled once for every instruction set, which BUDGETRON_ISA names.
#include "loops.hpp"

#include <cstring>

#include "elementary.hpp"
#include "registers.hpp"

namespace budgetron {
namespace {

constexpr std::size_t tile = 8;  // registers that hold sums
static_assert(lanes % width == 0);

struct DotProduct {
  static double norm(double x, double sum) { return fused(x, x, sum); }
  static double absent(double) { return 0; }
  static BUDGETRON_INLINE Doubles dense(Doubles x, Doubles s, Doubles sum) { return fused(x, s, sum); }
  static BUDGETRON_INLINE Doubles sparse(Doubles x, Doubles s, Doubles sum) { return fused(x, s, sum); }
};

// Where x_j = 0 the term is |s_j|: a sparse x starts from |s|_1 and corrects at its nonzeros.
struct L1Distance {
  static double norm(double x, double sum) { return sum + __builtin_fabs(x); }
  static double absent(double norm) { return norm; }
  static BUDGETRON_INLINE Doubles dense(Doubles x, Doubles s, Doubles sum) { return sum + absolute(x - s); }
  static BUDGETRON_INLINE Doubles sparse(Doubles x, Doubles s, Doubles sum) {
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
BUDGETRON_INLINE void dense_tile(const T* x, std::size_t columns, const T* s, std::size_t stride, double* r) {
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
BUDGETRON_INLINE void sparse_tile(const T* x, const std::int32_t* indices, std::size_t nonzeros, const T* s,
                                  std::size_t stride, double* r) {
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

void exponential_singles(float* r, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 2 * width) store(r + i, exponential(load_singles(r + i)));
}

BUDGETRON_INLINE void store_first(double* p, Doubles v, std::size_t count) {
  std::memcpy(p, &v, count * sizeof(double));
}

void sine_cosine_row(const double* r, double scale, std::size_t n, double* sine, double* cosine) {
  Doubles s{}, c{};
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    sine_cosine(load(r + i), s, c);
    store(sine + i, scale * s);
    store(cosine + i, scale * c);
  }
  if (i == n) return;
  sine_cosine(load(r + i), s, c);
  store_first(sine + i, scale * s, n - i);
  store_first(cosine + i, scale * c, n - i);
}

// A register of floats as doubles.
BUDGETRON_INLINE void widen(double* p, Singles v) {
  for (std::size_t i = 0; i < 2 * width; ++i) p[i] = static_cast<double>(v[i]);
}

void sine_cosine_singles(const float* r, float scale, std::size_t n, double* sine, double* cosine) {
  Singles s{}, c{};
  std::size_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    sine_cosine(load_singles(r + i), s, c);
    widen(sine + i, scale * s);
    widen(cosine + i, scale * c);
  }
  if (i == n) return;
  double rest[4 * width];
  sine_cosine(load_singles(r + i), s, c);
  widen(rest, scale * s);
  widen(rest + 2 * width, scale * c);
  std::memcpy(sine + i, rest, (n - i) * sizeof(double));
  std::memcpy(cosine + i, rest + 2 * width, (n - i) * sizeof(double));
}

void hadamard(double* v, std::size_t n) {
  for (std::size_t h = 1; h < n; h *= 2)
    for (std::size_t i = 0; i < n; i += 2 * h)
      for (std::size_t j = i; j < i + h; ++j) {
        const double a = v[j], b = v[j + h];
        v[j] = a + b;
        v[j + h] = a - b;
      }
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
    exponential_singles,
    sine_cosine_row,
    sine_cosine_singles,
    hadamard,
    dot,
    add,
    add_squares,
    scale,
};

}  // namespace budgetron
