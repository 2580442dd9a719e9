// The weights of explicit features: f_c(x) = w_c'z(x) / divisor for every output c.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "features/feature_map.hpp"
#include "model/average.hpp"
#include "model/tasks.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Weights {
 public:
  explicit Weights(std::size_t outputs) : w_(outputs) {}

  // Sets all weights to 0; no rounds yet.
  void begin(std::size_t features) {
    for (auto& row : w_) row.assign(features, 0.0);
    if (average_) average_->each([&](std::vector<double>& sums) { sums.assign(features, 0.0); });
  }

  std::size_t outputs() const { return w_.size(); }
  std::size_t size() const { return w_[0].size(); }
  std::span<double> operator[](std::size_t c) {
    forget_ahead();
    return w_[c];
  }
  const std::vector<std::vector<double>>& rows() const { return w_; }
  double divisor() const { return divisor_; }

  void scores(Vector z, std::span<double> f) {
    if (ahead_.empty()) {
      for (std::size_t c = 0; c < outputs(); ++c) f[c] = dot(w_[c], z, tail_) / divisor_;
    } else {
      std::ranges::copy(ahead_, f.begin());
      forget_ahead();
    }
  }

  void divide_by(double divisor) { divisor_ = divisor; }
  void shrink(double factor) {
    if (factor == 1) return;
    for (auto& row : w_) scale(factor, row);
  }
  // w_c += beta v_c z
  void step(double beta, const Direction& v, Vector z) {
    add(beta, z, w_[v.plus]);
    if (v.lifted()) add(-beta, z, w_[static_cast<std::size_t>(v.minus)]);
  }
  // w_c += steps_c g. If z is not empty, it is that of the next call of `scores`, which is answered at once, so that
  // the weights are read and written once for both.
  void step(Vector steps, Vector g, Vector z) {
    forget_ahead();
    if (z.empty() || tail_ > 0) {
      for (std::size_t c = 0; c < outputs(); ++c) add(steps[c], g, w_[c]);
      return;
    }
    rows_.clear();
    for (auto& row : w_) rows_.push_back(row.data());
    ahead_.resize(outputs());
    loops->add_and_multiply(steps.data(), g.data(), rows_.data(), outputs(), size(), z.data(), ahead_.data());
    for (double& f : ahead_) f /= divisor_;
  }
  // Projects f onto the ball |f| <= radius.
  void pull_into_ball(double radius) {
    if (!std::isfinite(radius)) return;
    double norm2 = 0;
    for (const auto& row : w_) norm2 += dot(row, row);
    const double norm = std::sqrt(norm2) / divisor_;
    if (norm > radius) shrink(radius / norm);
  }

  void change(const Change& change) {
    forget_ahead();
    for (auto& row : w_) change.apply(row);
    if (average_) average_->each([&](std::vector<double>& sums) { change.apply(sums); });
  }

  // The number of features that were appended by `widen`.
  std::size_t tail() const { return tail_; }
  void widen(std::size_t added, std::size_t outputs) {
    tail_ += added;
    append_to(w_, added);
    widen_outputs(w_, outputs);
    if (!average_) return;
    average_->each([&](std::vector<double>& sums) { sums.resize(sums.empty() ? 0 : sums.size() + added); });
    average_->widen(outputs);
  }

  // Starts to keep the average of f; must be called before the first round.
  void keep_average(double suffix) { average_.emplace(outputs(), suffix); }
  void end_round() {
    if (average_) average_->add_round(w_, divisor_);
  }
  // The weights used for prediction, and their divisor: those of the average if one is kept, else w.
  Vector output(std::size_t c) const { return average_ ? average_->sum(c) : Vector(w_[c]); }
  double output_divisor() const { return average_ ? std::max(average_->rounds(), 1.0) : divisor_; }
  void output_scores(Vector z, std::span<double> f) const {
    for (std::size_t c = 0; c < outputs(); ++c) f[c] = dot(output(c), z, tail_) / output_divisor();
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(w_) + bytes_of(ahead_) + bytes_of(rows_));
    io.field("weights.divisor", divisor_, {Merged::Own});
    if (average_) average_->fields(io);
    io.outputs("weights", w_, Merged::Own, true);
  }
  bool is_consistent(std::size_t features) const {
    const auto right = [&](const auto& row) { return row.size() == features; };
    return std::all_of(w_.begin(), w_.end(), right) && (!average_ || average_->is_consistent(features));
  }

 private:
  // The weights have changed.
  void forget_ahead() { ahead_.clear(); }

  std::vector<std::vector<double>> w_;  // outputs x features
  double divisor_ = 1;
  std::size_t tail_ = 0;
  std::optional<Average> average_;
  std::vector<double> ahead_;  // the scores of the next row, if they are known
  std::vector<double*> rows_;  // where each row of w_ begins
};

}  // namespace budgetron
