// A rule on a space. Kernelized is the one step that every support-vector algorithm of the papers shares:
//   (shrink, beta) = rule(f(x), y, k(x,x));   f <- shrink f;   beta v k(x,.) enters f through the budget
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "budgets.hpp"
#include "expansion.hpp"
#include "fields.hpp"
#include "kernel_rows.hpp"
#include "rows.hpp"
#include "rules.hpp"
#include "tasks.hpp"

namespace budgetron {

// Shared by readers, held alone by a writer, who does not wait for readers that came after.
class Guard {
 public:
  void lock() {
    const std::lock_guard turn(turnstile_);
    readers_.lock();
  }
  void unlock() { readers_.unlock(); }
  void lock_shared() {
    {
      const std::lock_guard turn(turnstile_);
    }
    readers_.lock_shared();
  }
  void unlock_shared() { readers_.unlock_shared(); }

 private:
  std::mutex turnstile_;
  std::shared_mutex readers_;
};

class Learner : public Part {
 public:
  virtual std::size_t outputs() const = 0;
  // Learns the rows one after the other and writes the scores made before each update (rows x outputs). Rows of weight
  // 0 are scored and otherwise skipped. Stops before a row whose scores or step are not finite; returns how many rows
  // were done.
  virtual std::size_t run(const Rows& rows, Row1 y, Row1 weights, std::span<double> scores) = 0;
  // f(x) for every row (rows x outputs).
  virtual void scores(const Rows& rows, std::span<double> out) const = 0;
  Guard& guard() const { return guard_; }

 private:
  mutable Guard guard_;
};

class Kernelized final : public Learner {
 public:
  Kernelized(std::shared_ptr<const Kernel> kernel, std::shared_ptr<Rule> rule, std::shared_ptr<Budget> budget,
             std::shared_ptr<const Task> task, std::size_t features, Precision precision)
      : rule_(std::move(rule)),
        budget_(std::move(budget)),
        task_(std::move(task)),
        f_(std::move(kernel), features, precision, task_->outputs()) {}

  std::size_t outputs() const override { return f_.outputs(); }
  const Expansion& expansion() const { return f_; }

  std::size_t run(const Rows& rows, Row1 y, Row1 weights, std::span<double> scores) override {
    KernelRows kernel_rows(rows, f_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const KernelRow row = kernel_rows.at(i);
      const auto f = scores.subspan(i * outputs(), outputs());
      f_.scores(row.k, f);
      const double weight = weights.empty() ? 1 : weights[i];
      if (!finite(f) || !std::isfinite(row.norm) || !std::isfinite(row.kxx)) return i;
      if (weight > 0 && !learn(rows[i], row, f, y[i], weight)) return i;
    }
    return rows.size();
  }

  void scores(const Rows& rows, std::span<double> out) const override {
    KernelRows kernel_rows(rows, f_);
    for (std::size_t i = 0; i < rows.size(); ++i) f_.scores(kernel_rows.at(i).k, out.subspan(i * outputs(), outputs()));
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    f_.fields(io);
    rule_->fields(io);
    budget_->fields(io);
  }

  bool fits(std::size_t n) const override { return f_.fits(n) && rule_->fits(n) && budget_->fits(n); }

 private:
  static bool finite(Row1 f) {
    return std::all_of(f.begin(), f.end(), [](double v) { return std::isfinite(v); });
  }

  bool learn(const Row& x, const KernelRow& row, Row1 f, double y, double weight) {
    const Question question = task_->ask(f, y, row.kxx, weight);
    const Step step = rule_->step(question.round);
    if (!std::isfinite(step.beta)) return false;
    f_.shrink(step.shrink);
    if (step.beta != 0) budget_->insert(f_, {x, row, step.beta, question.v, question.round});
    return true;
  }

  std::shared_ptr<Rule> rule_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<const Task> task_;
  Expansion f_;
};

}  // namespace budgetron
