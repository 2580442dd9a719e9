// Bindings: rows, cells of tables, the svmlight parser and running scaling. No arithmetic here.
#include <algorithm>
#include <optional>
#include <tuple>

#include "input/codes.hpp"
#include "input/periods.hpp"
#include "input/scaling.hpp"
#include "input/svmlight.hpp"
#include "python/bind.hpp"
#include "python/record_reader.hpp"
#include "simd/loops.hpp"
#include "support/layouts.hpp"

namespace budgetron {
namespace {

std::size_t too_large(const BoundRows& X, Precision precision, bool missing) {
  nb::gil_scoped_release free;
  return precision == Precision::Single ? first_too_large<float>(X.rows, missing)
                                        : first_too_large<double>(X.rows, missing);
}

bool compressed(const Array1<std::int32_t>& indices, const Array1<std::int64_t>& indptr, std::size_t columns) {
  return indptr.size() > 0 &&
         are_compressed_rows(aligned(indices), indices.size(), aligned(indptr), indptr.size() - 1, columns);
}

std::optional<NewArray<double>> row_of_record(const RecordReader& reader, nb::handle record) {
  std::vector<double> row;
  if (!reader.read(record, row)) return std::nullopt;
  return array(std::move(row), {reader.width()});
}

// Pieces and blocks are small, so the interpreter lock is kept; it also guards the object. Python has checked that rows
// have the right number of columns.
void feed(SvmlightParser& parser, const nb::bytes& piece) { parser.feed({piece.c_str(), piece.size()}); }

std::tuple<NewArray<double>, NewArray<std::int32_t>, NewArray<std::int64_t>, NewArray<double>> take(
    SvmlightParser& parser, std::size_t n) {
  LabelledRows rows = parser.take(std::min(n, parser.ready()));
  const std::size_t nonzeros = rows.data.size(), starts = rows.starts.size(), labels = rows.labels.size();
  return std::make_tuple(array(std::move(rows.data), {nonzeros}), array(std::move(rows.indices), {nonzeros}),
                         array(std::move(rows.starts), {starts}), array(std::move(rows.labels), {labels}));
}

bool codes_in(const nb::bytes& text, char delimiter) { return may_have_codes({text.c_str(), text.size()}, delimiter); }

// Two rows: sines and cosines.
NewArray<double> places_in_period(const Array1<double>& moments, double length, double start) {
  const std::size_t n = moments.size();
  const std::vector<double> angles = angles_in_period(aligned(moments), n, length, start, lanes);
  std::vector<double> out(2 * n);
  loops->sine_cosine(angles.data(), 1, n, out.data(), out.data() + n);
  return array(std::move(out), {2, n});
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
      .def("is_consistent", &Scale::is_consistent, "columns"_a)
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

}  // namespace

void bind_input(nb::module_& m) {
  nb::class_<RecordReader>(m, "RecordReader")
      .def(nb::init<nb::dict, nb::dict, nb::object, std::vector<double>, bool>(), "numbers"_a, "texts"_a, "kinds"_a,
           "absent"_a, "takes_none"_a,
           nb::sig("def __init__(self, numbers: dict[str, int], texts: dict[str, dict[str, int]], kinds: "
                   "frozenset[object], absent: list[float], takes_none: bool) -> None"))
      .def("row", &row_of_record, "record"_a.none());
  nb::enum_<Precision>(m, "Precision").value("Single", Precision::Single).value("Double", Precision::Double);
  nb::class_<BoundRows>(m, "Rows");
  m.def("first_too_large", &too_large, "rows"_a, "precision"_a, "missing"_a = false);
  m.def("places_in_period", &places_in_period, "moments"_a, "length"_a, "start"_a);
  m.def("may_have_codes", &codes_in, "text"_a, "delimiter"_a);
  m.def("are_compressed_rows", &compressed, "indices"_a.noconvert(), "indptr"_a.noconvert(), "columns"_a);
  m.def("dense", &dense<double>, "X"_a.noconvert());
  m.def("dense", &dense<float>, "X"_a.noconvert());
  m.def("sparse", &sparse<double>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "columns"_a);
  m.def("sparse", &sparse<float>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "columns"_a);

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
}

}  // namespace budgetron
