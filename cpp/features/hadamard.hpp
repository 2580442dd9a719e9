// Fourier features with structured frequencies (Le, Sarlos & Smola 2013, "Fastfood"): blocks S H G P H B / sqrt(d) with
// diagonal S, G, B, a permutation P and the Walsh-Hadamard transform H; d is a power of 2. Every row of a block is
// exactly normally distributed. D frequencies cost O(D log d) time and 4 D numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "features/feature_map.hpp"
#include "simd/loops.hpp"
#include "state/lazy.hpp"

namespace budgetron {

class HadamardFourier final : public FeatureMap {
 public:
  // Signs, permutation, normals and scales of all blocks, concatenated.
  struct Blocks {
    std::vector<double> B;
    std::vector<Counter> P;
    std::vector<double> G, S;
  };

  // `width` is the d of the blocks, which are computed on first use.
  HadamardFourier(std::size_t components, std::size_t width, std::function<Blocks()> make)
      : D_(components), d_(width), blocks_(std::move(make)) {}

  std::size_t size() const override { return 2 * D_; }
  double squared_norm(const Row&, Vector) const override { return 1; }

  void begin() override { blocks_.get(); }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    const Blocks& blocks = blocks_.get();
    std::vector<double> x(d_), v(d_),
        angles(blocks.S.size() + lanes);  // padded, because sine_cosine works on whole lanes
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::fill(x.begin(), x.end(), 0.0);
      std::visit([&](const auto& row) { row.each([&](std::size_t j, auto value) { x[j] = value; }); }, rows[i]);
      for (std::size_t at = 0; at < D_; at += d_) block(blocks, at, x, v, angles);
      const auto z = Z.subspan(i * size(), size());
      loops->sine_cosine(angles.data(), 1 / std::sqrt(static_cast<double>(D_)), D_, z.data(), z.data() + D_);
    }
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    if (const Blocks* b = blocks_.peek()) io.scratch(bytes_of(b->B) + bytes_of(b->G) + bytes_of(b->S) + bytes_of(b->P));
  }

 private:
  void block(const Blocks& blocks, std::size_t at, Vector x, std::vector<double>& v, std::span<double> angles) const {
    for (std::size_t j = 0; j < d_; ++j) v[j] = blocks.B[at + j] * x[j];
    loops->hadamard(v.data(), d_);
    const auto out = angles.subspan(at, d_);
    for (std::size_t j = 0; j < d_; ++j) out[j] = blocks.G[at + j] * v[blocks.P[at + j]];
    loops->hadamard(out.data(), d_);
    for (std::size_t j = 0; j < d_; ++j) out[j] *= blocks.S[at + j];
  }

  std::size_t D_, d_;
  Lazy<Blocks> blocks_;
};

}  // namespace budgetron
