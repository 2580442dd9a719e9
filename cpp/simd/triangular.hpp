// Solves with a lower triangle L that is stored row after row, row i with i + 1 numbers. Eight unknowns are solved at a
// time to shorten the dependency chain; their effect on the other unknowns is one vectorised pass. Four right-hand
// sides are solved together in one pass over L, each with the same operations as alone, so with the same bits.
#pragma once

#include <cstddef>

#include "simd/coefficients.hpp"
#include "simd/loops.hpp"
#include "simd/registers.hpp"
#include "simd/transposing.hpp"

namespace budgetron {
namespace {

constexpr std::size_t at_once = 8;

BUDGETRON_INLINE const double* triangle_row(const double* L, std::size_t i) { return L + i * (i + 1) / 2; }

// r_a -= <row a, v> over the first `columns` numbers
BUDGETRON_INLINE void subtract_products(const double* const* rows, const double* v, std::size_t columns, double* r) {
  Doubles sums[at_once] = {};
  for (std::size_t j = 0; j < columns; j += width)
    for (std::size_t a = 0; a < at_once; ++a) sums[a] = fused(load(rows[a] + j), load(v + j), sums[a]);
  double products[at_once];
  sums_of_eight(sums, products);
  for (std::size_t a = 0; a < at_once; ++a) r[a] -= products[a];
}

// Solves the small triangle of unknowns i .. i + count. If count is eight, it is a compile-time constant.
BUDGETRON_INLINE void small_lower(const double* const* rows, std::size_t i, std::size_t count, const double* inverse,
                                  double* r) {
#pragma GCC unroll 8
  for (std::size_t a = 0; a < count; ++a) {
    r[a] *= inverse[i + a];
#pragma GCC unroll 8
    for (std::size_t b = a + 1; b < count; ++b) r[b] = fused(-r[a], rows[b][i + a], r[b]);
  }
}

BUDGETRON_INLINE void small_upper(const double* const* rows, std::size_t i, std::size_t count, const double* inverse,
                                  double* r) {
#pragma GCC unroll 8
  for (std::size_t a = count; a-- > 0;) {
    r[a] *= inverse[i + a];
#pragma GCC unroll 8
    for (std::size_t b = 0; b < a; ++b) r[b] = fused(-r[a], rows[a][i + b], r[b]);
  }
}

// Rows i .. i + count of L, padded to eight with copies of the first, and their right-hand sides, padded with zeros.
struct Eight {
  Eight(const double* L, const double* from, std::size_t i, std::size_t count) {
    for (std::size_t a = 0; a < at_once; ++a) rows[a] = triangle_row(L, i + (a < count ? a : 0));
    for (std::size_t a = 0; a < count; ++a) r[a] = from[i + a];
  }
  void put(double* to, std::size_t count) const {
    for (std::size_t a = 0; a < count; ++a) to[a] = r[a];
  }

