// The border to Python: arrays in, arrays out, the interpreter lock released while rows are walked. No arithmetic here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "box_qp.hpp"
#include "budgets.hpp"
#include "covariance.hpp"
#include "double_updating.hpp"
#include "dual_maintenance.hpp"
#include "dual_projection.hpp"
#include "eigen.hpp"
#include "expansion.hpp"
#include "feature_map.hpp"
#include "fields.hpp"
#include "fourier.hpp"
#include "frequencies.hpp"
#include "hadamard.hpp"
#include "instruction_sets.hpp"
#include "kernelized.hpp"
#include "kernels.hpp"
#include "landmarks.hpp"
#include "learner.hpp"
#include "losses.hpp"
#include "maintenance.hpp"
#include "mapped.hpp"
#include "merge.hpp"
#include "nystrom.hpp"
#include "project.hpp"
#include "rules.hpp"
#include "scaling.hpp"
#include "svmlight.hpp"
#include "swap.hpp"
#include "tasks.hpp"
#include "vector_rules.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace budgetron;

namespace {

template <class T>
using Array1 = nb::ndarray<const T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using Writable1 = nb::ndarray<double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
template <class T>
using NewArray = nb::ndarray<nb::numpy, T>;

Vector view(const Array1<double>& v) { return {v.data(), v.size()}; }

// A new NumPy array that owns the numbers.
template <class T>
NewArray<T> array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NewArray<T>(owned->data(), shape, owner);
}

// Rows that live in NumPy arrays, which are kept alive with them.
struct BoundRows {
  Rows rows;
  std::vector<nb::object> alive;
};

template <class T>
BoundRows dense(const Matrix<T>& X) {
  return {Rows(DenseRows<T>{X.data(), X.shape(0), X.shape(1)}), {nb::cast(X)}};
}

template <class T>
BoundRows sparse(const Array1<T>& data, const Array1<std::int32_t>& indices, const Array1<std::int64_t>& indptr,
                 std::size_t columns) {
  return {Rows(SparseRows<T>{data.data(), indices.data(), indptr.data(), indptr.size() - 1, columns}),
          {nb::cast(data), nb::cast(indices), nb::cast(indptr)}};
}

using Field = std::variant<std::vector<double>, std::vector<float>, std::vector<Counter>>;
using State = std::map<std::string, Field>;

class Save final : public Fields {
 public:
  void field(const char* name, double& v) override { state[name] = std::vector<double>{v}; }
  void field(const char* name, Counter& v) override { state[name] = std::vector<Counter>{v}; }
  void field(const char* name, std::vector<double>& v) override { state[name] = v; }
  void field(const char* name, std::vector<float>& v) override { state[name] = v; }
  void field(const char* name, std::vector<Counter>& v) override { state[name] = v; }

  State state;
};

class Restore final : public Fields {
 public:
  explicit Restore(nb::dict state) : state_(std::move(state)) {}
  bool restoring() const override { return true; }
  void field(const char* name, double& v) override { v = single<double>(name); }
  void field(const char* name, Counter& v) override { v = single<Counter>(name); }
  void field(const char* name, std::vector<double>& v) override { v = many<double>(name); }
  void field(const char* name, std::vector<float>& v) override { v = many<float>(name); }
  void field(const char* name, std::vector<Counter>& v) override { v = many<Counter>(name); }

 private:
  template <class T>
  std::vector<T> many(const char* name) const {
    Array1<T> values;
    if (!state_.contains(name) || !nb::try_cast(state_[name], values, false))
      throw nb::value_error((std::string("model state: field ") + name + " is missing or of the wrong type.").c_str());
    return {values.data(), values.data() + values.size()};
  }
  template <class T>
  T single(const char* name) const {
    const std::vector<T> values = many<T>(name);
    if (values.size() != 1)
      throw nb::value_error((std::string("model state: field ") + name + " must hold one number.").c_str());
    return values[0];
  }

  nb::dict state_;
};

nb::dict arrays(State state) {
  nb::dict out;
  for (auto& [name, field] : state)
    std::visit(
        [&, n = name](auto& values) {
          const std::size_t size = values.size();
          out[n.c_str()] = array(std::move(values), {size});
        },
        field);
  return out;
}

nb::dict state(Learner& learner) {
  Save save;
  {
    nb::gil_scoped_release free;
    std::shared_lock lock(learner.guard());
    learner.fields(save);
  }
  return arrays(std::move(save.state));
}

// Restores a learner that was just built.
void restore(Learner& learner, nb::dict state) {
  Restore io(std::move(state));
  learner.fields(io);
  if (!learner.consistent()) throw nb::value_error("model state: its fields do not fit together.");
}

