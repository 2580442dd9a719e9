// Several learners (experts) on the same rows, and a filter on top that learns how far to trust each. Every expert
// learns as if it were alone. With l_ic the logit of expert i for class c, P the covariance of (w, b) and c the
// example's weight:
//
//   p = softmax_c(sum_i w_i l_ic + b_c);  v = d log p_y / d(w, b);  h = p_y / (1 - p_y);  g = P v
//   (w, b) += c g / (1 + c max(h, 1/4) v'g);  P -= c h g g' / (1 + c h v'g)
//
// Two classes have one bias, on the margin. For targets: a Kalman filter on the experts' predictions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "input/rows.hpp"
#include "linalg/limits.hpp"
#include "linalg/posterior.hpp"
#include "model/learner.hpp"
#include "model/noise.hpp"
#include "simd/vectors.hpp"

namespace budgetron {

class Stacked : public Learner {
 public:
  void set_guard(std::shared_ptr<Guard> guard) final {
    for (const auto& expert : experts_) expert->set_guard(guard);
    Learner::set_guard(std::move(guard));
  }
  std::size_t outputs() const final { return outputs_; }
  std::size_t size() const final {
    std::size_t sum = 0;
    for (const auto& expert : experts_) sum += expert->size();
    return sum;
  }
  void begin() final {
    for (const auto& expert : experts_) expert->begin();
    filter_.begin(w_.size());
  }
  void keep_average(double suffix) final {
    for (const auto& expert : experts_) expert->keep_average(suffix);
  }
  bool accepts_missing() const final {
    return std::all_of(experts_.begin(), experts_.end(), [](const auto& expert) { return expert->accepts_missing(); });
  }
  const std::vector<std::shared_ptr<Learner>>& experts() const { return experts_; }
  std::vector<double> expert_weights() const {
    return {w_.begin(), w_.begin() + static_cast<std::ptrdiff_t>(experts_.size())};
  }
  // The mean loss of every expert so far, weighted; 0 before the first row.
  std::vector<double> expert_losses() const {
    std::vector<double> mean(losses_);
    for (double& loss : mean) loss = learned_ > 0 ? loss / learned_ : 0;
    return mean;
  }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) final {
    std::vector<double> F;  // experts x rows x outputs
    for (std::size_t first = 0, last; first < rows.size(); first = last) {
      last = std::min(first + at_once, rows.size());
      std::size_t n = run_experts(rows.slice(first, last), y, weights, first, F);
      if (n == 0 && (n = run_each(rows.slice(first, first + 1), y, weights, first, F)) == 0) {
        filter_.settle();
        return first;
      }
      last = first + n;
      for (std::size_t i = 0; i < n; ++i) {
        const auto f = scores.subspan((first + i) * outputs_, outputs_);
        read(F, n, i, l_);
        combine(l_, f);
        const double weight = weights.empty() ? 1 : weights[first + i];
        if (weight != 0) learn(rows[first + i], F, n, i, f, y[first + i], std::min(weight, largest));
      }
    }
    filter_.settle();
    return rows.size();
  }

  void scores(const Rows& rows, std::span<double> out) const final {
    each_row(rows, [&](std::size_t i, Vector l) { combine(l, out.subspan(i * outputs_, outputs_)); });
  }

