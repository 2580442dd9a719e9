// Fourier features with structured frequencies (Le, Sarlos & Smola 2013, "Fastfood"): blocks S H G P H B / sqrt(d) of
// diagonals S, G, B, a permutation P and the Walsh-Hadamard transform H, d a power of 2. Every row of a block has
// exactly the normal law; D frequencies cost O(D log d) and 4 D numbers.
#pragma once

#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "feature_map.hpp"
#include "loops.hpp"

namespace budgetron {

class HadamardFourier final : public FeatureMap {
 public:
  // Signs, permutation, normals and scales of all blocks, one block after the other; width is the d of the blocks.
  HadamardFourier(std::size_t components, std::size_t width, std::vector<double> B, std::vector<Counter> P,
                  std::vector<double> G, std::vector<double> S)
      : D_(components), d_(width), B_(std::move(B)), G_(std::move(G)), S_(std::move(S)), P_(std::move(P)) {
    assert(B_.size() == G_.size() && B_.size() == S_.size() && B_.size() == P_.size() && B_.size() % d_ == 0);
  }

  std::size_t size() const override { return 2 * D_; }
  double squared_norm(const Row&, Vector) const override { return 1; }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    std::vector<double> x(d_), v(d_), angles(S_.size() + lanes);  // the sines are made in whole lanes
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::fill(x.begin(), x.end(), 0.0);
      std::visit([&](const auto& row) { row.each([&](std::size_t j, auto value) { x[j] = value; }); }, rows[i]);
      for (std::size_t at = 0; at < D_; at += d_) block(at, x, v, angles);
      const auto z = Z.subspan(i * size(), size());
      loops->sine_cosine(angles.data(), 1 / std::sqrt(static_cast<double>(D_)), D_, z.data(), z.data() + D_);
    }
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(B_) + bytes_of(G_) + bytes_of(S_) + bytes_of(P_));
  }

 private:
  void block(std::size_t at, Vector x, std::vector<double>& v, std::span<double> angles) const {
    for (std::size_t j = 0; j < d_; ++j) v[j] = B_[at + j] * x[j];
    loops->hadamard(v.data(), d_);
    const auto out = angles.subspan(at, d_);
    for (std::size_t j = 0; j < d_; ++j) out[j] = G_[at + j] * v[P_[at + j]];
    loops->hadamard(out.data(), d_);
    for (std::size_t j = 0; j < d_; ++j) out[j] *= S_[at + j];
  }

  std::size_t D_, d_;
  std::vector<double> B_, G_, S_;
  std::vector<Counter> P_;
};

}  // namespace budgetron
