// Bindings: detectors of drift. No arithmetic here.
#include <algorithm>
#include <tuple>
#include <type_traits>

#include "drift/columns.hpp"
#include "drift/packed.hpp"
#include "drift/rates.hpp"
#include "python/bind.hpp"

namespace budgetron::drift {
namespace {

std::vector<Change> tell_codes(Rates& rates, const Array1<std::int64_t>& codes) {
  std::vector<Change> found;
  const std::int64_t* const code = aligned(codes);
  const auto cells = static_cast<std::int64_t>(rates.cells());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto cell = static_cast<std::size_t>(std::clamp<std::int64_t>(code[i], 0, cells - 1));
    if (std::optional<Change> change = rates.tell(cell)) found.push_back(std::move(*change));
  }
  return found;
}

// The code of a label. A new one gets the next, until only the last is left, which is that of all others.
std::size_t code_of(nb::dict& codes, nb::handle label, std::size_t cells) {
  PyObject* const known = PyDict_GetItemWithError(codes.ptr(), label.ptr());
  if (known != nullptr) return PyLong_AsSize_t(known);
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  const std::size_t next = codes.size();
  if (next + 1 >= cells) return cells - 1;
  codes[label] = next;
  return next;
}

// Tells labels and what was predicted for them, row by row: mistakes, labels and predictions.
std::tuple<std::vector<Change>, std::vector<Change>, std::vector<Change>> tell_predicted(
    Rates& errors, Rates& labels, Rates& predictions, const nb::list& y, const nb::list& predicted, nb::dict codes) {
  std::tuple<std::vector<Change>, std::vector<Change>, std::vector<Change>> found;
  const auto tell = [](Rates& rates, std::size_t code, std::vector<Change>& changes) {
    if (std::optional<Change> change = rates.tell(std::min(code, rates.cells() - 1)))
      changes.push_back(std::move(*change));
  };
  const std::size_t rows = std::min(y.size(), predicted.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const nb::handle label = y[i], guess = predicted[i];
    const int wrong = PyObject_RichCompareBool(label.ptr(), guess.ptr(), Py_NE);
    if (wrong < 0) throw nb::python_error();
    tell(predictions, code_of(codes, guess, predictions.cells()), std::get<2>(found));
    tell(labels, code_of(codes, label, labels.cells()), std::get<1>(found));
    tell(errors, static_cast<std::size_t>(wrong), std::get<0>(found));
  }
  return found;
}

// Records are told as they came. Names of the row before, in its order, need not be looked up.
class Teller {
 public:
  explicit Teller(Columns& columns) : columns_(columns) {}

  void tell(nb::handle record) {
    PyObject *name = nullptr, *value = nullptr;
    std::size_t i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(record.ptr(), &at, &name, &value) != 0; ++i) put(i, name, value);
  }

 private:
  void put(std::size_t i, PyObject* name, PyObject* value) {
    if (value == Py_None) return;
    const std::size_t column = column_of(i, name);
    if (column == Columns::none) return;
    if (PyFloat_CheckExact(value)) {
      columns_.number(column, PyFloat_AsDouble(value));
    } else if (PyUnicode_CheckExact(value)) {
      columns_.text(column, text_of(value));
    } else {
      const double number = PyFloat_AsDouble(value);
      if (number == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();  // a date, say
        columns_.text(column, text_of(nb::str(nb::handle(value)).ptr()));
      } else {
        columns_.number(column, number);
      }
    }
  }

  std::size_t column_of(std::size_t i, PyObject* name) {
    if (i < last_.size() && last_[i].first.ptr() == name) return last_[i].second;
    const nb::object text = PyUnicode_CheckExact(name) ? nb::borrow(name) : nb::object(nb::str(nb::handle(name)));
    const std::size_t column = columns_.place_of(text_of(text.ptr()));
    if (i >= last_.size()) last_.resize(i + 1, {nb::object(), Columns::none});
    last_[i] = {nb::borrow(name), column};
    return column;
  }

  static std::string_view text_of(PyObject* text) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (bytes != nullptr) return {bytes, static_cast<std::size_t>(size)};
    PyErr_Clear();  // half of a surrogate pair
    return {};
  }

  Columns& columns_;
  std::vector<std::pair<nb::object, std::size_t>> last_;
};

