// Bindings: learners by what is near. No arithmetic here.
#include "local/neighbours.hpp"
#include "python/bind.hpp"

namespace budgetron {

void bind_local(nb::module_& m) {
  nb::class_<RecentNeighbours, Learner>(m, "Neighbours")
      .def(nb::init<std::size_t, std::size_t, std::size_t, std::size_t>(), "window"_a, "k"_a, "columns"_a, "classes"_a)
      .def_ro_static("most_columns", &RecentNeighbours::most_columns);
}

}  // namespace budgetron
