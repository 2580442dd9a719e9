// A part of a model lists its state once, in `fields`. The same walk saves, restores and measures it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace budgetron {

using Bytes = std::size_t;
using Counter = std::uint64_t;

class Fields {
 public:
  virtual ~Fields() = default;
  // State: saved, restored, measured. Names are unique within a model.
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, Counter& value) = 0;
  virtual void field(const char* name, std::vector<double>& values) = 0;
  virtual void field(const char* name, std::vector<float>& values) = 0;
  virtual void field(const char* name, std::vector<Counter>& values) = 0;
  // Whether the field is there. One that is newer than the first files is missing in older ones.
  virtual bool has(const char* /*name*/) const { return true; }
  // Working memory: measured only.
  virtual void scratch(Bytes) {}
  // Whether this walk writes the fields. If so, values derived from the fields must be recomputed.
  virtual bool restoring() const { return false; }
  // Whether this walk only measures. If so, state that is not stored as one vector need not be copied into one.
  virtual bool measuring() const { return false; }
};

class Measure final : public Fields {
 public:
  bool measuring() const override { return true; }
  void field(const char*, double&) override {}
  void field(const char*, Counter&) override {}
  void field(const char*, std::vector<double>& v) override { bytes += v.capacity() * sizeof(double); }
  void field(const char*, std::vector<float>& v) override { bytes += v.capacity() * sizeof(float); }
  void field(const char*, std::vector<Counter>& v) override { bytes += v.capacity() * sizeof(Counter); }
  void scratch(Bytes extra) override { bytes += extra; }

  Bytes bytes = 0;
};

// Prefixes all field names, so that several parts of the same kind can be saved side by side.
class Prefixed final : public Fields {
 public:
  Prefixed(Fields& io, std::string prefix) : io_(io), prefix_(std::move(prefix)) {}
  void field(const char* name, double& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, Counter& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, std::vector<double>& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, std::vector<float>& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, std::vector<Counter>& v) override { io_.field((prefix_ + name).c_str(), v); }
  void scratch(Bytes bytes) override { io_.scratch(bytes); }
  bool has(const char* name) const override { return io_.has((prefix_ + name).c_str()); }
  bool measuring() const override { return io_.measuring(); }
  bool restoring() const override { return io_.restoring(); }

 private:
  Fields& io_;
  std::string prefix_;
};

template <class T, class Allocator>
Bytes bytes_of(const std::vector<T, Allocator>& v) {
  return v.capacity() * sizeof(T);
}

// Appends a value. The capacity grows by an eighth, so that little room is left over.
template <class T>
void push(std::vector<T>& v, T value) {
  if (v.size() == v.capacity()) v.reserve(v.size() + std::max<std::size_t>(8, v.size() / 8));
  v.push_back(value);
}

// For `is_consistent`, below.
template <class T, class Allocator>
bool all_finite(const std::vector<T, Allocator>& v) {
  return std::all_of(v.begin(), v.end(), [](T x) { return std::isfinite(x); });
}

// A piece of a model with its own state.
class Part {
 public:
  virtual ~Part() = default;
  // Visits everything the part keeps: its fields, its working memory, and its own size as an object.
  virtual void fields(Fields&) = 0;
  // Whether restored fields are consistent with each other and with n support vectors. Model files are untrusted:
  // fields that pass must never cause an out-of-bounds access, a failed assertion or an endless loop, whatever their
  // numbers.
  virtual bool is_consistent(std::size_t) const { return true; }
};

}  // namespace budgetron
