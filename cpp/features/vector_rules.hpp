// Rules for the weights of explicit features. A step goes along z, with the length of a scalar rule, or along a vector
// of the rule's own, which needs an explicit feature space. As with scalar rules, a step is proposed and then
// committed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "features/covariance.hpp"
#include "features/feature_map.hpp"
#include "features/weights.hpp"
#include "linalg/limits.hpp"
#include "linalg/posterior.hpp"
#include "model/losses.hpp"
#include "model/rules.hpp"
#include "model/tasks.hpp"
#include "state/fields.hpp"

namespace budgetron {

class VectorRule : public Part {
 public:
  // Starts with weights of this shape; with 0 features if the rule is about to be restored.
  virtual void begin(std::size_t /*outputs*/, std::size_t /*features*/) {}
  // Turns f = w'z into the scores that the model puts out, for the first row z of Z. The other rows of Z come next, one
  // call each, until `finish`. The rule may keep what it computes for the round; the second form is for predictions, of
  // all rows of Z.
  virtual void predict(Vector /*Z*/, std::span<double> /*f*/) {}
  virtual void predict(Vector /*Z*/, std::size_t /*rows*/, std::span<double> /*F*/) const {}
  // Whether the first form reads the rows that come next.
  virtual bool looks_ahead() const { return false; }
  // The variances of predictions for the rows of Z, if the rule has them.
  virtual bool has_variance() const { return false; }
  virtual void variances(Vector /*Z*/, std::span<double> /*out*/) const {}
  // The covariance of the weights, if the rule is a filter.
  virtual const Posterior* posterior() const { return nullptr; }
  // Computes the step of a round; returns false, with nothing changed in the model, if it exceeds the limits.
  virtual bool propose(const Round&) = 0;
  // Whether the proposed step is nonzero.
  virtual bool steps() const = 0;
  // The beta of the proposed step, if it is one along z; 0 otherwise.
  virtual double along_z() const { return 0; }
  // Takes the proposed step, if any, and updates the rule's state.
  virtual void commit(const Question&, Vector z, Weights& w) = 0;
  // The weight of feature i is about to become 0: others take over what they can.
  virtual void let_go(std::size_t /*i*/, Weights& /*w*/) {}
  // The coordinates have changed, and w with them; state of new coordinates is reset.
  virtual void change(const Change&, Weights& /*w*/) {}
  // `added` features are appended to those of the weights, which have been widened.
  virtual void widen(std::size_t /*before*/, std::size_t /*added*/, Weights& /*w*/) {}
  // Called after the last row of a batch: work put off until the next row is done now.
  virtual void finish() {}
};

// A step beta z, with beta from a scalar rule.
class Along final : public VectorRule {
 public:
  explicit Along(std::shared_ptr<Rule> rule) : rule_(std::move(rule)) {}

  bool propose(const Round& round) override {
    step_ = rule_->propose(round);
    return step_.possible(round);
  }
  bool steps() const override { return step_.beta != 0; }
  double along_z() const override { return step_.beta; }
  void commit(const Question& question, Vector z, Weights& w) override {
    rule_->commit(question.round, step_);
    w.shrink(step_.shrink);
    w.divide_by(step_.divisor);
    if (!steps()) return;
    w.step(step_.beta, question.v, z);
    w.pull_into_ball(step_.radius);
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    rule_->fields(io);
  }

 private:
  std::shared_ptr<Rule> rule_;
  Step step_;
};

// Rules that use the gradient l'(f) v z of a loss.
class OfGradient : public VectorRule {
 public:
  bool propose(const Round& r) final {
    slope_ = r.weight * loss_->slope(r.fx, r.y);
    return moderate(slope_) && moderate_square(slope_ * slope_ * r.kxx);
  }
  bool steps() const final { return slope_ != 0; }
  void commit(const Question& question, Vector z, Weights& w) final {
    if (!steps()) return;
    each_output(question.v, [&](std::size_t c, double v) { descend(c, slope_ * v, z, w[c]); });
  }

 protected:
  explicit OfGradient(std::shared_ptr<const Loss> loss) : loss_(std::move(loss)) {}
  // Updates one output with gradient slope * z.
  virtual void descend(std::size_t c, double slope, Vector z, std::span<double> w) = 0;

 private:
  std::shared_ptr<const Loss> loss_;
  double slope_ = 0;
};

// AdaGrad, diagonal (Duchi, Hazan & Singer 2011): w_i -= eta g_i / (sqrt(sum of g_i^2) + delta).
class AdaGrad final : public OfGradient {
 public:
  AdaGrad(std::shared_ptr<const Loss> loss, double eta, double delta)
      : OfGradient(std::move(loss)), eta_(eta), delta_(delta) {}

