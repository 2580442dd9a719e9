// Reads dicts whose names and values have a column already into rows.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "python/bind.hpp"

namespace budgetron {

class RecordReader {
 public:
  // `numbers` has the column of each name, `texts` for each name the columns of its values, and `kinds` are the types
  // that are numbers. A row has the values of `absent` in all other columns.
  RecordReader(nb::dict numbers, nb::dict texts, nb::object kinds, std::vector<double> absent, bool takes_none)
      : numbers_(std::move(numbers)),
        texts_(std::move(texts)),
        kinds_(std::move(kinds)),
        absent_(std::move(absent)),
        takes_none_(takes_none) {}

  std::size_t width() const { return absent_.size(); }

  // Fills the row; false if the record is not a dict, or has a name or value without a column, or a value of another
  // kind, or None where that is no missing value. Needs the interpreter's lock.
  bool read(nb::handle record, std::vector<double>& row) const {
    if (!PyDict_CheckExact(record.ptr())) return false;
    row = absent_;
    bool names = false, integers = false;
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(record.ptr(), &at, &name, &value) != 0;) {
      (PyUnicode_CheckExact(name) ? names : integers) = true;
      if (!put(name, value, row)) {
        PyErr_Clear();
        return false;
      }
    }
    return !(names && integers);  // "2" and 2 would be one name
  }

 private:
  bool put(PyObject* name, PyObject* value, std::vector<double>& row) const {
    if (PyFloat_CheckExact(value)) return place(column_of(name), PyFloat_AsDouble(value), row);
    if (!PyUnicode_CheckExact(name) && !PyLong_CheckExact(name)) return false;
    if (value == Py_None) return takes_none_;
    if (PyUnicode_CheckExact(value)) {
      PyObject* const values = PyDict_GetItemWithError(texts_.ptr(), nb::str(nb::handle(name)).ptr());
      return values != nullptr && place(PyDict_GetItemWithError(values, value), 1.0, row);
    }
    if (PySet_Contains(kinds_.ptr(), type_of(value)) != 1) return false;
    const double number = PyFloat_AsDouble(value);
    return (number != -1.0 || PyErr_Occurred() == nullptr) && place(column_of(name), number, row);
  }

  static bool place(PyObject* column, double number, std::vector<double>& row) {
    if (column == nullptr) return false;
    const std::size_t i = PyLong_AsSize_t(column);
    if (i >= row.size()) return false;
    row[i] = number;
    return true;
  }

  // The column of a name, or of the text of an integer. Those of integers are kept: to make a text takes longer than to
  // read a value.
  PyObject* column_of(PyObject* name) const {
    if (PyUnicode_CheckExact(name)) return PyDict_GetItemWithError(numbers_.ptr(), name);
    if (!PyLong_CheckExact(name)) return nullptr;
    PyObject* column = PyDict_GetItemWithError(integers_.ptr(), name);
    if (column == nullptr && PyErr_Occurred() == nullptr) {
      column = PyDict_GetItemWithError(numbers_.ptr(), nb::str(nb::handle(name)).ptr());
      if (column != nullptr && PyDict_SetItem(integers_.ptr(), name, column) != 0) return nullptr;
    }
    return column;
  }

  static PyObject* type_of(PyObject* value) { return reinterpret_cast<PyObject*>(Py_TYPE(value)); }

  nb::dict numbers_, texts_, integers_;
  nb::object kinds_;
  std::vector<double> absent_;
  bool takes_none_;
};

}  // namespace budgetron
