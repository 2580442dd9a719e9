// The one step that every support-vector algorithm of the papers shares:
//   (shrink, beta) = rule(f(x), y, k(x,x));   f <- shrink f;   beta v k(x,.) enters f through the budget
#pragma once

#include <cmath>
#include <memory>

#include "budgets.hpp"
#include "learner.hpp"
#include "rules.hpp"
#include "tasks.hpp"

namespace budgetron {

class Kernelized final : public ExpansionLearner {
 public:
  Kernelized(std::shared_ptr<const Kernel> kernel, std::shared_ptr<Rule> rule, std::shared_ptr<Budget> budget,
             std::shared_ptr<const Task> task, std::size_t features, Precision precision)
      : ExpansionLearner(std::move(kernel), features, precision, task->outputs()),
        rule_(std::move(rule)),
        budget_(std::move(budget)),
        task_(std::move(task)) {}

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    f_.fields(io);
    rule_->fields(io);
    budget_->fields(io);
  }

  bool fits(std::size_t n) const override { return f_.fits(n) && rule_->fits(n) && budget_->fits(n); }

 protected:
  bool learn(const Row& x, const KernelRow& row, Row1 f, double y, double weight) override {
    const Question question = task_->ask(f, y, row.kxx, weight);
    const Step step = rule_->step(question.round);
    if (!std::isfinite(step.beta)) return false;
    f_.shrink(step.shrink);
    if (step.beta != 0) budget_->insert(f_, {x, row, step.beta, question.v, question.round});
    return true;
  }

 private:
  std::shared_ptr<Rule> rule_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<const Task> task_;
};

}  // namespace budgetron