  void begin(std::size_t outputs, std::size_t features) override { G_.assign(outputs, std::vector<double>(features)); }
  void change(const Change& change, Weights&) override {
    const std::vector<double> fresh(change.added);
    for (auto& row : G_) change.replace_in(row, fresh);
  }
  void widen(std::size_t, std::size_t added, Weights& w) override {
    append_to(G_, added);
    copy_outputs(G_, w.outputs(), std::vector<double>(G_[0].size()));
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.outputs("adagrad.G", G_, Merged::Sum, false);
  }
  bool is_consistent(std::size_t features) const override {
    return std::all_of(G_.begin(), G_.end(), [&](const auto& row) { return row.size() == features; });
  }

 private:
  void descend(std::size_t c, double slope, Vector z, std::span<double> w) override {
    double* const G = G_[c].data();
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double g = slope * z[i];
      G[i] += g * g;
      if (G[i] > 0) w[i] -= eta_ * g / (std::sqrt(G[i]) + delta_);
    }
  }

  double eta_, delta_;
  std::vector<std::vector<double>> G_;  // sums of squares, outputs x features
};

// The online Newton step (Hazan, Agarwal & Kale 2007) without its projection: A += g g', w -= eta A^-1 g.
class OnlineNewton final : public OfGradient {
 public:
  OnlineNewton(std::shared_ptr<const Loss> loss, double eta, std::shared_ptr<Covariance> inverse)
      : OfGradient(std::move(loss)), eta_(eta), inverse_(std::move(inverse)) {}

  void begin(std::size_t outputs, std::size_t) override { inverse_->begin(outputs); }
  void change(const Change& change, Weights&) override { inverse_->change(change); }
  void widen(std::size_t, std::size_t added, Weights& w) override { inverse_->widen(added, w.outputs()); }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(before_) + bytes_of(after_));
    inverse_->fields(io);
  }
  bool is_consistent(std::size_t features) const override { return inverse_->is_consistent(features); }

 private:
  void descend(std::size_t c, double slope, Vector z, std::span<double> w) override {
    before_.resize(z.size());
    after_.resize(z.size());
    const double q = std::max(slope * slope, least_precision);
    if (inverse_->certainly_possible(c, z, q, eta_ * std::fabs(slope))) {
      inverse_->observe_at_once(c, z, q, before_, after_);
    } else {
      const double conf = inverse_->confidence(c, z);
      if (!inverse_->possible(c, q, eta_ * slope / (1 + q * conf))) return;
      inverse_->observe(c, z, q, before_, after_);
    }
    add(-eta_ * slope, after_, w);
  }

  double eta_;
  std::shared_ptr<Covariance> inverse_;  // A^-1
  std::vector<double> before_, after_;   // A^-1 z
};

// Coin betting with one bet per coordinate and no step size (Orabona & Tommasi 2017, Algorithm 2).
class CoinBetting final : public OfGradient {
 public:
  CoinBetting(std::shared_ptr<const Loss> loss, double alpha) : OfGradient(std::move(loss)), alpha_(alpha) {}

  void begin(std::size_t outputs, std::size_t features) override {
    for (auto* rows : {&L_, &G_, &reward_, &theta_, &start_}) rows->assign(outputs, std::vector<double>(features));
  }
  // New coordinates start betting at their current weights.
  void change(const Change& change, Weights& w) override {
    const std::vector<double> fresh(change.added);
    for (auto* rows : {&L_, &G_, &reward_, &theta_})
      for (auto& row : *rows) change.replace_in(row, fresh);
    for (std::size_t c = 0; c < start_.size(); ++c) change.replace_in(start_[c], w[c].subspan(change.at, change.added));
  }
  // Two classes: both go on betting as before, on gradients of opposite signs, from starts that give their weights.
  void widen(std::size_t, std::size_t added, Weights& w) override {
    const bool splits = L_.size() == 1 && w.outputs() > 1;
    for (auto* rows : {&L_, &G_, &reward_, &theta_, &start_}) {
      append_to(*rows, added);
      copy_outputs(*rows, w.outputs(), std::vector<double>((*rows)[0].size()));
    }
    if (!splits) return;
    for (std::size_t i = 0; i < start_[0].size(); ++i) {
      theta_[0][i] = 0 - theta_[1][i];
      start_[1][i] -= w[1][i];  // start - w + w/2
      start_[0][i] = 0 - start_[1][i];
    }
  }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.outputs("coin.L", L_, Merged::Own, false);
    io.outputs("coin.G", G_, Merged::Own, false);
    io.outputs("coin.reward", reward_, Merged::Own, false);
    io.outputs("coin.theta", theta_, Merged::Own, true);
    io.outputs("coin.start", start_, Merged::Own, true);
  }
  bool is_consistent(std::size_t features) const override {
    for (const auto* rows : {&L_, &G_, &reward_, &theta_, &start_})
      for (const auto& row : *rows)
        if (row.size() != features) return false;
    return true;
  }

 private:
  void descend(std::size_t c, double slope, Vector z, std::span<double> w) override {
    double *const L = L_[c].data(), *const G = G_[c].data();
    double *const reward = reward_[c].data(), *const theta = theta_[c].data(), *const start = start_[c].data();
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double g = -slope * z[i];
      L[i] = std::max(L[i], std::fabs(g));
      if (L[i] == 0) continue;
      G[i] += std::fabs(g);
      reward[i] = std::clamp(reward[i] + (w[i] - start[i]) * g, 0.0, largest * L[i]);
      theta[i] += g;
      w[i] = start[i] + theta[i] / L[i] / std::max(G[i] / L[i] + 1, alpha_) * (1 + reward[i] / L[i]);
    }
  }

  double alpha_;
  std::vector<std::vector<double>> L_, G_, reward_, theta_;  // outputs x features
  std::vector<std::vector<double>> start_;                   // the paper's w_1
};

