// Reads dicts of numbers that have the same names, again and again, into rows.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "python/bind.hpp"

namespace budgetron {

class SameNames {
 public:
  // The name i belongs to the column slots[i]; a row has the numbers of `absent` in the other columns.
  SameNames(nb::tuple names, std::vector<std::size_t> slots, std::vector<double> absent)
      : names_(std::move(names)), slots_(std::move(slots)), absent_(std::move(absent)) {
    if (names_.size() != slots_.size()) throw std::invalid_argument("SameNames: every name must have a slot.");
    for (const std::size_t slot : slots_)
      if (slot >= absent_.size()) throw std::invalid_argument("SameNames: a slot is outside the row.");
  }

  std::size_t width() const { return absent_.size(); }

  // Fills the row; false if the record is not a dict with just these names, or a value is not a float, int or bool.
  // Needs the interpreter's lock.
  bool read(nb::handle record, std::vector<double>& row) const {
    PyObject* const dict = record.ptr();
    const auto n = static_cast<Py_ssize_t>(slots_.size());
    if (!PyDict_CheckExact(dict) || PyDict_Size(dict) != n) return false;
    row = absent_;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* const value = PyDict_GetItemWithError(dict, PyTuple_GetItem(names_.ptr(), i));
      double& place = row[slots_[static_cast<std::size_t>(i)]];
      if (value != nullptr && PyFloat_Check(value))
        place = PyFloat_AsDouble(value);
      else if (value != nullptr && PyLong_Check(value))
        place = PyLong_AsDouble(value);
      else
        return give_up();
      if (place == -1.0 && PyErr_Occurred() != nullptr) return give_up();
    }
    return true;
  }

 private:
  static bool give_up() {
    PyErr_Clear();
    return false;
  }

  nb::tuple names_;
  std::vector<std::size_t> slots_;
  std::vector<double> absent_;
};

}  // namespace budgetron
