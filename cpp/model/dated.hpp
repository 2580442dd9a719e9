// A learner that does not see columns that are set aside, such as the parts of dates, and beside it learners that see
// all columns. A filter learns how far to trust each. Without such a column it is the first learner alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "input/rows.hpp"
#include "model/learner.hpp"
#include "model/stacked.hpp"

namespace budgetron {

// A learner that sees rows without the columns that are set aside. They must be new when they are.
class Narrowed final : public Learner {
 public:
  Narrowed(std::shared_ptr<Learner> learner, std::size_t columns) : learner_(std::move(learner)), columns_(columns) {
    learner_->set_guard(shared_guard());
  }
  const std::shared_ptr<Learner>& inner() const { return learner_; }
  // The columns that it sees.
  std::vector<std::size_t> kept() const {
    std::vector<std::size_t> all(columns_), kept;
    std::iota(all.begin(), all.end(), std::size_t{0});
    append_kept(all, kept);
    return kept;
  }

  void set_guard(std::shared_ptr<Guard> guard) override {
    learner_->set_guard(guard);
    Learner::set_guard(std::move(guard));
  }
  std::size_t outputs() const override { return learner_->outputs(); }
  std::size_t size() const override { return learner_->size(); }
  void begin() override { learner_->begin(); }
  void keep_average(double suffix) override { learner_->keep_average(suffix); }
  bool accepts_missing() const override { return learner_->accepts_missing(); }

  bool set_aside(std::span<const std::size_t> columns) override {
    aside_.insert(aside_.end(), columns.begin(), columns.end());
    std::sort(aside_.begin(), aside_.end());
    return true;
  }
  void widen(std::size_t features, std::size_t outputs) override {
    columns_ = std::max(columns_, features);
    learner_->widen(count_kept(), outputs);
  }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    return learner_->run(Seen(*this, rows).rows, y, weights, scores);
  }
  void scores(const Rows& rows, std::span<double> out) const override { learner_->scores(Seen(*this, rows).rows, out); }
  bool has_deviations() const override { return learner_->has_deviations(); }
  void deviations(const Rows& rows, std::span<double> out) const override {
    learner_->deviations(Seen(*this, rows).rows, out);
  }

  // Rows that are kept are without a value in columns that are set aside.
  KeptRows kept_rows() const override {
    KeptRows few = learner_->kept_rows();
    if (aside_.empty() || few.empty()) return few;
    KeptRows all{columns_, {}, few.original};
    for (std::size_t i = 0; i < few.values.size(); i += few.columns) {
      const std::vector<double> row = whole(std::span(few.values).subspan(i, few.columns), few.original ? NAN : 0);
      all.values.insert(all.values.end(), row.begin(), row.end());
    }
    return all;
  }
  std::vector<Neighbour> nearest(const Rows& one, std::size_t most) const override {
    std::vector<Neighbour> near = learner_->nearest(Seen(*this, one).rows, most);
    for (Neighbour& each : near) each.row = whole(each.row, each.original ? NAN : 0);
    return near;
  }
  Recollection recollection() const override { return learner_->recollection(); }
  void novelty(const Rows& rows, std::span<double> out) const override {
    learner_->novelty(Seen(*this, rows).rows, out);
  }
  std::vector<double> usual_novelty() const override { return learner_->usual_novelty(); }
  std::size_t sharing() const override { return learner_->sharing(); }
  void shares(const Rows& rows, std::span<double> out) const override { learner_->shares(Seen(*this, rows).rows, out); }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(aside_));
    learner_->fields(io);
  }
  bool consistent() const override { return learner_->consistent(); }

 private:
  // The rows that the learner sees. It is the same view if nothing is set aside.
  struct Seen {
    std::vector<double> scaled, original;
    Rows rows;
    Seen(const Narrowed& narrowed, const Rows& all)
        : rows(narrowed.aside_.empty()
                   ? all
                   : Rows(narrowed.narrow(all, scaled), narrowed.narrow(all.original(), original))) {}
  };
  Rows::View narrow(const Rows& rows, std::vector<double>& values) const {
    std::vector<double> row(columns_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      std::visit([&](const auto& x) { x.each([&](std::size_t j, auto v) { row[j] = static_cast<double>(v); }); },
                 rows[i]);
      append_kept(row, values);
    }
    return DenseRows<double>{values.data(), rows.size(), count_kept()};
  }
  std::size_t count_kept() const {
    return columns_ -
           static_cast<std::size_t>(std::lower_bound(aside_.begin(), aside_.end(), columns_) - aside_.begin());
  }
  // Appends what a row has in the columns that are kept.
  template <class T>
  void append_kept(const std::vector<T>& row, std::vector<T>& out) const {
    auto from = row.begin();
    for (const std::size_t j : aside_) {
      if (j >= row.size()) break;
      const auto to = row.begin() + static_cast<std::ptrdiff_t>(j);
      out.insert(out.end(), from, to);
      from = to + 1;
    }
    out.insert(out.end(), from, row.end());
  }
  std::vector<double> whole(std::span<const double> few, double other) const {
    std::vector<double> row(columns_, other);
    auto aside = aside_.begin();
    std::size_t to = 0;
    for (const double v : few) {
      for (; aside != aside_.end() && *aside == to; ++aside) ++to;
      row[to++] = v;
    }
    return row;
  }

  std::shared_ptr<Learner> learner_;
  std::size_t columns_;
  std::vector<std::size_t> aside_;  // in order; some may still have to come
};

