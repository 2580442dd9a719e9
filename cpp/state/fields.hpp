// A part of a model lists its state once, in `fields`. The same walk saves, restores and measures it, and says how the
// fields of several models are merged and which numbers belong to an output.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace budgetron {

using Bytes = std::size_t;
using Counter = std::uint64_t;

// How the fields of models that learned different rows become one field. Own: by a formula that merging has for the
// part. A field that does not say how cannot be merged.
enum class Merged { Unsaid, Sum, Mean, Most, Least, Joined, Restart, Own };

// Which numbers belong to an output: none; all, to one output; one row for each output; the last of every row, one for
// each output; or those rows and columns of a packed lower triangle. Codes are themselves the numbers of outputs; with
// one output, 0 or 1.
enum class OfOutputs { None, All, Rows, Last, Packed, Codes };

struct Meaning {
  Merged merged = Merged::Unsaid;
  OfOutputs of = OfOutputs::None;
  bool signs = false;     // the numbers change sign if the two classes of one output change places
  std::size_t width = 0;  // of the rows whose last numbers belong to outputs
};

class Fields {
 public:
  using Value = std::variant<double*, Counter*, std::vector<double>*, std::vector<float>*, std::vector<Counter>*>;

  virtual ~Fields() = default;
  // State: saved, restored, measured. Names are unique within a model.
  template <class T>
  void field(const char* name, T& value, Meaning meaning = {}) {
    visit(name, &value, meaning);
  }
  // One field for each output: name.0, name.1 ...
  void outputs(const char* name, std::vector<std::vector<double>>& rows, Merged merged, bool signs) {
    for (std::size_t c = 0; c < rows.size(); ++c)
      field(of_output(name, c).c_str(), rows[c], {merged, OfOutputs::All, signs});
  }
  static std::string of_output(const std::string& name, std::size_t c) { return name + "." + std::to_string(c); }
  virtual void visit(const char* name, Value value, const Meaning& meaning) = 0;
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
  void visit(const char*, Value value, const Meaning&) override {
    const auto measure = [&](auto* v) {
      if constexpr (!std::is_arithmetic_v<std::remove_pointer_t<decltype(v)>>)
        bytes += v->capacity() * sizeof(v->front());
    };
    std::visit(measure, value);
  }
  void scratch(Bytes extra) override { bytes += extra; }

  Bytes bytes = 0;
};

// Prefixes all field names, so that several parts of the same kind can be saved side by side.
class Prefixed final : public Fields {
 public:
  Prefixed(Fields& io, std::string prefix) : io_(io), prefix_(std::move(prefix)) {}
  void visit(const char* name, Value value, const Meaning& meaning) override {
    io_.visit((prefix_ + name).c_str(), value, meaning);
  }
  void scratch(Bytes bytes) override { io_.scratch(bytes); }
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
