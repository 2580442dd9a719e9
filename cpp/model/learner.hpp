// The interface of a learner, and the base class of learners with a kernel expansion.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "input/rows.hpp"
#include "linalg/limits.hpp"
#include "model/expansion.hpp"
#include "model/kernel_rows.hpp"
#include "model/recollection.hpp"
#include "state/fields.hpp"
#include "state/guard.hpp"

namespace budgetron {

class Learner : public Part {
 public:
  virtual std::size_t outputs() const = 0;
  // The current number of support vectors or landmarks.
  virtual std::size_t size() const = 0;
  // Called once on a new learner that is not restored. Memory for features is allocated here or by restoring.
  virtual void begin() {}
  // More columns, which were 0 in all rows so far, and more outputs (widen_outputs in tasks.hpp). Scores of old rows do
  // not change by a bit. A learner that is about to be restored is widened first, and allocates nothing.
  virtual void widen(std::size_t features, std::size_t outputs) = 0;
  // These columns, which the next `widen` brings, are of little use to most learners (dated.hpp). Returns whether any
  // learner cares.
  virtual bool set_aside(std::span<const std::size_t>) { return false; }
  // Whether restored fields are consistent.
  virtual bool consistent() const = 0;
  // Predict with the average of f over the given suffix of the rounds. Must be called before the first round.
  virtual void keep_average(double suffix) = 0;
  // Learns the rows in order and writes the scores before each update (rows x outputs). A row of weight 0 is scored but
  // not learned. Stops before a row whose scores or step exceed the limits (limits.hpp); that row changes nothing.
  // Returns the number of rows done.
  virtual std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) = 0;
  // f(x) for every row (rows x outputs).
  virtual void scores(const Rows& rows, std::span<double> out) const = 0;
  // The standard deviation of the prediction of every row, in regression, if the learner has one.
  virtual bool has_deviations() const { return false; }
  virtual void deviations(const Rows&, std::span<double>) const {}
  // What the learner keeps of the rows (recollection.hpp). Nothing of it changes what is learned.
  virtual KeptRows kept_rows() const { return {}; }
  virtual std::vector<Neighbour> nearest(const Rows& /*one*/, std::size_t /*most*/) const { return {}; }
  virtual Recollection recollection() const { return Recollection::None; }
  // How unlike the learned rows each row is: larger numbers are more so. And of the newest kept rows themselves, each
  // compared with the others; empty if the learner keeps none.
  virtual void novelty(const Rows&, std::span<double>) const {}
  virtual std::vector<double> usual_novelty() const { return {}; }
  // The share of each expert in the scores (rows x experts x outputs). The rest of a score is constant.
  virtual std::size_t sharing() const { return 0; }
  virtual void shares(const Rows&, std::span<double>) const {}
  // Whether rows may have NaN for a missing value.
  virtual bool accepts_missing() const { return false; }
  // Experts of a stack with the same value, not null, share work: they must run on one thread, in turn.
  virtual const void* shared_work() const { return nullptr; }
  Guard& guard() const { return *guard_; }
  // An inner learner shares the outer lock, because its parts can be read directly.
  virtual void set_guard(std::shared_ptr<Guard> guard) { guard_ = std::move(guard); }
  // The number of rows that `run` has done since the learner was built.
  std::atomic<Counter> rows_done = 0;
  // The number of columns that the learner was widened to; 0 if it was not.
  std::size_t widened_to = 0;

 protected:
  const std::shared_ptr<Guard>& shared_guard() const { return guard_; }

 private:
  std::shared_ptr<Guard> guard_ = std::make_shared<Guard>();
};

