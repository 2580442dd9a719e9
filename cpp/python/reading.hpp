// Reading a learner for Python: under its lock, and without the lock of the interpreter.
#pragma once

#include <shared_mutex>
#include <vector>

#include "model/learner.hpp"
#include "python/bind.hpp"

namespace budgetron {

// What `read` returns.
template <class Read>
auto reading(const Learner& learner, Read read) {
  nb::gil_scoped_release free;
  std::shared_lock lock(learner.guard());
  return read();
}

// The numbers as a matrix of that many rows.
inline NewArray<double> as_rows(std::vector<double> values, std::size_t rows) {
  const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
  return array(std::move(values), {rows, columns});
}

inline NewArray<double> as_vector(std::vector<double> values) {
  const std::size_t n = values.size();
  return array(std::move(values), {n});
}

}  // namespace budgetron
