// Squared distances of one row to a tile of rows, for nearest neighbours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "simd/loops.hpp"
#include "simd/registers.hpp"

namespace budgetron {
namespace {

constexpr std::size_t registers_at_once = 4;
constexpr std::size_t rows_at_once = registers_at_once * Lanes<float>::width;
static_assert(rows_in_tile % rows_at_once == 0);

// Rows of a tile that fit in the registers. Differences with NaN count as 0 if `missing`. Sums of squares never fall,
// so it stops when no row can come below the bound.
template <bool missing>
void distances_at_once(const float* tile, const float* x, std::size_t columns, float bound, float* out) {
  constexpr std::size_t lane_count = Lanes<float>::width;
  constexpr std::size_t between_looks = 8;  // columns
  const Singles most = all_singles(bound);
  Singles sums[registers_at_once] = {};
  for (std::size_t j = 0; j < columns;) {
    const std::size_t end = std::min(j + between_looks, columns);
    for (; j < end; ++j) {
      const Singles value = all_singles(x[j]);
      for (std::size_t r = 0; r < registers_at_once; ++r) {
        Singles difference = load_singles(tile + j * rows_in_tile + r * lane_count) - value;
        if constexpr (missing) difference = difference == difference ? difference : Singles{};
        sums[r] += difference * difference;
      }
    }
    Singles least = sums[0];
    for (std::size_t r = 1; r < registers_at_once; ++r) least = sums[r] < least ? sums[r] : least;
    if (!any(least < most)) break;
  }
  for (std::size_t r = 0; r < registers_at_once; ++r) store(out + r * lane_count, sums[r]);
}

std::uint64_t tile_distances(const float* tile, const float* x, std::size_t columns, float bound, bool missing,
                             float* out) {
  for (std::size_t row = 0; row < rows_in_tile; row += rows_at_once)
    (missing ? distances_at_once<true> : distances_at_once<false>)(tile + row, x, columns, bound, out + row);
  std::uint64_t below = 0;
  for (std::size_t row = 0; row < rows_in_tile; ++row) below |= std::uint64_t{out[row] < bound} << row;
  return below;
}

}  // namespace
}  // namespace budgetron