// A learner whose f is a kernel expansion. It iterates over the rows; `learn` is the step of one row.
class ExpansionLearner : public Learner {
 public:
  std::size_t outputs() const final { return f_.outputs(); }
  std::size_t size() const final { return f_.size(); }
  void widen(std::size_t features, std::size_t outputs) override { f_.widen(features, outputs); }
  bool consistent() const final { return is_consistent(f_.size()); }
  // f, if `settle` was called after the last row.
  const Expansion& expansion() const { return f_; }
  // Makes the coefficients those of f, for readers. It changes no bit of what is learned.
  virtual void settle() const {}
  void keep_average(double suffix) final { f_.keep_average(suffix); }
  // The number of rows to compute ahead of time. It affects speed only, not one bit of the model.
  std::size_t look_ahead = 64;

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) final {
    KernelRows kernel_rows(rows, f_, look_ahead, y);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const KernelRow row = support_is_final() ? kernel_rows.in_block(i) : kernel_rows.at(i);
      const auto f = scores.subspan(i * outputs(), outputs());
      score(rows, i, row, f);
      const double weight = weights.empty() ? 1 : weights[i];
      if (!moderate(f) || !moderate(row.kxx) || !std::isfinite(row.norm)) return i;
      if (weight == 0) continue;
      if (!learn(rows[i], row, f, y[i], weight)) return i;
      f_.end_round();
    }
    return rows.size();
  }

  void scores(const Rows& rows, std::span<double> out) const final {
    KernelRows kernel_rows(rows, f_, look_ahead);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const KernelRow row = support_is_final() ? kernel_rows.in_block(i) : kernel_rows.at(i);
      const auto f = out.subspan(i * outputs(), outputs());
      if (f_.has_average())
        f_.average_scores(row.k, f);
      else
        score(rows, i, row, f);
    }
  }

  KeptRows kept_rows() const final {
    KeptRows kept{f_.features(), {}};
    for (const std::size_t i : newest()) {
      kept.values.resize(kept.values.size() + f_.features());
      f_.support().copy(i, std::span(kept.values).last(f_.features()));
    }
    return kept;
  }
  Recollection recollection() const final { return Recollection::Support; }
  // The distance in feature space to the nearest support vector.
  void novelty(const Rows& rows, std::span<double> out) const final {
    KernelRows kernel_rows(rows, f_, look_ahead);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const KernelRow row = kernel_rows.at(i);
      out[i] = f_.size() == 0 ? 0 : INFINITY;
      for (std::size_t s = 0; s < f_.size(); ++s) out[i] = std::min(out[i], distance(row.kxx, row.k[s], s));
    }
  }
  std::vector<double> usual_novelty() const final {
    std::vector<double> k, usual;
    for (const std::size_t i : newest()) {
      f_.kernel_row(i, k);
      double least = INFINITY;
      for (std::size_t s = 0; s < f_.size(); ++s)
        if (s != i) least = std::min(least, distance(f_.self(i), k[s], s));
      if (std::isfinite(least)) usual.push_back(least);
    }
    return usual;
  }
  std::vector<Neighbour> nearest(const Rows& one, std::size_t most) const final {
    settle();
    KernelRows kernel_rows(one, f_, 1);
    const KernelRow row = kernel_rows.at(0);
    std::vector<Neighbour> near;
    for (const std::size_t i : nearest(row, most)) {
      near.push_back({distance(row.kxx, row.k[i], i), std::vector<double>(f_.features()), {}, {}, false});
      f_.support().copy(i, near.back().row);
      for (std::size_t c = 0; c < outputs(); ++c)
        near.back().shares.push_back(f_.output(c)[i] / f_.output_divisor() * row.k[i]);
    }
    return near;
  }

 protected:
  ExpansionLearner(std::shared_ptr<const Kernel> kernel, std::size_t features, Precision precision, std::size_t outputs)
      : f_(std::move(kernel), features, precision, outputs) {}

  // f(x) of row i.
  virtual void score(const Rows&, std::size_t /*i*/, const KernelRow& row, std::span<double> f) const {
    f_.scores(row.k, f);
  }

  // One round; f = f(x) before the update. Returns false, with nothing changed, if the step exceeds the limits.
  virtual bool learn(const Row& x, const KernelRow& row, Vector f, double y, double weight) = 0;

  // Whether the support vectors will not change any more.
  virtual bool support_is_final() const { return false; }

  mutable Expansion f_;  // settled by readers

 private:
  double distance(double kxx, double k, std::size_t i) const {
    return std::sqrt(std::max(kxx - 2 * k + f_.self(i), 0.0));
  }
  // The slots of the nearest support vectors, the newer first on ties.
  std::vector<std::size_t> nearest(const KernelRow& row, std::size_t most) const {
    std::vector<std::size_t> places(f_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    const auto key = [&](std::size_t i) { return std::pair(distance(row.kxx, row.k[i], i), ~f_.births()[i]); };
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(std::min(most, places.size()));
    std::partial_sort(places.begin(), end, places.end(), [&](auto a, auto b) { return key(a) < key(b); });
    return {places.begin(), end};
  }
  // The slots of the newest support vectors, from the newest.
  std::vector<std::size_t> newest() const {
    std::vector<std::size_t> places(f_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::sort(places.begin(), places.end(), [&](auto a, auto b) { return f_.births()[a] > f_.births()[b]; });
    places.resize(std::min(places.size(), most_recalled));
    return places;
  }
};

}  // namespace budgetron
