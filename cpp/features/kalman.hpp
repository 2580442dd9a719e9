// A Kalman filter on the weights of explicit features; for labels an extended one. The weights are Gaussian with mean w
// and covariance P, and follow a random walk. With g = P z, S = z'g and the weight c of the example:
//
//   targets:  w   += c (y - w'z) g / (1 + c S);          P -= c g g' / (1 + c S)
//   labels:   w_j += c ([j = y] - p_j) g / (1 + c h S);  P -= c h g g' / (1 + c h S)
//
// with p = softmax(W z) and h = p_max (1 - p_max).
//
// Two classes are the same with weights w/2 and -w/2, so w moves twice as far. All classes share P.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "features/feature_map.hpp"
#include "features/vector_rules.hpp"
#include "features/weights.hpp"
#include "linalg/limits.hpp"
#include "linalg/posterior.hpp"
#include "model/tasks.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Kalman : public VectorRule {
 public:
  void begin(std::size_t, std::size_t features) final {
    if (features > 0) posterior_.begin(features);
  }

  using VectorRule::predict;
  void predict(Vector Z, std::span<double> f) override {
    mu_.assign(f.begin(), f.end());
    posterior_.look(Z, gain_);
    looked_ = true;
    const std::size_t m = posterior_.size();
    next_ = Z.subspan(m, Z.size() < 2 * m ? 0 : m);
  }
  bool looks_ahead() const final { return true; }

  void commit(const Question& question, Vector z, Weights& w) final {
    if (!looked_) {  // the coordinates have changed since predict
      posterior_.look(z, gain_);
      next_ = {};
    }
    looked_ = false;
    step(question);
    w.step(steps_, Vector(gain_.g).first(posterior_.size()), next_);
    posterior_.observe(gain_, precision_);
  }
  void finish() final { posterior_.settle(); }
  const Posterior* posterior() const final { return &posterior_; }
  // The other weights given that this one is 0: w -= w_i P e_i / P_ii.
  void let_go(std::size_t i, Weights& w) final {
    posterior_.look_at(i, gain_);
    looked_ = false;
    if (gain_.S < least_variance) return;  // known already
    const Vector g = Vector(gain_.g).first(posterior_.size());
    for (std::size_t c = 0; c < w.outputs(); ++c)
      if (!moderate(w[c][i] / gain_.S * largest_of(g))) return;
    for (std::size_t c = 0; c < w.outputs(); ++c) add(-w[c][i] / gain_.S, g, w[c]);
    posterior_.know(gain_);
  }
  void change(const Change& change, Weights&) final {
    posterior_.replace(change.at, change.removed, change.added);
    looked_ = false;
  }
  void widen(std::size_t before, std::size_t added, Weights&) final { posterior_.widen(before, added); }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(mu_) + bytes_of(steps_) + bytes_of(gain_.g));
    posterior_.fields(io);
  }
  bool is_consistent(std::size_t features) const override { return posterior_.is_consistent(features); }

 protected:
  static constexpr double least_variance = 1e-200;  // 2^40 divided by it is finite
  Kalman(double prior, double drift, std::size_t full) : posterior_(prior, drift, full) {}
  // Computes steps_ and precision_.
  virtual void step(const Question& question) = 0;

  Posterior posterior_;
  Gain gain_;
  Vector next_;                     // the features of the next row, if known
  std::vector<double> mu_, steps_;  // of every output: w'z, and how far w goes along g
  double precision_ = 0;            // of the observation
  bool looked_ = false;
};

class KalmanLabels final : public Kalman {
 public:
  KalmanLabels(double prior, double drift, std::size_t full) : Kalman(prior, drift, full) {}

  // The logits are moderated, mu / sqrt(1 + pi S / 8), by what is not known yet.
  void predict(Vector Z, std::span<double> f) override {
    Kalman::predict(Z, f);
    moderate_logits(gain_.S, f);
  }
  void predict(Vector Z, std::size_t rows, std::span<double> F) const override {
    const std::size_t outputs = F.size() / rows;
    posterior_.each_look(
        Z, rows, [&](std::size_t r, const Gain& gain) { moderate_logits(gain.S, F.subspan(r * outputs, outputs)); });
  }
  bool propose(const Round& round) override {
    weight_ = round.weight;
    return moderate(weight_) && moderate_square(gain_.S) && moderate_square(weight_ * gain_.S) &&
           moderate(weight_ * largest_of(Vector(gain_.g).first(posterior_.size())));
  }
  bool steps() const override { return true; }

 private:
  static void moderate_logits(double S, std::span<double> f) { scale(1 / std::sqrt(1 + std::numbers::pi / 8 * S), f); }

  void step(const Question& question) override {
    const double c = weight_, S = gain_.S;
    steps_.resize(mu_.size());
    if (!question.v.lifted()) {
      const double p = 1 / (1 + std::exp(-mu_[0])), h = p * (1 - p), t = (question.round.y + 1) / 2;
      steps_[0] = 2 * c * (t - p) / (1 + c * h * S);
      precision_ = c * h;
      return;
    }
    const double sum = softmax_terms(mu_, steps_), most = 1 / sum, h = most * (1 - most);
    const double divisor = 1 + c * h * S, right = c * (1 - steps_[question.v.plus] / sum) / divisor;
    for (double& step : steps_) step = c * (0 - step / sum) / divisor;
    steps_[question.v.plus] = right;
    precision_ = c * h;
  }

  double weight_ = 1;
};

// The noise v is the mean of e^2 / (1 + S) so far, and the variance of a prediction v (1 + S).
class KalmanTargets final : public Kalman {
 public:
  KalmanTargets(double prior, double drift, std::size_t full) : Kalman(prior, drift, full) {}

  bool propose(const Round& round) override {
    weight_ = round.weight;
    error_ = round.y - round.fx;
    return moderate(weight_) && moderate(error_) && moderate_square(gain_.S) && moderate_square(weight_ * gain_.S) &&
           moderate_square(weight_ * error_ * error_) &&
           moderate(weight_ * error_ * largest_of(Vector(gain_.g).first(posterior_.size())));
  }
  bool steps() const override { return true; }
  bool has_variance() const override { return true; }
  void variances(Vector Z, std::span<double> out) const override {
    posterior_.each_look(Z, out.size(), [&](std::size_t r, const Gain& gain) { out[r] = noise_ * (1 + gain.S); });
  }
  void fields(Fields& io) override {
    Kalman::fields(io);
    io.field("kalman.noise", noise_, {Merged::Own});
    io.field("kalman.weight", weights_, {Merged::Own});
  }
  bool is_consistent(std::size_t features) const override {
    return Kalman::is_consistent(features) && noise_ >= 0 && std::isfinite(noise_) && weights_ >= 0;
  }

 private:
  void step(const Question&) override {
    const double c = weight_, S = gain_.S;
    steps_.assign(1, c * error_ / (1 + c * S));
    precision_ = c;
    weights_ += c;
    noise_ += c / weights_ * (error_ * error_ / (1 + S) - noise_);
  }

  double weight_ = 1, error_ = 0;
  double noise_ = 0, weights_ = 0;  // v, and the sum of the weights
};

}  // namespace budgetron
