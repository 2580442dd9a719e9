// Selects the rows of a stream that become the landmarks of a Nystrom map.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "linalg/eigen.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"
#include "state/random.hpp"

namespace budgetron {

class LandmarkSelection : public Part {
 public:
  // The slot for a row among `held` candidates (slot `held` appends it), or nothing if the row is not selected.
  virtual std::optional<std::size_t> place(std::size_t held, bool steps) = 0;
  // Whether a row in the span of the earlier ones may be selected.
  virtual bool takes_dependent() const { return false; }
  // Whether the selection is complete, asked before a round (`steps`: whether it makes a step) and after it.
  virtual bool over_before(std::size_t /*held*/, bool /*steps*/) const { return false; }
  virtual bool over_after(std::size_t /*held*/) const { return false; }
  // The indices of the candidates to keep; K is their Gram matrix.
  virtual std::vector<std::size_t> choose(const std::vector<double>& /*K*/, std::size_t held) {
    std::vector<std::size_t> all(held);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
};

// The first rows of the stream.
class FirstRows final : public LandmarkSelection {
 public:
  explicit FirstRows(std::size_t landmarks) : landmarks_(landmarks) {}
  std::optional<std::size_t> place(std::size_t held, bool) override {
    return held < landmarks_ ? std::optional(held) : std::nullopt;
  }
  bool over_after(std::size_t held) const override { return held == landmarks_; }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  std::size_t landmarks_;
};

// The first rows that make a step. The map is built at the next step after they are complete (NOGD, Lu et al. 2016,
// Algorithm 2).
class FirstSteps final : public LandmarkSelection {
 public:
  explicit FirstSteps(std::size_t landmarks) : landmarks_(landmarks) {}
  std::optional<std::size_t> place(std::size_t held, bool steps) override {
    return steps && held < landmarks_ ? std::optional(held) : std::nullopt;
  }
  bool takes_dependent() const override { return true; }
  bool over_before(std::size_t held, bool steps) const override { return steps && held == landmarks_; }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  std::size_t landmarks_;
};

// A uniform sample of the rows of a window, by reservoir sampling (Vitter's algorithm R).
class Reservoir final : public LandmarkSelection {
 public:
  Reservoir(std::size_t landmarks, std::size_t window, Counter seed)
      : landmarks_(landmarks), window_(window), random_(seed) {}
  std::optional<std::size_t> place(std::size_t held, bool) override {
    ++seen_;
    if (held < landmarks_) return held;
    const std::size_t i = random_.below(static_cast<std::size_t>(seen_));
    return i < landmarks_ ? std::optional(i) : std::nullopt;
  }
  bool over_after(std::size_t) const override { return seen_ >= window_; }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.field("reservoir.seen", seen_);
    random_.fields(io);
  }

 private:
  std::size_t landmarks_, window_;
  Counter seen_ = 0;
  Random random_;
};

// A sample of the rows of a window, without replacement, weighted by ridge leverage scores l_i = (K (K + lam I)^-1)_ii.
// lam is the sum of the eigenvalues beyond the rank, divided by the rank (Alaoui & Mahoney 2015; Musco & Musco 2017).
class ByLeverage final : public LandmarkSelection {
 public:
  ByLeverage(std::size_t landmarks, std::size_t rank, std::size_t window, Counter seed)
      : landmarks_(landmarks), rank_(rank), window_(window), random_(seed) {}
  std::optional<std::size_t> place(std::size_t held, bool) override { return held; }
  bool over_after(std::size_t held) const override { return held >= window_; }

  std::vector<std::size_t> choose(const std::vector<double>& K, std::size_t held) override {
    std::vector<std::size_t> chosen = LandmarkSelection::choose(K, held);
    if (held <= landmarks_) return chosen;
    const std::vector<double> l = leverage(K, held);
    std::vector<double> keys(held);  // weighted sampling keeps the largest log(u) / l (Efraimidis & Spirakis 2006)
    for (std::size_t i = 0; i < held; ++i) keys[i] = std::log(random_.uniform() + 0x1p-54) / std::max(l[i], 1e-300);
    std::sort(chosen.begin(), chosen.end(), [&](auto a, auto b) {
      return keys[a] > keys[b] || (!(keys[b] > keys[a]) && a < b);  // the lower index on ties, and if all keys are NaN
    });
    chosen.resize(landmarks_);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    random_.fields(io);
  }

 private:
  std::vector<double> leverage(std::vector<double> V, std::size_t n) const {
    std::vector<double> D(n), l(n, 1.0);
    if (!symmetric_eigen(V, D)) return l;  // equal scores
    const std::size_t tail = n - std::min(rank_, n - 1);
    const double lam = std::max(std::accumulate(D.begin(), D.begin() + static_cast<std::ptrdiff_t>(tail), 0.0), 0.0) /
                           static_cast<double>(rank_) +
                       1e-12 * D.back();
    std::fill(l.begin(), l.end(), 0.0);
    for (std::size_t r = 0; r < n; ++r) {
      const double share = std::max(D[r], 0.0) / (std::max(D[r], 0.0) + lam);
      for (std::size_t i = 0; i < n; ++i) l[i] += share * V[r * n + i] * V[r * n + i];
    }
    return l;
  }

  std::size_t landmarks_, rank_, window_;
  Random random_;
};

}  // namespace budgetron