  const double* rows[at_once];
  double r[at_once] = {};
};

// v = L^-1 k
void solve_lower(const double* L, const double* inverse, const double* k, std::size_t n, double* v) {
  std::size_t i = 0;
  for (; i + at_once <= n; i += at_once) {
    Eight x(L, k, i, at_once);
    subtract_products(x.rows, v, i, x.r);
    small_lower(x.rows, i, at_once, inverse, x.r);
    x.put(v + i, at_once);
  }
  if (i == n) return;
  Eight x(L, k, i, n - i);
  subtract_products(x.rows, v, i, x.r);
  small_lower(x.rows, i, n - i, inverse, x.r);
  x.put(v + i, n - i);
}

// d -= L' r, for the first i numbers and eight rows of L
BUDGETRON_INLINE void subtract_rows(const Eight& x, std::size_t i, double* d) {
  for (std::size_t j = 0; j < i; j += width) {
    Doubles sum = load(d + j);
    for (std::size_t a = 0; a < at_once; ++a) sum = fused(all(-x.r[a]), load(x.rows[a] + j), sum);
    store(d + j, sum);
  }
}

// d <- L'^-1 d
void solve_upper(const double* L, const double* inverse, std::size_t n, double* d) {
  std::size_t i = n / at_once * at_once;
  if (i < n) {
    Eight x(L, d, i, n - i);
    small_upper(x.rows, i, n - i, inverse, x.r);
    x.put(d + i, n - i);
    subtract_rows(x, i, d);
  }
  while (i > 0) {
    i -= at_once;
    Eight x(L, d, i, at_once);
    small_upper(x.rows, i, at_once, inverse, x.r);
    x.put(d + i, at_once);
    subtract_rows(x, i, d);
  }
}

// The same for four right-hand sides. The rows of L are those of x[0].
#if defined(__AVX512F__)
constexpr std::size_t rows_together = 4;  // times four sums must fit in the registers
#else
constexpr std::size_t rows_together = 2;
#endif

BUDGETRON_INLINE void subtract_products(Eight (&x)[solved_together], const SolvedTogether& v, std::size_t columns) {
  for (std::size_t from = 0; from < at_once; from += rows_together) {
    Doubles sums[rows_together][solved_together] = {};
    for (std::size_t j = 0; j < columns; j += width) {
      Doubles v_j[solved_together];
      for (std::size_t m = 0; m < solved_together; ++m) v_j[m] = load(v[m] + j);
      for (std::size_t a = 0; a < rows_together; ++a) {
        const Doubles row = load(x[0].rows[from + a] + j);
        for (std::size_t m = 0; m < solved_together; ++m) sums[a][m] = fused(row, v_j[m], sums[a][m]);
      }
    }
    for (std::size_t a = 0; a < rows_together; ++a)
      for (std::size_t m = 0; m < solved_together; ++m) x[m].r[from + a] -= sum_of(sums[a][m]);
  }
}

BUDGETRON_INLINE void lower_step(const double* L, const double* inverse, std::size_t i, std::size_t count,
                                 const SolvedTogether& v) {
  Eight x[solved_together] = {{L, v[0], i, count}, {L, v[1], i, count}, {L, v[2], i, count}, {L, v[3], i, count}};
  subtract_products(x, v, i);
  for (std::size_t m = 0; m < solved_together; ++m) {
    small_lower(x[m].rows, i, count, inverse, x[m].r);
    x[m].put(v[m] + i, count);
  }
}

void solve_lower_together(const double* L, const double* inverse, std::size_t n, const SolvedTogether& v) {
  std::size_t i = 0;
  for (; i + at_once <= n; i += at_once) lower_step(L, inverse, i, at_once, v);
  if (i < n) lower_step(L, inverse, i, n - i, v);
}

BUDGETRON_INLINE void subtract_rows(const Eight (&x)[solved_together], std::size_t i, const SolvedTogether& d) {
  for (std::size_t j = 0; j < i; j += width) {
    Doubles rows[at_once];
    for (std::size_t a = 0; a < at_once; ++a) rows[a] = load(x[0].rows[a] + j);
    for (std::size_t m = 0; m < solved_together; ++m) {
      Doubles sum = load(d[m] + j);
      for (std::size_t a = 0; a < at_once; ++a) sum = fused(all(-x[m].r[a]), rows[a], sum);
      store(d[m] + j, sum);
    }
  }
}

BUDGETRON_INLINE void upper_step(const double* L, const double* inverse, std::size_t i, std::size_t count,
                                 const SolvedTogether& d) {
  Eight x[solved_together] = {{L, d[0], i, count}, {L, d[1], i, count}, {L, d[2], i, count}, {L, d[3], i, count}};
  for (std::size_t m = 0; m < solved_together; ++m) {
    small_upper(x[m].rows, i, count, inverse, x[m].r);
    x[m].put(d[m] + i, count);
  }
  subtract_rows(x, i, d);
}

void solve_upper_together(const double* L, const double* inverse, std::size_t n, const SolvedTogether& d) {
  std::size_t i = n / at_once * at_once;
  if (i < n) upper_step(L, inverse, i, n - i, d);
  while (i > 0) upper_step(L, inverse, i -= at_once, at_once, d);
}

}  // namespace
}  // namespace budgetron
