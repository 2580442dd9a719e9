// Reads dicts whose names and values have a column already into rows.
#pragma once

#include <bit>
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
        places_(1, none),
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
    Py_hash_t hash;
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
    if (a == b) return true;
    const bool alike = type_of(a) == type_of(b) && (PyUnicode_CheckExact(a) || PyLong_CheckExact(a));
    return alike && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  }

  // The place in `known_` of a name, or of an integer whose text is one. Such an integer is added: to make a text takes
  // longer than to read a value.
  std::size_t look_up(PyObject* name) const {
    const bool whole = PyLong_CheckExact(name);
    if (!whole && !PyUnicode_CheckExact(name)) return none;
    const std::size_t found = place_of(name, PyObject_Hash(name));
    if (!whole || found != none) return found;
    const nb::str text{nb::handle(name)};
    const std::size_t same_text = place_of(text.ptr(), PyObject_Hash(text.ptr()));
    return same_text == none ? none : know(nb::borrow(name), known_[same_text].column);
  }

  // Where in `places_` a name is, or would be: from the place of its hash on, until one is free.
  std::size_t& place_of(PyObject* name, Py_hash_t hash) const {
    for (auto at = static_cast<std::size_t>(hash);; ++at) {
      std::size_t& place = places_[at & (places_.size() - 1)];
      if (place == none || (known_[place].hash == hash && same(name, known_[place].name.ptr()))) return place;
    }
  }

  std::size_t know(nb::object name, std::size_t column) const {
    known_.push_back({name, PyObject_Hash(name.ptr()), column});
    std::size_t placed = known_.size() - 1;
    if (2 * known_.size() > places_.size()) {
      places_.assign(std::bit_ceil(4 * known_.size()), none);
      placed = 0;
    }
    for (; placed < known_.size(); ++placed) place_of(known_[placed].name.ptr(), known_[placed].hash) = placed;
    return known_.size() - 1;
  }

  static std::size_t as_size(PyObject* number) { return number == nullptr ? none : PyLong_AsSize_t(number); }

  static PyObject* type_of(PyObject* value) { return reinterpret_cast<PyObject*>(Py_TYPE(value)); }

  nb::dict texts_;
  nb::object kinds_;
  std::vector<double> absent_;
  bool takes_none_;
  mutable std::vector<Known> known_;         // the names of numbers
  mutable std::vector<std::size_t> places_;  // a hash table, half of it free: where in `known_` each name is
  mutable std::vector<std::size_t> last_;    // and where that of the number in each place of the record before
};

}  // namespace budgetron
