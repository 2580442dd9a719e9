// Tasks: how a label becomes a scalar question for the rule, and which rows of coefficients the answer enters.
// Multi-class lifts the scalar rules: one row of coefficients per class over one shared support set.
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// What a rule knows about one round.
struct Round {
  double fx;     // f(x)
  double y;      // label -1 or +1, or the target
  double kxx;    // k(x, x), in the lifted space
  bool mistake;  // the prediction was wrong (regression: not exact; the rule applies its own epsilon)
  double weight;
  Counter t = 0;  // the round's number, from 1
};

// The direction v of a term beta v k(x,.): +1 at `plus`, -1 at `minus` (if not negative), 0 elsewhere.
struct Direction {
  std::size_t plus = 0;
  std::ptrdiff_t minus = -1;

  bool lifted() const { return minus >= 0; }
  double operator[](std::size_t c) const {
    return c == plus ? 1.0 : static_cast<std::ptrdiff_t>(c) == minus ? -1.0 : 0.0;
  }
};

// Calls use(c, sign) for every output c that a step changes.
template <class Use>
void each_output(const Direction& v, Use use) {
  use(v.plus, 1.0);
  if (v.lifted()) use(static_cast<std::size_t>(v.minus), -1.0);
}

struct Question {
  Round round;
  Direction v;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual std::size_t outputs() const = 0;
  virtual bool has_labels() const { return true; }
  virtual Question ask(Vector f, double y, double kxx, double weight) const = 0;
};

// y in {-1, +1}; the prediction is +1 if f(x) >= 0, else -1.
class Binary final : public Task {
 public:
  std::size_t outputs() const override { return 1; }
  Question ask(Vector f, double y, double kxx, double weight) const override {
    const double prediction = f[0] >= 0 ? 1 : -1;
    return {{f[0], y, kxx, prediction != y, weight}, {}};
  }
};

// y in {0 .. classes-1}; the prediction is the argmax, lowest index on ties. With s the best wrong class, the rule is
// asked about f_y - f_s with label +1, and kxx is the squared norm of (e_y - e_s) k(x,.).
class Multiclass final : public Task {
 public:
  explicit Multiclass(std::size_t classes) : classes_(classes) {}
  std::size_t outputs() const override { return classes_; }
  Question ask(Vector f, double label, double kxx, double weight) const override {
    const auto y = static_cast<std::size_t>(label);
    assert(y < classes_ && classes_ > 1);
    std::size_t s = y == 0 ? 1 : 0;
    for (std::size_t c = s + 1; c < classes_; ++c)
      if (c != y && f[c] > f[s]) s = c;
    const double fx = f[y] - f[s];
    const bool mistake = f[s] > f[y] || (f[s] == f[y] && s < y);
    return {{fx, 1.0, 2 * kxx, mistake, weight}, {y, static_cast<std::ptrdiff_t>(s)}};
  }

 private:
  std::size_t classes_;
};

// Rows of coefficients or weights, one for every output, for more outputs. The one output f of two classes becomes
// f_0 = -f/2 and f_1 = f/2; new classes have zeros.
inline void widen_outputs(std::vector<std::vector<double>>& rows, std::size_t outputs) {
  if (outputs <= rows.size()) return;
  const std::size_t n = rows[0].size();
  if (rows.size() == 1) {
    rows.resize(2);
    rows[1] = rows[0];
    scale(0.5, rows[1]);
    for (std::size_t i = 0; i < n; ++i) rows[0][i] = 0 - rows[1][i];  // never -0, as in a column that is still new
  }
  rows.resize(outputs, std::vector<double>(n));
}

// y a real target; the prediction is f(x).
class Regression final : public Task {
 public:
  std::size_t outputs() const override { return 1; }
  bool has_labels() const override { return false; }
  Question ask(Vector f, double y, double kxx, double weight) const override {
    return {{f[0], y, kxx, f[0] != y, weight}, {}};
  }
};

}  // namespace budgetron
