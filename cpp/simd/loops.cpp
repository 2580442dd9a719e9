// The loops, compiled once for every instruction set. BUDGETRON_ISA names the instruction set.
#include "simd/loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "simd/cells.hpp"
#include "simd/coefficients.hpp"
#include "simd/elementary.hpp"
#include "simd/ferns.hpp"
#include "simd/logits.hpp"
#include "simd/merging.hpp"
#include "simd/reductions.hpp"
#include "simd/registers.hpp"
#include "simd/row_blocks.hpp"
#include "simd/symmetric.hpp"
#include "simd/tiles.hpp"
#include "simd/transposing.hpp"
#include "simd/triangular.hpp"
#include "simd/unit_upper.hpp"

namespace budgetron {
namespace {

static_assert(lanes % width == 0);

// Stores a register of floats as doubles.
BUDGETRON_INLINE void widen(double* p, Singles v) {
  const Halves halves = in_two(v);
  store(p, as_doubles(halves.first));
  store(p + width, as_doubles(halves.second));
}

void gaussian(const double* r, const double* norms, double norm, Rate<double> gamma, std::size_t n, double* k) {
  const Decay decay(gamma);
  for (std::size_t i = 0; i < n; i += width) store(k + i, decay(fused(load(r + i), all(-2.0), norm + load(norms + i))));
}

void gaussian_single(const float* r, const float* norms, float norm, Rate<float> gamma, std::size_t n, double* k) {
  const SingleDecay decay(gamma);
  for (std::size_t i = 0; i < n; i += 2 * width)
    widen(k + i, decay(fused(load_singles(r + i), all_singles(-2.0f), norm + load_singles(norms + i))));
}

void laplacian(const double* r, Rate<double> gamma, std::size_t n, double* k) {
  const Decay decay(gamma);
  for (std::size_t i = 0; i < n; i += width) store(k + i, decay(load(r + i)));
}

void laplacian_single(const float* r, Rate<float> gamma, std::size_t n, double* k) {
  const SingleDecay decay(gamma);
  for (std::size_t i = 0; i < n; i += 2 * width) widen(k + i, decay(load_singles(r + i)));
}

// The sums over the lanes come last.
double sum_of_exponentials(const double* v, double from, std::size_t n) {
  Doubles sums{};
  std::size_t i = 0;
  for (; i + width <= n; i += width) sums += exponential(load(v + i) - from);
  if (i < n) {
    double rest[width];
    std::fill(std::copy(v + i, v + n, rest), rest + width, -std::numeric_limits<double>::infinity());
    sums += exponential(load(rest) - from);
  }
  return sum_of(sums);
}

double softmax_terms(const double* v, std::size_t n, double* out) {
  std::size_t i = 0;
  Doubles tops = all(-std::numeric_limits<double>::infinity());
  for (; i + width <= n; i += width) tops = larger(load(v + i), tops);
  double each[width];
  store(each, tops);
  const double top = std::max(*std::max_element(each, each + width), i < n ? *std::max_element(v + i, v + n) : each[0]);
  Doubles sums{};
  for (i = 0; i + width <= n; i += width) {
    const Doubles e = exponential(load(v + i) - top);
    store(out + i, e);
    sums += e;
  }
  if (i == n) return sum_of(sums);
  std::fill(std::copy(v + i, v + n, each), each + width, -std::numeric_limits<double>::infinity());
  const Doubles e = exponential(load(each) - top);
  store(each, e);
  std::copy_n(each, n - i, out + i);
  return sum_of(sums + e);
}

void exponential_row(double* r, std::size_t n) {
  for (std::size_t i = 0; i < n; i += width) store(r + i, exponential(load(r + i)));
}

void exponential_singles(float* r, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 2 * width) store(r + i, exponential(load_singles(r + i)));
}

// Whether an angle is too large for the fast argument reduction.
template <class T>
bool any_large(const T* r, std::size_t n, T limit) {
  constexpr std::size_t step = Lanes<T>::width;
  typename Lanes<T>::Register most{}, other{};  // two accumulators, to shorten the dependency chain
  std::size_t i = 0;
  for (; i + step < n; i += 2 * step) {
    most = larger_size(Lanes<T>::load(r + i), most);
    other = larger_size(Lanes<T>::load(r + i + step), other);
  }
  if (i < n) most = larger_size(Lanes<T>::load(r + i), most);
  return any(larger(most, other) > Lanes<T>::all(limit));
}

// One angle at a time, of any size.
template <class T>
void sine_cosine_one_by_one(const T* r, double scale, std::size_t n, double* sine, double* cosine) {
  for (std::size_t i = 0; i < n; i += width) {
    const std::size_t count = std::min(width, n - i);
    double angles[width] = {}, s[width], c[width];
    for (std::size_t a = 0; a < count; ++a) angles[a] = static_cast<double>(r[i + a]);
    Doubles sines, cosines;
    sine_cosine(turn_far_back(angles), all(1.0), sines, cosines);
    store(s, sines);
    store(c, cosines);
    for (std::size_t a = 0; a < count; ++a) {
      sine[i + a] = static_cast<double>(static_cast<T>(scale * s[a]));
      cosine[i + a] = static_cast<double>(static_cast<T>(scale * c[a]));
    }
  }
}

void sine_cosine_row(const double* r, double scale, std::size_t n, double* sine, double* cosine) {
  if (any_large(r, n, largest_angle)) return sine_cosine_one_by_one(r, scale, n, sine, cosine);
  Doubles s, c;
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    sine_cosine(load(r + i), all(scale), s, c);
    store(sine + i, s);
    store(cosine + i, c);
  }
  if (i == n) return;
  sine_cosine(load(r + i), all(scale), s, c);
  std::memcpy(sine + i, &s, (n - i) * sizeof(double));
  std::memcpy(cosine + i, &c, (n - i) * sizeof(double));
}