std::size_t run(Learner& learner, const BoundRows& X, const Array1<double>& y, std::optional<Array1<double>> weights,
                nb::ndarray<double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu> scores) {
  if (y.size() != X.rows.size() || scores.size() != X.rows.size() * learner.outputs() ||
      (weights && weights->size() != X.rows.size()))
    throw nb::value_error("run: rows, labels, weights and scores differ in length.");
  nb::gil_scoped_release free;
  std::unique_lock lock(learner.guard());
  return learner.run(X.rows, view(y), weights ? view(*weights) : Vector{}, {scores.data(), scores.size()});
}

NewArray<double> scores(const Learner& learner, const BoundRows& X) {
  std::vector<double> out(X.rows.size() * learner.outputs());
  {
    nb::gil_scoped_release free;
    std::shared_lock lock(learner.guard());
    learner.scores(X.rows, out);
  }
  return array(std::move(out), {X.rows.size(), learner.outputs()});
}

// One row. False, and nothing changed, where its squared norm or its scores are not finite; else the scores made before
// the update are written.
template <class T>
bool step(Learner& learner, const Array1<T>& x, double y, const Writable1& scores) {
  if (scores.size() != learner.outputs()) throw nb::value_error("step: scores must have one place for every output.");
  nb::gil_scoped_release free;
  if (!squares<T>(x.data(), x.size())) return false;
  std::unique_lock lock(learner.guard());
  const Rows row(DenseRows<T>{x.data(), 1, x.size()});
  return learner.run(row, {&y, 1}, {}, {scores.data(), scores.size()}) == 1;
}

// The same without learning.
template <class T>
bool score(const Learner& learner, const Array1<T>& x, const Writable1& scores) {
  if (scores.size() != learner.outputs()) throw nb::value_error("score: scores must have one place for every output.");
  nb::gil_scoped_release free;
  if (!squares<T>(x.data(), x.size())) return false;
  std::shared_lock lock(learner.guard());
  const Rows row(DenseRows<T>{x.data(), 1, x.size()});
  learner.scores(row, {scores.data(), scores.size()});
  return std::all_of(scores.data(), scores.data() + scores.size(), [](double f) { return std::isfinite(f); });
}

Bytes memory(Learner& learner) {
  Measure measure;
  nb::gil_scoped_release free;
  std::shared_lock lock(learner.guard());
  learner.fields(measure);
  return measure.bytes;
}

std::size_t size(const Learner& learner) {
  nb::gil_scoped_release free;
  std::shared_lock lock(learner.guard());
  return learner.size();
}

// Places, oldest support vector first.
std::vector<std::size_t> by_age(const Expansion& f) {
  std::vector<std::size_t> places(f.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(), [&](auto a, auto b) { return f.births()[a] < f.births()[b]; });
  return places;
}

NewArray<double> support_vectors(const ExpansionLearner& learner, std::size_t features) {
  const Expansion& f = learner.expansion();
  std::vector<double> out;
  {
    nb::gil_scoped_release free;
    std::shared_lock lock(learner.guard());
    out.resize(f.size() * features);
    std::span<double> rest(out);
    for (const std::size_t i : by_age(f)) {
      f.support().copy(i, rest.first(features));
      rest = rest.subspan(features);
    }
  }
  const std::size_t n = features == 0 ? 0 : out.size() / features;
  return array(std::move(out), {n, features});
}

NewArray<double> dual_coef(const ExpansionLearner& learner) {
  const Expansion& f = learner.expansion();
  std::vector<double> out;
  {
    nb::gil_scoped_release free;
    std::shared_lock lock(learner.guard());
    for (std::size_t c = 0; c < f.outputs(); ++c)
      for (const std::size_t i : by_age(f)) out.push_back(f.output(c)[i] / f.output_divisor());
  }
  const std::size_t n = out.size() / f.outputs();
  return array(std::move(out), {f.outputs(), n});
}

NewArray<double> landmarks(const Mapped& learner, std::size_t features) {
  const FeatureMap& map = learner.map();
  std::vector<double> out;
  {
    nb::gil_scoped_release free;
    std::shared_lock lock(learner.guard());
    out.resize(map.landmarks() * features);
    for (std::size_t i = 0; i < map.landmarks(); ++i) map.landmark(i, std::span(out).subspan(i * features, features));
  }
  const std::size_t n = features == 0 ? 0 : out.size() / features;
  return array(std::move(out), {n, features});
}

// w, one row per output.
NewArray<double> coef(const Mapped& learner) {
  std::vector<double> out;
  {
    nb::gil_scoped_release free;
    std::shared_lock lock(learner.guard());
    for (std::size_t c = 0; c < learner.outputs(); ++c)
      for (const double w : learner.weights().output(c)) out.push_back(w / learner.weights().output_divisor());
  }
  const std::size_t m = out.size() / learner.outputs();
  return array(std::move(out), {learner.outputs(), m});
}

