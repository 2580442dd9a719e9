// Bindings: parts that are written in Python, and what their functions see. No arithmetic here.
#include <algorithm>
#include <cstdint>

#include "python/bind.hpp"
#include "python/called.hpp"
#include "python/reading.hpp"

namespace budgetron {
namespace {

constexpr auto moved = nb::rv_policy::move;  // a new array, which owns its data

NewArray<double> copied(Vector values) { return as_vector({values.begin(), values.end()}); }

NewArray<double> alpha(const OpenExpansion& open) {
  Expansion& f = open.now->f();
  std::vector<double> all;
  for (std::size_t c = 0; c < f.outputs(); ++c) all.insert(all.end(), f.alpha(c).begin(), f.alpha(c).end());
  const std::size_t outputs = f.outputs(), n = f.size();
  return array(std::move(all), {outputs, n});
}

NewArray<double> kernel_row(const OpenExpansion& open, std::ptrdiff_t i) {
  std::vector<double> k;
  open.now->f().kernel_row(open.now->slot(i), k);
  return as_vector(std::move(k));
}

NewArray<double> support_vector(const OpenExpansion& open, std::ptrdiff_t i) {
  const Expansion& f = open.now->f();
  std::vector<double> x(f.features());
  f.support().copy(open.now->slot(i), x);
  return as_vector(std::move(x));
}

std::size_t oldest(const OpenExpansion& open) {
  if (open.now->f().size() == 0) throw std::out_of_range("f has no support vector, so none is the oldest.");
  return open.now->f().oldest();
}

NewArray<std::int64_t> births(const OpenExpansion& open) {
  const auto& births = open.now->f().births();
  std::vector<std::int64_t> all(births.begin(), births.end());
  const std::size_t n = all.size();
  return array(std::move(all), {n});
}

std::size_t below(const OpenExpansion& open, std::ptrdiff_t n) {
  if (n < 1) throw std::invalid_argument("A number below n is drawn for n of at least 1.");
  return open.now->random().below(static_cast<std::size_t>(n));
}

NewArray<double> coefficients(const OpenTerm& open) {
  const std::size_t outputs = open.now->f().outputs();
  std::vector<double> all(outputs);
  for (std::size_t c = 0; c < outputs; ++c) all[c] = open.now->term().coefficient(c);
  return as_vector(std::move(all));
}

NewArray<double> row(const OpenTerm& open) {
  std::vector<double> x(open.now->f().features());
  std::visit([&](const auto& r) { r.each([&](std::size_t j, auto v) { x[j] = static_cast<double>(v); }); },
             open.now->term().x);
  return as_vector(std::move(x));
}

void bind_seen(nb::module_& m) {
  nb::class_<Round>(m, "Round", "What a rule knows about a row.")
      .def_ro("score", &Round::fx, "f(x); with several classes the score of the right one less the best other.")
      .def_ro("y", &Round::y, "The label, -1 or 1, or the target; with several classes 1.")
      .def_ro("kxx", &Round::kxx, "k(x, x); with several classes twice that.")
      .def_ro("mistake", &Round::mistake, "Whether the prediction was wrong.")
      .def_ro("weight", &Round::weight, "The sample weight, which multiplies the loss.")
      .def_ro("t", &Round::t, "The number of the round, from 1.");
  nb::class_<OpenTerm>(m, "OpenTerm", "The new term beta k(x, .), while insert runs.")
      .def_prop_ro(
          "k", [](const OpenTerm& open) { return copied(open.now->k()); }, moved, "k(s_i, x) for all i.")
      .def_prop_ro(
          "kxx", [](const OpenTerm& open) { return open.now->term().row.kxx; }, "k(x, x).")
      .def_prop_ro(
          "beta", [](const OpenTerm& open) { return open.now->term().beta; }, "The size of the step.")
      .def_prop_ro("coefficients", &coefficients, moved, "The coefficient of the term for each output.")
      .def_prop_ro("x", &row, moved, "The row.")
      .def_prop_ro("round", [](const OpenTerm& open) { return open.now->term().round; }, "What the rule knew.");
  nb::class_<OpenExpansion>(m, "OpenExpansion", "f = sum_i alpha_i k(s_i, .), while insert runs.")
      .def_prop_ro(
          "size", [](const OpenExpansion& open) { return open.now->f().size(); }, "The number of support vectors.")
      .def_prop_ro(
          "outputs", [](const OpenExpansion& open) { return open.now->f().outputs(); },
          "The number of outputs: 1, or one for each class.")
      .def_prop_ro("alpha", &alpha, moved, "The coefficients: a row for each output.")
      .def_prop_ro("births", &births, moved, "A number for each support vector; the oldest has the smallest.")
      .def_prop_ro("oldest", &oldest, "The slot of the oldest support vector.")
      .def_prop_ro(
          "selves", [](const OpenExpansion& open) { return copied(open.now->f().selves()); }, moved,
          "k(s_i, s_i) for all i.")
      .def_prop_ro(
          "memory", [](const OpenExpansion& open) { return open.memory; },
          "The arrays that the budget keeps, by the names of start().", nb::sig("def memory(self) -> object"))
      .def("kernel_row", &kernel_row, "i"_a, "k(s_i, s_j) for all j, computed now.")
      .def("support_vector", &support_vector, "i"_a, "The row s_i.")
      .def("below", &below, "n"_a, "A random number from 0 to n - 1, by the seed of the model.")
      .def(
          "uniform", [](const OpenExpansion& open) { return open.now->random().uniform(); },
          "A random number from [0, 1), by the seed of the model.")
      .def(
          "append", [](const OpenExpansion& open, const OpenTerm&) { open.now->append(); }, "term"_a,
          "The term becomes a support vector, the last.")
      .def(
          "replace",
          [](const OpenExpansion& open, std::ptrdiff_t i, const OpenTerm&, double share) {
            open.now->replace(i, share);
          },
          "i"_a, "term"_a, "share"_a = 0.0,
          "The term replaces support vector i, and takes a share of its coefficients.")
      .def(
          "spread",
          [](const OpenExpansion& open, const OpenTerm&, const Array1<double>& shares, double factor) {
            open.now->spread(shares, factor);
          },
          "term"_a, "shares"_a, "factor"_a = 1.0,
          "The term enters as factor * sum_i shares_i k(s_i, .): no new support vector.")
      .def(
          "remove", [](const OpenExpansion& open, std::ptrdiff_t i) { open.now->remove(i); }, "i"_a,
          "Support vector i is removed; the last one moves to its slot.")
      .def(
          "project_out",
          [](const OpenExpansion& open, std::ptrdiff_t i, const Array1<double>& shares, double distance2) {
            open.now->project_out(i, shares, distance2);
          },
          "i"_a, "shares"_a, "distance2"_a,
          "Support vector i is removed; shares of its coefficients are added to the others, shares[i] does not count.")
      .def(
          "lend",
          [](const OpenExpansion& open, std::ptrdiff_t i, std::ptrdiff_t j, double share) {
            open.now->lend(i, j, share);
          },
          "i"_a, "j"_a, "share"_a, "A share of the coefficients of i is added to those of j.")
      .def(
          "shrink", [](const OpenExpansion& open, double factor) { open.now->shrink(factor); }, "factor"_a,
          "f is multiplied by the factor.");
}

}  // namespace

void bind_called(nb::module_& m) {
  bind_seen(m);
  nb::class_<CalledRule, Rule>(m, "CalledRule").def(nb::init<nb::object>(), "step"_a);
  nb::class_<CalledBudget, Budget>(m, "CalledBudget")
      .def(nb::init<nb::object, nb::object, std::vector<std::string>, std::size_t, bool, Counter>(), "insert"_a,
           "memory"_a, "names"_a, "most"_a, "solves"_a, "seed"_a);
}

}  // namespace budgetron