// Fields are those of the first learner alone, or those of a stack of all.
class Dated final : public Learner {
 public:
  // The first expert of the stack is `alone`.
  Dated(std::shared_ptr<Narrowed> alone, std::shared_ptr<Stacked> all)
      : alone_(std::move(alone)), all_(std::move(all)) {
    set_guard(shared_guard());
  }
  const std::shared_ptr<Narrowed>& alone() const { return alone_; }
  const std::shared_ptr<Stacked>& all() const { return all_; }
  bool awake() const { return awake_; }
  // What learns: the stack, or the first learner.
  std::shared_ptr<Learner> inner() const { return awake_ ? std::static_pointer_cast<Learner>(all_) : alone_->inner(); }

  void set_guard(std::shared_ptr<Guard> guard) override {
    all_->set_guard(guard);
    Learner::set_guard(std::move(guard));
  }
  std::size_t outputs() const override { return now().outputs(); }
  std::size_t size() const override { return now().size(); }
  void begin() override {
    begun_ = true;
    now().begin();
  }
  void keep_average(double suffix) override { all_->keep_average(suffix); }
  bool accepts_missing() const override { return all_->accepts_missing(); }

  bool set_aside(std::span<const std::size_t> columns) override {
    if (!awake_ && !columns.empty()) {
      awake_ = true;
      all_->trust_first();
      if (begun_) all_->begin_others();
    }
    return alone_->set_aside(columns);
  }
  void widen(std::size_t features, std::size_t outputs) override { now().widen(features, outputs); }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    return now().run(rows, y, weights, scores);
  }
  void scores(const Rows& rows, std::span<double> out) const override { now().scores(rows, out); }
  bool has_deviations() const override { return now().has_deviations(); }
  void deviations(const Rows& rows, std::span<double> out) const override { now().deviations(rows, out); }
  KeptRows kept_rows() const override { return now().kept_rows(); }
  std::vector<Neighbour> nearest(const Rows& one, std::size_t most) const override { return now().nearest(one, most); }
  Recollection recollection() const override { return now().recollection(); }
  void novelty(const Rows& rows, std::span<double> out) const override { now().novelty(rows, out); }
  std::vector<double> usual_novelty() const override { return now().usual_novelty(); }
  std::size_t sharing() const override { return now().sharing(); }
  void shares(const Rows& rows, std::span<double> out) const override { now().shares(rows, out); }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    if (io.restoring()) begun_ = true;
    now().fields(io);
  }
  bool consistent() const override { return now().consistent(); }

 private:
  Learner& now() { return awake_ ? static_cast<Learner&>(*all_) : *alone_; }
  const Learner& now() const { return awake_ ? static_cast<const Learner&>(*all_) : *alone_; }

  std::shared_ptr<Narrowed> alone_;
  std::shared_ptr<Stacked> all_;
  bool awake_ = false, begun_ = false;
};

}  // namespace budgetron