void sine_cosine_singles(const float* r, float scale, std::size_t n, double* sine, double* cosine) {
  if (any_large(r, n, largest_single_angle)) return sine_cosine_one_by_one(r, scale, n, sine, cosine);
  Singles s, c;
  std::size_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    sine_cosine(load_singles(r + i), all_singles(scale), s, c);
    widen(sine + i, s);
    widen(cosine + i, c);
  }
  if (i == n) return;
  double rest[4 * width];
  sine_cosine(load_singles(r + i), all_singles(scale), s, c);
  widen(rest, s);
  widen(rest + 2 * width, c);
  std::memcpy(sine + i, rest, (n - i) * sizeof(double));
  std::memcpy(cosine + i, rest + 2 * width, (n - i) * sizeof(double));
}

// a + b and a - b for numbers a and b of a register that are h lanes apart.
template <std::size_t h, std::size_t... lane>
BUDGETRON_INLINE Doubles butterflies(Doubles v, std::index_sequence<lane...>) {
  const Doubles signs{(lane & h ? -1.0 : 1.0)...};
  return fused(v, signs, __builtin_shufflevector(v, v, static_cast<int>(lane ^ h)...));
}

// The steps within a register.
template <std::size_t h = 1>
BUDGETRON_INLINE Doubles small_hadamard(Doubles v) {
  if constexpr (h < width)
    return small_hadamard<2 * h>(butterflies<h>(v, std::make_index_sequence<width>{}));
  else
    return v;
}

void hadamard(double* v, std::size_t n) {
  for (std::size_t i = 0; i + width <= n; i += width) store(v + i, small_hadamard(load(v + i)));
  for (std::size_t h = n < width ? 1 : width; h < n; h *= 2)
    for (std::size_t i = 0; i < n; i += 2 * h)
      for (std::size_t j = i; j < i + h; ++j) {
        const double a = v[j], b = v[j + h];
        v[j] = a + b;
        v[j + h] = a - b;
      }
}

