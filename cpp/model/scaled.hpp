// A learner on rows that are scaled along the stream: every row by the statistics of the rows learned before it,
// clipped. In regression the targets are scaled as well, and predictions come back in their unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "input/rows.hpp"
#include "input/scaling.hpp"
#include "input/spread.hpp"
#include "linalg/limits.hpp"
#include "model/learner.hpp"
#include "model/outside.hpp"
#include "state/threads.hpp"

namespace budgetron {

// The first learned row decides: dense rows are scaled by Dense; sparse ones by Sparse, which does not centre them, so
// that 0 stays 0. Rows of the other kind are then treated alike.
template <class Dense, class Sparse>
class Scaled final : public Learner {
 public:
  Scaled(std::shared_ptr<Learner> learner, std::size_t columns, double clip, bool targets)
      : learner_(std::move(learner)), columns_(columns), clip_(clip) {
    if (targets) target_.emplace();
    learner_->set_guard(shared_guard());
  }

  void set_guard(std::shared_ptr<Guard> guard) override {
    learner_->set_guard(guard);
    Learner::set_guard(std::move(guard));
  }

  void begin() override { learner_->begin(); }
  std::size_t outputs() const override { return learner_->outputs(); }
  std::size_t size() const override { return learner_->size(); }
  void keep_average(double suffix) override { learner_->keep_average(suffix); }
  bool accepts_missing() const override { return Dense::missing; }
  const std::shared_ptr<Learner>& inner() const { return learner_; }
  // The scaled rows are learned outside from now on (outside.hpp).
  std::shared_ptr<Outside> put_outside() {
    auto outside = std::make_shared<Outside>(learner_);
    outside->set_guard(shared_guard());
    learner_ = outside;
    return outside;
  }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    Block block;
    for (std::size_t first = 0, last; first < rows.size(); first = last) {
      last = std::min(first + at_once(rows), rows.size());
      const Vector w = weights.empty() ? weights : weights.subspan(first, last - first);
      const auto f = scores.subspan(first * outputs(), (last - first) * outputs());
      const std::size_t done = run_block(rows.slice(first, last), y.subspan(first, last - first), w, f, block);
      if (done < last - first) return first + done;
    }
    return rows.size();
  }

  void scores(const Rows& rows, std::span<double> out) const override {
    each_block(rows, [&](const Rows& block, std::size_t first) {
      const auto f = out.subspan(first * outputs(), block.size() * outputs());
      learner_->scores(block, f);
      if (target_)
        for (double& v : f) v = target_->unscaled(v);
    });
  }

  bool has_deviations() const override { return learner_->has_deviations(); }
  void deviations(const Rows& rows, std::span<double> out) const override {
    each_block(rows, [&](const Rows& block, std::size_t first) {
      const auto f = out.subspan(first, block.size());
      learner_->deviations(block, f);
      if (target_)
        for (double& v : f) v *= target_->deviation();
    });
  }

  // Rows come back in the unit of the present statistics, and so do targets. If none are kept, the mean is.
  KeptRows kept_rows() const override {
    KeptRows kept = learner_->kept_rows();
    if (kept.empty() && scaling_.index() != 0) kept = {columns_, std::vector<double>(columns_, middle())};
    for (std::size_t i = 0; i < kept.values.size() && !kept.original; i += kept.columns)
      unscale(std::span(kept.values).subspan(i, kept.columns));
    kept.original = true;
    return kept;
  }
  std::vector<Neighbour> nearest(const Rows& one, std::size_t most) const override {
    std::vector<Neighbour> near;
    each_block(one, [&](const Rows& block, std::size_t) { near = learner_->nearest(block, most); });
    for (Neighbour& each : near) {
      if (!each.original) unscale(each.row);
      each.original = true;
      if (!target_) continue;
      for (double& v : each.label) v = target_->unscaled(v);
      for (double& v : each.shares) v *= target_->deviation();
    }
    return near;
  }
  Recollection recollection() const override { return learner_->recollection(); }
  void novelty(const Rows& rows, std::span<double> out) const override {
    each_block(rows, [&](const Rows& block, std::size_t first) {
      learner_->novelty(block, out.subspan(first, block.size()));
    });
  }
  std::vector<double> usual_novelty() const override { return learner_->usual_novelty(); }
  std::size_t sharing() const override { return learner_->sharing(); }
  void shares(const Rows& rows, std::span<double> out) const override {
    const std::size_t each = sharing() * outputs();
    each_block(rows, [&](const Rows& block, std::size_t first) {
      const auto part = out.subspan(first * each, block.size() * each);
      learner_->shares(block, part);
      if (target_)
        for (double& v : part) v *= target_->deviation();
    });
  }

