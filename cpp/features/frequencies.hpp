// Sources of the frequencies u_1 .. u_D of a Fourier map: one number per component for every input column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <numeric>
#include <span>
#include <unordered_set>
#include <vector>

#include "simd/vectors.hpp"
#include "state/fields.hpp"
#include "state/lazy.hpp"
#include "state/random.hpp"

namespace budgetron {

class Frequencies {
 public:
  virtual ~Frequencies() = default;
  virtual std::size_t components() const = 0;
  // Computes now what the first column needs.
  virtual void begin() const {}
  // The entries of all components for column j.
  virtual void column(std::size_t j, std::span<double> u) const = 0;
  virtual Bytes bytes() const = 0;

  // Whether a component can be drawn anew, near another one, or near none if both are the same. It may look at the
  // first `columns` columns. Afterwards entry(i, j) is its number in column j.
  virtual bool redraws() const { return false; }
  virtual void redraw(std::size_t /*i*/, std::size_t /*near*/, std::size_t /*columns*/) {}
  virtual double entry(std::size_t /*i*/, std::size_t /*j*/) const { return 0; }
  // What was drawn anew; nothing that follows from the seed.
  virtual void redrawn_fields(Fields&) {}
  virtual bool is_consistent() const { return true; }
};

// The quantile function of the standard normal distribution (Wichura 1988, AS 241), accurate to about 1e-15.
inline double normal_quantile(double p) {
  const auto ratio = [](double t, const double (&a)[8], const double (&b)[8]) {
    double above = a[7], below = b[7];
    for (int i = 6; i >= 0; --i) {
      above = above * t + a[i];
      below = below * t + b[i];
    }
    return above / below;
  };
  constexpr double a[] = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
                          45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727};
  constexpr double b[] = {1.0,
                          42.313330701600911252,
                          687.18700749205790830,
                          5394.1960214247511077,
                          21213.794301586595867,
                          39307.895800092710610,
                          28729.085735721942674,
                          5226.4952788528545610};
  constexpr double c[] = {1.42343711074968357734,   4.63033784615654529590,   5.76949722146069140550,
                          3.64784832476320460504,   1.27045825245236838258,   0.241780725177450611770,
                          0.0227238449892691845833, 7.74545014278341407640e-4};
  constexpr double d[] = {1.0,
                          2.05319162663775882187,
                          1.67638483018380384940,
                          0.689767334985100004550,
                          0.148103976427480074590,
                          0.0151986665636164571966,
                          5.47593808499534494600e-4,
                          1.05075007164441684324e-9};
  constexpr double e[] = {6.65790464350110377720,    5.46378491116411436990,   1.78482653991729133580,
                          0.296560571828504891230,   0.0265321895265761230930, 0.00124266094738807843860,
                          2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double f[] = {1.0,
                          0.599832206555887937690,
                          0.136929880922735805310,
                          0.0148753612908506148525,
                          7.86869131145613259100e-4,
                          1.84631831751005468180e-5,
                          1.42151175831644588870e-7,
                          2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return q * ratio(0.180625 - q * q, a, b);
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double tail = r <= 5 ? ratio(r - 1.6, c, d) : ratio(r - 5, e, f);
  return q < 0 ? -tail : tail;
}

// Drawn from a counter-based generator keyed by (seed, column), so a column's numbers do not depend on which columns
// came before. Number i of a column's stream is that of component i, and the numbers behind them are those of
// components that were drawn anew. One near another is a mixture of two numbers, of the same distribution: one of its
// own, and one that it shares with all that are near.
class DrawnFrequencies : public Frequencies {
 public:
  DrawnFrequencies(std::size_t components, double scale, Counter seed)
      : components_(components), scale_(scale), seed_(seed) {}

  std::size_t components() const final { return components_; }
  void column(std::size_t j, std::span<double> u) const final {
    u = u.first(components_);
    Random(seed_, j + 1).uniforms(u);
    for (double& v : u) v = scale_ * quantile(inside(v));
    for (std::size_t i = 0; i < own_.size(); ++i)
      if (own_[i] != i) u[i] = entry(i, j);
  }
  Bytes bytes() const final { return sizeof *this + bytes_of(own_) + bytes_of(shared_); }

  bool redraws() const final { return true; }
  void redraw(std::size_t i, std::size_t near, std::size_t) final {
    if (own_.empty()) {
      own_.resize(components_);
      std::iota(own_.begin(), own_.end(), Counter{0});
      shared_ = own_;
    }
    own_[i] = components_ + redrawn_++;
    shared_[i] = near == i ? own_[i] : shared_[near];
  }
  double entry(std::size_t i, std::size_t j) const final {
    const auto number = [random = Random(seed_, j + 1), this](Counter n) {
      return quantile(inside(random.uniform_at(n)));
    };
    if (shared_[i] == own_[i]) return scale_ * number(own_[i]);
    return scale_ * (nearness * number(shared_[i]) + rest() * number(own_[i]));
  }
  void redrawn_fields(Fields& io) final {
    io.field("fourier.redrawn", redrawn_, {Merged::Own});
    io.field("fourier.own", own_, {Merged::Own});
    io.field("fourier.shared", shared_, {Merged::Own});
  }
  bool is_consistent() const final {
    return own_.size() == shared_.size() && (own_.empty() || own_.size() == components_);
  }

 protected:
  static constexpr double nearness = 0.9;
  // The quantile of the distribution at p.
  virtual double quantile(double p) const = 0;
  // The factor of the own number, so that a mixture has the same distribution.
  virtual double rest() const = 0;

 private:
  static double inside(double p) { return std::min(p + 0x1p-54, 1 - 0x1p-53); }

  std::size_t components_;
  double scale_;
  Counter seed_;
  Counter redrawn_ = 0;                // how often a component was drawn anew
  std::vector<Counter> own_, shared_;  // the numbers of each component; empty before the first is drawn anew
};

class NormalFrequencies final : public DrawnFrequencies {
 public:
  using DrawnFrequencies::DrawnFrequencies;

 private:
  double quantile(double p) const override { return normal_quantile(p); }
  double rest() const override { return std::sqrt(1 - nearness * nearness); }
};

class CauchyFrequencies final : public DrawnFrequencies {
 public:
  using DrawnFrequencies::DrawnFrequencies;

 private:
  double quantile(double p) const override { return std::tan(std::numbers::pi * (p - 0.5)); }
  double rest() const override { return 1 - nearness; }
};

// Every component looks at one or two columns only. The first of them is on one, the second on two, and so on in turn.
// Columns take turns, in a random order, and so do pairs; the widths of a column's components are spread evenly on a
// logarithmic scale. The length of a frequency is 1 / width, and its direction on two columns is random.
class SparseFrequencies final : public Frequencies {
 public:
  SparseFrequencies(std::size_t components, std::size_t columns, double narrowest, double widest, Counter seed)
      : components_(components), columns_(columns), narrowest_(narrowest), widest_(widest), seed_(seed) {}

  std::size_t components() const override { return components_; }
  void begin() const override { picks_.get(); }
  void column(std::size_t j, std::span<double> u) const override {
    if (j >= columns_) join(j, u);
    const std::vector<Pick>& picks = now();
    for (std::size_t i = 0; i < components_; ++i)
      if (j < picks[i].columns) u[i] = picks[i].at(j);
  }
  Bytes bytes() const override {
    return sizeof *this + bytes_of(redrawn_) + (picks_.peek() == nullptr ? 0 : bytes_of(*picks_.peek()));
  }

  // Near another component is on its columns. A new one is on one column or on two.
  bool redraws() const override { return true; }
  void redraw(std::size_t i, std::size_t near, std::size_t columns) override {
    if (redrawn_.empty()) redrawn_ = picks_.get();
    Random random(seed_, ~redraws_++);
    auto [first, second] = std::minmax({redrawn_[near].first, redrawn_[near].second});
    if (near == i) {
      first = second = random.below(columns);
      if (columns > 1 && random.uniform() < 0.5) second = (first + 1 + random.below(columns - 1)) % columns;
    }
    const double part = random.uniform();
    redrawn_[i] = pick(first, second, part, first == second ? 0 : random.uniform(), columns);
  }
  double entry(std::size_t i, std::size_t j) const override { return now()[i].at(j); }
  void redrawn_fields(Fields& io) override {
    std::vector<Counter> places;
    std::vector<double> numbers;
    for (const Pick& pick : redrawn_) {
      places.insert(places.end(), {pick.first, pick.second, pick.columns});
      numbers.insert(numbers.end(), {pick.u, pick.v});
    }
    io.field("fourier.redrawn", redraws_, {Merged::Own});
    io.field("fourier.picked", places, {Merged::Own});
    io.field("fourier.numbers", numbers, {Merged::Own});
    if (!io.restoring()) return;
    const std::size_t n = places.size() / 3;
    sound_ = places.size() == 3 * n && numbers.size() == 2 * n && (n == 0 || n == components_) && all_finite(numbers);
    redrawn_.clear();
    for (std::size_t i = 0; i < n && sound_; ++i)
      redrawn_.push_back({places[3 * i], places[3 * i + 1], places[3 * i + 2], numbers[2 * i], numbers[2 * i + 1]});
  }
  bool is_consistent() const override { return sound_; }

 private:
  struct Pick {
    std::size_t first, second;  // equal if there is one column
    std::size_t columns;        // that were there when it was drawn; it may be joined by later ones
    double u, v;

    double at(std::size_t j) const { return first == j ? u : second == j ? v : 0; }
  };

  const std::vector<Pick>& now() const { return redrawn_.empty() ? picks_.get() : redrawn_; }

  // `part` of the way from the narrowest to the widest, and `turn` of a full turn.
  Pick pick(std::size_t first, std::size_t second, double part, double turn, std::size_t columns) const {
    const double width = narrowest_ * std::pow(widest_ / narrowest_, part);
    const double angle = 2 * std::numbers::pi * turn;
    const double u = std::cos(angle) / width;
    return {first, second, columns, u, first == second ? u : std::sin(angle) / width};
  }

  // A column that is new since the map was built joins as many components, drawn at random, as it would have got of
  // this many columns: 3/2 of its share.
  void join(std::size_t j, std::span<double> u) const {
    Random random(seed_, j + 1);
    for (double& v : u.first(components_)) {
      const bool joins = random.uniform() * static_cast<double>(j + 1) < 1.5;
      const double width = narrowest_ * std::pow(widest_ / narrowest_, random.uniform());
      v = joins ? 1 / width : 0;
    }
  }

  std::vector<Pick> draw() const {
    Random random(seed_);
    const std::size_t turns = std::min(columns_, components_);  // no more columns than these are looked at first
    std::vector<std::size_t> order(turns);
    std::vector<double> start(turns);  // of the widths
    std::unordered_set<std::size_t> taken;
    for (std::size_t k = 0; k < turns; ++k) {
      std::size_t drawn = k;
      if (columns_ > turns) do {
          drawn = random.below(columns_);
        } while (!taken.insert(drawn).second);
      order[k] = drawn;
      start[k] = random.uniform();
    }
    for (std::size_t k = turns; k-- > 1;) std::swap(order[k], order[random.below(k + 1)]);
    std::vector<Pick> picks;
    for (std::size_t i = 0; i < components_; ++i) {
      const std::size_t k = i / 2, place = k % turns, round = k / turns;
      const bool two = i % 2 == 1 && turns > 1;
      const std::size_t first = order[place];
      const std::size_t second = two ? order[(place + 1 + round % (turns - 1)) % turns] : first;
      double whole;
      const double part = std::modf(start[place] + static_cast<double>(round) * golden, &whole);
      picks.push_back(pick(first, second, part, two ? random.uniform() : 0, columns_));
    }
    return picks;
  }

  static constexpr double golden = 0.6180339887498949;  // multiples of it are spread evenly modulo 1

  std::size_t components_, columns_;
  double narrowest_, widest_;
  Counter seed_;
  Lazy<std::vector<Pick>> picks_{[this] { return draw(); }};
  Counter redraws_ = 0;
  std::vector<Pick> redrawn_;  // instead of picks_, once a component was drawn anew
  bool sound_ = true;
};

// A given matrix, columns x components, computed on first use. Later columns are computed one by one.
class GivenFrequencies final : public Frequencies {
 public:
  GivenFrequencies(std::size_t columns, std::size_t components, std::function<std::vector<double>()> make,
                   std::function<std::vector<double>(std::size_t)> later)
      : columns_(columns), components_(components), U_(std::move(make)), later_(std::move(later)) {}

  std::size_t components() const override { return components_; }
  void begin() const override { U_.get(); }
  void column(std::size_t j, std::span<double> u) const override {
    if (j >= columns_) {
      const std::vector<double> v = later_(j);
      std::copy_n(v.begin(), components_, u.begin());
      return;
    }
    std::copy_n(U_.get().begin() + static_cast<std::ptrdiff_t>(j * components_), components_, u.begin());
  }
  Bytes bytes() const override { return sizeof *this + (U_.peek() == nullptr ? 0 : bytes_of(*U_.peek())); }

 private:
  std::size_t columns_, components_;
  Lazy<std::vector<double>> U_;
  std::function<std::vector<double>(std::size_t)> later_;
};

}  // namespace budgetron
