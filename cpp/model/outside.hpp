// For an engine that does the work of some learners elsewhere, such as on a GPU, while the others run here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "input/rows.hpp"
#include "model/learner.hpp"

namespace budgetron {

// A learner whose rows are learned outside: what it gives for the next rows are the scores that came from there. Behind
// those it goes on by itself, so it must then have been brought up to date. All else is that of the learner.
class Outside final : public Learner {
 public:
  explicit Outside(std::shared_ptr<Learner> learner) : learner_(std::move(learner)) {
    learner_->set_guard(shared_guard());
  }

  void give(std::vector<double> scores) {
    given_ = std::move(scores);
    at_ = 0;
  }
  const std::shared_ptr<Learner>& inner() const { return learner_; }
  // The learner itself, if it is such a one.
  static std::shared_ptr<Learner> unwrapped(std::shared_ptr<Learner> learner) {
    const auto* const outside = dynamic_cast<const Outside*>(learner.get());
    return outside == nullptr ? learner : outside->inner();
  }

  void set_guard(std::shared_ptr<Guard> guard) override {
    learner_->set_guard(guard);
    Learner::set_guard(std::move(guard));
  }
  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    const std::size_t n = take(rows.size(), scores);
    if (n == rows.size()) return n;
    const Vector w = weights.empty() ? weights : weights.subspan(n);
    return n + learner_->run(rows.slice(n, rows.size()), y.subspan(n), w, scores.subspan(n * outputs()));
  }
  void scores(const Rows& rows, std::span<double> out) const override {
    const std::size_t n = take(rows.size(), out);
    if (n < rows.size()) learner_->scores(rows.slice(n, rows.size()), out.subspan(n * outputs()));
  }

  void begin() override { learner_->begin(); }
  std::size_t outputs() const override { return learner_->outputs(); }
  std::size_t size() const override { return learner_->size(); }
  void widen(std::size_t features, std::size_t outputs) override {
    give({});
    learner_->widen(features, outputs);
  }
  bool consistent() const override { return learner_->consistent(); }
  void keep_average(double suffix) override { learner_->keep_average(suffix); }
  bool has_deviations() const override { return learner_->has_deviations(); }
  void deviations(const Rows& rows, std::span<double> out) const override { learner_->deviations(rows, out); }
  KeptRows kept_rows() const override { return learner_->kept_rows(); }
  std::vector<Neighbour> nearest(const Rows& one, std::size_t most) const override {
    return learner_->nearest(one, most);
  }
  Recollection recollection() const override { return learner_->recollection(); }
  void novelty(const Rows& rows, std::span<double> out) const override { learner_->novelty(rows, out); }
  std::vector<double> usual_novelty() const override { return learner_->usual_novelty(); }
  bool accepts_missing() const override { return learner_->accepts_missing(); }
  const void* shared_work() const override { return learner_->shared_work(); }
  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(given_));
    learner_->fields(io);
  }

 private:
  // Copies given scores of up to so many rows; returns of how many.
  std::size_t take(std::size_t rows, std::span<double> out) const {
    const std::size_t n = std::min(rows, given_.size() / outputs() - at_);
    if (n == 0) return 0;  // several threads may read then
    const auto from = given_.begin() + static_cast<std::ptrdiff_t>(at_ * outputs());
    std::copy_n(from, n * outputs(), out.begin());
    at_ += n;
    return n;
  }

  std::shared_ptr<Learner> learner_;
  std::vector<double> given_;   // rows x outputs
  mutable std::size_t at_ = 0;  // rows taken
};

// Takes rows to be learned, with their labels and weights, or rows to be scored, and keeps them: what a learner around
// it makes of rows can then be had.
class Aside final : public Learner {
 public:
  struct Kept {
    std::vector<double> rows, y, weights;
  };

  explicit Aside(std::size_t columns) : columns_(columns) {}
  Kept take() { return std::exchange(kept_, {}); }
  std::size_t columns() const { return columns_; }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    this->scores(rows, scores);
    kept_.y.insert(kept_.y.end(), y.begin(), y.end());
    for (std::size_t i = 0; i < rows.size(); ++i) kept_.weights.push_back(weights.empty() ? 1 : weights[i]);
    return rows.size();
  }
  void scores(const Rows& rows, std::span<double> out) const override {
    std::ranges::fill(out, 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t from = kept_.rows.size();
      kept_.rows.resize(from + columns_);
      std::visit([&](const auto& row) { row.each([&](std::size_t j, auto v) { kept_.rows[from + j] = v; }); }, rows[i]);
    }
  }

  std::size_t outputs() const override { return 1; }
  std::size_t size() const override { return 0; }
  void widen(std::size_t features, std::size_t) override { columns_ = features; }
  bool consistent() const override { return true; }
  void keep_average(double) override {}
  bool accepts_missing() const override { return true; }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  std::size_t columns_;
  mutable Kept kept_;
};

}  // namespace budgetron
