// Sums over the lanes of registers.
#pragma once

#include <cstddef>

#include "simd/registers.hpp"

namespace budgetron {
namespace {

// out_a += the sum of acc_a, for eight registers, by a tree.
BUDGETRON_INLINE void add_sums(Doubles* acc, double* out) {
#if defined(__AVX512F__)
  for (std::size_t a = 0; a < 8; a += 2)
    acc[a] = __builtin_shufflevector(acc[a], acc[a + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
             __builtin_shufflevector(acc[a], acc[a + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  for (std::size_t a = 0; a < 8; a += 4)
    acc[a] = __builtin_shufflevector(acc[a], acc[a + 2], 0, 1, 8, 9, 4, 5, 12, 13) +
             __builtin_shufflevector(acc[a], acc[a + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  store(out, load(out) + (__builtin_shufflevector(acc[0], acc[4], 0, 1, 2, 3, 8, 9, 10, 11) +
                          __builtin_shufflevector(acc[0], acc[4], 4, 5, 6, 7, 12, 13, 14, 15)));
#elif defined(__AVX__)
  for (std::size_t a = 0; a < 8; a += 2)
    acc[a] = __builtin_shufflevector(acc[a], acc[a + 1], 0, 4, 2, 6) +
             __builtin_shufflevector(acc[a], acc[a + 1], 1, 5, 3, 7);
  for (std::size_t a = 0; a < 8; a += 4)
    store(out + a, load(out + a) + (__builtin_shufflevector(acc[a], acc[a + 2], 0, 1, 4, 5) +
                                    __builtin_shufflevector(acc[a], acc[a + 2], 2, 3, 6, 7)));
#else
  for (std::size_t a = 0; a < 8; ++a) out[a] += acc[a][0] + acc[a][1];
#endif
}

}  // namespace
}  // namespace budgetron
