// Rules for the weights of cells: those of vector_rules.hpp and kalman.hpp, for features of which few are not 0. A row
// changes the entries of its own cells only. As elsewhere, a step is proposed and then committed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "linalg/limits.hpp"
#include "local/cell_table.hpp"
#include "model/losses.hpp"
#include "model/rules.hpp"
#include "model/tasks.hpp"
#include "simd/loops.hpp"

namespace budgetron {

// Larger steps would not fit into single precision; sums of steps stay below the largest number there is.
inline constexpr double largest_step = 1e30, largest_entry = 1e38;
inline bool fits_single(double v) { return std::fabs(v) <= largest_step; }
inline float in_single(double v) {
  const double above = v < -largest_entry ? -largest_entry : v;
  return static_cast<float>(above > largest_entry ? largest_entry : above);
}

class CellRule : public Part {
 public:
  // What is kept in each entry, beside the weights: a number for each output, one for all, or nothing.
  enum class Keeps { Nothing, OneForEach, OneForAll };

  std::vector<float> fresh(std::size_t outputs) const {
    std::vector<float> entry(outputs, 0.0f);
    entry.resize(outputs + kept(outputs), start_);
    return entry;
  }
  // An entry for more outputs (widen_outputs in tasks.hpp). Both of two classes begin with what they shared.
  void grow(const float* old, std::size_t before, float* now, std::size_t outputs) const {
    std::fill_n(now, outputs, 0.0f);
    std::fill_n(now + outputs, kept(outputs), start_);
    std::copy_n(old, before, now);
    std::copy_n(old + before, kept(before), now + outputs);
    if (before > 1 || outputs == 1) return;
    now[1] = old[0] / 2;
    now[0] = 0 - now[1];
    if (keeps_ == Keeps::OneForEach) now[outputs + 1] = old[1];
  }

  // How many numbers of the entries a rule needs the sums of.
  std::size_t summed(std::size_t outputs) const { return outputs + (keeps_ == Keeps::OneForAll ? 1 : 0); }
  // What w'z is multiplied by.
  virtual double scale() const { return 1; }
  // Turns f = w'z into the scores that the model puts out. The second form is for rows that are not learned.
  virtual void predict(const CellTable&, const ActiveCells&, std::span<double> /*f*/) {}
  virtual void predict(const CellTable&, const ActiveCells&, std::span<double> /*f*/) const {}
  virtual bool has_variance() const { return false; }
  virtual double variance(const CellTable&, const ActiveCells&) const { return 0; }
  // How little is known about the cells of a row: the share of those in which nothing was learned.
  virtual double novelty(const CellTable& table, const ActiveCells& active, std::size_t outputs) const {
    double empty = 0;
    for (std::size_t i = 1; i < active.count(); ++i) {
      const float* const entry = table[active.entries[i]];
      empty += std::all_of(entry, entry + outputs, [](float w) { return w == 0; }) ? 1 : 0;
    }
    return active.count() > 1 ? empty / static_cast<double>(active.count() - 1) : 0;
  }
  // Computes the step of a round; returns false, with nothing changed, if it exceeds the limits.
  virtual bool propose(const Question&, const CellTable&, const ActiveCells&) = 0;
  virtual void commit(const Question&, CellTable&, const ActiveCells&) = 0;
  // The table was emptied.
  virtual void restart() {}

  void table_fields(Fields& io, CellTable& table, std::size_t outputs) {
    if (io.measuring()) return io.scratch(table.bytes());
    for (std::size_t c = 0; c < outputs; ++c)
      table.field(io, Fields::of_output("cells.weights", c).c_str(), c, {Merged::Own, OfOutputs::All, true});
    for (std::size_t c = 0; c < outputs && keeps_ == Keeps::OneForEach; ++c)
      table.field(io, Fields::of_output("cells.state", c).c_str(), outputs + c, {Merged::Own, OfOutputs::All});
    if (keeps_ == Keeps::OneForAll) table.field(io, "cells.state", outputs, {Merged::Own});
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 protected:
  CellRule(Keeps keeps, double start) : keeps_(keeps), start_(in_single(start)) {}

 private:
  std::size_t kept(std::size_t outputs) const {
    return keeps_ == Keeps::Nothing ? 0 : keeps_ == Keeps::OneForAll ? 1 : outputs;
  }

  Keeps keeps_;
  float start_;
};

// A step beta z, with beta from a scalar rule. The weights are stored without the factors that the rule shrinks them
// by.
class CellsAlong final : public CellRule {
 public:
  explicit CellsAlong(std::shared_ptr<Rule> rule) : CellRule(Keeps::Nothing, 0), rule_(std::move(rule)) {}

