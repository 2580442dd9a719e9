// Rules: (shrink, beta) = rule(f(x), y, k(x,x)). A weight multiplies the loss of its example. A step is first proposed
// (const) and then committed, so that a learner can refuse it before anything changes.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "linalg/limits.hpp"
#include "model/losses.hpp"
#include "model/tasks.hpp"
#include "state/fields.hpp"

namespace budgetron {

struct Step {
  double shrink = 1;
  double beta = 0;
  double divisor = 1;                                       // common divisor of all coefficients of f
  double radius = std::numeric_limits<double>::infinity();  // of the ball that f is projected onto after an update
  double own = 0;                                           // change of the rule's own parameter

  // Whether the step is within the limits, so that a learner may take it.
  bool possible(const Round& r) const {
    return moderate(beta) && moderate_square(beta * beta * r.kxx) && moderate(own);
  }
};

class Rule : public Part {
 public:
  virtual Step propose(const Round&) const = 0;
  // Called when the proposed step is taken.
  virtual void commit(const Round&, const Step&) {}
  // Whether steps may have a finite radius.
  virtual bool keeps_to_a_ball() const { return false; }
  // Back to the state before the first round: a learner is about to learn its rows again.
  virtual void restart() {}
};

// Rosenblatt's rule, Projectron paper Algorithm 1: on a wrong prediction beta = eta y.
class Perceptron final : public Rule {
 public:
  explicit Perceptron(double eta) : eta_(eta) {}
  Step propose(const Round& r) const override { return {1, r.mistake ? r.weight * eta_ * r.y : 0}; }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  double eta_;
};

// The same for small margins: beta = eta y if y f(x) <= margin.
class MarginPerceptron final : public Rule {
 public:
  MarginPerceptron(double eta, double margin) : eta_(eta), margin_(margin) {}
  Step propose(const Round& r) const override { return {1, r.y * r.fx <= margin_ ? r.weight * eta_ * r.y : 0}; }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  double eta_, margin_;
};

// The aggressive Perceptron of Ahpatron (Liao et al. 2024): beta = eta y if y f(x) < margin, and f stays in the ball
// |f| <= radius.
class AggressivePerceptron final : public Rule {
 public:
  AggressivePerceptron(double eta, double margin, double radius) : eta_(eta), margin_(margin), radius_(radius) {}
  Step propose(const Round& r) const override {
    Step step{1, r.y * r.fx < margin_ ? r.weight * eta_ * r.y : 0};
    step.radius = radius_;
    return step;
  }
  bool keeps_to_a_ball() const override { return true; }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  double eta_, margin_, radius_;
};

// For regression: beta = eta sign(r) if |r| > epsilon, r = y - f(x).
class PerceptronRegression final : public Rule {
 public:
  PerceptronRegression(double eta, double epsilon) : eta_(eta), epsilon_(epsilon) {}
  Step propose(const Round& round) const override {
    const double r = round.y - round.fx;
    return {1, std::fabs(r) > epsilon_ ? round.weight * eta_ * sign(r) : 0};
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  double eta_, epsilon_;
};

// PA-I: beta = y min(C, l / kxx), l the hinge loss. If kxx = 0, k(x,.) = 0 and no step can help.
class PassiveAggressive final : public Rule {
 public:
  explicit PassiveAggressive(double C) : C_(C) {}
  Step propose(const Round& r) const override {
    const double l = clear_loss(1 - r.y * r.fx, std::fabs(r.fx));
    return {1, r.kxx > 0 ? r.y * std::min(r.weight * C_, l / r.kxx) : 0};
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  double C_;
};

// For regression: l = max(0, |r| - epsilon), beta = sign(r) min(C, l / kxx).
class PassiveAggressiveRegression final : public Rule {
 public:
  PassiveAggressiveRegression(double C, double epsilon) : C_(C), epsilon_(epsilon) {}
  Step propose(const Round& round) const override {
    const double r = round.y - round.fx;
    const double l = clear_loss(std::fabs(r) - epsilon_, std::fabs(round.y));
    return {1, round.kxx > 0 ? sign(r) * std::min(round.weight * C_, l / round.kxx) : 0};
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  double C_, epsilon_;
};

// Online gradient descent, BOGD paper Eq. 2: f <- (1 - eta lam) f - eta l'(f(x)) k(x,.).
class OGD final : public Rule {
 public:
  OGD(std::shared_ptr<const Loss> loss, double eta, double lam) : loss_(std::move(loss)), eta_(eta), lam_(lam) {}
  Step propose(const Round& r) const override { return {1 - eta_ * lam_, -eta_ * r.weight * loss_->slope(r.fx, r.y)}; }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  std::shared_ptr<const Loss> loss_;
  double eta_, lam_;
};

// For regression: the same, without a step while |y - f(x)| <= epsilon.
class OGDRegression final : public Rule {
 public:
  OGDRegression(std::shared_ptr<const Loss> loss, double eta, double lam, double epsilon)
      : ogd_(std::move(loss), eta, lam), epsilon_(epsilon) {}
  Step propose(const Round& r) const override {
    Step step = ogd_.propose(r);
    if (std::fabs(r.y - r.fx) <= epsilon_) step.beta = 0;
    return step;
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  OGD ogd_;
  double epsilon_;
};

// An implicit step, ILK (Cheng et al. 2006): f becomes the h that minimises
//   |h - f|^2 / 2 + eta (lam |h|^2 / 2 + l(h(x), y)).
// So h = (f - eta l'(h(x)) k(x,.)) / (1 + eta lam), with the slope at the end of the step.
class ImplicitOGD final : public Rule {
 public:
  ImplicitOGD(std::shared_ptr<const Loss> loss, double eta, double lam)
      : loss_(std::move(loss)), eta_(eta), shrink_(1 / (1 + eta * lam)) {}
  Step propose(const Round& r) const override {
    const double s = shrink_ * eta_ * r.weight;
    return {shrink_, r.kxx > 0 ? loss_->implicit(shrink_ * r.fx, s, r.kxx, r.y) : 0};
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  std::shared_ptr<const Loss> loss_;
  double eta_, shrink_;
};

// Stochastic gradient descent with step size 1/(lam t), NBSGD paper Algorithm 1: f <- (t-1)/t f - l'(f(x))/(lam t)
// k(x,.). Coefficients are stored as -l'/lam with the common divisor t, so that terms of equal slope keep exactly equal
// coefficients.
class SGD final : public Rule {
 public:
  SGD(std::shared_ptr<const Loss> loss, double lam) : loss_(std::move(loss)), lam_(lam) {}
  Step propose(const Round& r) const override {
    return {1, -r.weight * loss_->slope(r.fx, r.y) / lam_, static_cast<double>(r.t)};
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  std::shared_ptr<const Loss> loss_;
  double lam_;
};

// The same, with f projected onto the ball |f| <= y_max / sqrt(lam) after every update, where y_max is the largest |y|
// so far (Algorithm 3, lines 15-17, for the squared loss and lam <= 1).
class SGDInBall final : public Rule {
 public:
  SGDInBall(std::shared_ptr<const Loss> loss, double lam) : sgd_(std::move(loss), lam), lam_(lam) {}
  Step propose(const Round& r) const override {
    Step step = sgd_.propose(r);
    step.radius = std::max(y_max_, std::fabs(r.y)) / std::sqrt(lam_);
    return step;
  }
  void commit(const Round& r, const Step&) override { y_max_ = std::max(y_max_, std::fabs(r.y)); }
  bool keeps_to_a_ball() const override { return true; }
  void restart() override { y_max_ = 0; }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.field("sgd.y_max", y_max_, {Merged::Most});
  }
  bool is_consistent(std::size_t) const override { return y_max_ >= 0; }

 private:
  SGD sgd_;
  double lam_;
  double y_max_ = 0;
};

// NORMA for regression (Kivinen et al. 2004): the width of the tube adapts so that a fraction nu of examples lies
// outside.
class NORMA final : public Rule {
 public:
  NORMA(double eta, double nu, double lam, double epsilon)
      : eta_(eta), nu_(nu), lam_(lam), start_(epsilon), epsilon_(epsilon) {}
  Step propose(const Round& round) const override {
    const double r = round.y - round.fx, eta = eta_ * round.weight;
    const bool outside = std::fabs(r) > epsilon_;
    Step step{1 - eta_ * lam_, outside ? eta * sign(r) : 0};
    step.own = outside ? (1 - nu_) * eta : -nu_ * eta;
    return step;
  }
  void commit(const Round&, const Step& step) override { epsilon_ += step.own; }
  void restart() override { epsilon_ = start_; }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.field("norma.epsilon", epsilon_, {Merged::Mean});
  }

 private:
  double eta_, nu_, lam_, start_;
  double epsilon_;
};

}  // namespace budgetron