  void widen(std::size_t features, std::size_t outputs) override {
    for (const auto& expert : experts_) expert->widen(features, outputs);
    outputs_ = outputs;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(experts_) + bytes_of(l_));
    const bool ends = w_.size() > experts_.size();  // with biases
    io.field("stacked.weights", w_, {Merged::Own, ends ? OfOutputs::Last : OfOutputs::None, true, w_.size()});
    io.field("stacked.losses", losses_, {Merged::Sum});
    io.field("stacked.learned", learned_, {Merged::Sum});
    Prefixed filter(io, "stacked.");
    filter_.fields(filter, ends);
    for (std::size_t i = 0; i < experts_.size(); ++i) {
      Prefixed part(io, ("expert." + std::to_string(i)).append("."));
      experts_[i]->fields(part);
    }
  }
  bool consistent() const override {
    return w_.size() == weights_needed_ && losses_.size() == experts_.size() && filter_.is_consistent(w_.size()) &&
           all_finite(w_) && std::isfinite(learned_) && all_finite(losses_) &&
           std::all_of(experts_.begin(), experts_.end(), [](const auto& expert) { return expert->consistent(); });
  }

 protected:
  static constexpr std::size_t at_once = 32;

  Stacked(std::vector<std::shared_ptr<Learner>> experts, std::size_t outputs, std::size_t biases, double start,
          double drift)
      : experts_(std::move(experts)),
        outputs_(outputs),
        weights_needed_(experts_.size() + biases),
        filter_(start, drift, weights_needed_),
        w_(weights_needed_),
        losses_(experts_.size()) {
    std::fill_n(w_.begin(), experts_.size(), 1 / static_cast<double>(experts_.size()));
    for (const auto& expert : experts_) expert->set_guard(shared_guard());
  }

  // The logits or predictions l (experts x outputs) of row i, from the scores F of the experts on n rows.
  virtual void read(Vector F, std::size_t n, std::size_t i, std::vector<double>& l) const = 0;
  // The stack's scores from those.
  virtual void combine(Vector l, std::span<double> f) const = 0;
  // Learns row i, which is x, from l_ and the scores f made of it.
  virtual void learn(const Row& x, Vector F, std::size_t n, std::size_t i, Vector f, double y, double weight) = 0;

  Vector scores_of(Vector F, std::size_t n, std::size_t expert, std::size_t i) const {
    return F.subspan((expert * n + i) * outputs_, outputs_);
  }

  // Calls use(i, l) for every row, without learning.
  template <class Use>
  void each_row(const Rows& rows, Use use) const {
    std::vector<double> F, l;
    for (std::size_t first = 0, last; first < rows.size(); first = last) {
      last = std::min(first + at_once, rows.size());
      score_experts(rows.slice(first, last), F);
      for (std::size_t i = first; i < last; ++i) {
        read(F, last - first, i - first, l);
        use(i, l);
      }
    }
  }

  // (w, b) += step g, and an observation of this precision along the z of the last look.
  void move(double step, double precision) {
    if (!moderate(step * largest_of(gain_.g)) || !moderate_square(precision * gain_.S)) return;
    add(step, Vector(gain_.g).first(w_.size()), w_);
    filter_.observe(gain_, precision);
  }

  std::vector<std::shared_ptr<Learner>> experts_;
  std::size_t outputs_, weights_needed_;
  Posterior filter_;
  Gain gain_;
  std::vector<double> w_;       // of the experts, then the biases
  std::vector<double> losses_;  // of the experts, weighted sums
  double learned_ = 0;          // the sum of the weights
  std::vector<double> l_;       // of the present row: experts x outputs

 private:
  // Runs every expert on a block, which ends before the first row that the first expert refuses. Another expert that
  // refuses a row abstains: its scores are 0, and it goes on with the next row. Returns the length of the block.
  std::size_t run_experts(const Rows& rows, Vector y, Vector weights, std::size_t first, std::vector<double>& F) {
    std::size_t n = rows.size();
    F.resize(experts_.size() * n * outputs_);
    n = run_one(*experts_[0], rows, y.subspan(first, n), weights.empty() ? weights : weights.subspan(first, n),
                std::span(F).first(n * outputs_));
    if (n == 0) return 0;
    const Rows block = n == rows.size() ? rows : rows.slice(0, n);  // a slice is another view, which shares no work
    for (std::size_t e = 1; e < experts_.size(); ++e) {
      const auto f = std::span(F).subspan(e * n * outputs_, n * outputs_);
      for (std::size_t at = 0; at < n; ++at) {
        const Rows rest = at == 0 ? block : block.slice(at, n);
        const Vector w = weights.empty() ? weights : weights.subspan(first + at, n - at);
        at += run_one(*experts_[e], rest, y.subspan(first + at, n - at), w, f.subspan(at * outputs_));
        if (at < n) std::fill_n(f.begin() + static_cast<std::ptrdiff_t>(at * outputs_), outputs_, 0.0);
      }
    }
    return n;
  }

  // One row that the first expert refuses. Returns 0, with nothing changed, if all refuse it.
  std::size_t run_each(const Rows& row, Vector y, Vector weights, std::size_t first, std::vector<double>& F) {
    F.assign(experts_.size() * outputs_, 0.0);
    bool any = false;
    for (std::size_t e = 1; e < experts_.size(); ++e) {
      const auto f = std::span(F).subspan(e * outputs_, outputs_);
      const bool done = run_one(*experts_[e], row, y.subspan(first, 1),
                                weights.empty() ? weights : weights.subspan(first, 1), f) == 1;
      if (!done) std::fill(f.begin(), f.end(), 0.0);
      any = any || done;
    }
    return any ? 1 : 0;
  }

  static std::size_t run_one(Learner& expert, const Rows& rows, Vector y, Vector weights, std::span<double> f) {
    return expert.run(rows, y, weights, f.first(rows.size() * expert.outputs()));
  }

  void score_experts(const Rows& rows, std::vector<double>& F) const {
    const std::size_t each = rows.size() * outputs_;
    F.resize(experts_.size() * each);
    for (std::size_t e = 0; e < experts_.size(); ++e) experts_[e]->scores(rows, std::span(F).subspan(e * each, each));
  }
};