  double scale() const override { return shrunk_ / divisor_; }
  bool propose(const Question& question, const CellTable&, const ActiveCells&) override {
    step_ = rule_->propose(question.round);
    return step_.possible(question.round) && fits_single(step_.beta);
  }
  void commit(const Question& question, CellTable& table, const ActiveCells& active) override {
    rule_->commit(question.round, step_);
    shrunk_ *= step_.shrink;
    divisor_ = step_.divisor;
    if (shrunk_ < least_shrunk) take_up(table);
    if (step_.beta == 0) return;
    each_output(question.v, [&](std::size_t c, double v) { move(c, step_.beta * v / shrunk_, table, active); });
    if (!rule_->keeps_to_a_ball()) return;
    const double norm = std::sqrt(squares_) * shrunk_ / divisor_;
    if (norm > step_.radius) shrunk_ = std::max(shrunk_ * step_.radius / norm, std::numeric_limits<double>::min());
  }
  void restart() override {
    rule_->restart();
    shrunk_ = divisor_ = 1;
    squares_ = 0;
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    rule_->fields(io);
    io.field("cells.shrunk", shrunk_, {Merged::Own});
    io.field("cells.divisor", divisor_, {Merged::Own});
    io.field("cells.squares", squares_, {Merged::Own});
  }
  bool is_consistent(std::size_t n) const override {
    return rule_->is_consistent(n) && shrunk_ > 0 && shrunk_ <= 1 && divisor_ > 0 && std::isfinite(divisor_) &&
           squares_ >= 0 && std::isfinite(squares_);
  }

 private:
  static constexpr double least_shrunk = 1e-6;

  void move(std::size_t c, double beta, CellTable& table, const ActiveCells& active) {
    for (std::size_t i = 0; i < active.count(); ++i) {
      float& w = table[active.entries[i]][c];
      const double before = w;
      w = in_single(before + beta * active.z(i));
      if (rule_->keeps_to_a_ball()) squares_ = std::max(0.0, squares_ + static_cast<double>(w) * w - before * before);
    }
  }
  void take_up(CellTable& table) {
    table.multiply(shrunk_);
    squares_ *= shrunk_ * shrunk_;
    shrunk_ = 1;
  }

  std::shared_ptr<Rule> rule_;
  Step step_;
  double shrunk_ = 1, divisor_ = 1;  // f = shrunk / divisor times what the table gives
  double squares_ = 0;               // |w|^2 of the table, if the rule keeps to a ball
};

// AdaGrad, diagonal (Duchi, Hazan & Singer 2011): w_i -= eta g_i / (sqrt(sum of g_i^2) + delta).
class CellsAdaGrad final : public CellRule {
 public:
  CellsAdaGrad(std::shared_ptr<const Loss> loss, double eta, double delta)
      : CellRule(Keeps::OneForEach, 0), loss_(std::move(loss)), eta_(eta), delta_(delta) {}

  bool propose(const Question& question, const CellTable&, const ActiveCells&) override {
    const Round& round = question.round;
    slope_ = round.weight * loss_->slope(round.fx, round.y);
    return fits_single(slope_ * slope_);
  }
  void commit(const Question& question, CellTable& table, const ActiveCells& active) override {
    if (slope_ == 0) return;
    const std::size_t outputs = table.width() / 2;
    each_output(question.v, [&](std::size_t c, double v) {
      for (std::size_t i = 0; i < active.count(); ++i) {
        float* const entry = table[active.entries[i]];
        const double g = slope_ * v * active.z(i), G = entry[outputs + c] + g * g;
        entry[outputs + c] = in_single(G);
        if (G > 0) entry[c] = in_single(entry[c] - eta_ * g / (std::sqrt(G) + delta_));
      }
    });
  }

 private:
  std::shared_ptr<const Loss> loss_;
  double eta_, delta_;
  double slope_ = 0;
};

// AROW with a diagonal covariance, as in vector_rules.hpp. A weight divides r.
class CellsAROW final : public CellRule {
 public:
  // For targets there is no step while |y - f| <= epsilon; for labels epsilon is negative.
  CellsAROW(double r, double epsilon) : CellRule(Keeps::OneForEach, 1), r_(r), epsilon_(epsilon) {}

  bool propose(const Question& question, const CellTable&, const ActiveCells&) override {
    const Round& round = question.round;
    const double error = round.y - round.fx;
    gap_ = epsilon_ < 0 ? round.y * std::max(0.0, 1 - round.y * round.fx) : std::fabs(error) > epsilon_ ? error : 0;
    q_ = std::max(round.weight / r_, least_precision);
    return fits_single(gap_) && moderate(q_);
  }
  void commit(const Question& question, CellTable& table, const ActiveCells& active) override {
    if (gap_ == 0) return;
    const std::size_t outputs = table.width() / 2;
    double confidence = 0;
    each_output(question.v, [&](std::size_t c, double) {
      for (std::size_t i = 0; i < active.count(); ++i)
        confidence += active.z(i) * active.z(i) * table[active.entries[i]][outputs + c];
    });
    const double step = gap_ / (confidence + 1 / q_);
    each_output(question.v, [&](std::size_t c, double v) {
      for (std::size_t i = 0; i < active.count(); ++i) {
        float* const entry = table[active.entries[i]];
        const double z = active.z(i), sigma = entry[outputs + c];
        entry[c] = in_single(entry[c] + step * v * sigma * z);
        entry[outputs + c] = static_cast<float>(sigma / (1 + q_ * z * z * sigma));
      }
    });
  }

