// The step that all support-vector algorithms share:
//   (shrink, beta) = rule(f(x), y, k(x,x));   f <- shrink f;   the budget inserts beta v k(x,.) into f
// SGD adds a common divisor of all coefficients and a ball that f stays in.
#pragma once

#include <memory>
#include <mutex>

#include "model/budget.hpp"
#include "model/learner.hpp"
#include "model/rules.hpp"
#include "model/tasks.hpp"

namespace budgetron {

class Kernelized final : public ExpansionLearner {
 public:
  Kernelized(std::shared_ptr<const Kernel> kernel, std::shared_ptr<Rule> rule, std::shared_ptr<Budget> budget,
             std::shared_ptr<const Task> task, std::size_t features, Precision precision)
      : ExpansionLearner(std::move(kernel), features, budget->solves() ? Precision::Double : precision,
                         task->outputs()),
        rule_(std::move(rule)),
        budget_(std::move(budget)),
        task_(std::move(task)),
        own_numbers_(dynamic_cast<OwnNumbers*>(budget_.get())) {
    if (rule_->keeps_to_a_ball()) f_.keep_norm();
    f_.expect(budget_->most());
  }

  void widen(std::size_t features, std::size_t outputs) override {
    ExpansionLearner::widen(features, outputs);
    budget_->widen(outputs);
    budget_->widen_columns(features);
    if (outputs > task_->outputs()) task_ = std::make_shared<Multiclass>(outputs);
  }

  const std::shared_ptr<Budget>& budget() const { return budget_; }

  // The union with the support vectors of another model: f <- share f + sum_i a_i k(x_i,.), with a new common divisor.
  // Every x_i enters through the budget, as a row does on which f was wrong. `coefficients` are rows x outputs, after
  // division.
  void absorb(const Rows& rows, Vector coefficients, double share, double divisor) {
    const double factor = share * divisor / f_.divisor();
    f_.shrink(factor);
    budget_->shrunk(factor);
    f_.divide_by(divisor);
    KernelRows kernel_rows(rows, f_, 1);
    std::vector<double> own(outputs()), scores(outputs());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const KernelRow row = kernel_rows.at(i);
      for (std::size_t c = 0; c < own.size(); ++c) own[c] = coefficients[i * own.size() + c] * divisor;
      const double most = largest_of(own);
      score(rows, i, row, scores);
      if (!moderate(most) || !moderate_square(most * most * row.kxx) || !moderate(scores)) continue;
      const double y = own.size() > 1 || own[0] >= 0 ? 1 : -1;
      const Round round{scores[0], y, row.kxx, true, 1, t_ + 1};
      budget_->insert(f_, {rows[i], row, most, {}, round, own});
    }
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    if (!io.restoring() && !io.measuring()) settle();
    io.field("t", t_, {Merged::Sum});
    f_.fields(io);
    rule_->fields(io);
    budget_->fields(io);
  }

  bool is_consistent(std::size_t n) const override {
    return f_.is_consistent(n) && rule_->is_consistent(n) && budget_->is_consistent(n) &&
           (own_numbers_ == nullptr || own_numbers_->has_outputs(f_.outputs()));
  }

  void settle() const override {
    if (own_numbers_ == nullptr) return;
    const std::lock_guard turn(guard().among_readers());
    own_numbers_->settle(f_);
  }

 protected:
  void score(const Rows& rows, std::size_t i, const KernelRow& row, std::span<double> f) const override {
    if (own_numbers_ == nullptr || !own_numbers_->scores(f_, rows, i, row, f)) f_.scores(row.k, f);
  }
  bool support_is_final() const override { return budget_->support_is_final(); }
  bool learn(const Row& x, const KernelRow& row, Vector f, double y, double weight) override {
    Question question = task_->ask(f, y, row.kxx, weight);
    question.round.t = t_ + 1;
    const Step step = rule_->propose(question.round);
    if (!step.possible(question.round)) return false;
    rule_->commit(question.round, step);
    ++t_;
    if (step.shrink != 1) f_.shrink(step.shrink), budget_->shrunk(step.shrink);
    f_.divide_by(step.divisor);
    if (step.beta == 0 && !budget_->takes_every_row()) {
      if (own_numbers_ != nullptr) own_numbers_->rest(f_);
      return true;
    }
    budget_->insert(f_, {x, row, step.beta, question.v, question.round});
    if (!rule_->keeps_to_a_ball()) return true;
    const double factor = f_.pull_into_ball(step.radius, budget_->squared_norm_besides());
    if (factor != 1) budget_->shrunk(factor);
    return true;
  }

 private:
  Counter t_ = 0;  // rounds so far
  std::shared_ptr<Rule> rule_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<const Task> task_;
  OwnNumbers* own_numbers_;  // the budget, if it has some; else null
};

}  // namespace budgetron
