// Bindings: maps of cells, their rules and the learner on them. No arithmetic here.
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "local/bins.hpp"
#include "local/celled.hpp"
#include "local/random_binning.hpp"
#include "local/tiles.hpp"
#include "python/bind.hpp"
#include "python/reading.hpp"

namespace budgetron {
namespace {

// What maps and learners are made of, for those who compute them elsewhere.

template <class T>
NewArray<T> by_member(const Tiles& tiles, std::vector<T> tests) {
  const std::size_t depth = tests.size() / tiles.members();
  return array(std::move(tests), {tiles.members(), depth});
}
NewArray<std::int64_t> tested(const Tiles& tiles) { return by_member(tiles, tiles.tested()); }
NewArray<double> thresholds(const Tiles& tiles) { return by_member(tiles, tiles.thresholds()); }

NewArray<double> grids(const RandomBinning& map) { return array(map.grids(), {map.columns(), map.members(), 2}); }

// The constant, then the entries of the table: the weights of every output, then what the rule keeps.
NewArray<float> entries(const Celled& learner) {
  std::vector<float> out;
  reading(learner, [&] { out = learner.table().numbers(); });
  return array(std::move(out), {learner.table().room() + 1, learner.table().width()});
}

// Whether each cell has the entry of its number, the number of entries, and how often these were halved.
nb::object places(const Celled& learner) {
  const CellTable& table = learner.table();
  return nb::make_tuple(table.direct(), table.full(), table.halvings());
}

}  // namespace

void bind_cells(nb::module_& m) {
  nb::class_<CellMap>(m, "CellMap").def_prop_ro("members", &CellMap::members).def_prop_ro("redraws", &CellMap::redraws);
  nb::class_<Tiles, CellMap>(m, "Tiles")
      .def(nb::init<std::size_t, std::size_t, double, std::size_t, Counter>(), "members"_a, "depth"_a, "narrow"_a,
           "columns"_a, "seed"_a)
      .def("tested", &tested)
      .def("thresholds", &thresholds)
      .def("first_cells", &Tiles::first_cells);
  nb::class_<Bins, CellMap>(m, "Bins")
      .def(nb::init<std::size_t, std::size_t, std::size_t, std::size_t, Counter>(), "bins"_a, "pairs"_a, "side"_a,
           "columns"_a, "seed"_a)
      .def_prop_ro("edges", &Bins::edges)
      .def_prop_ro("by_value", &Bins::by_value)
      .def_prop_ro("sides", &Bins::sides)
      .def_prop_ro("pairs", &Bins::pairs)
      .def_prop_ro("first", &Bins::first);
  nb::class_<RandomBinning, CellMap>(m, "RandomBinning")
      .def(nb::init<std::size_t, double, std::size_t, Counter>(), "members"_a, "gamma"_a, "columns"_a, "seed"_a)
      .def("grids", &grids);

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
          "map"_a, "rule"_a, "task"_a, "cells"_a, "bytes"_a, "recruiting"_a.none())
      .def_prop_ro("map", &Celled::map)
      .def_prop_ro("scale", &Celled::scale)
      .def_prop_ro("value", &Celled::value)
      .def_prop_ro("places", &places)
      .def("entries", &entries);
}

}  // namespace budgetron
