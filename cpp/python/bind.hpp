// Shared by all binding files: arrays in, arrays out, and the fields of parts as named arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "input/rows.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"
#include "state/reordering.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace budgetron {

template <class T>
using Array1 = nb::ndarray<const T, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using Writable1 = nb::ndarray<double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
// One row, as a vector or as a matrix of one row.
template <class T>
using OneRow = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
using WritableRow = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
template <class T>
using NewArray = nb::ndarray<nb::numpy, T>;

// Takes LAPACK from SciPy, whose import takes longer than NumPy's. Parts that call `symmetric_eigen` are made after it.
void find_lapack();

// Makes a part that calls `symmetric_eigen`.
template <class P, class... Arguments>
void init_with_lapack(P* part, Arguments... arguments) {
  find_lapack();
  new (part) P(std::move(arguments)...);
}

// The data of an array from Python. The Python side copies unaligned arrays; this check is the last defence.
template <class T, class... Kind>
T* aligned(const nb::ndarray<T, Kind...>& a) {
  if (reinterpret_cast<std::uintptr_t>(a.data()) % alignof(T) != 0)
    throw nb::value_error("The core needs arrays that are aligned in memory.");
  return a.data();
}

inline Vector view(const Array1<double>& v) { return {aligned(v), v.size()}; }

// A new NumPy array that owns its data.
template <class T>
NewArray<T> array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NewArray<T>(owned->data(), shape, owner);
}

// Rows in NumPy arrays, and references that keep the arrays alive.
struct BoundRows {
  Rows rows;
  std::vector<nb::object> alive;
};

template <class T>
BoundRows dense(const Matrix<T>& X) {
  return {Rows(DenseRows<T>{aligned(X), X.shape(0), X.shape(1)}), {nb::cast(X)}};
}

template <class T>
BoundRows sparse(const Array1<T>& data, const Array1<std::int32_t>& indices, const Array1<std::int64_t>& indptr,
                 std::size_t columns) {
  return {Rows(SparseRows<T>{aligned(data), aligned(indices), aligned(indptr), indptr.size() - 1, columns}),
          {nb::cast(data), nb::cast(indices), nb::cast(indptr)}};
}

using Field = std::variant<std::vector<double>, std::vector<float>, std::vector<Counter>>;
using State = std::map<std::string, Field>;

// Saves the fields, as they are or with outputs in other places.
class Save final : public Fields {
 public:
  void visit(const char* name, Value value, const Meaning& meaning) override {
    Field& saved = state[moved ? moved->name(name, meaning) : name];
    const auto save = [&]<class T>(T* v) {
      if constexpr (std::is_arithmetic_v<T>)
        saved = std::vector<T>{*v};
      else
        saved = *v;
    };
    std::visit(save, value);
    if (!moved) return;
    if (auto* numbers = std::get_if<std::vector<double>>(&saved)) moved->apply(*numbers, meaning);
    if (auto* numbers = std::get_if<std::vector<float>>(&saved)) moved->apply(*numbers, meaning);
  }

  State state;
  std::optional<Reordering> moved = std::nullopt;
};

// How every field is merged, in words.
class Describe final : public Fields {
 public:
  void visit(const char* name, Value, const Meaning& meaning) override {
    constexpr const char* words[] = {"unsaid", "sum", "mean", "most", "least", "joined", "restart", "own"};
    ways[name] = words[static_cast<int>(meaning.merged)];
  }
  std::map<std::string, std::string> ways;
};

class Restore final : public Fields {
 public:
  explicit Restore(nb::dict state) : state_(std::move(state)) {}
  // Refuses fields that were not restored; call it after the walk.
  void finish() const {
    std::set<std::string> unknown;
    for (const auto item : state_)
      if (auto name = nb::cast<std::string>(item.first); !used_.contains(name)) unknown.insert(std::move(name));
    if (!unknown.empty()) refuse(unknown.begin()->c_str(), "is unknown");
  }
  bool restoring() const override { return true; }
  void visit(const char* name, Value value, const Meaning&) override {
    const auto restore = [&]<class T>(T* v) {
      if constexpr (std::is_arithmetic_v<T>)
        *v = single<T>(name);
      else
        *v = many<typename T::value_type>(name);
    };
    std::visit(restore, value);
  }

 private:
  template <class T>
  std::vector<T> many(const char* name) {
    Array1<T> values;
    if (!state_.contains(name)) refuse(name, "is missing");
    if (!nb::try_cast(state_[name], values, false)) refuse(name, "is of the wrong type");
    used_.insert(name);
    std::vector<T> out(values.size());
    if (!out.empty()) std::memcpy(out.data(), values.data(), out.size() * sizeof(T));  // works for unaligned data
    return out;
  }
  template <class T>
  T single(const char* name) {
    const std::vector<T> values = many<T>(name);
    if (values.size() != 1) refuse(name, "must hold one number");
    return values[0];
  }
  [[noreturn]] static void refuse(const char* name, const char* why) {
    throw nb::value_error(("model state: the field " + std::string(name).substr(0, 100) + " " + why + ".").c_str());
  }

  nb::dict state_;
  std::set<std::string> used_;
};

inline nb::dict arrays(State state) {
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

// One function per binding file, called in this order: each uses what is bound before it.
void bind_input(nb::module_& m);
void bind_parts(nb::module_& m);
void bind_called(nb::module_& m);
void bind_learners(nb::module_& m);
void bind_features(nb::module_& m);
void bind_cells(nb::module_& m);
void bind_local(nb::module_& m);
void bind_drift(nb::module_& m);
void bind_for_tests(nb::module_& m);

}  // namespace budgetron
