// The fields of many detectors as two vectors: snapshots have them, and a tensor for each field would be long.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "state/fields.hpp"

namespace budgetron::drift {

struct Packed {
  std::vector<double> numbers;
  std::vector<Counter> counters;
};

class Pack final : public Fields {
 public:
  void visit(const char*, Value value, const Meaning&) override {
    std::visit([this](auto* field) { put(*field); }, value);
  }

  Packed packed;

 private:
  void put(double x) { packed.numbers.push_back(x); }
  void put(Counter x) { packed.counters.push_back(x); }
  void put(const std::vector<float>&) {}  // no detector has any
  template <class T>
  void put(const std::vector<T>& values) {
    put(Counter(values.size()));
    for (const T x : values) put(x);
  }
};

// Restores what `Pack` gave. Vectors that are too short give zeros, and `whole` says so.
class Unpack final : public Fields {
 public:
  explicit Unpack(Packed packed) : packed_(std::move(packed)) {}
  bool restoring() const override { return true; }
  void visit(const char*, Value value, const Meaning&) override {
    std::visit([this](auto* field) { take(*field); }, value);
  }
  bool whole() const { return !short_ && number_ == packed_.numbers.size() && counter_ == packed_.counters.size(); }

 private:
  void take(double& x) { x = next(packed_.numbers, number_); }
  void take(Counter& x) { x = next(packed_.counters, counter_); }
  void take(std::vector<float>&) {}
  template <class T>
  void take(std::vector<T>& values) {
    Counter size = 0;
    take(size);
    const std::size_t left =
        std::is_same_v<T, double> ? packed_.numbers.size() - number_ : packed_.counters.size() - counter_;
    short_ = short_ || size > left;
    values.assign(short_ ? 0 : static_cast<std::size_t>(size), T{});
    for (T& x : values) take(x);
  }
  template <class T>
  T next(const std::vector<T>& from, std::size_t& at) {
    short_ = short_ || at >= from.size();
    return short_ ? T{} : from[at++];
  }

  Packed packed_;
  std::size_t number_ = 0, counter_ = 0;
  bool short_ = false;
};

}  // namespace budgetron::drift
