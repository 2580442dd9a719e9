// Bindings: learners. The interpreter lock is released while rows are processed. No arithmetic here.
#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <shared_mutex>
#include <span>
#include <stdexcept>
#include <string>

#include "dual/double_updating.hpp"
#include "model/dated.hpp"
#include "model/expansion.hpp"
#include "model/kernelized.hpp"
#include "model/learner.hpp"
#include "model/outside.hpp"
#include "model/random_iterate.hpp"
#include "model/scaled.hpp"
#include "model/stacked.hpp"
#include "python/bind.hpp"
#include "python/reading.hpp"
#include "python/record_reader.hpp"
#include "state/threads.hpp"

namespace budgetron {
namespace {

// The fields, and the number of rows done at the same moment.
nb::tuple state_and_rows(Learner& learner) {
  Save save;
  const Counter rows = reading(learner, [&] {
    learner.fields(save);
    return learner.rows_done.load();
  });
  return nb::make_tuple(arrays(std::move(save.state)), rows);
}

// The fields if output c becomes output places[c]. Two classes with one output change places if this is called.
nb::dict reordered_state(Learner& learner, std::vector<std::size_t> places) {
  std::vector<std::size_t> all(learner.outputs());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!std::is_permutation(places.begin(), places.end(), all.begin(), all.end()))
    throw std::invalid_argument("reordered_state: every output needs a place of its own.");
  Save save;
  save.moved.emplace(std::move(places));
  reading(learner, [&] { learner.fields(save); });
  return arrays(std::move(save.state));
}

std::map<std::string, std::string> merged_fields(Learner& learner) {
  Describe describe;
  reading(learner, [&] { learner.fields(describe); });
  return std::move(describe.ways);
}

nb::dict state(Learner& learner) { return nb::cast<nb::dict>(state_and_rows(learner)[0]); }

void begin(Learner& learner) {
  nb::gil_scoped_release free;
  std::unique_lock lock(learner.guard());
  learner.begin();
}

// Restores a learner that was newly built, or one whose part in Python failed. It waits for the lock without that of
// the interpreter, which a part in Python may need.
void restore(Learner& learner, nb::dict state) {
  std::unique_lock lock(learner.guard(), std::defer_lock);
  {
    nb::gil_scoped_release free;
    lock.lock();
  }
  Restore io(std::move(state));
  learner.fields(io);
  io.finish();
  if (!learner.consistent()) throw nb::value_error("model state: its fields do not fit together.");
}

// Throws if a learner that was widened has another number of columns; its lock is held.
void check_columns(const Learner& learner, std::size_t columns) {
  if (learner.widened_to == 0 || learner.widened_to == columns) return;
  throw std::invalid_argument("The model was widened to " + std::to_string(learner.widened_to) + " features, X has " +
                              std::to_string(columns) + ".");
}
void check_columns(const Learner& learner, const Rows& rows) {
  check_columns(learner, std::visit([](const auto& view) { return view.columns; }, rows.view()));
}

void widen(Learner& learner, std::size_t features, std::size_t outputs) {
  nb::gil_scoped_release free;
  std::unique_lock lock(learner.guard());
  learner.widen(features, outputs);
  learner.widened_to = features;
}

bool set_aside(Learner& learner, const std::vector<std::size_t>& columns) {
  nb::gil_scoped_release free;
  std::unique_lock lock(learner.guard());
  return learner.set_aside(columns);
}

std::size_t run(Learner& learner, const BoundRows& X, const Array1<double>& y, std::optional<Array1<double>> weights,
                nb::ndarray<double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu> scores, std::size_t threads) {
  const Vector labels = view(y), w = weights ? view(*weights) : Vector{};
  double* const out = aligned(scores);
  nb::gil_scoped_release free;
  std::unique_lock lock(learner.guard());
  if (y.size() != X.rows.size() || scores.size() != X.rows.size() * learner.outputs() ||
      (weights && weights->size() != X.rows.size()))
    throw std::invalid_argument("run: rows, labels, weights and scores differ in length.");
  check_columns(learner, X.rows);
  const Threads::Allow allow(threads);
  const std::size_t done = learner.run(X.rows, labels, w, {out, scores.size()});
  learner.rows_done += done;
  return done;
}

// Before a fork: waits until no thread uses the learner, and locks it.
void hold(const Learner& learner) {
  nb::gil_scoped_release free;
  learner.guard().lock();
}

// Calls use(piece, first) for pieces of rows, in as many threads as are given.
template <class Use>
void each_piece(const Rows& rows, std::size_t threads, Use use) {
  const Threads::Allow allow(threads);
  in_pieces(rows.size(), [&](std::size_t first, std::size_t last) {
    const bool all = last - first == rows.size();
    use(all ? rows : rows.slice(first, last), first);
  });
}

NewArray<double> scores(const Learner& learner, const BoundRows& X, std::size_t threads) {
  std::size_t outputs;
  std::vector<double> out = reading(learner, [&] {
    check_columns(learner, X.rows);
    outputs = learner.outputs();
    std::vector<double> scores(X.rows.size() * outputs);
    each_piece(X.rows, threads, [&](const Rows& rows, std::size_t first) {
      learner.scores(rows, std::span(scores).subspan(first * outputs, rows.size() * outputs));
    });
    return scores;
  });
  return array(std::move(out), {X.rows.size(), outputs});
}

void absorb(Kernelized& learner, const BoundRows& X, const Array1<double>& coefficients, double share, double divisor) {
  const Vector a = view(coefficients);
  nb::gil_scoped_release free;
  std::unique_lock lock(learner.guard());
  if (a.size() != X.rows.size() * learner.outputs())
    throw std::invalid_argument("absorb: one coefficient is needed for every row and output.");
  learner.absorb(X.rows, a, share, divisor);
}

// Learns one row and writes the scores before the update, unless `scores` is None, which saves about 0.15 us.
// Returns false, with nothing changed, if the squared norm or a score is not finite.
template <class T>
bool learn_row(Learner& learner, std::span<const T> x, double y, const WritableRow& scores, double weight) {
  const bool wanted = scores.is_valid();
  double* const read = wanted ? aligned(scores) : nullptr;
  nb::gil_scoped_release free;
  if (!squares<T>(x.data(), x.size(), learner.accepts_missing())) return false;
  std::unique_lock lock(learner.guard());
  std::vector<double> unread(wanted ? 0 : learner.outputs());
  const std::span<double> out = wanted ? std::span(read, scores.size()) : std::span(unread);
  if (out.size() != learner.outputs())
    throw std::invalid_argument("learn_one: scores must have one place for every output.");
  check_columns(learner, x.size());
  const Rows row(DenseRows<T>{x.data(), 1, x.size()});
  const std::span<const double> weights(&weight, weight == 1.0 ? 0 : 1);
  const std::size_t done = learner.run(row, {&y, 1}, weights, out);
  learner.rows_done += done;
  return done == 1;
}

template <class T>
bool learn_one(Learner& learner, const OneRow<T>& x, double y, const WritableRow& scores, double weight) {
  return learn_row<T>(learner, {aligned(x), x.size()}, y, scores, weight);
}

// Learns a dict without anything new. Returns false, with nothing changed, also for any other record.
bool learn_record(Learner& learner, const RecordReader& reader, nb::handle record, double y, const WritableRow& scores,
                  double weight) {
  std::vector<double> row;
  return reader.read(record, row) && learn_row<double>(learner, row, y, scores, weight);
}

// Scores one row; `places` says where the scores of that many outputs go. Returns false if one is not finite.
template <class T, class Places>
bool score_row(const Learner& learner, std::span<const T> x, Places places) {
  nb::gil_scoped_release free;
  if (!squares<T>(x.data(), x.size(), learner.accepts_missing())) return false;
  std::shared_lock lock(learner.guard());
  const std::span<double> out = places(learner.outputs());
  if (out.size() != learner.outputs())
    throw std::invalid_argument("score_one: scores must have one place for every output.");
  check_columns(learner, x.size());
  learner.scores(Rows(DenseRows<T>{x.data(), 1, x.size()}), out);
  return std::all_of(out.begin(), out.end(), [](double f) { return std::isfinite(f); });
}

template <class T>
bool score_one(const Learner& learner, const OneRow<T>& x, const WritableRow& scores) {
  const std::span<double> out(aligned(scores), scores.size());
  return score_row<T>(learner, {aligned(x), x.size()}, [out](std::size_t) { return out; });
}

// The scores of a dict as a list, which is made in a fraction of the time of an array.
std::optional<nb::list> score_record(const Learner& learner, const RecordReader& reader, nb::handle record) {
  std::vector<double> row, scores;
  const auto places = [&](std::size_t outputs) {
    scores.resize(outputs);
    return std::span(scores);
  };
  if (!reader.read(record, row) || !score_row<double>(learner, row, places)) return std::nullopt;
  nb::list list;
  for (const double f : scores) list.append(f);
  return list;
}

Bytes memory(Learner& learner) {
  Measure measure;
  reading(learner, [&] { learner.fields(measure); });
  return measure.bytes;
}

std::size_t size(const Learner& learner) {
  return reading(learner, [&] { return learner.size(); });
}

// Slots by age, oldest support vector first.
std::vector<std::size_t> by_age(const Expansion& f) {
  std::vector<std::size_t> places(f.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(), [&](auto a, auto b) { return f.births()[a] < f.births()[b]; });
  return places;
}

NewArray<double> support_vectors(const ExpansionLearner& learner, std::size_t features) {
  const Expansion& f = learner.expansion();
  std::vector<double> out = reading(learner, [&] {
    std::vector<double> rows(f.size() * features);
    std::span<double> rest(rows);
    for (const std::size_t i : by_age(f)) {
      f.support().copy(i, rest.first(features));
      rest = rest.subspan(features);
    }
    return rows;
  });
  const std::size_t n = features == 0 ? 0 : out.size() / features;
  return array(std::move(out), {n, features});
}

NewArray<double> dual_coef(const ExpansionLearner& learner) {
  const Expansion& f = learner.expansion();
  std::vector<double> out;
  reading(learner, [&] {
    learner.settle();
    for (std::size_t c = 0; c < f.outputs(); ++c)
      for (const std::size_t i : by_age(f)) out.push_back(f.output(c)[i] / f.output_divisor());
  });
  return as_rows(std::move(out), f.outputs());
}

NewArray<double> deviations(const Learner& learner, const BoundRows& X, std::size_t threads) {
  std::vector<double> out(X.rows.size());
  reading(learner, [&] {
    check_columns(learner, X.rows);
    each_piece(X.rows, threads, [&](const Rows& rows, std::size_t first) {
      learner.deviations(rows, std::span(out).subspan(first, rows.size()));
    });
  });
  return as_vector(std::move(out));
}

// What a learner keeps of the rows, for explanations.

NewArray<double> kept_rows(const Learner& learner) {
  KeptRows kept = reading(learner, [&] { return learner.kept_rows(); });
  const std::size_t rows = kept.columns == 0 ? 0 : kept.values.size() / kept.columns;
  return array(std::move(kept.values), {rows, kept.columns});
}

// For each neighbour: its distance, its row, its label if labels are kept, and its share in each score.
nb::list nearest(const Learner& learner, const BoundRows& X, std::size_t most) {
  if (X.rows.size() != 1) throw std::invalid_argument("nearest: expected one row.");
  std::vector<Neighbour> near = reading(learner, [&] {
    check_columns(learner, X.rows);
    return learner.nearest(X.rows, most);
  });
  nb::list out;
  for (Neighbour& each : near)
    out.append(nb::make_tuple(each.distance, as_vector(std::move(each.row)),
                              each.label.empty() ? nb::none() : nb::cast(each.label[0]), nb::cast(each.shares)));
  return out;
}

NewArray<double> novelty(const Learner& learner, const BoundRows& X, std::size_t threads) {
  std::vector<double> out(X.rows.size());
  reading(learner, [&] {
    check_columns(learner, X.rows);
    if (learner.recollection() == Recollection::None) throw std::invalid_argument("novelty: nothing is kept.");
    each_piece(X.rows, threads, [&](const Rows& rows, std::size_t first) {
      learner.novelty(rows, std::span(out).subspan(first, rows.size()));
    });
  });
  return as_vector(std::move(out));
}

NewArray<double> usual_novelty(const Learner& learner) {
  return as_vector(reading(learner, [&] { return learner.usual_novelty(); }));
}

// rows x experts x outputs; no experts if the learner is not made of some.
NewArray<double> shares(const Learner& learner, const BoundRows& X) {
  std::size_t experts, outputs;
  std::vector<double> out = reading(learner, [&] {
    check_columns(learner, X.rows);
    experts = learner.sharing(), outputs = learner.outputs();
    std::vector<double> shares(X.rows.size() * experts * outputs);
    learner.shares(X.rows, shares);
    return shares;
  });
  return array(std::move(out), {X.rows.size(), experts, outputs});
}

NewArray<double> expert_weights(const Stacked& learner) {
  return as_vector(reading(learner, [&] { return learner.expert_weights(); }));
}

NewArray<double> expert_losses(const Stacked& learner) {
  return as_vector(reading(learner, [&] { return learner.expert_losses(); }));
}

// Of the calibration: where its slope changes, and its slopes.
NewArray<double> bends(const StackedLabels& learner) {
  return as_vector(reading(learner, [&] { return learner.calibration().bends(); }));
}

NewArray<double> slopes(const StackedLabels& learner) {
  return as_vector(reading(learner, [&] { return learner.calibration().slopes(); }));
}

template <class Dense, class Sparse>
void scaled(nb::module_& m, const char* name) {
  using Learning = Scaled<Dense, Sparse>;
  nb::class_<Learning, Learner>(m, name)
      .def(nb::init<std::shared_ptr<Learner>, std::size_t, double, bool>(), "learner"_a, "columns"_a, "clip"_a,
           "targets"_a)
      .def_prop_ro("inner", [](const Learning& learner) { return Outside::unwrapped(learner.inner()); })
      .def("put_outside", &Learning::put_outside);
}

// Learners inside another, as they are without what is outside.
std::vector<std::shared_ptr<Learner>> experts(const Stacked& learner) {
  std::vector<std::shared_ptr<Learner>> out;
  for (const auto& expert : learner.experts()) out.push_back(Outside::unwrapped(expert));
  return out;
}

void give(Outside& learner, const Matrix<double>& scores) {
  const std::unique_lock lock(learner.guard());
  if (scores.shape(1) != learner.outputs()) throw std::invalid_argument("give: one score is needed for every output.");
  learner.give({aligned(scores), aligned(scores) + scores.size()});
}

// The rows that were put aside, with their labels and weights, if they were to be learned.
nb::tuple take(Aside& learner) {
  Aside::Kept kept = learner.take();
  const std::size_t columns = std::max<std::size_t>(learner.columns(), 1), rows = kept.rows.size() / columns;
  return nb::make_tuple(array(std::move(kept.rows), {rows, columns}), as_vector(std::move(kept.y)),
                        as_vector(std::move(kept.weights)));
}

}  // namespace

