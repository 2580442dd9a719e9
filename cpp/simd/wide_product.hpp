// The product of two 64-bit numbers in 128 bits. Always inlined, because this header is compiled for several
// instruction sets: the linker must not choose between copies.
#pragma once

#include <cstdint>

namespace budgetron {

struct WideProduct {
  std::uint64_t high, low;
  constexpr bool operator==(const WideProduct&) const = default;
};

// The product in four parts, for processors of 32 bits and compilers without a type of 128 bits.
[[gnu::always_inline]] constexpr WideProduct wide_product_in_parts(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t half = 0xffffffffu;
  const std::uint64_t low = (a & half) * (b & half);
  const std::uint64_t mixed = (a >> 32) * (b & half) + (low >> 32);  // at most (2^32 - 1) 2^32, so no overflow
  const std::uint64_t other = (a & half) * (b >> 32) + (mixed & half);
  return {(a >> 32) * (b >> 32) + (mixed >> 32) + (other >> 32), other << 32 | (low & half)};
}

[[gnu::always_inline]] constexpr WideProduct wide_product(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const Wide p = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(p >> 64), static_cast<std::uint64_t>(p)};
#else
  return wide_product_in_parts(a, b);
#endif
}

// Carries out of every part, and into every part.
constexpr std::uint64_t all_ones = ~std::uint64_t{0};
static_assert(wide_product_in_parts(all_ones, all_ones) == WideProduct{all_ones - 1, 1});
static_assert(wide_product_in_parts(0xD2E7470EE14C6C93u, 0xBB67AE8584CAA73Bu) ==
              WideProduct{0x9A645BBCA769B5D3u, 0x4736960F3F6EEAE1u});
static_assert(wide_product_in_parts(0xffffffff00000000u, 0x00000000ffffffffu) ==
              WideProduct{0xfffffffe, 0x0000000100000000u});
static_assert(wide_product_in_parts(0x00000000ffffffffu, 0xffffffff00000001u) ==
              WideProduct{0xfffffffe, 0x00000001ffffffffu});

}  // namespace budgetron
