// Bindings: learners by what is near. No arithmetic here.
#include <vector>

#include "local/neighbours.hpp"
#include "python/bind.hpp"
#include "python/reading.hpp"

namespace budgetron {
namespace {

// What is stored, from the newest row, for those who look for neighbours elsewhere.

NewArray<float> stored_rows(const RecentNeighbours& learner) {
  std::vector<float> rows;
  reading(learner, [&] { rows = learner.rows(); });
  const std::size_t columns = learner.columns(), count = columns > 0 ? rows.size() / columns : 0;
  return array(std::move(rows), {count, columns});
}

NewArray<double> numbers(const RecentNeighbours& learner, std::vector<double> (RecentNeighbours::*stored)() const) {
  return as_vector(reading(learner, [&] { return (learner.*stored)(); }));
}

}  // namespace

void bind_local(nb::module_& m) {
  nb::class_<RecentNeighbours, Learner>(m, "Neighbours")
      .def(nb::init<std::size_t, std::size_t, std::size_t, std::size_t, bool, bool>(), "window"_a, "k"_a, "columns"_a,
           "classes"_a, "raw"_a, "shortens"_a)
      .def_ro_static("most_columns", &RecentNeighbours::most_columns)
      .def("rows", &stored_rows)
      .def("labels", [](const RecentNeighbours& learner) { return numbers(learner, &RecentNeighbours::labels); })
      .def("weights", [](const RecentNeighbours& learner) { return numbers(learner, &RecentNeighbours::weights); })
      .def("first", &RecentNeighbours::first);
}

}  // namespace budgetron