// For labels. Scores of an expert without probabilities are divided by their root mean square so far.
class StackedLabels final : public Stacked {
 public:
  StackedLabels(std::vector<std::shared_ptr<Learner>> experts, std::vector<bool> logits, std::size_t classes,
                double start, double drift)
      : Stacked(std::move(experts), classes == 2 ? 1 : classes, classes == 2 ? 1 : classes, start, drift),
        logits_(std::move(logits)),
        squares_(experts_.size()),
        first_(classes),
        counted_(static_cast<double>(outputs_)) {}

  // The margin's bias b becomes -b/2 and b/2. Logits keep their unit: they are centred over the first classes, and
  // those of two classes, which halve, are clipped at half the limit and counted as before.
  void widen(std::size_t features, std::size_t outputs) override {
    if (outputs_ == 1 && outputs > 1) {
      w_.push_back(w_.back() / 2);
      w_[experts_.size()] = 0 - w_.back();
      filter_.split_last();
      largest_logit_ /= 2;
      counted_ = 0.5;
    }
    const std::size_t needed = outputs > 1 ? experts_.size() + outputs : w_.size();
    filter_.widen(w_.size(), needed - w_.size());
    w_.resize(needed);
    weights_needed_ = needed;
    Stacked::widen(features, outputs);
  }
  void fields(Fields& io) override {
    Stacked::fields(io);
    io.scratch(bytes_of(p_) + bytes_of(v_));
    io.field("stacked.squares", squares_, {Merged::Sum});
    io.field("stacked.rows", rows_, {Merged::Sum});
  }
  bool consistent() const override {
    return Stacked::consistent() && squares_.size() == experts_.size() && all_finite(squares_) && rows_ >= 0;
  }

 private:
  // In the step. A row that all experts are sure of, wrongly, has h near 0, and would turn their weights over.
  static constexpr double least_curvature = 0.25;

