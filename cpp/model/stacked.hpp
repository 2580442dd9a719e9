// Several learners (experts) on the same rows, and a filter on top that learns how far to trust each. Every expert
// learns as if it were alone. With l_ic the logit of expert i for class c, P the covariance of (w, b) and c the
// example's weight:
//
//   p = softmax_c(sum_i w_i l_ic + b_c);  v = d log p_y / d(w, b);  h = p_y / (1 - p_y);  g = P v
//   (w, b) += c g / (1 + c max(h, 1/4) v'g);  P -= c h g g' / (1 + c h v'g)
//
// Two classes have one bias, on the margin. Then the scores are calibrated (calibration.hpp). For targets: a Kalman
// filter on the experts' predictions.
#pragma once

#include <algorithm>
#include <atomic>
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
#include "model/calibration.hpp"
#include "model/learner.hpp"
#include "model/noise.hpp"
#include "model/outside.hpp"
#include "model/tracks.hpp"
#include "simd/vectors.hpp"
#include "state/threads.hpp"

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
    experts_[0]->begin();
    begin_others();
  }
  // The same if the first expert has learned rows already, and nothing else has.
  void begin_others() {
    for (std::size_t e = 1; e < experts_.size(); ++e) experts_[e]->begin();
    begin_filter();
  }
  // Scores are at first those of the first expert.
  void trust_first() {
    for (std::size_t e = 0; e < experts_.size(); ++e) w_[e] = e == 0 ? 1 : 0;
  }
  void keep_average(double suffix) final {
    for (const auto& expert : experts_) expert->keep_average(suffix);
  }
  bool accepts_missing() const final {
    return std::all_of(experts_.begin(), experts_.end(), [](const auto& expert) { return expert->accepts_missing(); });
  }
  const std::vector<std::shared_ptr<Learner>>& experts() const { return experts_; }
  // The rows of an expert are learned outside from now on (outside.hpp).
  std::shared_ptr<Outside> put_outside(std::size_t e) {
    auto outside = std::make_shared<Outside>(experts_[e]);
    outside->set_guard(shared_guard());
    experts_[e] = outside;
    group();
    return outside;
  }
  std::vector<double> expert_weights() const {
    return {w_.begin(), w_.begin() + static_cast<std::ptrdiff_t>(experts_.size())};
  }
  // The mean loss of every expert so far, weighted; 0 before the first row.
  std::vector<double> expert_losses() const {
    std::vector<double> mean(losses_);
    for (double& loss : mean) loss = learned_ > 0 ? loss / learned_ : 0;
    return mean;
  }

  // Rows are learned in blocks. A block ends before the first row that the first expert refuses. Another expert that
  // refuses a row abstains: its scores are 0, and it goes on with the next row. Learning stops before a row that all
  // experts refuse.
  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) final {
    std::vector<double> F;  // experts x rows x outputs
    std::size_t first = 0;
    while (first < rows.size()) {
      const bool together = Threads::allowed() > 1 && groups_.size() > 1 && rows.size() - first >= 2 * at_once;
      const std::size_t last = std::min(first + (together ? in_threads() : at_once), rows.size());
      F.resize(experts_.size() * (last - first) * outputs_);
      const Block block{rows.slice(first, last),
                        y.subspan(first, last - first),
                        weights.empty() ? weights : weights.subspan(first, last - first),
                        scores.subspan(first * outputs_),
                        F,
                        last - first};
      std::size_t done = together ? run_together(block) : run_in_turn(block);
      if (done == 0) done = run_others(block.part(0, 1));
      if (done == 0) break;
      first += done;
    }
    settle();
    return first;
  }

  void scores(const Rows& rows, std::span<double> out) const final {
    each_row(rows, [&](std::size_t i, Vector l) {
      const auto f = out.subspan(i * outputs_, outputs_);
      combine(l, f);
      calibrate(f);
    });
  }

  // Those of the expert that keeps rows as they were before they were scaled, or else of the first that keeps any.
  KeptRows kept_rows() const final {
    KeptRows kept;
    for (const auto& expert : experts_) {
      KeptRows own = expert->kept_rows();
      if (kept.empty() || (own.original && !own.empty() && !kept.original)) kept = std::move(own);
    }
    return kept;
  }
  std::vector<Neighbour> nearest(const Rows& one, std::size_t most) const final { return keenest().nearest(one, most); }
  Recollection recollection() const final { return keenest().recollection(); }
  void novelty(const Rows& rows, std::span<double> out) const final { keenest().novelty(rows, out); }
  std::vector<double> usual_novelty() const final { return keenest().usual_novelty(); }
  std::size_t sharing() const final { return experts_.size(); }
  void shares(const Rows& rows, std::span<double> out) const final {
    std::vector<double> f(outputs_);
    each_row(rows, [&](std::size_t i, Vector l) {
      const auto own = out.subspan(i * l.size(), l.size());
      combine(l, f);
      for (std::size_t j = 0; j < l.size(); ++j) own[j] = factor(f[j % outputs_]) * w_[j / outputs_] * l[j];
    });
  }

  bool set_aside(std::span<const std::size_t> columns) final {
    bool any = false;
    for (const auto& expert : experts_) any = expert->set_aside(columns) || any;
    return any;
  }
  void widen(std::size_t features, std::size_t outputs) override {
    for (const auto& expert : experts_) expert->widen(features, outputs);
    outputs_ = outputs;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(experts_) + bytes_of(l_) + bytes_of(f_) + bytes_of(groups_) + bytes_of(past_));
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
  static constexpr std::size_t at_once = 32;  // rows of a block
  // Rows of a block that several threads run, and of a piece of it: as many as have room, since threads that wait for
  // each other cost more than rows that leave the cache.
  std::size_t in_threads() const {
    return std::clamp<std::size_t>((1 << 18) / (experts_.size() * outputs_), 256, rows_in_threads);
  }
  static std::size_t of_piece(std::size_t rows) { return std::clamp<std::size_t>(rows / 16, at_once, 128); }

  // The first `full` biases have a full covariance.
  Stacked(std::vector<std::shared_ptr<Learner>> experts, std::size_t outputs, std::size_t biases, std::size_t full,
          double start, double drift)
      : experts_(std::move(experts)),
        outputs_(outputs),
        weights_needed_(experts_.size() + biases),
        filter_(start, drift, experts_.size() + full),
        w_(weights_needed_),
        losses_(experts_.size()) {
    std::fill_n(w_.begin(), experts_.size(), 1 / static_cast<double>(experts_.size()));
    for (const auto& expert : experts_) expert->set_guard(shared_guard());
    group();
  }

  // The logits or predictions l (experts x outputs) of row i, from the scores F of the experts on n rows.
  virtual void read(Vector F, std::size_t n, std::size_t i, std::vector<double>& l) const = 0;
  // The stack's scores from those, before they are calibrated.
  virtual void combine(Vector l, std::span<double> f) const = 0;
  // What such a score is multiplied by.
  virtual double factor(double) const { return 1; }
  // Learns row i, which is x, from l_, f_ made of it, and the calibrated scores f.
  virtual void learn(const Row& x, Vector F, std::size_t n, std::size_t i, Vector f, double y, double weight) = 0;
  virtual void begin_filter() { filter_.begin(w_.size()); }
  // The end of a batch.
  virtual void settle() { filter_.settle(); }

  void calibrate(std::span<double> f) const {
    for (double& v : f) v *= factor(v);
  }

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
  std::vector<double> l_, f_;   // of the present row: experts x outputs; its scores before they are calibrated

 private:
  // Rows to be learned, and where the scores go: those of the stack, and those of the experts.
  struct Block {
    Rows rows;
    Vector y, weights;
    std::span<double> scores, F;
    std::size_t stride, at = 0;  // of rows in F; the first of them

    std::size_t size() const { return rows.size(); }
    // Rows first .. last. All of them are the same view, so that work on it is shared.
    Block part(std::size_t first, std::size_t last) const {
      if (first == 0 && last == size()) return *this;
      const Vector w = weights.empty() ? weights : weights.subspan(first, last - first);
      return {rows.slice(first, last), y.subspan(first, last - first), w, scores, F, stride, at + first};
    }
  };

  // Returns the length of the block.
  std::size_t run_in_turn(const Block& block) {
    const std::size_t n = run_one(0, block);
    if (n == 0) return 0;
    const Block accepted = block.part(0, n);
    for (std::size_t e = 1; e < experts_.size(); ++e) run_or_abstain(e, accepted);
    learn_rows(block, 0, n);
    return n;
  }

  // The same in threads, piece by piece: a track for each group of experts, and one for the filter.
  std::size_t run_together(const Block& block) {
    const std::size_t size = of_piece(block.size());
    Tracks tracks((block.size() + size - 1) / size, past_);
    std::atomic<std::size_t> length = block.size();
    const auto step = [&](std::size_t track, std::size_t piece) {
      const std::size_t first = piece * size, last = std::min(first + size, length.load());
      if (track == groups_.size()) return learn_rows(block, first, last);
      Block rows = block.part(first, last);
      if (track == 0) {
        const std::size_t n = run_one(0, rows);
        if (n < rows.size()) length = first + n;
        tracks.release(n > 0, n < rows.size());
        if (n == 0) return;
        rows = rows.part(0, n);
      }
      for (const std::size_t e : groups_[track])
        if (e != 0) run_or_abstain(e, rows);
    };
    Threads::shared().together(std::min(Threads::allowed(), groups_.size()) - 1, [&] { tracks.work(step); });
    return length;
  }

  // One row that the first expert refuses. Returns 0, with nothing changed, if all refuse it.
  std::size_t run_others(const Block& row) {
    abstain(0, row, 0);
    bool any = false;
    for (std::size_t e = 1; e < experts_.size(); ++e) any = run_or_abstain(e, row) || any;
    if (any) learn_rows(row, 0, 1);
    return any ? 1 : 0;
  }

  // Where the scores of an expert go, from row i on.
  std::span<double> own_scores(std::size_t e, const Block& rows, std::size_t i) const {
    return rows.F.subspan((e * rows.stride + rows.at + i) * outputs_);
  }
  void abstain(std::size_t e, const Block& rows, std::size_t i) const {
    std::ranges::fill(own_scores(e, rows, i).first(outputs_), 0.0);
  }

  // Returns the number of rows that the expert has learned.
  std::size_t run_one(std::size_t e, const Block& rows) {
    return experts_[e]->run(rows.rows, rows.y, rows.weights, own_scores(e, rows, 0).first(rows.size() * outputs_));
  }

  // The same, but the expert abstains from rows that it refuses. Returns whether it has learned any.
  bool run_or_abstain(std::size_t e, const Block& rows) {
    bool any = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t n = run_one(e, rows.part(i, rows.size()));
      any = any || n > 0;
      i += n;
      if (i < rows.size()) abstain(e, rows, i);
    }
    return any;
  }

  // The filter learns rows first .. last of the block.
  void learn_rows(const Block& block, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const auto f = block.scores.subspan(i * outputs_, outputs_);
      read(block.F, block.stride, i, l_);
      combine(l_, f);
      f_.assign(f.begin(), f.end());
      calibrate(f);
      const double weight = block.weights.empty() ? 1 : block.weights[i];
      if (weight != 0) learn(block.rows[i], block.F, block.stride, i, f, block.y[i], std::min(weight, largest));
    }
  }

  // The expert that remembers rows best; the first of equals.
  const Learner& keenest() const {
    return **std::ranges::max_element(experts_, {}, [](const auto& expert) { return expert->recollection(); });
  }

  // Experts that share work run on one thread, one after the other.
  void group() {
    std::vector<const void*> shared;
    groups_.clear();
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      const void* const work = experts_[e]->shared_work();
      const auto known = work == nullptr ? shared.end() : std::find(shared.begin(), shared.end(), work);
      if (known != shared.end()) {
        groups_[static_cast<std::size_t>(known - shared.begin())].push_back(e);
        continue;
      }
      shared.push_back(work);
      groups_.push_back({e});
    }
    past_.resize(groups_.size() + 1);
  }

  void score_experts(const Rows& rows, std::vector<double>& F) const {
    const std::size_t each = rows.size() * outputs_;
    F.resize(experts_.size() * each);
    for (std::size_t e = 0; e < experts_.size(); ++e) experts_[e]->scores(rows, std::span(F).subspan(e * each, each));
  }

  std::vector<std::vector<std::size_t>> groups_;  // of experts; the first one is in the first group
  std::vector<Tracks::Past> past_;                // of every track
};

