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
  RecordReader(nb::dict numbers, nb::dict texts, nb::object kinds, std::vector<double> absent, bool takes_none)
      : numbers_(std::move(numbers)),
        texts_(std::move(texts)),
        kinds_(std::move(kinds)),
        absent_(std::move(absent)),
        takes_none_(takes_none),
        last_(numbers_.size() + texts_.size()) {}

  std::size_t width() const { return absent_.size(); }

  // Fills the row; false if the record is not a dict, or has a name or value without a column, or a value of another
  // kind, or None where that is no missing value. Needs the interpreter's lock.
  bool read(nb::handle record, std::vector<double>& row) const {
    if (!PyDict_CheckExact(record.ptr())) return false;
    row = absent_;
    bool names = false, integers = false;
    PyObject *name = nullptr, *value = nullptr;
    std::size_t i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(record.ptr(), &at, &name, &value) != 0; ++i) {
      (PyUnicode_CheckExact(name) ? names : integers) = true;
      if (!put(i, name, value, row)) {
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
    std::size_t column = none;
  };

  bool put(std::size_t i, PyObject* name, PyObject* value, std::vector<double>& row) const {
    if (PyFloat_CheckExact(value)) return place(column_of(i, name), PyFloat_AsDouble(value), row);
    if (!PyUnicode_CheckExact(name) && !PyLong_CheckExact(name)) return false;
    if (value == Py_None) return takes_none_;
    if (PyUnicode_CheckExact(value)) {
      PyObject* const values = PyDict_GetItemWithError(texts_.ptr(), nb::str(nb::handle(name)).ptr());
      return values != nullptr && place(as_column(PyDict_GetItemWithError(values, value)), 1.0, row);
    }
    const bool whole = PyLong_CheckExact(value);
    if (!whole && PySet_Contains(kinds_.ptr(), type_of(value)) != 1) return false;
    const double number = whole ? PyLong_AsDouble(value) : PyFloat_AsDouble(value);
    return (number != -1.0 || PyErr_Occurred() == nullptr) && place(column_of(i, name), number, row);
  }

  static bool place(std::size_t column, double number, std::vector<double>& row) {
    if (column >= row.size()) return false;
    row[column] = number;
    return true;
  }

  // The column of name i of a record, or of the text of an integer. Records often have the names of the one before in
  // the same order: to compare two names is quicker than to look one up.
  std::size_t column_of(std::size_t i, PyObject* name) const {
    if (i >= last_.size()) return look_up(name);
    if (same(name, last_[i].name.ptr())) return last_[i].column;
    const std::size_t column = look_up(name);
    if (column != none) last_[i] = {nb::borrow(name), column};
    return column;
  }

  static bool same(PyObject* a, PyObject* b) {
    if (a == b) return true;
    return b != nullptr && PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0;
  }

  // Integers are kept: to make a text takes longer than to read a value.
  std::size_t look_up(PyObject* name) const {
    if (PyUnicode_CheckExact(name)) return as_column(PyDict_GetItemWithError(numbers_.ptr(), name));
    if (!PyLong_CheckExact(name)) return none;
    PyObject* column = PyDict_GetItemWithError(integers_.ptr(), name);
    if (column == nullptr && PyErr_Occurred() == nullptr) {
      column = PyDict_GetItemWithError(numbers_.ptr(), nb::str(nb::handle(name)).ptr());
      if (column != nullptr && PyDict_SetItem(integers_.ptr(), name, column) != 0) return none;
    }
    return as_column(column);
  }

  static std::size_t as_column(PyObject* number) { return number == nullptr ? none : PyLong_AsSize_t(number); }

  static PyObject* type_of(PyObject* value) { return reinterpret_cast<PyObject*>(Py_TYPE(value)); }

  nb::dict numbers_, texts_, integers_;
  nb::object kinds_;
  std::vector<double> absent_;
  bool takes_none_;
  mutable std::vector<Known> last_;  // the name of a number in each place of the record before
};

}  // namespace budgetron
