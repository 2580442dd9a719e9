// Bindings: maps of cells, their rules and the learner on them. No arithmetic here.
#include <memory>
#include <optional>

#include "local/bins.hpp"
#include "local/celled.hpp"
#include "local/random_binning.hpp"
#include "local/tiles.hpp"
#include "python/bind.hpp"
#include "python/reading.hpp"

namespace budgetron {

void bind_cells(nb::module_& m) {
  nb::class_<CellMap>(m, "CellMap").def_prop_ro("members", &CellMap::members).def_prop_ro("redraws", &CellMap::redraws);
  nb::class_<Tiles, CellMap>(m, "Tiles")
      .def(nb::init<std::size_t, std::size_t, double, std::size_t, Counter>(), "members"_a, "depth"_a, "narrow"_a,
           "columns"_a, "seed"_a);
  nb::class_<Bins, CellMap>(m, "Bins").def(nb::init<std::size_t, std::size_t, std::size_t, std::size_t, Counter>(),
                                           "bins"_a, "pairs"_a, "side"_a, "columns"_a, "seed"_a);
  nb::class_<RandomBinning, CellMap>(m, "RandomBinning")
      .def(nb::init<std::size_t, double, std::size_t, Counter>(), "members"_a, "gamma"_a, "columns"_a, "seed"_a);

  nb::class_<CellRule>(m, "CellRule");
  nb::class_<CellsAlong, CellRule>(m, "CellsAlong").def(nb::init<std::shared_ptr<Rule>>(), "rule"_a);
  nb::class_<CellsAdaGrad, CellRule>(m, "CellsAdaGrad")
      .def(nb::init<std::shared_ptr<const Loss>, double, double>(), "loss"_a, "eta"_a, "delta"_a);
  nb::class_<CellsAROW, CellRule>(m, "CellsAROW").def(nb::init<double, double>(), "r"_a, "epsilon"_a);
  nb::class_<CellsKalmanLabels, CellRule>(m, "CellsKalmanLabels").def(nb::init<double, double>(), "prior"_a, "drift"_a);
  nb::class_<CellsKalmanTargets, CellRule>(m, "CellsKalmanTargets")
      .def(nb::init<double, double>(), "prior"_a, "drift"_a);

  nb::class_<Celled, Learner>(m, "Celled")
      .def(
          "__init__",
          [](Celled* self, std::shared_ptr<CellMap> map, std::shared_ptr<CellRule> rule,
             std::shared_ptr<const Task> task, std::size_t cells, std::size_t bytes, const Recruiting* recruiting) {
            new (self) Celled(std::move(map), std::move(rule), std::move(task), cells, bytes,
                              recruiting == nullptr ? std::nullopt : std::optional(*recruiting));
          },
          "map"_a, "rule"_a, "task"_a, "cells"_a, "bytes"_a, "recruiting"_a.none());
}

}  // namespace budgetron
