// Entries of a table of cells: n floats each, which are summed and moved as doubles. Sums run over the entries in their
// order, and nothing is fused: equal bits on all instruction sets.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd/loops.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

// Calls use(k, count) for each register of n numbers, the last one with as many as there are; without masks, one(k) for
// each number that is left.
template <class Use, class One>
BUDGETRON_INLINE void each_in_entry(std::size_t n, Use use, One one) {
  std::size_t k = 0;
  for (; k + width <= n; k += width) use(k, width);
  if constexpr (has_masks) {
    if (k < n) use(k, n - k);
  } else {
    for (; k < n; ++k) one(k);
  }
}

// sums_k += number k of several entries, in their order
template <std::size_t together>
BUDGETRON_INLINE void add_entries(const float* table, const std::size_t* entries, std::size_t n, double* sums) {
  each_in_entry(
      n,
      [&](std::size_t k, std::size_t some) {
        Doubles sum = load(sums + k);
        for (std::size_t i = 0; i < together; ++i) sum += load_doubles(table + entries[i] + k, some);
        store(sums + k, sum);
      },
      [&](std::size_t k) {
        for (std::size_t i = 0; i < together; ++i) sums[k] += static_cast<double>(table[entries[i] + k]);
      });
}

// sums_k = the sum of number k of all entries
void sum_cells(const float* table, const std::size_t* entries, std::size_t count, std::size_t n, double* sums) {
  if (n == 2) {  // two sums that need not wait for each other
    double first = 0, second = 0;
    for (std::size_t i = 0; i < count; ++i) {
      first += static_cast<double>(table[entries[i]]);
      second += static_cast<double>(table[entries[i] + 1]);
    }
    sums[0] = first;
    sums[1] = second;
    return;
  }
  if (n > 4 * lanes) {  // an entry is many cache lines: a few entries are read at once, each in one piece
    constexpr std::size_t together = 8;
    std::fill_n(sums, whole_lanes<double>(n), 0.0);
    std::size_t i = 0;
    for (; i + together <= count; i += together) add_entries<together>(table, entries + i, n, sums);
    for (; i < count; ++i) add_entries<1>(table, entries + i, n, sums);
    return;
  }
  each_in_entry(
      n,
      [&](std::size_t k, std::size_t some) {
        Doubles sum{};
        for (std::size_t i = 0; i < count; ++i) sum += load_doubles(table + entries[i] + k, some);
        store(sums + k, sum);
      },
      [&](std::size_t k) {
        sums[k] = 0;
        for (std::size_t i = 0; i < count; ++i) sums[k] += static_cast<double>(table[entries[i] + k]);
      });
}

// A step of a filter whose features are z in each entry: with g = P z and P number n of an entry, number k moves by
// steps_k g within +-most, for k < n, and P becomes P - q g g + drift within 0 .. prior.
void move_cells(float* table, const std::size_t* entries, std::size_t count, std::size_t n, const double* steps,
                double z, double q, double drift, double prior, double most) {
  for (std::size_t i = 0; i < count; ++i) {
    float* const entry = table + entries[i];
    const double P = static_cast<double>(entry[n]), g = P * z;
    const auto move_one = [&](std::size_t k) {
      const double moved = static_cast<double>(entry[k]) + steps[k] * g, above = moved < -most ? -most : moved;
      entry[k] = static_cast<float>(above > most ? most : above);
    };
    if (n == 1)
      move_one(0);
    else
      each_in_entry(
          n,
          [&](std::size_t k, std::size_t some) {
            const Doubles moved = load_doubles(entry + k, some) + load(steps + k) * all(g);
            store_singles(entry + k, some, at_most(most, at_least(-most, moved)));
          },
          move_one);
    const double left = P - q * g * g + drift;
    entry[n] = static_cast<float>(left < 0 ? 0 : prior < left ? prior : left);
  }
}

// uses_of_cells for several entries, whose sums need not wait for each other.
template <std::size_t together>
BUDGETRON_INLINE void some_uses(const float* table, const std::size_t* entries, std::size_t n, double factor,
                                const double* r, double h, double* uses) {
  double sums[together] = {};
  each_in_entry(
      n,
      [&](std::size_t k, std::size_t some) {
        double terms[together][width];
        for (std::size_t i = 0; i < together; ++i) {
          const Doubles m = all(factor) * load_doubles(table + entries[i] + k, some);
          store(terms[i], m * load(r + k) + all(h) * m * m);
        }
        for (std::size_t a = 0; a < some; ++a)
          for (std::size_t i = 0; i < together; ++i) sums[i] += terms[i][a];
      },
      [&](std::size_t k) {
        for (std::size_t i = 0; i < together; ++i) {
          const double m = factor * static_cast<double>(table[entries[i] + k]);
          sums[i] += m * r[k] + h * m * m;
        }
      });
  std::copy_n(sums, together, uses);
}

// use = sum_k m_k r_k + h m_k^2 of every entry, m_k = factor times its number k < n, in the order of k
void uses_of_cells(const float* table, const std::size_t* entries, std::size_t count, std::size_t n, double factor,
                   const double* r, double h, double* uses) {
  constexpr std::size_t together = 8;
  std::size_t i = 0;
  for (; i + together <= count; i += together) some_uses<together>(table, entries + i, n, factor, r, h, uses + i);
  for (; i < count; ++i) some_uses<1>(table, entries + i, n, factor, r, h, uses + i);
}

}  // namespace
}  // namespace budgetron