// The coefficients on the kernel rows of the landmarks, one row per output.
NewArray<double> landmark_coef(const Mapped& learner) {
  std::vector<double> out;
  {
    nb::gil_scoped_release free;
    std::shared_lock lock(learner.guard());
    for (std::size_t c = 0; c < learner.outputs(); ++c) {
      const std::vector<double> alpha = learner.dual(c);
      out.insert(out.end(), alpha.begin(), alpha.end());
    }
  }
  const std::size_t n = out.size() / learner.outputs();
  return array(std::move(out), {learner.outputs(), n});
}

nb::dict map_state(FeatureMap& map) {
  Save save;
  map.fields(save);
  return arrays(std::move(save.state));
}

void restore_map(FeatureMap& map, nb::dict state) {
  Restore io(std::move(state));
  map.fields(io);
  if (!map.fits(map.size())) throw nb::value_error("map state: its fields do not fit together.");
}

NewArray<double> transform(const FeatureMap& map, const BoundRows& X) {
  std::vector<double> Z(X.rows.size() * map.size());
  {
    nb::gil_scoped_release free;
    map.transform({X.rows, 0, X.rows.size()}, Z);
  }
  return array(std::move(Z), {X.rows.size(), map.size()});
}

// The map sees the rows as a stream on which every one makes a step, and is then made of what it has seen.
void fit(FeatureMap& map, const BoundRows& X) {
  nb::gil_scoped_release free;
  std::vector<Change> ignored;
  for (std::size_t i = 0; i < X.rows.size() && map.learns(); ++i) {
    map.before_step(X.rows[i], true, ignored);
    map.after_step(ignored);
    ignored.clear();
  }
  map.settle(ignored);
  map.prepare({X.rows, 0, X.rows.size()});
}

std::shared_ptr<FeatureMap> fourier(std::size_t features, std::shared_ptr<const Frequencies> frequencies,
                                    Precision precision) {
  if (precision == Precision::Single) return std::make_shared<Fourier<float>>(features, std::move(frequencies));
  return std::make_shared<Fourier<double>>(features, std::move(frequencies));
}

std::shared_ptr<Frequencies> given_frequencies(const Matrix<double>& U) {
  return std::make_shared<GivenFrequencies>(std::vector<double>(U.data(), U.data() + U.size()), U.shape(1));
}

// Frequencies of the first columns, columns x components.
NewArray<double> frequency_matrix(const Frequencies& frequencies, std::size_t columns) {
  const std::size_t D = frequencies.components();
  std::vector<double> U(columns * D);
  for (std::size_t j = 0; j < columns; ++j) frequencies.column(j, std::span(U).subspan(j * D, D));
  return array(std::move(U), {columns, D});
}

// k(x, z) for all rows x of X and z of Z.
NewArray<double> kernel_matrix(const Kernel& kernel, const BoundRows& X, const BoundRows& Z, std::size_t features) {
  const auto support = kernel.support_set(Layout::FeatureMajor, features, Precision::Double);
  for (std::size_t j = 0; j < Z.rows.size(); ++j) support->append(Z.rows[j], support->norm(Z.rows[j]));
  std::vector<double> out, k(support->padded());
  const auto rows = support->ahead(X.rows, 64);
  for (std::size_t i = 0; i < X.rows.size(); ++i) {
    rows->kernel_row(i, kernel, k);
    out.insert(out.end(), k.begin(), k.begin() + static_cast<std::ptrdiff_t>(support->size()));
  }
  return array(std::move(out), {X.rows.size(), Z.rows.size()});
}

std::size_t too_large(const BoundRows& X, Precision precision) {
  nb::gil_scoped_release free;
  return precision == Precision::Single ? first_too_large<float>(X.rows) : first_too_large<double>(X.rows);
}

NewArray<double> exponentials(const Array1<double>& x) {
  std::vector<double> out(x.data(), x.data() + x.size());
  out.resize((x.size() + lanes - 1) / lanes * lanes);
  loops->exponential(out.data(), out.size());
  out.resize(x.size());
  return array(std::move(out), {x.size()});
}

NewArray<float> exponentials_single(const Array1<float>& x) {
  std::vector<float> out(x.data(), x.data() + x.size());
  out.resize((x.size() + single_lanes - 1) / single_lanes * single_lanes);
  loops->exponential_single(out.data(), out.size());
  out.resize(x.size());
  return array(std::move(out), {x.size()});
}

// Two rows: the sines and the cosines.
NewArray<double> sines_cosines(const Array1<double>& x) {
  std::vector<double> r(x.data(), x.data() + x.size()), out(2 * x.size());
  r.resize((x.size() + lanes - 1) / lanes * lanes);
  loops->sine_cosine(r.data(), 1, x.size(), out.data(), out.data() + x.size());
  return array(std::move(out), {2, x.size()});
}