  // Logits: centred over the classes, divided, clipped.
  void read(Vector F, std::size_t n, std::size_t i, std::vector<double>& l) const override {
    l.resize(experts_.size() * outputs_);
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      const auto own = std::span(l).subspan(e * outputs_, outputs_);
      centre(scores_of(F, n, e, i), own);
      const double root = logits_[e] ? 1 : rows_ > 0 ? std::sqrt(squares_[e] / rows_) : 0;
      for (double& v : own)
        v = root > 0 && std::isfinite(v) ? std::clamp(v / root, -largest_logit_, largest_logit_) : 0;
    }
  }

  void combine(Vector l, std::span<double> f) const override {
    for (std::size_t c = 0; c < outputs_; ++c) {
      f[c] = w_[experts_.size() + c];
      for (std::size_t e = 0; e < experts_.size(); ++e) f[c] += w_[e] * l[e * outputs_ + c];
    }
  }

  void learn(const Row&, Vector F, std::size_t n, std::size_t i, Vector f, double y, double weight) override {
    const bool two = outputs_ == 1;
    const auto right = static_cast<std::size_t>(two ? y > 0 : y);
    const double wrong = std::clamp(probabilities(f, right), 1e-12, 1.0);
    v_.assign(w_.size(), 0.0);
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      const Vector l = Vector(l_).subspan(e * outputs_, outputs_);
      v_[e] = two ? (right == 1 ? wrong : -wrong) * l[0] : l[right] - dot(l, p_);
      losses_[e] = std::min(losses_[e] + weight * log_loss(l, right), std::numeric_limits<double>::max());
    }
    for (std::size_t c = 0; c < outputs_; ++c)
      v_[experts_.size() + c] = two ? (right == 1 ? wrong : -wrong) : (c == right ? 1 : 0) - p_[c];
    filter_.look(v_, gain_);
    const double h = (1 - wrong) / wrong;
    move(weight / (1 + weight * std::max(h, least_curvature) * gain_.S), weight * h);
    learned_ += weight;
    count(F, n, i);
  }

  // Fills p_, the probabilities of more than two classes; returns that of all wrong classes.
  double probabilities(Vector f, std::size_t right) {
    if (outputs_ == 1) return 1 / (1 + std::exp(right == 1 ? f[0] : -f[0]));
    p_.assign(f.begin(), f.end());
    const double top = *std::max_element(f.begin(), f.end());
    double sum = 0, wrong = 0;
    for (double& p : p_) sum += p = std::exp(p - top);
    for (std::size_t c = 0; c < p_.size(); ++c) {
      p_[c] /= sum;
      if (c != right) wrong += p_[c];
    }
    return wrong;
  }

  static double log_loss(Vector l, std::size_t right) {
    if (l.size() == 1) {
      const double margin = right == 1 ? l[0] : -l[0];
      return std::max(0.0, -margin) + std::log1p(std::exp(-std::fabs(margin)));
    }
    double sum = 0;
    for (const double v : l) sum += std::exp(v - l[right]);
    return std::log(sum);
  }

  void count(Vector F, std::size_t n, std::size_t i) {
    std::vector<double>& own = p_;
    own.resize(outputs_);
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      if (logits_[e]) continue;
      centre(scores_of(F, n, e, i), own);
      const double square = dot(own, own) / counted_;
      squares_[e] = std::min(squares_[e] + square, largest_square);
    }
    ++rows_;
  }

  void centre(Vector f, std::span<double> out) const {
    double mean = 0;
    for (const double v : f.first(std::min(first_, f.size()))) mean += v / static_cast<double>(first_);
    for (std::size_t c = 0; c < f.size(); ++c) out[c] = f.size() == 1 ? f[c] : f[c] - mean;
  }

  std::vector<bool> logits_;
  std::vector<double> squares_;  // sums over rows, of experts without logits
  double rows_ = 0;
  std::size_t first_;  // the number of classes when it was built
  double counted_;     // divides a sum of squares over the classes
  double largest_logit_ = 8;
  std::vector<double> p_, v_;
};

// For targets.
class StackedTargets final : public Stacked {
 public:
  StackedTargets(std::vector<std::shared_ptr<Learner>> experts, std::size_t columns, double start, double drift)
      : Stacked(std::move(experts), 1, 0, start, drift), noise_(columns, drift) {}

  bool has_deviations() const override { return true; }
  void deviations(const Rows& rows, std::span<double> out) const override {
    each_row(rows, [&](std::size_t i, Vector l) {
      filter_.each_look(l, 1,
                        [&](std::size_t, const Gain& gain) { out[i] = noise_.deviation(rows[i], dot(l, w_), gain.S); });
    });
  }

  void fields(Fields& io) override {
    Stacked::fields(io);
    Prefixed noise(io, "stacked.noise.");
    noise_.fields(noise);
  }
  bool consistent() const override { return Stacked::consistent() && noise_.is_consistent(); }

 private:
  void read(Vector F, std::size_t n, std::size_t i, std::vector<double>& l) const override {
    l.resize(experts_.size());
    for (std::size_t e = 0; e < experts_.size(); ++e) l[e] = scores_of(F, n, e, i)[0];
  }
  void combine(Vector l, std::span<double> f) const override { f[0] = dot(l, w_); }
  void learn(const Row& x, Vector, std::size_t, std::size_t, Vector f, double y, double weight) override {
    const double error = y - f[0];
    if (!moderate(error)) return;  // some expert has learned the row; the filter has not
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      const double own = std::clamp(y - l_[e], -largest, largest);
      losses_[e] = std::min(losses_[e] + weight * own * own, std::numeric_limits<double>::max());
    }
    learned_ += weight;
    filter_.look(l_, gain_);
    const double S = gain_.S;
    move(weight * error / (1 + weight * S), weight);
    noise_.learn(x, f[0], S, y, weight);
  }

  Noise noise_;
};

}  // namespace budgetron
