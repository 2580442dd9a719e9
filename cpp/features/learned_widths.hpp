// Reparameterised random features (Nguyen et al. 2017): Fourier features whose width is learned, one for each column.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "features/feature_map.hpp"
#include "features/frequencies.hpp"
#include "simd/aligned.hpp"
#include "simd/loops.hpp"

namespace budgetron {

// z(x) = (sin(u_1'x) .. cos(u_D'x)) / sqrt(D) with u_ij = exp(g_j) e_ij, where e is drawn once. A step beta v z of the
// weights is followed by g_j += rate beta df/dg_j, for f = v'W z before the step:
//   df/dg_j = x_j exp(g_j) sum_i e_ij h_i,   h_i = w_i cos_i - w_(D+i) sin_i,   w = W'v
class LearnedWidths final : public FeatureMap {
 public:
  LearnedWidths(std::size_t features, std::shared_ptr<Frequencies> frequencies, double rate)
      : D_(frequencies->components()), rate_(rate), frequencies_(std::move(frequencies)), columns_(features) {}

  std::size_t size() const override { return 2 * D_; }
  double squared_norm(const Row&, Vector) const override { return 1; }
  bool learns() const override { return true; }

  void begin() override {
    logs_.assign(columns_, 0.0);
    draw();
  }
  void widen(std::size_t columns) override {
    columns_ = std::max(columns, columns_);
    if (!logs_.empty()) logs_.resize(columns_);
  }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      AlignedVector angles(stride());
      std::visit([&](const auto& row) { add_angles(row, angles); }, rows[i]);
      double* const z = Z.data() + i * size();
      loops->sine_cosine(angles.data(), 1 / std::sqrt(static_cast<double>(D_)), D_, z, z + D_);
    }
  }

  void follow(const Row& x, const Followed& step, std::size_t at) override {
    h_.assign(stride(), 0.0);
    each_output(step.v, [&](std::size_t c, double sign) {
      const double* const w = step.w[c].data() + at;
      for (std::size_t i = 0; i < D_; ++i)
        h_[i] += sign / step.divisor * (w[i] * step.z[D_ + i] - w[D_ + i] * step.z[i]);
    });
    changes_.clear();
    const auto slope = [&](std::size_t j, auto value) {
      const double x_j = static_cast<double>(value);
      if (x_j == 0) return;
      const double change = rate_ * step.beta * x_j * scale_of(j) * dot(Vector(h_).first(D_), column(j));
      if (std::isfinite(change)) changes_.push_back({j, change});
    };
    std::visit([&](const auto& row) { row.each(slope); }, x);
  }
  void after_step(std::vector<Change>&) override {
    for (const auto& [j, change] : changes_) logs_[j] = std::clamp(logs_[j] + change, -widest, widest);
    changes_.clear();
  }

  std::vector<double> frequencies(std::size_t columns) const override {
    std::vector<double> U;
    for (std::size_t j = 0; j < columns; ++j) {
      const Vector e = column(j);
      for (const double v : e) U.push_back(scale_of(j) * v);
    }
    return U;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + frequencies_->bytes() + drawn_bytes() + bytes_of(h_) + bytes_of(changes_));
    io.field("widths.logs", logs_);
    if (!io.restoring()) return;
    drawn_ = {};
    drawn_columns_ = 0;
  }
  bool is_consistent(std::size_t) const override {
    return logs_.size() == columns_ &&
           std::all_of(logs_.begin(), logs_.end(), [](double g) { return std::fabs(g) <= widest; });
  }

 private:
  static constexpr double widest = 30;  // of |g_j|

  std::size_t stride() const { return whole_lanes<double>(D_); }
  double scale_of(std::size_t j) const { return std::exp(logs_[j]); }
  Vector column(std::size_t j) const {
    if (drawn_columns_.load(std::memory_order_acquire) < columns_) draw();
    return Vector(drawn_).subspan(j * stride(), D_);
  }

  // The e of all columns that are new. A restored map draws at its first row: a forged file may say any number of
  // components, and has no arrays of that size. If several threads do so at once, the first result is kept.
  void draw() const {
    const std::size_t before = drawn_columns_;
    AlignedVector more((columns_ - before) * stride());
    for (std::size_t j = before; j < columns_; ++j)
      frequencies_->column(j, std::span(more).subspan((j - before) * stride(), D_));
    const std::lock_guard lock(guard_);
    if (drawn_columns_ != before) return;
    if (before == 0)
      drawn_ = std::move(more);
    else
      drawn_.insert(drawn_.end(), more.begin(), more.end());
    drawn_columns_.store(columns_, std::memory_order_release);
  }

  // Another thread may be drawing.
  Bytes drawn_bytes() const {
    const std::lock_guard lock(guard_);
    return bytes_of(drawn_);
  }

  template <class OneRow>
  void add_angles(const OneRow& row, std::span<double> angles) const {
    row.each([&](std::size_t j, auto value) {
      if (value != 0) add(static_cast<double>(value) * scale_of(j), column(j), angles);
    });
  }

  std::size_t D_;
  double rate_;
  std::shared_ptr<Frequencies> frequencies_;
  std::size_t columns_;
  std::vector<double> logs_;     // g, 0 at the start
  mutable AlignedVector drawn_;  // e, columns x stride()
  mutable std::atomic<std::size_t> drawn_columns_ = 0;
  mutable std::mutex guard_;
  struct OfColumn {
    std::size_t column;
    double change;
  };
  std::vector<OfColumn> changes_;  // of g, at the end of the step
  std::vector<double> h_;
};

}  // namespace budgetron