 private:
  double r_, epsilon_;
  double gap_ = 0, q_ = 1;
};

// The filter of kalman.hpp with a diagonal covariance, shared by all outputs. A weight drifts when its cell is visited.
class CellsKalman : public CellRule {
 public:
  void predict(const CellTable& table, const ActiveCells& active, std::span<double> f) final {
    mu_.assign(f.begin(), f.end());
    S_ = spread(table, active, f.size());
    moderate_scores(S_, f);
  }
  void predict(const CellTable& table, const ActiveCells& active, std::span<double> f) const final {
    if (moderates()) moderate_scores(spread(table, active, f.size()), f);
  }
  // The variance z'Pz of the score.
  double novelty(const CellTable& table, const ActiveCells& active, std::size_t outputs) const final {
    return spread(table, active, outputs);
  }

 protected:
  CellsKalman(double prior, double drift) : CellRule(Keeps::OneForAll, prior), prior_(prior), drift_(drift) {}

  virtual bool moderates() const { return true; }
  virtual void moderate_scores(double, std::span<double>) const {}

  // S = z'P z
  static double spread(const CellTable& table, const ActiveCells& active, std::size_t outputs) {
    return table[0][outputs] + active.value * active.value * active.sums[outputs];
  }
  // Room for the steps of all outputs.
  std::span<double> steps() {
    steps_.resize(whole_lanes<double>(mu_.size()));
    return std::span(steps_).first(mu_.size());
  }
  // w_c += steps_c P z, and an observation of this precision along z.
  void move(double precision, CellTable& table, const ActiveCells& active) const {
    const double q = precision / (1 + precision * S_);
    const auto some = [&](std::size_t first, std::size_t count, double z) {
      loops->move_cells(table[0], active.entries.data() + first, count, mu_.size(), steps_.data(), z, q, drift_, prior_,
                        largest_entry);
    };
    some(0, 1, 1);
    some(1, active.count() - 1, active.value);
  }

  double prior_, drift_;
  std::vector<double> mu_, steps_;  // w'z of every output, and their steps
  double S_ = 0;
};

class CellsKalmanLabels final : public CellsKalman {
 public:
  CellsKalmanLabels(double prior, double drift) : CellsKalman(prior, drift) {}

  bool propose(const Question& question, const CellTable&, const ActiveCells&) override {
    return fits_single(question.round.weight) && fits_single(question.round.weight * prior_);
  }
  void commit(const Question& question, CellTable& table, const ActiveCells& active) override {
    const double c = question.round.weight;
    const std::span<double> step = steps();
    double h;
    if (!question.v.lifted()) {
      const double p = 1 / (1 + std::exp(-mu_[0]));
      h = p * (1 - p);
      step[0] = 2 * c * ((question.round.y + 1) / 2 - p) / (1 + c * h * S_);
    } else {
      const double sum = softmax_terms(mu_, step), most = 1 / sum;
      h = most * (1 - most);
      const double divisor = 1 + c * h * S_, right = c * (1 - step[question.v.plus] / sum) / divisor;
      for (double& v : step) v = c * (0 - v / sum) / divisor;
      step[question.v.plus] = right;
    }
    move(c * h, table, active);
  }
  void fields(Fields& io) override { io.scratch(sizeof *this + bytes_of(mu_) + bytes_of(steps_)); }

 private:
  void moderate_scores(double S, std::span<double> f) const override {
    budgetron::scale(1 / std::sqrt(1 + std::numbers::pi / 8 * S), f);
  }
};

// The noise is estimated as by KalmanTargets.
class CellsKalmanTargets final : public CellsKalman {
 public:
  CellsKalmanTargets(double prior, double drift) : CellsKalman(prior, drift) {}

  bool has_variance() const override { return true; }
  double variance(const CellTable& table, const ActiveCells& active) const override {
    return noise_ * (1 + spread(table, active, 1));
  }
  bool propose(const Question& question, const CellTable&, const ActiveCells&) override {
    error_ = question.round.y - question.round.fx;
    return fits_single(error_) && fits_single(question.round.weight);
  }
  void commit(const Question& question, CellTable& table, const ActiveCells& active) override {
    const double c = question.round.weight;
    steps()[0] = c * error_ / (1 + c * S_);
    move(c, table, active);
    weights_ += c;
    noise_ += c / weights_ * (error_ * error_ / (1 + S_) - noise_);
  }
  void restart() override { noise_ = weights_ = 0; }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(mu_) + bytes_of(steps_));
    io.field("kalman.noise", noise_, {Merged::Own});
    io.field("kalman.weight", weights_, {Merged::Own});
  }
  bool is_consistent(std::size_t) const override { return noise_ >= 0 && std::isfinite(noise_) && weights_ >= 0; }

 private:
  bool moderates() const override { return false; }

  double error_ = 0;
  double noise_ = 0, weights_ = 0;  // v, and the sum of the weights
};

}  // namespace budgetron