// Eight rows; squares of eight columns in registers, if the instruction set has them.
template <class T>
void transpose_rows(const T* x, std::size_t columns, T* out, std::size_t out_stride) {
  std::size_t j = 0;
  if constexpr (sizeof(T) == 8 ? double_squares : single_squares) {
    for (; j + 8 <= columns; j += 8) transpose_square(x + j, columns, out + j * out_stride, out_stride);
    if (j < columns && columns >= 8) {  // the last eight columns; some are written twice
      j = columns - 8;
      return transpose_square(x + j, columns, out + j * out_stride, out_stride);
    }
  }
  for (; j < columns; ++j)
    for (std::size_t a = 0; a < lanes; ++a) out[j * out_stride + a] = x[a * columns + j];
}

// The sum runs over 4 x 8 lanes on every instruction set, whatever its register width.
// sum_i a_i b_i. at(i) is a register of a, at(i, count) one of which only the first `count` lanes are there, which are
// the last ones; without masks one(i) is a number.
template <class At, class One>
BUDGETRON_INLINE double sum_of_products(const double* b, std::size_t n, At at, One one) {
  constexpr std::size_t registers = lanes / width;
  Doubles sums[4][registers] = {};
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t g = 0; g < registers; ++g) {
        const std::size_t j = i + k * lanes + g * width;
        sums[k][g] = fused(at(j, width), load(b + j), sums[k][g]);
      }
  for (; i + lanes <= n; i += lanes)
    for (std::size_t g = 0; g < registers; ++g)
      sums[0][g] = fused(at(i + g * width, width), load(b + i + g * width), sums[0][g]);
  double sum[lanes];
  for (std::size_t g = 0; g < registers; ++g) {
    Doubles total = (sums[0][g] + sums[1][g]) + (sums[2][g] + sums[3][g]);
    if constexpr (has_masks)
      if (i < n) total = fused(at(i, n - i), load(b + i, n - i), total);
    store(sum + g * width, total);
  }
  if constexpr (!has_masks)
    for (std::size_t lane = 0; i < n; ++i, ++lane) sum[lane] = fused(one(i), b[i], sum[lane]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

double dot(const double* a, const double* b, std::size_t n) {
  return sum_of_products(
      b, n, [&](std::size_t i, std::size_t count) { return count == width ? load(a + i) : load(a + i, count); },
      [&](std::size_t i) { return a[i]; });
}

void add(double c, const double* x, double* y, std::size_t n) {
  std::size_t i = 0;
  for (; i + width <= n; i += width) store(y + i, fused(all(c), load(x + i), load(y + i)));
  if constexpr (has_masks) {
    if (i < n) store(y + i, n - i, fused(all(c), load(x + i, n - i), load(y + i, n - i)));
  } else {
    for (; i < n; ++i) y[i] = fused(c, x[i], y[i]);
  }
}

void add_and_multiply(const double* c, const double* x, double* const* rows, std::size_t count, std::size_t n,
                      const double* z, double* out) {
  for (std::size_t a = 0; a < count; ++a) {
    double* const row = rows[a];
    out[a] = sum_of_products(
        z, n,
        [&](std::size_t i, std::size_t some) {
          if (some < width) {
            const Doubles moved = fused(all(c[a]), load(x + i, some), load(row + i, some));
            store(row + i, some, moved);
            return moved;
          }
          const Doubles moved = fused(all(c[a]), load(x + i), load(row + i));
          store(row + i, moved);
          return moved;
        },
        [&](std::size_t i) { return row[i] = fused(c[a], x[i], row[i]); });
  }
}

void add_single(float c, const float* x, float* y, std::size_t n) {
  std::size_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width)
    store(y + i, fused(all_singles(c), load_singles(x + i), load_singles(y + i)));
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

void extents(const double* x, std::size_t rows, std::size_t columns, double* low, double* high, double* numbers,
             double* fractions) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), no_fraction = 0x1.8p52;
  each(
      columns,
      [&](std::size_t j) {
        Doubles least = all(infinity), most = -least, count{}, broken{};
        for (std::size_t i = 0; i < rows; ++i) {
          const Doubles v = load(x + i * columns + j);
          least = smaller(v, least);
          most = larger(v, most);
          count += v == v ? all(1.0) : Doubles{};
          broken += (v + no_fraction) - no_fraction == v ? Doubles{} : v == v ? all(1.0) : Doubles{};
        }
        store(low + j, least);
        store(high + j, most);
        store(numbers + j, count);
        store(fractions + j, broken);
      },
      [&](std::size_t j) {
        low[j] = infinity;
        high[j] = -infinity;
        numbers[j] = fractions[j] = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          const double v = x[i * columns + j];
          low[j] = v < low[j] ? v : low[j];
          high[j] = v > high[j] ? v : high[j];
          numbers[j] += v == v ? 1 : 0;
          fractions[j] += v == v && (v + no_fraction) - no_fraction != v ? 1 : 0;
        }
      });
}

