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
    if (!PyUnicode_CheckExact(name) && (name = text_of(name)) == nullptr) return false;
    if (value == Py_None) return takes_none_;
    if (PyUnicode_CheckExact(value)) {
      PyObject* const values = PyDict_GetItemWithError(texts_.ptr(), name);
      return values != nullptr && place(values, value, 1.0, row);
    }
    if (!PyFloat_CheckExact(value) && PySet_Contains(kinds_.ptr(), type_of(value)) != 1) return false;
    const double number = PyFloat_AsDouble(value);
    return (number != -1.0 || PyErr_Occurred() == nullptr) && place(numbers_.ptr(), name, number, row);
  }

  static bool place(PyObject* columns, PyObject* key, double number, std::vector<double>& row) {
    PyObject* const column = PyDict_GetItemWithError(columns, key);
    if (column == nullptr) return false;
    const std::size_t i = PyLong_AsSize_t(column);
    if (i >= row.size()) return false;
    row[i] = number;
    return true;
  }

  // The text of a name that is an integer and has a column; kept, since to make it takes longer than to read a value.
  PyObject* text_of(PyObject* name) const {
    if (!PyLong_CheckExact(name)) return nullptr;
    if (PyObject* const text = PyDict_GetItemWithError(integers_.ptr(), name)) return text;
    const nb::object text = nb::steal(PyObject_Str(name));
    const bool known = text.is_valid() && (numbers_.contains(text) || texts_.contains(text));
    if (!known || PyDict_SetItem(integers_.ptr(), name, text.ptr()) != 0) return nullptr;
    return text.ptr();  // which the dict holds
  }

  static PyObject* type_of(PyObject* value) { return reinterpret_cast<PyObject*>(Py_TYPE(value)); }

  nb::dict numbers_, texts_, integers_;
  nb::object kinds_;
  std::vector<double> absent_;
  bool takes_none_;
};

}  // namespace budgetron
