// Fourier features with structured frequencies (Le, Sarlos & Smola 2013, "Fastfood"): blocks S H G P H B / sqrt(d) with
// diagonal S, G, B, a permutation P and the Walsh-Hadamard transform H; d is a power of 2. Every row of a block is
// exactly normally distributed. D frequencies cost O(D log d) time and 4 D numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
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

  // `width` is the d of the blocks, which are computed on first use. If the map is widened beyond d columns, the next d
  // columns have blocks of their own, then the next 2 d, 4 d and so on. The angles of all are added up.
  HadamardFourier(std::size_t components, std::size_t width, std::function<Blocks(std::size_t)> make)
      : D_(components), d_(width), make_(std::move(make)) {
    HadamardFourier::widen(width);
  }
  HadamardFourier(const HadamardFourier&) = delete;

  // The width of the blocks number k.
  static std::size_t width(std::size_t d, std::size_t k) { return k == 0 ? d : d << (k - 1); }

  std::size_t size() const override { return 2 * D_; }
  double squared_norm(const Row&, Vector) const override { return 1; }

  void begin() override { blocks_.front().get(); }
  void widen(std::size_t columns) override {
    while (first(blocks_.size()) < columns) blocks_.emplace_back([this, k = blocks_.size()] { return make_(k); });
  }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    Memory memory = working_memory();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::fill(memory.x.begin(), memory.x.end(), 0.0);
      std::visit([&](const auto& row) { row.each([&](std::size_t j, auto value) { memory.x[j] = value; }); }, rows[i]);
      find_angles(memory);
      const auto z = Z.subspan(i * size(), size());
      loops->sine_cosine(memory.angles.data(), 1 / std::sqrt(static_cast<double>(D_)), D_, z.data(), z.data() + D_);
    }
  }

  // The angles of the rows of the unit matrix.
  std::vector<double> frequencies(std::size_t columns) const override {
    std::vector<double> U;
    Memory memory = working_memory();
    for (std::size_t j = 0; j < columns; ++j) {
      std::fill(memory.x.begin(), memory.x.end(), 0.0);
      memory.x[j] = 1;
      find_angles(memory);
      U.insert(U.end(), memory.angles.begin(), memory.angles.begin() + static_cast<std::ptrdiff_t>(D_));
    }
    return U;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    for (const auto& blocks : blocks_) {
      io.scratch(sizeof blocks);
      if (const Blocks* b = blocks.peek())
        io.scratch(bytes_of(b->B) + bytes_of(b->G) + bytes_of(b->S) + bytes_of(b->P));
    }
  }

 private:
  struct Memory {
    std::vector<double> x, v, more, angles;
  };

  Memory working_memory() const {
    const std::size_t last = width(d_, blocks_.size() - 1);
    const std::size_t n = D_ + last + lanes;  // padded, because sine_cosine works on whole lanes
    return {std::vector<double>(first(blocks_.size())), std::vector<double>(last), std::vector<double>(n),
            std::vector<double>(n)};
  }

  // The angles u_i'x of the row x.
  void find_angles(Memory& memory) const {
    project(blocks_.front().get(), Vector(memory.x).first(d_), memory.v, memory.angles);
    for (std::size_t k = 1; k < blocks_.size(); ++k) {
      const Vector own = Vector(memory.x).subspan(first(k), width(d_, k));
      if (std::all_of(own.begin(), own.end(), [](double value) { return value == 0; })) continue;
      project(blocks_[k].get(), own, memory.v, memory.more);
      add(1, Vector(memory.more).first(D_), memory.angles);
    }
  }

  // The first column that the blocks number k are for.
  std::size_t first(std::size_t k) const { return k == 0 ? 0 : width(d_, k); }

  void project(const Blocks& blocks, Vector x, std::vector<double>& v, std::span<double> angles) const {
    for (std::size_t at = 0; at < D_; at += x.size()) block(blocks, at, x, v, angles);
  }
  void block(const Blocks& blocks, std::size_t at, Vector x, std::vector<double>& v, std::span<double> angles) const {
    const std::size_t d = x.size();
    for (std::size_t j = 0; j < d; ++j) v[j] = blocks.B[at + j] * x[j];
    loops->hadamard(v.data(), d);
    const auto out = angles.subspan(at, d);
    for (std::size_t j = 0; j < d; ++j) out[j] = blocks.G[at + j] * v[blocks.P[at + j]];
    loops->hadamard(out.data(), d);
    for (std::size_t j = 0; j < d; ++j) out[j] *= blocks.S[at + j];
  }

  std::size_t D_, d_;
  std::function<Blocks(std::size_t)> make_;
  std::deque<Lazy<Blocks>> blocks_;
};

}  // namespace budgetron
