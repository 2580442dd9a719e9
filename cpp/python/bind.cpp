// The module: finds the loops and, when a part needs it, LAPACK; and binds the parts.
#include "python/bind.hpp"

#include <cstdlib>
#include <stdexcept>

#include "linalg/eigen.hpp"
#include "simd/instruction_sets.hpp"
#include "support/layouts.hpp"

namespace budgetron {

void find_lapack() {
  if (dsyevd != nullptr) return;
  const nb::object capsule = nb::module_::import_("scipy.linalg.cython_lapack").attr("__pyx_capi__")["dsyevd"];
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (pointer == nullptr) throw nb::python_error();
  dsyevd = reinterpret_cast<Dsyevd>(pointer);
}

namespace {

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const Loops* candidate : available_loops()) names.emplace_back(candidate->name);
  return names;
}

// Selects the widest instruction set available, or the one that BUDGETRON_ISA names.
void find_loops() {
  const char* wanted = std::getenv("BUDGETRON_ISA");
  if (choose_loops(wanted == nullptr ? "" : wanted)) return;
  std::string names;
  for (const std::string& name : instruction_sets()) names += (names.empty() ? "" : ", ") + name;
  throw std::runtime_error("BUDGETRON_ISA: " + std::string(wanted) + " does not run on this processor; take one of " +
                           names + ".");
}

}  // namespace
}  // namespace budgetron

NB_MODULE(_core, m) {
  using namespace budgetron;
  find_loops();
  m.def("instruction_set", [] { return loops->name; }, "The one in use.");
  m.def("instruction_sets", &instruction_sets, "Those that run here, the widest first.");
  bind_input(m);
  bind_parts(m);
  bind_called(m);
  bind_learners(m);
  bind_features(m);
  bind_cells(m);
  bind_local(m);
  bind_drift(m);
  bind_for_tests(m);
}
