// Bindings: feature maps, vector rules and the learner on them. No arithmetic here.
#include <algorithm>
#include <memory>
#include <shared_mutex>
#include <stdexcept>
#include <tuple>

#include "features/covariance.hpp"
#include "features/feature_map.hpp"
#include "features/fourier.hpp"
#include "features/frequencies.hpp"
#include "features/hadamard.hpp"
#include "features/kalman.hpp"
#include "features/landmarks.hpp"
#include "features/learned_widths.hpp"
#include "features/mapped.hpp"
#include "features/move_to_features.hpp"
#include "features/nystrom.hpp"
#include "features/vector_rules.hpp"
#include "features/wrapped.hpp"
#include "model/kernelized.hpp"
#include "python/bind.hpp"
#include "python/reading.hpp"

namespace budgetron {
namespace {

NewArray<double> landmarks(const Mapped& learner, std::size_t features) {
  const FeatureMap& map = learner.map();
  std::vector<double> out;
  reading(learner, [&] {
    out.resize(map.landmarks() * features);
    for (std::size_t i = 0; i < map.landmarks(); ++i) map.landmark(i, std::span(out).subspan(i * features, features));
  });
  const std::size_t n = features == 0 ? 0 : out.size() / features;
  return array(std::move(out), {n, features});
}

// w, one row per output.
NewArray<double> coef(const Mapped& learner) {
  std::vector<double> out;
  reading(learner, [&] {
    for (std::size_t c = 0; c < learner.outputs(); ++c)
      for (const double w : learner.weights().output(c)) out.push_back(w / learner.weights().output_divisor());
  });
  return as_rows(std::move(out), learner.outputs());
}

// The weights of terms that the budget MoveToFeatures has moved, one row per output, and their frequencies.
const MoveToFeatures& moving(const Kernelized& learner) {
  const auto* const budget = dynamic_cast<const MoveToFeatures*>(learner.budget().get());
  if (budget == nullptr) throw std::invalid_argument("The budget moves no terms into features.");
  return *budget;
}
NewArray<double> moved_coef(const Kernelized& learner) {
  const MoveToFeatures& budget = moving(learner);
  std::vector<double> out;
  reading(learner, [&] {
    for (std::size_t c = 0; c < learner.outputs(); ++c) {
      const std::vector<double> w = budget.weights(c, learner.expansion().divisor());
      out.insert(out.end(), w.begin(), w.end());
    }
  });
  return as_rows(std::move(out), learner.outputs());
}

// Coefficients over the landmarks, one row per output.
NewArray<double> landmark_coef(const Mapped& learner) {
  std::vector<double> out;
  reading(learner, [&] {
    for (std::size_t c = 0; c < learner.outputs(); ++c) {
      const std::vector<double> alpha = learner.dual(c);
      out.insert(out.end(), alpha.begin(), alpha.end());
    }
  });
  return as_rows(std::move(out), learner.outputs());
}

// The full block of the covariance of a filter, and the variances of the other weights; None if there is no filter.
nb::object covariance(const Mapped& learner) {
  const Posterior* const posterior = learner.rule().posterior();
  if (posterior == nullptr) return nb::none();
  std::vector<double> rows, variances;
  reading(learner, [&] {
    rows = posterior->full_block();
    variances = posterior->variances();
  });
  const std::size_t m = variances.size(), n = posterior->size() - m;
  return nb::cast(std::make_tuple(array(std::move(rows), {n, n}), array(std::move(variances), {m})));
}

// What a map is made of, for those who compute it elsewhere.

NewArray<double> map_frequencies(const FeatureMap& map, std::size_t columns) {
  std::vector<double> U;
  {
    nb::gil_scoped_release free;
    U = map.frequencies(columns);
  }
  const std::size_t D = columns == 0 ? 0 : U.size() / columns;
  return array(std::move(U), {columns, D});
}

NewArray<double> moved_frequencies(const Kernelized& learner, std::size_t columns) {
  return map_frequencies(*moving(learner).map(), columns);
}

NewArray<double> map_landmarks(const FeatureMap& map, std::size_t features) {
  std::vector<double> out(map.landmarks() * features);
  for (std::size_t i = 0; i < map.landmarks(); ++i) map.landmark(i, std::span(out).subspan(i * features, features));
  return array(std::move(out), {map.landmarks(), features});
}

NewArray<double> from_kernel_row(const FeatureMap& map) {
  return array(map.from_kernel_row(), {map.size(), map.landmarks()});
}

// The places to which columns are added, and their signs.
nb::object hashed_places(const HashedMap& map, std::size_t columns) {
  std::vector<double> places, signs;
  for (std::size_t j = 0; j < columns; ++j) {
    const auto [column, negative] = map.place_of(j);
    places.push_back(static_cast<double>(column));
    signs.push_back(negative ? -1 : 1);
  }
  return nb::cast(std::make_tuple(array(std::move(places), {columns}), array(std::move(signs), {columns})));
}

nb::dict map_state(FeatureMap& map) {
  Save save;
  map.fields(save);
  return arrays(std::move(save.state));
}

void restore_map(FeatureMap& map, nb::dict state) {
  Restore io(std::move(state));
  map.fields(io);
  io.finish();
  if (!map.is_consistent(map.size())) throw nb::value_error("map state: its fields do not fit together.");
}

NewArray<double> transform(const FeatureMap& map, const BoundRows& X) {
  std::vector<double> Z(X.rows.size() * map.size());
  {
    nb::gil_scoped_release free;
    map.transform({X.rows, 0, X.rows.size()}, Z);
  }
  return array(std::move(Z), {X.rows.size(), map.size()});
}

// Fits a map on its own: every row counts as a step, then the map is settled.
void fit(FeatureMap& map, const BoundRows& X) {
  nb::gil_scoped_release free;
  map.begin();
  std::vector<Change> ignored;
  for (std::size_t i = 0; i < X.rows.size() && map.learns(); ++i) {
    map.before_step(X.rows[i], true, ignored);
    map.after_step(ignored);
    ignored.clear();
  }
  map.settle(ignored);
  map.prepare({X.rows, 0, X.rows.size()});
}

std::shared_ptr<FeatureMap> fourier(std::size_t features, std::shared_ptr<Frequencies> frequencies, Precision precision,
                                    std::size_t cache_bytes) {
  if (precision == Precision::Single)
    return std::make_shared<Fourier<float>>(features, std::move(frequencies), cache_bytes);
  return std::make_shared<Fourier<double>>(features, std::move(frequencies), cache_bytes);
}

// `make` is called on first use, by a thread that does not hold the interpreter's lock.
// later(j) gives the frequencies of a column that is new since.
std::shared_ptr<Frequencies> given_frequencies(std::size_t columns, std::size_t components, nb::callable make,
                                               nb::callable later) {
  const auto matrix = [components](nb::object made, std::size_t rows) {
    const auto U = nb::cast<Matrix<double>>(made);
    if (U.shape(0) != rows || U.shape(1) != components)
      throw nb::value_error("given_frequencies: the matrix must be columns x components.");
    return std::vector<double>(aligned(U), aligned(U) + U.size());
  };
  return std::make_shared<GivenFrequencies>(
      columns, components,
      [=, make = std::move(make)] {
        nb::gil_scoped_acquire held;
        return matrix(make(), columns);
      },
      [=, later = std::move(later)](std::size_t j) {
        nb::gil_scoped_acquire held;
        return matrix(later(j), 1);
      });
}

void make_hadamard(HadamardFourier* self, std::size_t components, std::size_t width, nb::callable make) {
  new (self) HadamardFourier(components, width, [components, width, make = std::move(make)](std::size_t k) {
    nb::gil_scoped_acquire held;
    using Numbers = Array1<double>;
    const auto [B, P, G, S] = nb::cast<std::tuple<Numbers, Array1<Counter>, Numbers, Numbers>>(make(k));
    const std::size_t d = HadamardFourier::width(width, k), n = (components + d - 1) / d * d;
    if (B.size() != n || P.size() != n || G.size() != n || S.size() != n ||
        std::any_of(P.data(), P.data() + n, [d](Counter place) { return place >= d; }))
      throw nb::value_error("HadamardFourier: the blocks do not have the right size.");
    const auto copied = [n](const auto& v) { return std::vector(aligned(v), aligned(v) + n); };
    return HadamardFourier::Blocks{copied(B), copied(P), copied(G), copied(S)};
  });
}

// The frequencies of the first columns, columns x components.
NewArray<double> frequency_matrix(const Frequencies& frequencies, std::size_t columns) {
  const std::size_t D = frequencies.components();
  std::vector<double> U(columns * D);
  {
    nb::gil_scoped_release free;
    for (std::size_t j = 0; j < columns; ++j) frequencies.column(j, std::span(U).subspan(j * D, D));
  }
  return array(std::move(U), {columns, D});
}

}  // namespace

void bind_features(nb::module_& m) {
  nb::class_<Frequencies>(m, "Frequencies").def("matrix", &frequency_matrix, "columns"_a);
  nb::class_<NormalFrequencies, Frequencies>(m, "NormalFrequencies")
      .def(nb::init<std::size_t, double, Counter>(), "components"_a, "scale"_a, "seed"_a);
  nb::class_<CauchyFrequencies, Frequencies>(m, "CauchyFrequencies")
      .def(nb::init<std::size_t, double, Counter>(), "components"_a, "scale"_a, "seed"_a);
  nb::class_<SparseFrequencies, Frequencies>(m, "SparseFrequencies")
      .def(nb::init<std::size_t, std::size_t, double, double, Counter>(), "components"_a, "columns"_a, "narrowest"_a,
           "widest"_a, "seed"_a);
  m.def("given_frequencies", &given_frequencies, "columns"_a, "components"_a, "make"_a, "later"_a,
        nb::sig("def given_frequencies(columns: int, components: int, make: object, later: object) -> Frequencies"));

  nb::class_<FeatureMap>(m, "FeatureMap")
      .def_prop_ro("size", &FeatureMap::size)
      .def_prop_ro("learns", &FeatureMap::learns)
      .def_prop_ro("recruits", &FeatureMap::recruits)
      .def_prop_ro("members", &FeatureMap::members)
      .def_prop_ro("inputs", &FeatureMap::inputs)
      .def_prop_ro("tail", &FeatureMap::tail)
      .def("frequencies", &map_frequencies, "columns"_a)
      .def("landmarks", &map_landmarks, "features"_a)
      .def("from_kernel_row", &from_kernel_row)
      .def("fit", &fit, "rows"_a)
      .def("transform", &transform, "rows"_a)
      .def("state", &map_state, nb::sig("def state(self) -> dict[str, object]"))
      .def("restore", &restore_map, "state"_a, nb::sig("def restore(self, state: dict[str, object]) -> None"));
  m.def("fourier", &fourier, "features"_a, "frequencies"_a, "precision"_a, "cache_bytes"_a);
  nb::class_<LearnedWidths, FeatureMap>(m, "LearnedWidths")
      .def(nb::init<std::size_t, std::shared_ptr<Frequencies>, double>(), "features"_a, "frequencies"_a, "rate"_a);
  nb::class_<HadamardFourier, FeatureMap>(m, "HadamardFourier")
      .def("__init__", &make_hadamard, "components"_a, "width"_a, "make"_a,
           nb::sig("def __init__(self, components: int, width: int, make: object) -> None"));
  nb::class_<Identity, FeatureMap>(m, "Identity")
      .def(nb::init<std::size_t, double, bool>(), "features"_a, "scale"_a, "constant"_a);
  nb::class_<Stack, FeatureMap>(m, "Stack")
      .def(nb::init<std::vector<std::shared_ptr<FeatureMap>>>(), "maps"_a)
      .def_prop_ro("maps", &Stack::maps);
  nb::class_<SharedMap, FeatureMap>(m, "SharedMap")
      .def(nb::init<std::shared_ptr<FeatureMap>>(), "map"_a)
      .def("add_learner", &SharedMap::add_learner)
      .def_prop_ro("inner", [](const SharedMap& map) { return map.inner(); });
  nb::class_<RecruitedMap, FeatureMap>(m, "RecruitedMap")
      .def(nb::init<std::shared_ptr<FeatureMap>, const Recruiting&>(), "map"_a, "recruiting"_a);
  nb::class_<HashedMap, FeatureMap>(m, "HashedMap")
      .def(nb::init<std::shared_ptr<FeatureMap>, std::size_t>(), "map"_a, "columns"_a)
      .def_prop_ro("inner", [](const HashedMap& map) { return map.inner(); })
      .def_prop_ro("columns", &HashedMap::columns)
      .def("places", &hashed_places, "columns"_a, nb::sig("def places(self, columns: int) -> tuple[object, object]"));
  nb::class_<LandmarkSelection>(m, "LandmarkSelection");
  nb::class_<FirstRows, LandmarkSelection>(m, "FirstRows").def(nb::init<std::size_t>(), "landmarks"_a);
  nb::class_<FirstSteps, LandmarkSelection>(m, "FirstSteps").def(nb::init<std::size_t>(), "landmarks"_a);
  nb::class_<Reservoir, LandmarkSelection>(m, "Reservoir")
      .def(nb::init<std::size_t, std::size_t, Counter>(), "landmarks"_a, "window"_a, "seed"_a);
  nb::class_<ByLeverage, LandmarkSelection>(m, "ByLeverage")
      .def(nb::init<std::size_t, std::size_t, std::size_t, Counter>(), "landmarks"_a, "rank"_a, "window"_a, "seed"_a);
  nb::class_<Nystrom, FeatureMap>(m, "Nystrom")
      .def("__init__",
           &init_with_lapack<Nystrom, std::shared_ptr<const Kernel>, std::size_t, std::size_t,
                             std::shared_ptr<LandmarkSelection>, std::size_t>,
           "kernel"_a, "landmarks"_a, "rank"_a, "selection"_a, "features"_a);

  nb::class_<MoveToFeatures, Budget>(m, "MoveToFeatures")
      .def(nb::init<std::size_t, std::size_t, std::shared_ptr<FeatureMap>>(), "budget"_a, "at_once"_a, "map"_a);
  m.def("moved_coef", &moved_coef, "learner"_a);
  m.def("moved_frequencies", &moved_frequencies, "learner"_a, "columns"_a);

  nb::class_<Covariance>(m, "Covariance");
  nb::class_<FullCovariance, Covariance>(m, "FullCovariance").def(nb::init<double>(), "start"_a);
  nb::class_<DiagonalCovariance, Covariance>(m, "DiagonalCovariance").def(nb::init<double>(), "start"_a);
  nb::class_<VectorRule>(m, "VectorRule");
  nb::class_<Along, VectorRule>(m, "Along").def(nb::init<std::shared_ptr<Rule>>(), "rule"_a);
  nb::class_<AdaGrad, VectorRule>(m, "AdaGrad")
      .def(nb::init<std::shared_ptr<const Loss>, double, double>(), "loss"_a, "eta"_a, "delta"_a);
  nb::class_<OnlineNewton, VectorRule>(m, "OnlineNewton")
      .def(nb::init<std::shared_ptr<const Loss>, double, std::shared_ptr<Covariance>>(), "loss"_a, "eta"_a,
           "inverse"_a);
  nb::class_<CoinBetting, VectorRule>(m, "CoinBetting")
      .def(nb::init<std::shared_ptr<const Loss>, double>(), "loss"_a, "alpha"_a);
  nb::class_<AROW, VectorRule>(m, "AROW").def(nb::init<double, std::shared_ptr<Covariance>>(), "r"_a, "sigma"_a);
  nb::class_<AROWRegression, VectorRule>(m, "AROWRegression")
      .def(nb::init<double, double, std::shared_ptr<Covariance>>(), "r"_a, "epsilon"_a, "sigma"_a);
  nb::class_<KalmanLabels, VectorRule>(m, "KalmanLabels")
      .def(nb::init<double, double, std::size_t>(), "prior"_a, "drift"_a, "full"_a);
  nb::class_<KalmanTargets, VectorRule>(m, "KalmanTargets")
      .def(nb::init<double, double, std::size_t>(), "prior"_a, "drift"_a, "full"_a);
  nb::class_<Mapped, Learner>(m, "Mapped")
      .def(nb::init<std::shared_ptr<FeatureMap>, std::shared_ptr<VectorRule>, std::shared_ptr<const Task>>(), "map"_a,
           "rule"_a, "task"_a)
      .def("support_vectors", &landmarks, "features"_a)
      .def("dual_coef", &landmark_coef)
      .def("coef", &coef)
      .def_prop_ro("map", &Mapped::shared_map)
      .def("covariance", &covariance, nb::sig("def covariance(self) -> tuple[object, object] | None"));
}

}  // namespace budgetron