// For labels. Scores of an expert without probabilities are divided by their root mean square so far.
class StackedLabels final : public Stacked {
 public:
  StackedLabels(std::vector<std::shared_ptr<Learner>> experts, std::vector<bool> logits, std::size_t classes,
                double start, double drift)
      : Stacked(std::move(experts), outputs_of(classes), outputs_of(classes),
                classes > most_full ? 0 : outputs_of(classes), start, drift),
        logits_(std::move(logits)),
        squares_(experts_.size()),
        calibration_(start, drift),
        first_(classes),
        counted_(static_cast<double>(outputs_)) {}

  const Calibration& calibration() const { return calibration_; }

  // The margin's bias b becomes -b/2 and b/2. Logits keep their unit: they are centred over the first classes, and
  // those of two classes, which halve, are clipped at half the limit and counted as before.
  void widen(std::size_t features, std::size_t outputs) override {
    if (outputs_ == 1 && outputs > 1) {
      w_.push_back(w_.back() / 2);
      w_[experts_.size()] = 0 - w_.back();
      filter_.split_last();
      largest_logit_ /= 2;
      calibration_.halve();
      counted_ = 0.5;
    }
    const std::size_t needed = outputs > 1 ? experts_.size() + outputs : w_.size();
    if (outputs > most_full) filter_.narrow(experts_.size());
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
    Prefixed calibration(io, "stacked.calibration.");
    calibration_.fields(calibration);
  }
  bool consistent() const override {
    return Stacked::consistent() && calibration_.is_consistent() && squares_.size() == experts_.size() &&
           all_finite(squares_) && rows_ >= 0;
  }

