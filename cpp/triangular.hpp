// Solving with a lower triangle L whose rows lie one after the other, row i with i + 1 numbers. Eight unknowns are
// solved for at a time, so that few steps wait for each other; what they mean for the others is a pass over registers.
#pragma once

#include <cstddef>

#include "registers.hpp"

namespace budgetron {
namespace {

constexpr std::size_t at_once = 8;

BUDGETRON_INLINE const double* triangle_row(const double* L, std::size_t i) { return L + i * (i + 1) / 2; }

// r_a = b_a - <row a, v>, over the first `columns` of count rows
template <std::size_t count>
BUDGETRON_INLINE void subtract_products(const double* const* rows, const double* v, std::size_t columns, double* r) {
  Doubles sums[count] = {};
  for (std::size_t j = 0; j < columns; j += width)
    for (std::size_t a = 0; a < count; ++a) sums[a] = fused(load(rows[a] + j), load(v + j), sums[a]);
  for (std::size_t a = 0; a < count; ++a) {
    double lane[width];
    store(lane, sums[a]);
    for (std::size_t step = width / 2; step > 0; step /= 2)
      for (std::size_t i = 0; i < step; ++i) lane[i] += lane[i + step];
    r[a] -= lane[0];
  }
}

// v = L^-1 k
void solve_lower(const double* L, const double* k, std::size_t n, double* v) {
  for (std::size_t i = 0; i < n; i += at_once) {
    const std::size_t count = n - i < at_once ? n - i : at_once;
    const double* rows[at_once];
    double r[at_once] = {}, inverse[at_once] = {};
    for (std::size_t a = 0; a < at_once; ++a) rows[a] = triangle_row(L, i + (a < count ? a : 0));
    for (std::size_t a = 0; a < count; ++a) r[a] = k[i + a], inverse[a] = 1 / rows[a][i + a];
    subtract_products<at_once>(rows, v, i, r);
    for (std::size_t a = 0; a < count; ++a) {
      r[a] *= inverse[a];
      for (std::size_t b = a + 1; b < count; ++b) r[b] = fused(-r[a], rows[b][i + a], r[b]);
    }
    for (std::size_t a = 0; a < count; ++a) v[i + a] = r[a];
  }
}

// d <- L'^-1 d
void solve_upper(const double* L, std::size_t n, double* d) {
  for (std::size_t end = n; end > 0;) {
    const std::size_t i = (end - 1) / at_once * at_once, count = end - i;
    const double* rows[at_once];
    double r[at_once] = {}, inverse[at_once] = {};
    for (std::size_t a = 0; a < at_once; ++a) rows[a] = triangle_row(L, i + (a < count ? a : 0));
    for (std::size_t a = 0; a < count; ++a) r[a] = d[i + a], inverse[a] = 1 / rows[a][i + a];
    for (std::size_t a = count; a-- > 0;) {
      r[a] *= inverse[a];
      for (std::size_t b = 0; b < a; ++b) r[b] = fused(-r[a], rows[a][i + b], r[b]);
    }
    for (std::size_t j = 0; j < i; j += width) {
      Doubles sum = load(d + j);
      for (std::size_t a = 0; a < at_once; ++a) sum = fused(all(-r[a]), load(rows[a] + j), sum);
      store(d + j, sum);
    }
    for (std::size_t a = 0; a < count; ++a) d[i + a] = r[a];
    end = i;
  }
}

}  // namespace
}  // namespace budgetron
