// Parts that are written in Python: a budget whose `insert`, and a rule whose `step`, is a Python function. It is
// called with the lock of the interpreter, which the learner does not hold; no thread waits for a model's lock while it
// has it.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "linalg/limits.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"
#include "model/rules.hpp"
#include "python/bind.hpp"
#include "state/random.hpp"

namespace budgetron {

// One call of `insert`: f and the new term, which Python may use until the call ends. Python may also remove a support
// vector before the term enters, so the kernel row of the term follows the slots here.
class Insertion {
 public:
  Insertion(Expansion& f, const Term& term, Random& random)
      : f_(&f), term_(&term), random_(&random), k_(term.row.k.begin(), term.row.k.end()) {}
  void close() { f_ = nullptr; }

  Expansion& f() const {
    if (f_ == nullptr) throw std::runtime_error("f and the term can be used inside of insert only.");
    return *f_;
  }
  const Term& term() const { return f(), *term_; }
  Random& random() const { return f(), *random_; }
  const std::vector<double>& k() const { return f(), k_; }

  // A slot by its number.
  std::size_t slot(std::ptrdiff_t i) const {
    const auto n = static_cast<std::ptrdiff_t>(f().size());
    if (i < 0 || i >= n)
      throw std::out_of_range("There is no support vector " + std::to_string(i) + ": f has " + std::to_string(n) + ".");
    return static_cast<std::size_t>(i);
  }
  // Numbers of support vectors, one for each.
  Vector each(const Array1<double>& values) const {
    const Vector numbers = view(values);
    if (numbers.size() != f().size())
      throw std::invalid_argument("Expected a number for each of the " + std::to_string(f().size()) +
                                  " support vectors, got " + std::to_string(numbers.size()) + ".");
    if (!moderate(numbers)) throw std::invalid_argument("A number is not finite, or too large.");
    return numbers;
  }
  static double checked(double number) {
    if (!moderate(number)) throw std::invalid_argument("A number is not finite, or too large.");
    return number;
  }

  void append() {
    enters();
    with_row([&](const Term& term) { f().append(term); });
    k_.push_back(term_->row.kxx);
  }
  void replace(std::ptrdiff_t i, double share) {
    const std::size_t at = slot(i);
    checked(share);
    enters();
    with_row([&](const Term& term) { f().replace(at, term, share); });
    k_[at] = term_->row.kxx;
  }
  void spread(const Array1<double>& shares, double factor) {
    const Vector d = each(shares);
    checked(factor);
    enters();
    with_row([&](const Term& term) { f().spread(term, factor, d); });
  }
  void remove(std::ptrdiff_t i) {
    const std::size_t at = slot(i);
    f().remove(at);
    take_out(at);
  }
  void project_out(std::ptrdiff_t i, const Array1<double>& shares, double distance2) {
    const std::size_t at = slot(i);
    f().project_out(at, each(shares), checked(distance2));
    take_out(at);
  }
  void lend(std::ptrdiff_t i, std::ptrdiff_t j, double share) { f().lend(slot(i), slot(j), checked(share)); }
  void shrink(double factor) {
    if (!f().can_grow(checked(factor))) throw std::invalid_argument("The coefficients would become too large.");
    f().shrink(factor);
  }

 private:
  // The term enters once: as a support vector, or by its projection.
  void enters() {
    f();
    if (std::exchange(entered_, true)) throw std::runtime_error("The term has entered f before, in this insert.");
  }
  template <class Use>
  void with_row(Use use) {
    const KernelRow row{k_, term_->row.kxx, term_->row.norm};
    use(Term{term_->x, row, term_->beta, term_->v, term_->round, term_->own});
  }
  void take_out(std::size_t i) {
    k_[i] = k_.back();
    k_.pop_back();
  }

  Expansion* f_;
  const Term* term_;
  Random* random_;
  std::vector<double> k_;
  bool entered_ = false;
};

// What Python sees of an insertion; `memory` is that of the budget.
struct OpenExpansion {
  std::shared_ptr<Insertion> now;
  nb::object memory;
};
struct OpenTerm {
  std::shared_ptr<Insertion> now;
};

// `memory` is a mapping of names to arrays that the function keeps between calls; its names do not change.
class CalledBudget final : public Budget {
 public:
  CalledBudget(nb::object insert, nb::object memory, std::vector<std::string> names, std::size_t most, bool solves,
               Counter seed)
      : insert_(std::move(insert)),
        memory_(std::move(memory)),
        names_(std::move(names)),
        most_(most),
        solves_(solves),
        random_(seed) {}
  ~CalledBudget() override {
    nb::gil_scoped_acquire held;
    insert_.reset();
    memory_.reset();
  }

  void insert(Expansion& f, const Term& term) override {
    nb::gil_scoped_acquire held;
    const auto now = std::make_shared<Insertion>(f, term, random_);
    const Closing closing{*now};
    insert_(OpenExpansion{now, memory_}, OpenTerm{now});
  }
  std::size_t most() const override { return most_; }
  bool solves() const override { return solves_; }

  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    random_.fields(io);
    nb::gil_scoped_acquire held;
    for (const std::string& name : names_) {
      std::vector<double> numbers;
      if (!io.restoring()) {
        const Vector kept = view(nb::cast<Array1<double>>(memory_[name.c_str()]));
        numbers.assign(kept.begin(), kept.end());
      }
      io.field(("memory." + name).c_str(), numbers);
      const std::size_t n = numbers.size();
      if (io.restoring()) memory_[name.c_str()] = array(std::move(numbers), {n});
    }
  }
  bool is_consistent(std::size_t n) const override { return most_ == 0 || n <= most_; }

 private:
  struct Closing {
    Insertion& now;
    ~Closing() { now.close(); }
  };

  nb::object insert_, memory_;
  std::vector<std::string> names_;
  std::size_t most_;
  bool solves_;
  Random random_;
};

// `step` takes a Round and returns shrink and beta.
class CalledRule final : public Rule {
 public:
  explicit CalledRule(nb::object step) : step_(std::move(step)) {}
  ~CalledRule() override {
    nb::gil_scoped_acquire held;
    step_.reset();
  }
  Step propose(const Round& round) const override {
    nb::gil_scoped_acquire held;
    const auto [shrink, beta] = nb::cast<std::tuple<double, double>>(step_(round));
    return {shrink, beta};
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  nb::object step_;
};

}  // namespace budgetron
