// Which x86 instruction sets the processor has and the operating system keeps across a switch of tasks.
// __builtin_cpu_supports would do, but with clang-cl it needs a library that is not linked by default.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace budgetron {

struct Processor {
  bool avx2 = false;    // and fused multiply-add
  bool avx512 = false;  // F, DQ and VL
};

inline Processor processor() {
#if defined(__x86_64__)
  const auto bit = [](unsigned word, int i) { return (word >> i & 1) != 0; };
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return {};
  const bool fma = bit(ecx, 12), xsave = bit(ecx, 27);
  if (!fma || !xsave || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return {};
  unsigned kept, kept_high;  // the registers that the operating system saves
  asm("xgetbv" : "=a"(kept), "=d"(kept_high) : "c"(0));
  const bool ymm = bit(kept, 1) && bit(kept, 2);
#if defined(__APPLE__)
  const bool zmm = ymm;  // macOS sets the bits when a program first uses them
#else
  const bool zmm = ymm && bit(kept, 5) && bit(kept, 6) && bit(kept, 7);
#endif
  return {ymm && bit(ebx, 5), zmm && bit(ebx, 16) && bit(ebx, 17) && bit(ebx, 31)};
#else
  return {};
#endif
}

}  // namespace budgetron
