// A learner on explicit features: f(x) = w'z(x). Features are computed for a block of rows at once, then the rows are
// learned one after the other.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "features/feature_map.hpp"
#include "features/vector_rules.hpp"
#include "features/weights.hpp"
#include "linalg/limits.hpp"
#include "model/learner.hpp"
#include "model/tasks.hpp"
#include "simd/aligned.hpp"

namespace budgetron {

class Mapped final : public Learner {
 public:
  Mapped(std::shared_ptr<FeatureMap> map, std::shared_ptr<VectorRule> rule, std::shared_ptr<const Task> task)
      : map_(std::move(map)), rule_(std::move(rule)), task_(std::move(task)), w_(task_->outputs()) {
    rule_->begin(w_.outputs(), 0);
  }

  void begin() override {
    map_->begin();
    w_.begin(map_->size());
    rule_->begin(w_.outputs(), w_.size());
  }

  std::size_t outputs() const override { return w_.outputs(); }
  const FeatureMap& map() const { return *map_; }
  const std::shared_ptr<FeatureMap>& shared_map() const { return map_; }
  const void* shared_work() const override { return map_->shared_work(); }
  const VectorRule& rule() const { return *rule_; }
  const Weights& weights() const { return w_; }
  std::size_t size() const override { return map_->landmarks(); }
  // Output c as an expansion over the landmarks: the coefficients of f_c = sum_i alpha_i k(s_i,.).
  std::vector<double> dual(std::size_t c) const {
    const std::vector<double> A = map_->from_kernel_row();
    std::vector<double> alpha(size());
    assert(size() == 0 || A.size() == w_.size() * size());
    for (std::size_t r = 0; r < w_.size() && size() > 0; ++r)
      add(w_.output(c)[r] / w_.output_divisor(), Vector(A).subspan(r * size(), size()), alpha);
    return alpha;
  }
  void keep_average(double suffix) override { w_.keep_average(suffix); }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    require_weights();
    const std::size_t done = run_blocks(rows, y, weights, scores);
    rule_->finish();
    return done;
  }

  void scores(const Rows& rows, std::span<double> out) const override {
    each_block(rows, [&](std::size_t first, std::size_t count, Vector Z) {
      const auto F = out.subspan(first * outputs(), count * outputs());
      for (std::size_t r = 0; r < count; ++r)
        w_.output_scores(Z.subspan(r * w_.size(), w_.size()), F.subspan(r * outputs(), outputs()));
      rule_->predict(Z, count, F);
    });
  }

  bool has_deviations() const override { return rule_->has_variance(); }
  void deviations(const Rows& rows, std::span<double> out) const override {
    each_block(rows, [&](std::size_t first, std::size_t count, Vector Z) {
      const auto block = out.subspan(first, count);
      rule_->variances(Z, block);
      for (double& v : block) v = std::sqrt(v);
    });
  }

  // The variance z'Pz of the score, in the unit of the noise.
  Recollection recollection() const override {
    return rule_->posterior() == nullptr ? Recollection::None : Recollection::Weights;
  }
  void novelty(const Rows& rows, std::span<double> out) const override {
    each_block(rows, [&](std::size_t first, std::size_t count, Vector Z) {
      rule_->posterior()->each_look(Z, count, [&](std::size_t r, const Gain& gain) { out[first + r] = gain.S; });
    });
  }

