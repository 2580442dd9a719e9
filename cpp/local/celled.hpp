// A learner on cells: f(x) = w'z(x), where z has a constant 1 and the same number for each cell in which x lies.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "linalg/limits.hpp"
#include "local/cell_map.hpp"
#include "local/cell_rules.hpp"
#include "local/cell_table.hpp"
#include "local/recent_rows.hpp"
#include "model/learner.hpp"
#include "model/recruiting.hpp"
#include "model/tasks.hpp"

namespace budgetron {

class Celled final : public Learner {
 public:
  // The table has room for at most so many cells, and has at most so many bytes, however many outputs there are.
  Celled(std::shared_ptr<CellMap> map, std::shared_ptr<CellRule> rule, std::shared_ptr<const Task> task,
         std::size_t cells, std::size_t bytes, std::optional<Recruiting> recruiting)
      : map_(std::move(map)),
        rule_(std::move(rule)),
        task_(std::move(task)),
        outputs_(task_->outputs()),
        value_(1 / std::sqrt(static_cast<double>(std::max<std::size_t>(map_->members(), 1)))),
        table_(bytes, cells),
        recent_(map_->columns()),
        recruiting_(std::move(recruiting)) {}

  void begin() override {
    table_.begin(rule_->fresh(outputs_), map_->most_cells());
    map_->keep_numbers(table_.direct());
    if (recruiting_) recruiting_->begin();
  }

  std::size_t outputs() const override { return outputs_; }
  std::size_t size() const override { return 0; }
  bool accepts_missing() const override { return true; }
  void keep_average(double) override {
    throw std::invalid_argument("Averaged: the weights of cells cannot be averaged; take the learner alone.");
  }
  const std::shared_ptr<CellMap>& map() const { return map_; }
  const CellTable& table() const { return table_; }
  // w'z is scale times the entry of the constant, plus scale times value times the entries of the cells.
  double scale() const { return rule_->scale(); }
  double value() const { return value_; }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    require_table();
    x_.resize(map_->columns());
    const Rows seen = seen_by_map(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      make_dense(seen[i], x_);
      const auto f = scores.subspan(i * outputs_, outputs_);
      const double weight = weights.empty() ? 1 : weights[i];
      if (!learn(x_, f, y[i], weight)) return i;
      if (weight == 0) continue;
      ++t_;
      if (map_->draws()) keep(y[i], weight);
    }
    return rows.size();
  }

  void scores(const Rows& rows, std::span<double> out) const override {
    each_row(rows, [&](std::size_t i, const ActiveCells& active) {
      const auto f = out.subspan(i * outputs_, outputs_);
      sum(active, f);
      std::as_const(*rule_).predict(table_, active, f);
    });
  }

  bool has_deviations() const override { return rule_->has_variance(); }
  void deviations(const Rows& rows, std::span<double> out) const override {
    each_row(rows,
             [&](std::size_t i, const ActiveCells& active) { out[i] = std::sqrt(rule_->variance(table_, active)); });
  }

  KeptRows kept_rows() const override {
    KeptRows kept{map_->columns(), {}, map_->unscaled()};
    for (std::size_t age = 0; age < recent_.size(); ++age) {
      const double* const row = recent_.of_age(age);
      kept.values.insert(kept.values.end(), row, row + kept.columns);
    }
    return kept;
  }
  Recollection recollection() const override { return Recollection::Weights; }
  void novelty(const Rows& rows, std::span<double> out) const override {
    each_row(rows,
             [&](std::size_t i, const ActiveCells& active) { out[i] = rule_->novelty(table_, active, outputs_); });
  }

