// What a part of a model consists of, told once: the same walk saves it, restores it and measures it.
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
  // Working memory: measured only.
  virtual void scratch(Bytes) {}
  // Whether fields are being written to, so that what is derived from them must be derived anew.
  virtual bool restoring() const { return false; }
  // Whether they are only measured, so that what is not kept as one vector need not be made into one.
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

// The fields of one of several like parts: a prefix makes their names unique.
class Prefixed final : public Fields {
 public:
  Prefixed(Fields& io, std::string prefix) : io_(io), prefix_(std::move(prefix)) {}
  void field(const char* name, double& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, Counter& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, std::vector<double>& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, std::vector<float>& v) override { io_.field((prefix_ + name).c_str(), v); }
  void field(const char* name, std::vector<Counter>& v) override { io_.field((prefix_ + name).c_str(), v); }
  void scratch(Bytes bytes) override { io_.scratch(bytes); }
  bool measuring() const override { return io_.measuring(); }
  bool restoring() const override { return io_.restoring(); }

 private:
  Fields& io_;
  std::string prefix_;
};

template <class T>
Bytes bytes_of(const std::vector<T>& v) {
  return v.capacity() * sizeof(T);
}

// For `is_consistent`, below.
template <class T>
bool all_finite(const std::vector<T>& v) {
  return std::all_of(v.begin(), v.end(), [](T x) { return std::isfinite(x); });
}

// A piece of a model that has a state of its own.
class Part {
 public:
  virtual ~Part() = default;
  // Walks over everything the part keeps: its fields, its working memory, and its own size as an object.
  virtual void fields(Fields&) = 0;
  // Whether restored fields fit together and with n support vectors. They may come from a file that anyone wrote: what
  // passes here must never lead outside an array, break an assertion or keep a loop from ending, whatever the numbers.
  virtual bool is_consistent(std::size_t) const { return true; }
};

}  // namespace budgetron