// Adaptive regularisation of weights (Crammer, Kulesza & Dredze 2009): with conf = z'Sigma z and beta = 1/(conf + r),
// if l = max(0, 1 - y f) > 0 then w += beta l y Sigma z and Sigma -= beta Sigma z z'Sigma. A weight divides r.
class AROW : public VectorRule {
 public:
  AROW(double r, std::shared_ptr<Covariance> sigma) : r_(r), sigma_(std::move(sigma)) {}

  void begin(std::size_t outputs, std::size_t) final { sigma_->begin(outputs); }
  bool propose(const Round& round) final {
    gap_ = gap(round);
    weight_ = round.weight;
    const double q = weight_ / r_;
    return moderate(gap_) && moderate(q) && moderate_square(q * round.kxx);
  }
  bool steps() const final { return gap_ != 0; }
  void commit(const Question& question, Vector z, Weights& w) final {
    if (!steps()) return;
    const double q = std::max(weight_ / r_, least_precision);
    for (auto& before : before_) before.resize(z.size());
    after_.resize(z.size());
    std::vector<double>* before = before_;
    double conf = 0;
    if (possible_of_each(question.v,
                         [&](std::size_t c) { return sigma_->certainly_possible(c, z, q, q * std::fabs(gap_)); })) {
      each_output(question.v,
                  [&](std::size_t c, double) { conf += sigma_->observe_at_once(c, z, q, *before++, after_); });
    } else {
      each_output(question.v, [&](std::size_t c, double) { conf += sigma_->confidence(c, z); });
      const double factor = gap_ / (conf + 1 / q);
      if (!possible_of_each(question.v, [&](std::size_t c) { return sigma_->possible(c, q, factor); })) return;
      each_output(question.v, [&](std::size_t c, double) { sigma_->observe(c, z, q, *before++, after_); });
    }
    const double beta = 1 / (conf + 1 / q);
    before = before_;
    each_output(question.v, [&](std::size_t c, double v) { add(beta * gap_ * v, *before++, w[c]); });
  }
  void change(const Change& change, Weights&) final { sigma_->change(change); }
  void widen(std::size_t, std::size_t added, Weights& w) final { sigma_->widen(added, w.outputs()); }
  void fields(Fields& io) final {
    io.scratch(sizeof *this + bytes_of(before_[0]) + bytes_of(before_[1]) + bytes_of(after_));
    sigma_->fields(io);
  }
  bool is_consistent(std::size_t features) const final { return sigma_->is_consistent(features); }

 private:
  // Whether it is possible for every output that the step changes.
  template <class Possible>
  static bool possible_of_each(const Direction& v, Possible possible) {
    bool all = true;
    each_output(v, [&](std::size_t c, double) { all = all && possible(c); });
    return all;
  }

  // The desired change of f; 0 for no step.
  virtual double gap(const Round& round) const { return round.y * std::max(0.0, 1 - round.y * round.fx); }

  double r_;
  std::shared_ptr<Covariance> sigma_;
  double gap_ = 0, weight_ = 1;
  std::vector<double> before_[2], after_;  // Sigma z, of each output that the step changes
};

// For regression (Vaits & Crammer 2011): w += beta (y - f) Sigma z if |y - f| > epsilon. With epsilon = 0 this is
// recursive least squares.
class AROWRegression final : public AROW {
 public:
  AROWRegression(double r, double epsilon, std::shared_ptr<Covariance> sigma)
      : AROW(r, std::move(sigma)), epsilon_(epsilon) {}

 private:
  double gap(const Round& round) const override {
    const double e = round.y - round.fx;
    return std::fabs(e) > epsilon_ ? e : 0;
  }

  double epsilon_;
};

}  // namespace budgetron
