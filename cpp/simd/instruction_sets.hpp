// Selects a table of loops that this processor can run.
#pragma once

#include <string_view>
#include <vector>

#include "simd/loops.hpp"
#include "simd/processor.hpp"

namespace budgetron {

extern const Loops loops_baseline;
#if defined(BUDGETRON_HAS_AVX2)
extern const Loops loops_avx2;
#endif
#if defined(BUDGETRON_HAS_AVX512)
extern const Loops loops_avx512;
#endif

// The tables that run on this processor, widest first.
inline std::vector<const Loops*> available_loops() {
  std::vector<const Loops*> found;
  [[maybe_unused]] const Processor has = processor();
#if defined(BUDGETRON_HAS_AVX512)
  if (has.avx512) found.push_back(&loops_avx512);
#endif
#if defined(BUDGETRON_HAS_AVX2)
  if (has.avx2) found.push_back(&loops_avx2);
#endif
  found.push_back(&loops_baseline);
  return found;
}

// Selects the table of that name, or the widest one if the name is empty. Returns false if this processor cannot run
// it.
inline bool choose_loops(std::string_view name) {
  for (const Loops* candidate : available_loops())
    if (name.empty() || name == candidate->name) {
      loops = candidate;
      return true;
    }
  return false;
}

}  // namespace budgetron