  void widen(std::size_t features, std::size_t outputs) override {
    map_->widen(features);
    recent_.widen(map_->columns());
    if (outputs <= outputs_) return;
    const std::size_t before = outputs_;
    outputs_ = outputs;
    for (double& label : labels_) label = before == 1 ? (label > 0 ? 1 : 0) : label;
    table_.widen(rule_->fresh(outputs), [&](const float* old, float* now) { rule_->grow(old, before, now, outputs); });
    if (outputs > task_->outputs()) task_ = std::make_shared<Multiclass>(outputs);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(x_) + bytes_of(cells_) + bytes_of(active_.entries) + bytes_of(active_.sums) +
               bytes_of(raw_) + bytes_of(uses_) + bytes_of(residuals_.r));
    io.field("t", t_, {Merged::Sum});
    map_->fields(io);
    rule_->fields(io);
    if (io.restoring()) {
      table_.expect(rule_->fresh(outputs_), map_->most_cells());
      map_->keep_numbers(table_.direct());
    }
    rule_->table_fields(io, table_, outputs_);
    if (map_->draws()) {
      recent_.fields(io);
      label_fields(io);
      io.field("recent.weights", weights_, {Merged::Own});
    }
    if (recruiting_) recruiting_->fields(io);
  }
  bool consistent() const override {
    return sound_ && map_->is_consistent(0) && rule_->is_consistent(0) && table_.is_consistent(outputs_) &&
           recent_.is_consistent() && labels_.size() == still_learned_again() &&
           weights_.size() == still_learned_again() && all_finite(labels_) && all_finite(weights_) &&
           (!recruiting_ || recruiting_->is_consistent()) && std::all_of(labels_.begin(), labels_.end(), [&](double y) {
             return outputs_ == 1 || (y >= 0 && y < static_cast<double>(outputs_));
           });
  }

 private:
  // The labels of kept rows as numbers that belong to outputs, so that they change places with them: of several
  // classes the label's is 1, all others 0.
  void label_fields(Fields& io) {
    std::vector<std::vector<double>> of(outputs_, labels_);
    for (std::size_t c = 0; c < outputs_ && outputs_ > 1; ++c)
      for (double& y : of[c]) y = y == static_cast<double>(c) ? 1 : 0;
    io.outputs("recent.labels", of, Merged::Own, true);
    if (!io.restoring()) return;
    labels_ = of[0];
    sound_ = true;
    for (std::size_t c = 0; c < outputs_ && outputs_ > 1; ++c) {
      sound_ = sound_ && of[c].size() == labels_.size();
      for (std::size_t i = 0; sound_ && i < labels_.size(); ++i)
        if (of[c][i] != 0) labels_[i] = static_cast<double>(c);
    }
  }
  // The number of kept rows whose labels are kept too.
  std::size_t still_learned_again() const { return recent_.size() < recent_.capacity() ? recent_.size() : 0; }
  void require_table() const {
    if (table_.width() == 0) throw std::logic_error("Celled: neither begun nor restored.");
  }

  Rows seen_by_map(const Rows& rows) const { return map_->unscaled() ? rows.original() : rows; }

  void find(std::span<const double> x, std::vector<Counter>& cells, ActiveCells& active) const {
    cells.resize(whole_lanes<double>(map_->members()));
    map_->find(x, cells);
    table_.find(std::span(cells).first(map_->members()), rule_->summed(outputs_), active);
    active.value = value_;
  }

  // f = w'z
  void sum(const ActiveCells& active, std::span<double> f) const {
    const double scale = rule_->scale();
    for (std::size_t c = 0; c < f.size(); ++c) f[c] = scale * (table_[0][c] + active.value * active.sums[c]);
  }

  template <class Use>
  void each_row(const Rows& rows, Use use) const {
    require_table();
    const Rows seen = seen_by_map(rows);
    std::vector<double> x(map_->columns());
    std::vector<Counter> cells;
    ActiveCells active;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      make_dense(seen[i], x);
      find(x, cells, active);
      use(i, active);
    }
  }

  // One round; f becomes the scores before it. Returns false, with nothing changed, if the step exceeds the limits. A
  // row of weight 0 is only scored.
  bool learn(std::span<const double> x, std::span<double> f, double y, double weight) {
    find(x, cells_, active_);
    sum(active_, f);
    if (weight == 0) {
      std::as_const(*rule_).predict(table_, active_, f);
      return true;
    }
    Question question = task_->ask(f, y, active_.squared_norm(), weight);
    question.round.t = t_ + 1;
    if (recruiting_) raw_.assign(f.begin(), f.end());
    rule_->predict(table_, active_, f);
    if (!moderate(f) || !rule_->propose(question, table_, active_)) return false;
    if (recruiting_) count_use(question);
    rule_->commit(question, table_, active_);
    if (recruiting_)
      recruiting_->end_row([&](std::size_t leaves, std::size_t near) {
        if (near == leaves)
          map_->redraw(leaves, recent_);
        else
          map_->redraw_near(leaves, near, recent_);
        if (table_.direct()) table_.forget(map_->first_cell(leaves), map_->cells_each());
      });
    return true;
  }

  // The use of each member, from its share m of the scores.
  void count_use(const Question& question) {
    residuals_.look(*task_, question, raw_);
    uses_.resize(recruiting_->size());
    loops->uses_of_cells(table_[0], active_.entries.data() + 1, uses_.size(), outputs_, rule_->scale() * active_.value,
                         residuals_.r.data(), residuals_.h / 2, uses_.data());
    for (std::size_t f = 0; f < uses_.size(); ++f) recruiting_->count_use(f, uses_[f]);
  }

  // Keeps the row that was learned. While all rows are kept, thresholds are drawn anew whenever their number has
  // doubled, and all rows are learned again; their scores have been put out.
  void keep(double y, double weight) {
    recent_.push(x_);
    if (recent_.learned() > recent_.capacity()) {
      if (recent_.learned() % recent_.capacity() == 0) map_->follow(recent_);
      return;
    }
    labels_.push_back(y);
    weights_.push_back(weight);
    if (!std::has_single_bit(recent_.learned())) return;
    map_->draw(recent_);
    table_.clear(map_->most_cells());
    rule_->restart();
    if (recruiting_) recruiting_->begin();
    std::vector<double> f(outputs_);
    t_ = 0;
    for (std::size_t i = 0; i < recent_.size(); ++i, ++t_)
      learn({recent_[i], map_->columns()}, f, labels_[i], weights_[i]);
    if (recent_.size() < recent_.capacity()) return;
    labels_ = {};
    weights_ = {};
  }

  std::shared_ptr<CellMap> map_;
  std::shared_ptr<CellRule> rule_;
  std::shared_ptr<const Task> task_;
  std::size_t outputs_;
  double value_;  // of the feature of a cell
  CellTable table_;
  RecentRows recent_;
  std::vector<double> labels_, weights_;  // of the kept rows, until there are as many as can be
  bool sound_ = true;
  std::optional<Recruiting> recruiting_;
  Counter t_ = 0;  // rounds so far
  std::vector<double> x_, raw_, uses_;
  Residuals residuals_;
  std::vector<Counter> cells_;
  ActiveCells active_;
};

}  // namespace budgetron