 private:
  static std::size_t outputs_of(std::size_t classes) { return classes == 2 ? 1 : classes; }
  // The biases of more classes have a variance each: their covariance would be most of the model, and of the time.
  static constexpr std::size_t most_full = 256;

  // Logits: centred over the classes, divided, clipped.
  void read(Vector F, std::size_t n, std::size_t i, std::vector<double>& l) const override {
    l.resize(experts_.size() * outputs_);
    constexpr std::size_t together = 4;
    double means[together] = {};
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      if (e % together == 0) means_of(F, n, i, e, std::min(together, experts_.size() - e), means);
      const auto own = std::span(l).subspan(e * outputs_, outputs_);
      const double root = logits_[e] ? 1 : rows_ > 0 ? std::sqrt(squares_[e] / rows_) : 0;
      if (root > 0)
        loops->logits(scores_of(F, n, e, i).data(), means[e % together], root, largest_logit_, outputs_, own.data());
      else
        std::ranges::fill(own, 0.0);
    }
  }

  void combine(Vector l, std::span<double> f) const override {
    for (std::size_t c = 0; c < outputs_; ++c) {
      f[c] = w_[experts_.size() + c];
      for (std::size_t e = 0; e < experts_.size(); ++e) f[c] += w_[e] * l[e * outputs_ + c];
    }
  }

  double factor(double f) const override { return calibration_.factor(f); }
  void begin_filter() override {
    Stacked::begin_filter();
    calibration_.begin();
  }
  void settle() override {
    Stacked::settle();
    calibration_.settle();
  }

  void learn(const Row&, Vector F, std::size_t n, std::size_t i, Vector f, double y, double weight) override {
    const bool two = outputs_ == 1;
    const auto right = static_cast<std::size_t>(two ? y > 0 : y);
    const double said = wrong_of(f, right);
    calibration_.learn(f_, right, p_, said, weight);
    const double wrong = wrong_of(f_, right);
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
  double wrong_of(Vector f, std::size_t right) { return std::clamp(probabilities(f, right), 1e-12, 1.0); }
  double probabilities(Vector f, std::size_t right) {
    if (outputs_ == 1) return 1 / (1 + std::exp(right == 1 ? f[0] : -f[0]));
    p_.resize(f.size());
    const double sum = softmax_terms(f, p_);
    double wrong = 0;
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
    return std::log(loops->sum_of_exponentials(l.data(), l[right], l.size()));
  }

  void count(Vector F, std::size_t n, std::size_t i) {
    std::vector<double>& own = p_;
    own.resize(outputs_);
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      if (logits_[e]) continue;
      double mean = 0;
      means_of(F, n, i, e, 1, &mean);
      loops->logits(scores_of(F, n, e, i).data(), mean, 1, std::numeric_limits<double>::max(), outputs_, own.data());
      const double square = dot(own, own) / counted_;
      squares_[e] = std::min(squares_[e] + square, largest_square);
    }
    ++rows_;
  }

  // What `count` experts from e on say of row i, over the first classes. One margin has no mean.
  void means_of(Vector F, std::size_t n, std::size_t i, std::size_t e, std::size_t count, double* means) const {
    if (outputs_ > 1) loops->means(scores_of(F, n, e, i).data(), n * outputs_, count, first_, means);
  }

  std::vector<bool> logits_;
  std::vector<double> squares_;  // sums over rows, of experts without logits
  Calibration calibration_;
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
      : Stacked(std::move(experts), 1, 0, 0, start, drift), noise_(columns, drift) {}

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