NewArray<double> sines_cosines_single(const Array1<float>& x) {
  std::vector<float> r(x.data(), x.data() + x.size());
  std::vector<double> out(2 * x.size());
  r.resize((x.size() + single_lanes - 1) / single_lanes * single_lanes);
  loops->sine_cosine_single(r.data(), 1, x.size(), out.data(), out.data() + x.size());
  return array(std::move(out), {2, x.size()});
}

// The Gram matrix Q whose numbers a square array holds.
Gram gram(const Matrix<double>& Q) {
  Gram out;
  for (std::size_t i = 0; i < Q.shape(0); ++i) {
    const double* row = Q.data() + i * Q.shape(1);
    out.append({row, i}, row[i]);
  }
  return out;
}

using BoxQPMethod = Vector (BoxQP::*)(const Gram&, Vector, Vector, Vector);

template <BoxQPMethod method>
NewArray<double> box_qp(const Matrix<double>& Q, const Array1<double>& q, const Array1<double>& lo,
                        const Array1<double>& hi) {
  const std::size_t n = q.size();
  if (Q.shape(0) != n || Q.shape(1) != n || lo.size() != n || hi.size() != n)
    throw nb::value_error("box_qp: Q, q, lo and hi differ in length.");
  BoxQP qp;
  const Vector x = (qp.*method)(gram(Q), view(q), view(lo), view(hi));
  return array(std::vector<double>(x.begin(), x.end()), {n});
}

// The products of all rows of X with all rows of S, both feature-major, as the kernels of float or double compute them.
template <class T>
NewArray<T> products(const Matrix<T>& X, const Matrix<T>& S) {
  if (X.shape(0) != S.shape(0) || X.shape(1) % lanes_of<T> != 0 || S.shape(1) % lanes_of<T> != 0)
    throw nb::value_error("products: rows must be feature-major, as many features in both, and whole lanes of them.");
  const std::size_t rows = X.shape(1), n = S.shape(1);
  std::vector<T> r(rows * n);
  dot_product<T>().block(X.data(), rows, rows, X.shape(0), S.data(), n, n, r.data(), n);
  return array(std::move(r), {rows, n});
}

NewArray<double> uniforms(Counter seed, std::size_t n, Counter stream) {
  Random random(seed, stream);
  std::vector<double> out(n);
  for (double& u : out) u = random.uniform();
  return array(std::move(out), {n});
}

// Pieces and blocks are small: the interpreter lock is kept while they are read or scaled, and guards the object.
// Python has checked that rows fit.
void feed(SvmlightParser& parser, const nb::bytes& piece) { parser.feed({piece.c_str(), piece.size()}); }

std::tuple<NewArray<double>, NewArray<std::int32_t>, NewArray<std::int64_t>, NewArray<double>> take(
    SvmlightParser& parser, std::size_t n) {
  LabelledRows rows = parser.take(std::min(n, parser.ready()));
  const std::size_t nonzeros = rows.data.size(), starts = rows.starts.size(), labels = rows.labels.size();
  return std::make_tuple(array(std::move(rows.data), {nonzeros}), array(std::move(rows.indices), {nonzeros}),
                         array(std::move(rows.starts), {starts}), array(std::move(rows.labels), {labels}));
}

using AnyMatrix = std::variant<Matrix<double>, Matrix<float>>;
using AnyArray1 = std::variant<Array1<double>, Array1<float>>;
using AnyNewArray = std::variant<NewArray<double>, NewArray<float>>;

template <class Scale>
AnyNewArray scale_dense(const Scale& scale, const AnyMatrix& rows) {
  const auto run = [&]<class T>(const Matrix<T>& X) -> AnyNewArray {
    std::vector<T> out(X.size());
    scale_rows<DenseRow<T>>(scale, dense<T>(X).rows, out.data());
    return array(std::move(out), {X.shape(0), X.shape(1)});
  };
  return std::visit(run, rows);
}

template <class Scale>
AnyNewArray scale_and_count_dense(Scale& scale, const AnyMatrix& rows) {
  const auto run = [&]<class T>(const Matrix<T>& X) -> AnyNewArray {
    std::vector<T> out(X.size());
    scale_and_count<DenseRow<T>>(scale, dense<T>(X).rows, out.data());
    return array(std::move(out), {X.shape(0), X.shape(1)});
  };
  return std::visit(run, rows);
}

template <class Scale>
AnyNewArray scale_sparse(const Scale& scale, const AnyArray1& values, const Array1<std::int32_t>& indices,
                         const Array1<std::int64_t>& indptr) {
  const auto run = [&]<class T>(const Array1<T>& data) -> AnyNewArray {
    std::vector<T> out(data.size());
    scale_rows<SparseRow<T>>(scale, sparse<T>(data, indices, indptr, 0).rows, out.data());
    return array(std::move(out), {data.size()});
  };
  return std::visit(run, values);
}