  bool set_aside(std::span<const std::size_t> columns) override { return learner_->set_aside(columns); }
  void widen(std::size_t features, std::size_t outputs) override {
    learner_->widen(features, outputs);
    if (auto* dense = std::get_if<Dense>(&scaling_)) dense->widen(features);
    if (auto* sparse = std::get_if<Sparse>(&scaling_)) sparse->widen(features);
    columns_ = features;
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    Counter kind = scaling_.index();
    io.field("scaled.kind", kind, {Merged::Own});
    if (io.restoring()) start(kind);
    Prefixed columns(io, "scaled.");
    std::visit(
        [&](auto& scaling) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(scaling)>, std::monostate>) scaling.fields(columns);
        },
        scaling_);
    if (target_) target_->fields(io);
    Prefixed inner(io, "learner.");
    learner_->fields(inner);
  }
  bool consistent() const override {
    return sound_ && learner_->consistent() && (!target_ || target_->spread.is_consistent()) &&
           std::visit(
               [&](const auto& scaling) {
                 if constexpr (std::is_same_v<std::decay_t<decltype(scaling)>, std::monostate>)
                   return true;
                 else
                   return scaling.is_consistent(columns_);
               },
               scaling_);
  }

 private:
  using Scaling = std::variant<std::monostate, Dense, Sparse>;  // before the first row; centred; uncentred

  // The running mean and deviation of the targets.
  struct Target {
    Spread spread;

    double mean() const { return spread.mean; }
    // 1 while all targets are equal.
    double deviation() const { return spread.squares > 0 ? spread.deviation() : 1; }
    double unscaled(double f) const { return mean() + deviation() * f; }
    // Counts a target, and scales it. A far one is left out if no other like it is among the last ones, or in a run.
    std::optional<double> learned(double y) {
      const bool far = spread.is_far(y), known = spread.is_known(y);
      if (!spread.judge(y)) {
        if (far && (!known || spread.evidence > 1)) return std::nullopt;
        spread.add_in_full(y);
      }
      return (y - mean()) / deviation();
    }
    void fields(Fields& io) {
      Prefixed target(io, "scaled.target.");
      for (const auto& [name, part, merged] : Spread::parts) target.field(name, spread.*part, {merged});
    }
  };

  // Scaled rows, of the kind of the caller's, or dense.
  class Block {
   public:
    void begin(const Rows& rows, bool centred) {
      rows_.emplace(rows);
      values_.clear();
      sparse_ = !centred && rows.sparse();
    }
    bool sparse() const { return sparse_; }
    std::vector<double>& values() { return values_; }

    Rows rows() {
      return std::visit([&](const auto& v) { return of(v); }, rows_->view());
    }

   private:
    template <class T>
    Rows of(const DenseRows<T>& v) {
      return beside(DenseRows<double>{values_.data(), v.rows, v.columns});
    }
    Rows beside(Rows::View scaled) const { return Rows(scaled, rows_->original().view()); }
    template <class T>
    Rows of(const SparseRows<T>& v) {
      if (!sparse_) return beside(DenseRows<double>{values_.data(), v.rows, v.columns});
      starts_.clear();
      for (std::size_t i = 0; i <= v.rows; ++i) starts_.push_back(v.starts[i] - v.starts[0]);
      return beside(SparseRows<double>{values_.data(), v.indices + v.starts[0], starts_.data(), v.rows, v.columns});
    }

    std::optional<Rows> rows_;
    std::vector<double> values_;
    std::vector<std::int64_t> starts_;
    bool sparse_ = false;
  };

  // A row is scaled by the rows before it, so rows are counted while they are scaled. If the learner stops early, the
  // counts are taken back and only the rows that it learned are counted.
  std::size_t run_block(const Rows& rows, Vector y, Vector weights, std::span<double> f, Block& block) {
    const std::size_t n = rows.size();
    const auto learned = [&](std::size_t i) { return weights.empty() || weights[i] != 0; };
    for (std::size_t i = 0; i < n && target_; ++i)
      if (learned(i) && !moderate(y[i])) {  // its square would overflow: the rows before it are learned
        if (i == 0) return 0;
        const Vector w = weights.empty() ? weights : weights.first(i);
        return run_block(rows.slice(0, i), y.first(i), w, f.first(i), block);
      }
    std::optional<Scaling> before;
    if (n > 1) before = scaling_;
    const std::optional<Target> target_before = target_;
    std::vector<double> labels(y.begin(), y.end());
    std::vector<std::pair<double, double>> units;  // mean and deviation of the targets before each row
    std::vector<double> kept;                      // the weights, if a target is left out
    block.begin(rows, centred());
    for (std::size_t i = 0; i < n; ++i) {
      scale_row(rows[i], block);
      if (target_) units.emplace_back(target_->mean(), target_->deviation());
      if (!learned(i)) continue;
      if (before) count_row(rows[i]);
      if (!target_) continue;
      const std::optional<double> scaled = target_->learned(y[i]);
      if (!scaled && kept.empty()) kept = all_weights(weights, n);
      if (!scaled) kept[i] = 0;
      labels[i] = scaled.value_or(0);
    }
    const std::size_t done = learner_->run(block.rows(), labels, kept.empty() ? weights : Vector(kept), f);
    for (std::size_t i = 0; i < units.size(); ++i) f[i] = units[i].first + units[i].second * f[i];
    if (done < n) {
      if (before) scaling_ = *std::move(before);
      target_ = target_before;
      for (std::size_t i = 0; i < done && target_; ++i)
        if (learned(i)) target_->learned(y[i]);
    }
    if (done < n || !before)
      for (std::size_t i = 0; i < done; ++i)
        if (learned(i)) count_row(rows[i]);
    return done;
  }
  static std::vector<double> all_weights(Vector weights, std::size_t n) {
    return weights.empty() ? std::vector<double>(n, 1) : std::vector<double>(weights.begin(), weights.end());
  }

  bool centred() const { return std::holds_alternative<Dense>(scaling_); }
  // The number of rows whose scaled copies fit in the cache. One, if a copy of the statistics would cost more than that
  // many rows. Threads get pieces of a larger block.
  std::size_t at_once(const Rows& rows) const {
    const std::size_t columns = std::max<std::size_t>(columns_, 1);
    if (Threads::allowed() > 1)
      return std::clamp<std::size_t>(rows.sparse() ? rows_in_threads : 131072 / columns, 64, rows_in_threads);
    if (rows.sparse() && columns_ > 1024) return 1;
    return std::clamp<std::size_t>(16384 / columns, 1, 64);
  }

  void start(Counter kind) {
    sound_ = kind <= 2;
    if (kind == 1) scaling_.template emplace<Dense>(0);
    if (kind == 2) scaling_.template emplace<Sparse>(0);
  }

  double clipped(double v) const { return std::clamp(v, -clip_, clip_); }

  double middle() const { return centred() ? Dense::middle : 0; }
  // A scaled row, of the first columns, as it was.
  void unscale(std::span<double> row) const {
    std::visit(
        [&](const auto& scaling) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(scaling)>, std::monostate>)
            for (std::size_t j = 0; j < row.size(); ++j) row[j] = scaling.unscaled(j, row[j]);
        },
        scaling_);
  }

  // Appends the scaled row to the block.
  void scale_row(const Row& row, Block& block) const {
    std::vector<double>& out = block.values();
    if (block.sparse()) {
      const auto* sparse = std::get_if<Sparse>(&scaling_);
      each(row, [&](std::size_t j, double v) { out.push_back(sparse ? clipped(sparse->scaled(j, v)) : 0); });
      return;
    }
    const std::size_t from = out.size();
    out.resize(from + columns_);
    const auto to = std::span(out).subspan(from);
    if (const auto* dense = std::get_if<Dense>(&scaling_)) {
      if (is_sparse(row))
        for (std::size_t j = 0; j < columns_; ++j) to[j] = clipped(dense->scaled(j, 0));
      each(row, [&](std::size_t j, double v) { to[j] = clipped(dense->scaled(j, v)); });
    } else if (const auto* sparse = std::get_if<Sparse>(&scaling_)) {
      each(row, [&](std::size_t j, double v) { to[j] = clipped(sparse->scaled(j, v)); });
    }
  }

  void count_row(const Row& row) {
    if (scaling_.index() == 0) {
      if (is_sparse(row))
        scaling_.template emplace<Sparse>(columns_);
      else
        scaling_.template emplace<Dense>(columns_);
    }
    if (auto* sparse = std::get_if<Sparse>(&scaling_)) {
      sparse->next_row();
      each(row, [&](std::size_t j, double v) { sparse->count(j, v); });
      return;
    }
    auto& dense = std::get<Dense>(scaling_);
    dense.next_row();
    if (!is_sparse(row)) {
      each(row, [&](std::size_t j, double v) { dense.count(j, v); });
      return;
    }
    std::vector<double> all(columns_);
    each(row, [&](std::size_t j, double v) { all[j] = v; });
    for (std::size_t j = 0; j < columns_; ++j) dense.count(j, all[j]);
  }

  static bool is_sparse(const Row& row) {
    return std::visit([](const auto& x) { return std::decay_t<decltype(x)>::sparse; }, row);
  }
  template <class Use>
  static void each(const Row& row, Use use) {
    std::visit([&](const auto& x) { x.each([&](std::size_t j, auto v) { use(j, static_cast<double>(v)); }); }, row);
  }

  template <class Use>
  void each_block(const Rows& rows, Use use) const {
    Block block;
    for (std::size_t first = 0, last; first < rows.size(); first = last) {
      last = std::min(first + at_once(rows), rows.size());
      block.begin(rows.slice(first, last), centred());
      for (std::size_t i = first; i < last; ++i) scale_row(rows[i], block);
      use(block.rows(), first);
    }
  }

  std::shared_ptr<Learner> learner_;
  std::size_t columns_;
  double clip_;
  Scaling scaling_;
  std::optional<Target> target_;  // in regression
  bool sound_ = true;             // the restored kind is known
};

}  // namespace budgetron