void bind_learners(nb::module_& m) {
  m.def("renew_threads", [] { Threads::shared().renew(); }, "In a forked process, which has none of the threads.");
  nb::class_<Learner>(m, "Learner")
      .def("begin", &begin)
      .def("widen", &widen, "features"_a, "outputs"_a)
      .def("set_aside", &set_aside, "columns"_a)
      .def("run", &run, "rows"_a, "y"_a, "weights"_a.none(), "scores"_a, "threads"_a = 1)
      .def("scores", &scores, "rows"_a, "threads"_a = 1)
      .def("learn_one", &learn_one<double>, "x"_a.noconvert(), "y"_a, "scores"_a.noconvert().none(), "weight"_a = 1.0)
      .def("learn_one", &learn_one<float>, "x"_a.noconvert(), "y"_a, "scores"_a.noconvert().none(), "weight"_a = 1.0)
      .def("score_one", &score_one<double>, "x"_a.noconvert(), "scores"_a.noconvert())
      .def("score_one", &score_one<float>, "x"_a.noconvert(), "scores"_a.noconvert())
      .def("learn_record", &learn_record, "reader"_a, "record"_a.none(), "y"_a, "scores"_a.noconvert().none(),
           "weight"_a = 1.0)
      .def("score_record", &score_record, "reader"_a, "record"_a.none(),
           nb::sig("def score_record(self, reader: RecordReader, record: object) -> list[float] | None"))
      .def("state", &state, nb::sig("def state(self) -> dict[str, object]"))
      .def("state_and_rows", &state_and_rows, nb::sig("def state_and_rows(self) -> tuple[dict[str, object], int]"))
      .def("reordered_state", &reordered_state, "places"_a,
           nb::sig("def reordered_state(self, places: list[int]) -> dict[str, object]"))
      .def("merged_fields", &merged_fields)
      .def("restore", &restore, "state"_a, nb::sig("def restore(self, state: dict[str, object]) -> None"))
      .def("keep_average", &Learner::keep_average, "suffix"_a)
      .def_prop_ro("outputs", &Learner::outputs)
      .def_prop_ro("has_deviations", &Learner::has_deviations)
      .def("deviations", &deviations, "rows"_a, "threads"_a = 1)
      .def("kept_rows", &kept_rows)
      .def("nearest", &nearest, "rows"_a, "most"_a,
           nb::sig("def nearest(self, rows: Rows, most: int) -> list[tuple[float, object, float | None, list[float]]]"))
      .def_prop_ro("has_novelty", [](const Learner& learner) { return learner.recollection() != Recollection::None; })
      .def("novelty", &novelty, "rows"_a, "threads"_a = 1)
      .def("usual_novelty", &usual_novelty)
      .def("shares", &shares, "rows"_a)
      .def_prop_ro("size", &size)
      .def("hold", &hold)
      .def("release", [](const Learner& learner) { learner.guard().unlock(); })
      .def("renew", [](const Learner& learner) { learner.guard().renew(); })
      .def_prop_ro("rows_done", [](const Learner& learner) { return learner.rows_done.load(); })
      .def_prop_ro("memory_bytes", &memory)
      .def("__sizeof__", &memory);
  nb::class_<Outside, Learner>(m, "Outside")
      .def(nb::init<std::shared_ptr<Learner>>(), "learner"_a)
      .def_prop_ro("inner", &Outside::inner)
      .def("give", &give, "scores"_a);
  nb::class_<Aside, Learner>(m, "Aside")
      .def(nb::init<std::size_t>(), "columns"_a)
      .def("take", &take, nb::sig("def take(self) -> tuple[object, object, object]"));
  nb::class_<ExpansionLearner, Learner>(m, "ExpansionLearner")
      .def_rw("look_ahead", &ExpansionLearner::look_ahead)
      .def("support_vectors", &support_vectors, "features"_a)
      .def("dual_coef", &dual_coef);
  nb::class_<Kernelized, ExpansionLearner>(m, "Kernelized")
      .def(nb::init<std::shared_ptr<const Kernel>, std::shared_ptr<Rule>, std::shared_ptr<Budget>,
                    std::shared_ptr<const Task>, std::size_t, Precision>(),
           "kernel"_a, "rule"_a, "budget"_a, "task"_a, "features"_a, "precision"_a)
      .def("absorb", &absorb, "rows"_a, "coefficients"_a, "share"_a, "divisor"_a);

  scaled<Moments, Squares>(m, "Standardised");
  scaled<Range, Largest>(m, "Ranged");
  nb::class_<RandomIterate, Learner>(m, "RandomIterate")
      .def(nb::init<std::shared_ptr<Learner>, std::shared_ptr<Learner>, std::shared_ptr<Learner>, double, Counter>(),
           "learner"_a, "older"_a, "younger"_a.none(), "suffix"_a, "seed"_a)
      .def_prop_ro("inner", &RandomIterate::kept);
  nb::class_<Stacked, Learner>(m, "Stacked")
      .def_prop_ro("experts", &experts)
      .def("put_outside", &Stacked::put_outside, "expert"_a)
      .def("expert_weights", &expert_weights)
      .def("expert_losses", &expert_losses);
  nb::class_<StackedLabels, Stacked>(m, "StackedLabels")
      .def(nb::init<std::vector<std::shared_ptr<Learner>>, std::vector<bool>, std::size_t, double, double>(),
           "experts"_a, "logits"_a, "classes"_a, "start"_a, "drift"_a)
      .def("bends", &bends)
      .def("slopes", &slopes);
  nb::class_<StackedTargets, Stacked>(m, "StackedTargets")
      .def(nb::init<std::vector<std::shared_ptr<Learner>>, std::size_t, double, double>(), "experts"_a, "columns"_a,
           "start"_a, "drift"_a);

  nb::class_<Narrowed, Learner>(m, "Narrowed")
      .def(nb::init<std::shared_ptr<Learner>, std::size_t>(), "learner"_a, "columns"_a)
      .def_prop_ro("inner", &Narrowed::inner)
      .def_prop_ro("kept", &Narrowed::kept);
  nb::class_<Dated, Learner>(m, "Dated")
      .def(nb::init<std::shared_ptr<Narrowed>, std::shared_ptr<Stacked>>(), "alone"_a, "all"_a)
      .def_prop_ro("awake", &Dated::awake)
      .def_prop_ro("inner", &Dated::inner);

  nb::class_<DoubleUpdating, ExpansionLearner>(m, "DoubleUpdating")
      .def(nb::init<std::shared_ptr<const Kernel>, double, double, std::shared_ptr<DualMaintenance>, std::size_t,
                    std::size_t>(),
           "kernel"_a, "C"_a, "rho"_a, "maintenance"_a, "features"_a, "outputs"_a);
}

}  // namespace budgetron