template <class Scale>
AnyNewArray scale_and_count_sparse(Scale& scale, const AnyArray1& values, const Array1<std::int32_t>& indices,
                                   const Array1<std::int64_t>& indptr) {
  const auto run = [&]<class T>(const Array1<T>& data) -> AnyNewArray {
    std::vector<T> out(data.size());
    scale_and_count<SparseRow<T>>(scale, sparse<T>(data, indices, indptr, 0).rows, out.data());
    return array(std::move(out), {data.size()});
  };
  return std::visit(run, values);
}

template <class Scale>
nb::class_<Scale> scale_class(nb::module_& m, const char* name) {
  return nb::class_<Scale>(m, name)
      .def(nb::init<std::size_t>(), "columns"_a)
      .def("fits", &Scale::fits, "columns"_a)
      .def(
          "state",
          [](Scale& scale) {
            Save save;
            scale.fields(save);
            return arrays(std::move(save.state));
          },
          nb::sig("def state(self) -> dict[str, object]"))
      .def(
          "restore",
          [](Scale& scale, nb::dict state) {
            Restore io(std::move(state));
            scale.fields(io);
          },
          "state"_a, nb::sig("def restore(self, state: dict[str, object]) -> None"));
}

template <class Scale>
void dense_scale(nb::module_& m, const char* name) {
  scale_class<Scale>(m, name)
      .def("scale", &scale_dense<Scale>, "X"_a.noconvert())
      .def("scale_and_count", &scale_and_count_dense<Scale>, "X"_a.noconvert());
}

template <class Scale>
void sparse_scale(nb::module_& m, const char* name) {
  scale_class<Scale>(m, name)
      .def("scale", &scale_sparse<Scale>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert())
      .def("scale_and_count", &scale_and_count_sparse<Scale>, "data"_a.noconvert(), "indices"_a.noconvert(),
           "indptr"_a.noconvert());
}

// LAPACK as SciPy ships it.
void find_lapack() {
  const nb::object capsule = nb::module_::import_("scipy.linalg.cython_lapack").attr("__pyx_capi__")["dsyevd"];
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (pointer == nullptr) throw nb::python_error();
  dsyevd = reinterpret_cast<Dsyevd>(pointer);
}

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const Loops* candidate : available_loops()) names.emplace_back(candidate->name);
  return names;
}

// The loops of the widest instruction set there is, or of the one that BUDGETRON_ISA names.
void find_loops() {
  const char* wanted = std::getenv("BUDGETRON_ISA");
  if (choose_loops(wanted == nullptr ? "" : wanted)) return;
  std::string names;
  for (const std::string& name : instruction_sets()) names += (names.empty() ? "" : ", ") + name;
  throw std::runtime_error("BUDGETRON_ISA: " + std::string(wanted) + " does not run on this processor; take one of " +
                           names + ".");
}

