// Philox4x64-10 (Salmon et al., SC 2011). The n-th number is a function of (seed, n), so the whole state is two
// integers, and a seed gives the same numbers on every machine. The stream equals numpy.random.Philox(key=seed +
// (stream << 64)).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/wide_product.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Random {
 public:
  // Different streams of one seed are as independent as different seeds.
  explicit Random(Counter seed, Counter stream = 0) : seed_(seed), stream_(stream) {}

  // Uniform on [0, 1), 53 bits.
  double uniform() { return on_unit_interval(word(drawn_++)); }

  // The next numbers of `uniform`. One by one, each would take as long as four here.
  void uniforms(std::span<double> out) {
    std::size_t i = 0;
    while (i < out.size() && drawn_ % 4 != 0) out[i++] = uniform();
    for (; i + 4 <= out.size(); i += 4, drawn_ += 4) {
      const Block words = block(drawn_ / 4 + 1);
      for (std::size_t k = 0; k < 4; ++k) out[i + k] = on_unit_interval(words[k]);
    }
    while (i < out.size()) out[i++] = uniform();
  }

  // The n-th number of the stream, from 0; nothing is drawn.
  double uniform_at(Counter n) const { return on_unit_interval(word(n)); }

  // Uniform on {0 .. n-1}.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

  void fields(Fields& io) {
    io.field("random.seed", seed_);
    io.field("random.drawn", drawn_);
  }

 private:
  using Block = std::array<Counter, 4>;

  static double on_unit_interval(Counter word) { return static_cast<double>(word >> 11) * 0x1p-53; }
  Counter word(Counter n) const { return block(n / 4 + 1)[n % 4]; }

  Block block(Counter counter) const {
    Block c{counter, 0, 0, 0};
    Counter k0 = seed_, k1 = stream_;
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B97F4A7C15u, k1 += 0xBB67AE8584CAA73Bu) {
      const auto [high0, low0] = wide_product(0xD2E7470EE14C6C93u, c[0]);
      const auto [high1, low1] = wide_product(0xCA5A826395121157u, c[2]);
      c = {high1 ^ c[1] ^ k0, low1, high0 ^ c[3] ^ k1, low0};
    }
    return c;
  }

  Counter seed_;
  Counter stream_;
  Counter drawn_ = 0;
};

}  // namespace budgetron
