// The cells of ferns: for every member the answers of its tests "column > threshold", as a binary number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/registers.hpp"

namespace budgetron {
namespace {

// Test j of member f looks at columns[j * members + f]. The number of members is a multiple of the lane count.
void fern_codes(const double* x, const std::int32_t* columns, const double* thresholds, std::size_t members,
                std::size_t depth, std::uint64_t* codes) {
  for (std::size_t first = 0; first < members; first += lanes) {
    std::uint64_t code[lanes] = {};
    for (std::size_t j = 0; j < depth; ++j) {
      const std::int32_t* const c = columns + j * members + first;
      const double* const t = thresholds + j * members + first;
      for (std::size_t f = 0; f < lanes; ++f) code[f] = 2 * code[f] + (x[c[f]] > t[f] ? 1 : 0);
    }
    for (std::size_t f = 0; f < lanes; ++f) codes[first + f] = code[f];
  }
}

}  // namespace
}  // namespace budgetron
