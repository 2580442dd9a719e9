// Reads dicts whose names and values have a column already into rows.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "python/bind.hpp"

namespace budgetron {

class RecordReader {
 public:
  // `numbers` has the column of each name, `texts` for each name the columns of its values, and `kinds` are the types
  // that are numbers, with float and int among them. A row has the values of `absent` in all other columns.
  RecordReader(const nb::dict& numbers, nb::dict texts, nb::object kinds, std::vector<double> absent, bool takes_none)
      : texts_(std::move(texts)),
        kinds_(std::move(kinds)),
        absent_(std::move(absent)),
        takes_none_(takes_none),
        last_(numbers.size() + texts_.size(), none) {
    for (const auto& [name, column] : numbers) know(nb::borrow(name), nb::cast<std::size_t>(column));
  }

  std::size_t width() const { return absent_.size(); }

  // Fills the row; false if the record is not a dict, or has a name or value without a column, or a value of another
  // kind, or None where that is no missing value. Needs the interpreter's lock.
  bool read(nb::handle record, std::vector<double>& row) const {
    if (!PyDict_CheckExact(record.ptr())) return false;
    row = absent_;
    bool names = false, integers = false, in_order = true;
    PyObject *name = nullptr, *value = nullptr;
    std::size_t i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(record.ptr(), &at, &name, &value) != 0; ++i) {
      (PyUnicode_CheckExact(name) ? names : integers) = true;
      if (!put(i, name, value, in_order, row)) {
        PyErr_Clear();
        return false;
      }
    }
    return !(names && integers);  // "2" and 2 would be one name
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct Known {
    nb::object name;
    std::size_t column;
  };

  bool put(std::size_t i, PyObject* name, PyObject* value, bool& in_order, std::vector<double>& row) const {
    if (PyFloat_CheckExact(value)) return place(column_of(i, name, in_order), PyFloat_AsDouble(value), row);
    if (!PyUnicode_CheckExact(name) && !PyLong_CheckExact(name)) return false;
    if (value == Py_None) return takes_none_;
    if (PyUnicode_CheckExact(value)) {
      PyObject* const values = PyDict_GetItemWithError(texts_.ptr(), nb::str(nb::handle(name)).ptr());
      return values != nullptr && place(as_size(PyDict_GetItemWithError(values, value)), 1.0, row);
    }
    const bool whole = PyLong_CheckExact(value);
    if (!whole && PySet_Contains(kinds_.ptr(), type_of(value)) != 1) return false;
    const double number = whole ? PyLong_AsDouble(value) : PyFloat_AsDouble(value);
    return (number != -1.0 || PyErr_Occurred() == nullptr) && place(column_of(i, name, in_order), number, row);
  }

  static bool place(std::size_t column, double number, std::vector<double>& row) {
    if (column >= row.size()) return false;
    row[column] = number;
    return true;
  }

  // The column of name i of a record. Records often have the names of the one before in the same order: to compare two
  // names is quicker than to look one up. After the first that differs all are looked up.
  std::size_t column_of(std::size_t i, PyObject* name, bool& in_order) const {
    in_order = in_order && i < last_.size() && last_[i] != none && same(name, known_[last_[i]].name.ptr());
    if (in_order) return known_[last_[i]].column;
    const std::size_t found = look_up(name);
    if (found == none) return none;
    if (i < last_.size()) last_[i] = found;
    return known_[found].column;
  }

  static bool same(PyObject* a, PyObject* b) {
    return a == b || (PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0);
  }

  // The place in `known_` of a name, or of an integer whose text is one. Such an integer is added: to make a text takes
  // longer than to read a value.
  std::size_t look_up(PyObject* name) const {
    if (PyUnicode_CheckExact(name)) return as_size(PyDict_GetItemWithError(places_.ptr(), name));
    if (!PyLong_CheckExact(name)) return none;
    const std::size_t found = as_size(PyDict_GetItemWithError(places_.ptr(), name));
    if (found != none || PyErr_Occurred() != nullptr) return found;
    const std::size_t text = as_size(PyDict_GetItemWithError(places_.ptr(), nb::str(nb::handle(name)).ptr()));
    return text == none ? none : know(nb::borrow(name), known_[text].column);
  }

  std::size_t know(nb::object name, std::size_t column) const {
    places_[name] = known_.size();
    known_.push_back({std::move(name), column});
    return known_.size() - 1;
  }

  static std::size_t as_size(PyObject* number) { return number == nullptr ? none : PyLong_AsSize_t(number); }

  static PyObject* type_of(PyObject* value) { return reinterpret_cast<PyObject*>(Py_TYPE(value)); }

  nb::dict texts_;
  nb::object kinds_;
  std::vector<double> absent_;
  bool takes_none_;
  mutable std::vector<Known> known_;       // the names of numbers
  mutable nb::dict places_;                // where in `known_` each name is
  mutable std::vector<std::size_t> last_;  // and where that of the number in each place of the record before
};

}  // namespace budgetron