NB_MODULE(_core, m) {
  find_lapack();
  find_loops();
  m.def("instruction_set", [] { return loops->name; }, "The one in use.");
  m.def("instruction_sets", &instruction_sets, "Those that run here, the widest first.");

  nb::enum_<Precision>(m, "Precision").value("Single", Precision::Single).value("Double", Precision::Double);
  nb::class_<BoundRows>(m, "Rows");
  m.def("first_too_large", &too_large, "rows"_a, "precision"_a);
  m.def("dense", &dense<double>, "X"_a.noconvert());
  m.def("dense", &dense<float>, "X"_a.noconvert());
  m.def("sparse", &sparse<double>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "columns"_a);
  m.def("sparse", &sparse<float>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "columns"_a);

  nb::class_<Kernel>(m, "Kernel").def("matrix", &kernel_matrix, "X"_a, "Z"_a, "features"_a);
  nb::class_<Gaussian, Kernel>(m, "Gaussian").def(nb::init<double>(), "gamma"_a);
  nb::class_<Laplacian, Kernel>(m, "Laplacian").def(nb::init<double>(), "gamma"_a);
  nb::class_<Polynomial, Kernel>(m, "Polynomial")
      .def(nb::init<double, double, int>(), "gamma"_a, "coef0"_a, "degree"_a);
  nb::class_<Linear, Kernel>(m, "Linear").def(nb::init<>());
  nb::class_<Sigmoid, Kernel>(m, "Sigmoid").def(nb::init<double, double>(), "gamma"_a, "coef0"_a);

  nb::class_<Loss>(m, "Loss").def("value", &Loss::value, "f"_a, "y"_a).def("slope", &Loss::slope, "f"_a, "y"_a);
  nb::class_<Hinge, Loss>(m, "Hinge").def(nb::init<>());
  nb::class_<SquaredHinge, Loss>(m, "SquaredHinge").def(nb::init<>());
  nb::class_<Logistic, Loss>(m, "Logistic").def(nb::init<>());
  nb::class_<Squared, Loss>(m, "Squared").def(nb::init<>());
  nb::class_<OutsideTube, Loss>(m, "OutsideTube")
      .def(nb::init<std::shared_ptr<const Loss>, double>(), "loss"_a, "epsilon"_a);
  nb::class_<Absolute, Loss>(m, "Absolute").def(nb::init<>());
  nb::class_<EpsilonInsensitive, Loss>(m, "EpsilonInsensitive").def(nb::init<double>(), "epsilon"_a);

  nb::class_<Task>(m, "Task");
  nb::class_<Binary, Task>(m, "Binary").def(nb::init<>());
  nb::class_<Multiclass, Task>(m, "Multiclass").def(nb::init<std::size_t>(), "classes"_a);
  nb::class_<Regression, Task>(m, "Regression").def(nb::init<>());

  nb::class_<Rule>(m, "Rule");
  nb::class_<Perceptron, Rule>(m, "Perceptron").def(nb::init<double>(), "eta"_a);
  nb::class_<MarginPerceptron, Rule>(m, "MarginPerceptron").def(nb::init<double, double>(), "eta"_a, "margin"_a);
  nb::class_<PerceptronRegression, Rule>(m, "PerceptronRegression")
      .def(nb::init<double, double>(), "eta"_a, "epsilon"_a);
  nb::class_<PassiveAggressive, Rule>(m, "PassiveAggressive").def(nb::init<double>(), "C"_a);
  nb::class_<PassiveAggressiveRegression, Rule>(m, "PassiveAggressiveRegression")
      .def(nb::init<double, double>(), "C"_a, "epsilon"_a);
  nb::class_<OGD, Rule>(m, "OGD").def(nb::init<std::shared_ptr<const Loss>, double, double>(), "loss"_a, "eta"_a,
                                      "lam"_a);
  nb::class_<OGDRegression, Rule>(m, "OGDRegression")
      .def(nb::init<std::shared_ptr<const Loss>, double, double, double>(), "loss"_a, "eta"_a, "lam"_a, "epsilon"_a);
  nb::class_<SGD, Rule>(m, "SGD").def(nb::init<std::shared_ptr<const Loss>, double>(), "loss"_a, "lam"_a);
  nb::class_<SGDInBall, Rule>(m, "SGDInBall").def(nb::init<std::shared_ptr<const Loss>, double>(), "loss"_a, "lam"_a);
  nb::class_<NORMA, Rule>(m, "NORMA")
      .def(nb::init<double, double, double, double>(), "eta"_a, "nu"_a, "lam"_a, "epsilon"_a);

  nb::class_<Budget>(m, "Budget");
  nb::class_<Unbounded, Budget>(m, "Unbounded").def(nb::init<>());
  nb::class_<Stop, Budget>(m, "Stop").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<RemoveRandom, Budget>(m, "RemoveRandom").def(nb::init<std::size_t, Counter>(), "budget"_a, "seed"_a);
  nb::class_<RemoveOldest, Budget>(m, "RemoveOldest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<RemoveRedundant, Budget>(m, "RemoveRedundant").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<Forget, Budget>(m, "Forget").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<SampleUniform, Budget>(m, "SampleUniform")
      .def(nb::init<std::size_t, double, Counter>(), "budget"_a, "cap"_a, "seed"_a);
  nb::class_<SampleByWeight, Budget>(m, "SampleByWeight")
      .def(nb::init<std::size_t, double, Counter>(), "budget"_a, "cap"_a, "seed"_a);
  nb::class_<Threshold>(m, "Threshold");
  nb::class_<FixedThreshold, Threshold>(m, "FixedThreshold").def(nb::init<double>(), "eta"_a);
  nb::class_<ProgressThreshold, Threshold>(m, "ProgressThreshold").def(nb::init<double>(), "U"_a);
  nb::class_<Project, Budget>(m, "Project")
      .def(nb::init<std::size_t, std::shared_ptr<const Threshold>>(), "budget"_a, "threshold"_a);
  nb::class_<ProjectPlus, Budget>(m, "ProjectPlus")
      .def(nb::init<std::size_t, std::shared_ptr<const Threshold>, double>(), "budget"_a, "threshold"_a, "U"_a);
  nb::class_<ProjectLowRank, Budget>(m, "ProjectLowRank")
      .def(nb::init<std::size_t, std::size_t>(), "budget"_a, "rank"_a);
  nb::class_<Maintained, Budget>(m, "Maintained");
  nb::class_<RemoveSmallest, Maintained>(m, "RemoveSmallest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<ProjectSmallest, Maintained>(m, "ProjectSmallest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<ProjectNearest, Maintained>(m, "ProjectNearest")
      .def(nb::init<std::size_t, std::size_t>(), "budget"_a, "neighbours"_a);
  nb::class_<Merge, Maintained>(m, "Merge").def(nb::init<std::size_t, double>(), "budget"_a, "gamma"_a);
  nb::class_<Sometimes, Budget>(m, "Sometimes")
      .def(nb::init<std::shared_ptr<Maintained>, double, Counter>(), "inner"_a, "beta"_a, "seed"_a);
  m.def("best_merge", &BestMerge::h, "m"_a, "L"_a, "The best h for m and L = log kap.");
  nb::class_<Swap, Budget>(m, "Swap").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<SwapNearest, Budget>(m, "SwapNearest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<SwapProject, Budget>(m, "SwapProject").def(nb::init<std::size_t>(), "budget"_a);

  nb::class_<Learner>(m, "Learner")
      .def("run", &run, "rows"_a, "y"_a, "weights"_a.none(), "scores"_a)
      .def("scores", &scores, "rows"_a)
      .def("step", &step<double>, "x"_a.noconvert(), "y"_a, "scores"_a.noconvert())
      .def("step", &step<float>, "x"_a.noconvert(), "y"_a, "scores"_a.noconvert())
      .def("score", &score<double>, "x"_a.noconvert(), "scores"_a.noconvert())
      .def("score", &score<float>, "x"_a.noconvert(), "scores"_a.noconvert())
      .def("state", &state, nb::sig("def state(self) -> dict[str, object]"))
      .def("restore", &restore, "state"_a, nb::sig("def restore(self, state: dict[str, object]) -> None"))
      .def("keep_average", &Learner::keep_average, "suffix"_a)
      .def_prop_ro("outputs", &Learner::outputs)
      .def_prop_ro("size", &size)
      .def_prop_ro("memory_bytes", &memory)
      .def("__sizeof__", &memory);
  nb::class_<ExpansionLearner, Learner>(m, "ExpansionLearner")
      .def_rw("look_ahead", &ExpansionLearner::look_ahead)
      .def("support_vectors", &support_vectors, "features"_a)
      .def("dual_coef", &dual_coef);
  nb::class_<Kernelized, ExpansionLearner>(m, "Kernelized")
      .def(nb::init<std::shared_ptr<const Kernel>, std::shared_ptr<Rule>, std::shared_ptr<Budget>,
                    std::shared_ptr<const Task>, std::size_t, Precision>(),
           "kernel"_a, "rule"_a, "budget"_a, "task"_a, "features"_a, "precision"_a);

  nb::class_<Frequencies>(m, "Frequencies").def("matrix", &frequency_matrix, "columns"_a);
  nb::class_<NormalFrequencies, Frequencies>(m, "NormalFrequencies")
      .def(nb::init<std::size_t, double, Counter>(), "components"_a, "scale"_a, "seed"_a);
  nb::class_<CauchyFrequencies, Frequencies>(m, "CauchyFrequencies")
      .def(nb::init<std::size_t, double, Counter>(), "components"_a, "scale"_a, "seed"_a);
  m.def("given_frequencies", &given_frequencies, "U"_a);

  nb::class_<FeatureMap>(m, "FeatureMap")
      .def_prop_ro("size", &FeatureMap::size)
      .def("fit", &fit, "rows"_a)
      .def("transform", &transform, "rows"_a)
      .def("state", &map_state, nb::sig("def state(self) -> dict[str, object]"))
      .def("restore", &restore_map, "state"_a, nb::sig("def restore(self, state: dict[str, object]) -> None"));
  m.def("fourier", &fourier, "features"_a, "frequencies"_a, "precision"_a);
  nb::class_<HadamardFourier, FeatureMap>(m, "HadamardFourier")
      .def(nb::init<std::size_t, std::size_t, std::vector<double>, std::vector<Counter>, std::vector<double>,
                    std::vector<double>>(),
           "components"_a, "width"_a, "B"_a, "P"_a, "G"_a, "S"_a);
  nb::class_<Identity, FeatureMap>(m, "Identity")
      .def(nb::init<std::size_t, double, bool>(), "features"_a, "scale"_a, "constant"_a);
  nb::class_<Stack, FeatureMap>(m, "Stack").def(nb::init<std::vector<std::shared_ptr<FeatureMap>>>(), "maps"_a);
  nb::class_<LandmarkSelection>(m, "LandmarkSelection");
  nb::class_<FirstRows, LandmarkSelection>(m, "FirstRows").def(nb::init<std::size_t>(), "landmarks"_a);
  nb::class_<FirstSteps, LandmarkSelection>(m, "FirstSteps").def(nb::init<std::size_t>(), "landmarks"_a);
  nb::class_<Reservoir, LandmarkSelection>(m, "Reservoir")
      .def(nb::init<std::size_t, std::size_t, Counter>(), "landmarks"_a, "window"_a, "seed"_a);
  nb::class_<ByLeverage, LandmarkSelection>(m, "ByLeverage")
      .def(nb::init<std::size_t, std::size_t, std::size_t, Counter>(), "landmarks"_a, "rank"_a, "window"_a, "seed"_a);
  nb::class_<Nystrom, FeatureMap>(m, "Nystrom")
      .def(nb::init<std::shared_ptr<const Kernel>, std::size_t, std::size_t, std::shared_ptr<LandmarkSelection>,
                    std::size_t>(),
           "kernel"_a, "landmarks"_a, "rank"_a, "selection"_a, "features"_a);

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
  nb::class_<Mapped, Learner>(m, "Mapped")
      .def(nb::init<std::shared_ptr<FeatureMap>, std::shared_ptr<VectorRule>, std::shared_ptr<const Task>>(), "map"_a,
           "rule"_a, "task"_a)
      .def("support_vectors", &landmarks, "features"_a)
      .def("dual_coef", &landmark_coef)
      .def("coef", &coef);

  nb::class_<DualMaintenance>(m, "DualMaintenance");
  nb::class_<DualUnbounded, DualMaintenance>(m, "DualUnbounded").def(nb::init<>());
  nb::class_<DualRemoval, DualMaintenance>(m, "DualRemoval").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualProjection, DualMaintenance>(m, "DualProjection").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualProjectionClipped, DualMaintenance>(m, "DualProjectionClipped")
      .def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualNearest, DualMaintenance>(m, "DualNearest").def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DualRemovalThenProjection, DualMaintenance>(m, "DualRemovalThenProjection")
      .def(nb::init<std::size_t>(), "budget"_a);
  nb::class_<DoubleUpdating, ExpansionLearner>(m, "DoubleUpdating")
      .def(nb::init<std::shared_ptr<const Kernel>, double, double, std::shared_ptr<DualMaintenance>, std::size_t>(),
           "kernel"_a, "C"_a, "rho"_a, "maintenance"_a, "features"_a);

  nb::enum_<Fault>(m, "Fault")
      .value("Label", Fault::Label)
      .value("SeveralLabels", Fault::SeveralLabels)
      .value("Query", Fault::Query)
      .value("Pair", Fault::Pair)
      .value("Range", Fault::Range)
      .value("Order", Fault::Order)
      .value("Value", Fault::Value);
  nb::class_<Problem>(m, "Problem")
      .def_ro("fault", &Problem::fault)
      .def_ro("line", &Problem::line)
      .def_ro("column", &Problem::column)
      .def_prop_ro("found", [](const Problem& p) { return nb::bytes(p.found.data(), p.found.size()); });
  nb::class_<SvmlightParser>(m, "SvmlightParser")
      .def(nb::init<std::int64_t, std::int64_t>(), "first"_a, "last"_a)
      .def("feed", &feed, "piece"_a)
      .def("finish", &SvmlightParser::finish)
      .def("take", &take, "rows"_a, "data, indices, indptr and labels of the next rows, at most so many.")
      .def(
          "drop", [](SvmlightParser& parser, std::size_t n) { parser.drop(std::min(n, parser.ready())); }, "rows"_a)
      .def_prop_ro("ready", &SvmlightParser::ready)
      .def_prop_ro("columns", &SvmlightParser::columns)
      .def_prop_ro("problem", [](const SvmlightParser& parser) { return parser.problem(); });

  dense_scale<Moments>(m, "Moments");
  dense_scale<Range>(m, "Range");
  sparse_scale<Squares>(m, "Squares");
  sparse_scale<Largest>(m, "Largest");

  m.def("box_qp", &box_qp<&BoxQP::solve>, "Q"_a, "q"_a, "lo"_a, "hi"_a,
        "The minimiser of x'Qx/2 - q'x over lo <= x <= hi, as the exact projection computes it.");
  m.def("box_qp_by_descent", &box_qp<&BoxQP::solve_by_descent>, "Q"_a, "q"_a, "lo"_a, "hi"_a,
        "The same by the method that it falls back on.");
  m.def("exponentials", &exponentials, "x"_a, "exp of every number, as the kernels compute it.");
  m.def("exponentials_single", &exponentials_single, "x"_a.noconvert(), "The same in single precision.");
  m.def("sines_cosines", &sines_cosines, "x"_a, "Two rows, sin and cos of every number, as the maps compute them.");
  m.def("sines_cosines_single", &sines_cosines_single, "x"_a.noconvert(), "The same in single precision.");
  m.def("products", &products<double>, "X"_a.noconvert(), "S"_a.noconvert(),
        "X' S as the kernels compute it, for features x rows in X and in S.");
  m.def("products_single", &products<float>, "X"_a.noconvert(), "S"_a.noconvert(), "The same in single precision.");
  m.def("uniforms", &uniforms, "seed"_a, "n"_a, "stream"_a = 0, "The first n numbers of the generator on a seed.");
}