template <class R, class T>
constexpr Reduction<T> reduction = {norm<R, T>,  sparse_norm<R, T>, norms<R, T>,
                                    block<R, T>, sparse<R, T>,      listed<R, T>};

#define BUDGETRON_STRING_(x) #x
#define BUDGETRON_STRING(x) BUDGETRON_STRING_(x)
#define BUDGETRON_JOIN_(a, b) a##b
#define BUDGETRON_JOIN(a, b) BUDGETRON_JOIN_(a, b)

}  // namespace

extern const Loops BUDGETRON_JOIN(loops_, BUDGETRON_ISA);
const Loops BUDGETRON_JOIN(loops_, BUDGETRON_ISA) = {
    .name = BUDGETRON_STRING(BUDGETRON_ISA),
    .dot_product_single = reduction<DotProduct, float>,
    .dot_product_double = reduction<DotProduct, double>,
    .l1_distance_single = reduction<L1Distance, float>,
    .l1_distance_double = reduction<L1Distance, double>,
    .scattered_single = scattered<float>,
    .scattered_double = scattered<double>,
    .gaussian = gaussian,
    .gaussian_single = gaussian_single,
    .laplacian = laplacian,
    .laplacian_single = laplacian_single,
    .exponential = exponential_row,
    .sum_of_exponentials = sum_of_exponentials,
    .softmax_terms = softmax_terms,
    .exponential_single = exponential_singles,
    .sine_cosine = sine_cosine_row,
    .sine_cosine_single = sine_cosine_singles,
    .hadamard = hadamard,
    .transpose = transpose_rows<double>,
    .transpose_single = transpose_rows<float>,
    .dot = dot,
    .add_and_multiply = add_and_multiply,
    .add = add,
    .add_single = add_single,
    .add_squares = add_squares,
    .scale = scale,
    .geometric_means = geometric_means,
    .chances = chances,
    .scale_within = scale_within,
    .rescale = rescale,
    .swap_costs = swap_costs,
    .least = least,
    .place_of_least = place_of_least,
    .distances = distances,
    .leave = leave,
    .near = near,
    .affected = affected,
    .tile_distances = tile_distances,
    .add_margins = add_margins,
    .pair_costs = pair_costs,
    .partner_distances = partner_distances,
    .merge_costs = merge_costs,
    .multiply = multiply,
    .project_costs = project_costs,
    .add_scaled_squares = add_scaled_squares,
    .multiply_rows = multiply_rows,
    .project_rows = project_rows,
    .add_rows = add_rows,
    .add_to_rows = add_to_rows,
    .solve_lower = solve_lower,
    .solve_upper = solve_upper,
    .solve_lower_together = solve_lower_together,
    .solve_upper_together = solve_upper_together,
    .symmetric_multiply = symmetric_multiply,
    .symmetric_update_multiply = symmetric_update_multiply,
    .add_pending = add_pending,
    .observe = observe,
    .upper_multiply = upper_multiply,
    .upper_update = upper_update,
    .upper_multiply_update = upper_multiply_update,
    .fern_codes = fern_codes,
    .count_up_to = count_up_to,
    .extents = extents,
    .sum_cells = sum_cells,
    .move_cells = move_cells,
    .uses_of_cells = uses_of_cells,
    .means = means,
    .logits = logits,
};

}  // namespace budgetron