  void widen(std::size_t features, std::size_t outputs) override {
    map_->widen(features);
    const std::size_t added = map_->tail() - w_.tail(), before = map_->size() - added;
    w_.widen(added, outputs);
    rule_->widen(before, added, w_);
    if (outputs > task_->outputs()) task_ = std::make_shared<Multiclass>(outputs);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(z_) + bytes_of(residuals_.r));
    io.field("t", t_, {Merged::Sum});
    map_->fields(io);
    w_.fields(io);
    rule_->fields(io);
  }

  bool consistent() const override {
    return map_->is_consistent(map_->size()) && w_.is_consistent(map_->size()) && rule_->is_consistent(map_->size());
  }

 private:
  std::size_t run_blocks(const Rows& rows, Vector y, Vector weights, std::span<double> scores) {
    AlignedVector Z;
    for (std::size_t first = 0, last; first < rows.size(); first = last) {
      last = std::min(first + block(), rows.size());
      map_->begin_preparing();
      prepare(rows, weights, first, last);
      Z.resize((last - first) * w_.size());
      const bool in_turn = !rule_->looks_ahead();
      if (in_turn)
        map_->begin_transform({rows, first, last}, Z);
      else
        map_->transform({rows, first, last}, Z);
      for (std::size_t i = first; i < last; ++i) {
        const auto f = scores.subspan(i * outputs(), outputs());
        const auto from_i = std::span(Z).subspan((i - first) * w_.size());
        if (in_turn) map_->finish_transform(from_i.first(w_.size()));
        w_.scores(from_i.first(w_.size()), f);
        const double weight = weights.empty() ? 1 : weights[i];
        if (!moderate(f) || !learn({rows, i, i + 1}, from_i, f, y[i], weight)) {
          map_->forget_prepared();
          prepare(rows, weights, first, i);
          return i;
        }
      }
    }
    return rows.size();
  }

  // Calls use(first, count, Z) for blocks of rows, Z their features.
  template <class Use>
  void each_block(const Rows& rows, Use use) const {
    require_weights();
    AlignedVector Z;
    for (std::size_t first = 0, last; first < rows.size(); first = last) {
      last = std::min(first + ahead(), rows.size());
      Z.resize((last - first) * w_.size());
      map_->transform({rows, first, last}, Z);
      use(first, last - first, Vector(Z));
    }
  }

  void require_weights() const {
    if (w_.size() != map_->size()) throw std::logic_error("Mapped: neither begun nor restored.");
  }

  void prepare(const Rows& rows, Vector weights, std::size_t first, std::size_t last) {
    if (weights.empty() && first < last) return map_->prepare({rows, first, last});
    for (std::size_t i = first; i < last; ++i)
      if (weights[i] != 0) map_->prepare({rows, i, i + 1});
  }

  // Rows that are computed ahead, while learning. The map is the same for all of them.
  std::size_t block() const { return map_->learns() ? 1 : std::min(ahead(), map_->rows_to_exchange()); }

  // The number of rows whose features fit in the cache. Sixteen share one look at the frequencies even if they do not.
  std::size_t ahead() const { return std::clamp<std::size_t>(32768 / std::max<std::size_t>(w_.size(), 1), 16, 32); }

  // One round; f = f(x) before the update becomes the scores. Z has the features of x, and those of the rows behind it.
  // A row of weight 0 is only scored. Returns false, with nothing changed, if the step exceeds the limits.
  bool learn(const Stretch& row, Vector Z, std::span<double> f, double y, double weight) {
    const Vector z = Z.first(w_.size());
    if (weight == 0) {
      rule_->predict(Z, f);
      return true;
    }
    Question question = task_->ask(f, y, map_->squared_norm(row[0], z), weight);
    question.round.t = t_ + 1;
    if (map_->recruits()) residuals_.look(*task_, question, f);
    rule_->predict(Z, f);
    if (!moderate_square(question.round.kxx) || !rule_->propose(question.round)) return false;
    ++t_;
    if (map_->recruits()) map_->count_use({z, w_.rows(), w_.divisor(), residuals_}, 0);
    std::vector<Change> changes;
    if (map_->learns()) {
      if (const double beta = rule_->along_z(); beta != 0)
        map_->follow(row[0], {z, w_.rows(), w_.divisor(), question.v, beta}, 0);
      map_->before_step(row[0], rule_->steps(), changes);
      adopt(changes);
      z_.resize(w_.size());
      map_->transform(row, z_);
      rule_->commit(question, z_, w_);
      changes.clear();
      map_->after_step(changes);
      adopt(changes);
    } else {
      rule_->commit(question, z, w_);
    }
    w_.end_round();
    if (map_->recruits()) {
      changes.clear();
      map_->exchange(changes);
      for (const Change& change : changes) rule_->let_go(change.at, w_);
      adopt(changes);
    }
    return true;
  }

  void adopt(const std::vector<Change>& changes) {
    for (const Change& change : changes) {
      w_.change(change);
      rule_->change(change, w_);
    }
  }

  Counter t_ = 0;  // rounds so far
  std::shared_ptr<FeatureMap> map_;
  std::shared_ptr<VectorRule> rule_;
  std::shared_ptr<const Task> task_;
  Weights w_;
  std::vector<double> z_;
  Residuals residuals_;
};

}  // namespace budgetron
