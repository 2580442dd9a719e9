// A learner that predicts with f of a random round, drawn while the rows pass (Le et al. 2016, Theorems 6 and 12).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/learner.hpp"
#include "state/random.hpp"
#include "state/snapshot.hpp"

namespace budgetron {

// Which of the rounds after `start` is kept: each with the same probability, whatever their number turns out to be.
// Round t replaces the one kept with probability 1 / (t - start), so P(next > s) = (t - start) / (s - start).
class DrawnRound {
 public:
  bool is_next(Counter t) const { return t == next_; }
  Counter start() const { return start_; }

  // Round t is kept now.
  void keep(Counter t, Random& random) {
    const double since = static_cast<double>(t - start_), gap = since / (1 - random.uniform());
    next_ = start_ + (gap < 0x1p62 ? static_cast<Counter>(gap) : Counter{1} << 62) + 1;
  }
  // Forgets all rounds up to t.
  void restart(Counter t) { start_ = t, next_ = t + 1; }

  void fields(Fields& io) {
    io.field("iterate.start", start_);
    io.field("iterate.next", next_);
  }

 private:
  Counter start_ = 0, next_ = 1;
};

class RandomIterate final : public Learner {
 public:
  // `older` and `younger` are built as the learner is. The younger one takes the older one's place when it covers the
  // suffix; there is none if the suffix is 1.
  RandomIterate(std::shared_ptr<Learner> learner, std::shared_ptr<Learner> older, std::shared_ptr<Learner> younger,
                double suffix, Counter seed)
      : learner_(std::move(learner)),
        older_{std::move(older), {}},
        younger_{std::move(younger), {}},
        suffix_(suffix),
        random_(seed, stream) {
    each([&](Learner& part) { part.set_guard(shared_guard()); });
  }

  void set_guard(std::shared_ptr<Guard> guard) override {
    each([&](Learner& part) { part.set_guard(guard); });
    Learner::set_guard(std::move(guard));
  }
  void begin() override {
    each([](Learner& part) { part.begin(); });
  }
  void widen(std::size_t features, std::size_t outputs) override {
    each([&](Learner& part) { part.widen(features, outputs); });
  }
  std::size_t outputs() const override { return learner_->outputs(); }
  std::size_t size() const override { return kept()->size(); }
  void keep_average(double) override { throw std::invalid_argument("RandomIterate has no average."); }
  bool accepts_missing() const override { return learner_->accepts_missing(); }

  // The learner whose f predicts.
  const std::shared_ptr<Learner>& kept() const { return t_ == 0 ? learner_ : older_.learner; }
  void scores(const Rows& rows, std::span<double> out) const override { kept()->scores(rows, out); }
  bool has_deviations() const override { return learner_->has_deviations(); }
  void deviations(const Rows& rows, std::span<double> out) const override { kept()->deviations(rows, out); }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    std::size_t first = 0;
    while (first < rows.size()) {
      const std::size_t last = quiet_until(first, rows.size(), weights);
      const bool drawn = last == first;  // the next row is a round that is kept
      const std::size_t n = drawn ? 1 : last - first;
      std::optional<Snapshot> before;
      if (drawn) before.emplace(*learner_);
      const Vector w = weights.empty() ? weights : weights.subspan(first, n);
      const auto f = scores.subspan(first * outputs(), n * outputs());
      const std::size_t done = learner_->run(rows.slice(first, first + n), y.subspan(first, n), w, f);
      if (before && done == 1) keep(*before);
      for (std::size_t i = 0; i < done; ++i)
        if (w.empty() || w[i] != 0) end_round();
      if (done < n) return first + done;
      first += n;
    }
    return rows.size();
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    io.field("iterate.t", t_);
    Prefixed own(io, "iterate.");
    random_.fields(own);
    Prefixed inner(io, "learner.");
    learner_->fields(inner);
    for (auto [name, kept] : {std::pair{"older.", &older_}, std::pair{"younger.", &younger_}}) {
      if (!kept->learner) continue;
      Prefixed part(io, name);
      kept->round.fields(part);
      kept->learner->fields(part);
    }
  }
  bool consistent() const override {
    return learner_->consistent() && older_.learner->consistent() &&
           (!younger_.learner || younger_.learner->consistent());
  }

 private:
  static constexpr Counter stream = 0x7261;  // of the seed

  struct Kept {
    std::shared_ptr<Learner> learner;
    DrawnRound round;
  };

  template <class Use>
  void each(Use use) {
    use(*learner_);
    use(*older_.learner);
    if (younger_.learner) use(*younger_.learner);
  }

  bool drawn(Counter t) const { return older_.round.is_next(t) || (younger_.learner && younger_.round.is_next(t)); }

  // The first row from `first` on that is a round to be kept, or `last`. After each round the younger one may start
  // again, which makes the next round one to be kept; so it is looked at one round at a time.
  std::size_t quiet_until(std::size_t first, std::size_t last, Vector weights) const {
    Counter t = t_;
    for (std::size_t i = first; i < last; ++i) {
      if (!weights.empty() && weights[i] == 0) continue;
      if (drawn(t + 1) || (t > t_ && takes_over(t))) return i;
      ++t;
    }
    return last;
  }

  bool takes_over(Counter t) const {
    return younger_.learner && static_cast<double>(younger_.round.start()) <= (1 - suffix_) * static_cast<double>(t);
  }

  // f of the round that begins, as it was before its row, is kept.
  void keep(Snapshot& before) {
    const Counter t = t_ + 1;
    std::vector<Kept*> takers;
    for (Kept* each : {&older_, &younger_})
      if (each->learner && each->round.is_next(t)) takers.push_back(each);
    for (Kept* each : takers) {
      each->round.keep(t, random_);
      Snapshot copy = before;
      copy.put_into(*each->learner);
    }
  }

  void end_round() {
    ++t_;
    if (!takes_over(t_)) return;
    std::swap(older_, younger_);
    younger_.round.restart(t_);
  }

  std::shared_ptr<Learner> learner_;
  Kept older_, younger_;
  double suffix_;
  Random random_;
  Counter t_ = 0;  // rounds so far
};

}  // namespace budgetron