std::vector<Change> tell_records(Columns& columns, const nb::list& records) {
  std::vector<Change> found;
  Teller teller(columns);
  for (const nb::handle record : records) {
    if (PyDict_CheckExact(record.ptr())) teller.tell(record);
    columns.end_row(found);
  }
  return found;
}

// Numbers in rows. A column without a name is called by its place. It becomes known with its first value, as in
// records.
std::vector<Change> tell_rows(Columns& columns, const std::vector<std::string>& names, const Matrix<double>& rows) {
  std::vector<Change> found;
  const double* value = aligned(rows);
  constexpr std::size_t unasked = Columns::none - 1;
  std::vector<std::size_t> places(rows.shape(1), unasked);
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    for (std::size_t j = 0; j < rows.shape(1); ++j, ++value) {
      if (*value != *value) continue;
      if (places[j] == unasked) places[j] = columns.place_of(j < names.size() ? names[j] : std::to_string(j));
      if (places[j] != Columns::none) columns.number(places[j], *value);
    }
    columns.end_row(found);
  }
  return found;
}

template <class Detector>
nb::tuple packed(Detector& detector) {
  Pack io;
  detector.fields(io);
  const std::size_t numbers = io.packed.numbers.size(), counters = io.packed.counters.size();
  return nb::make_tuple(array(std::move(io.packed.numbers), {numbers}),
                        array(std::move(io.packed.counters), {counters}));
}

template <class Detector>
bool unpacked(Detector& detector, const Array1<double>& numbers, const Array1<Counter>& counters) {
  Unpack io({{numbers.data(), numbers.data() + numbers.size()}, {counters.data(), counters.data() + counters.size()}});
  detector.fields(io);
  return io.whole();
}

void refuse_unless(bool good) {
  if (!good) throw nb::value_error("the state of a detector is damaged.");
}

}  // namespace
}  // namespace budgetron::drift

namespace budgetron {

void bind_drift(nb::module_& m) {
  using namespace drift;
  using drift::Change, drift::Columns;
  nb::class_<Change>(m, "Change")
      .def_ro("row", &Change::row)
      .def_ro("column", &Change::column)
      .def_ro("before", &Change::before)
      .def_ro("after", &Change::after)
      .def_ro("texts", &Change::texts)
      .def_ro("middle", &Change::middle)
      .def_ro("above", &Change::above);
  nb::class_<Rates>(m, "Rates")
      .def(nb::init<std::size_t, std::size_t, std::size_t, double, Counter>(), "cells"_a, "block"_a, "per_level"_a,
           "level"_a, "growing"_a = 1)
      .def("tell", &tell_codes, "codes"_a.noconvert())
      .def("state", &packed<Rates>, nb::sig("def state(self) -> tuple[object, object]"))
      .def(
          "restore",
          [](Rates& rates, const Array1<double>& numbers, const Array1<Counter>& counters) {
            const std::size_t cells = rates.cells();
            refuse_unless(unpacked(rates, numbers, counters) && rates.is_consistent(cells));
          },
          "numbers"_a, "counters"_a);
  m.def("tell_predicted", &tell_predicted, "errors"_a, "labels"_a, "predictions"_a, "y"_a, "predicted"_a, "codes"_a,
        nb::sig("def tell_predicted(errors: Rates, labels: Rates, predictions: Rates, y: list[object], predicted: "
                "list[object], codes: dict[object, int]) -> tuple[list[Change], list[Change], list[Change]]"));
  nb::class_<Columns>(m, "Columns")
      .def(nb::init<std::size_t, std::size_t, double, std::size_t>(), "block"_a, "per_level"_a, "level"_a, "most"_a)
      .def_prop_ro("names", &Columns::names)
      .def("tell_records", &tell_records, "records"_a,
           nb::sig("def tell_records(self, records: list[dict[str, object]]) -> list[Change]"))
      .def("tell_rows", &tell_rows, "names"_a, "rows"_a.noconvert())
      .def("state", &packed<Columns>, nb::sig("def state(self) -> tuple[object, object]"))
      .def(
          "restore",
          [](Columns& columns, const std::vector<std::string>& names, const Array1<double>& numbers,
             const Array1<Counter>& counters) {
            columns.begin(names);
            refuse_unless(columns.names().size() == names.size() && unpacked(columns, numbers, counters) &&
                          columns.is_consistent());
          },
          "names"_a, "numbers"_a, "counters"_a);
}

}  // namespace budgetron
