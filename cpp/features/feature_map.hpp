// Explicit features z(x) in place of a kernel: z(x)'z(x') is k(x,x'), or close to it.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "input/rows.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// A stretch of rows.
struct Stretch {
  const Rows& rows;
  std::size_t first, last;

  std::size_t size() const { return last - first; }
  Row operator[](std::size_t i) const { return rows[first + i]; }
};

// A map that learns changes its coordinates: those from `at` on, as many as `removed`, give way to `added` new ones.
// A function w'z of the old coordinates is, or is best approximated by, one whose new weights are T times the weights
// that go (T is added x removed).
struct Change {
  std::size_t at = 0, removed = 0, added = 0;
  std::vector<double> T;

  // In place, on the weights of one function.
  void apply(std::vector<double>& w) const {
    const Vector gone = Vector(w).subspan(at, removed);
    std::vector<double> come(added);
    for (std::size_t i = 0; i < added && removed > 0; ++i) come[i] = dot(Vector(T).subspan(i * removed, removed), gone);
    replace_in(w, come);
  }

  // The stretch that goes, replaced by the numbers given.
  void replace_in(std::vector<double>& w, Vector come) const {
    assert(at + removed <= w.size() && come.size() == added);
    const auto begin = w.begin() + static_cast<std::ptrdiff_t>(at);
    w.insert(w.erase(begin, begin + static_cast<std::ptrdiff_t>(removed)), come.begin(), come.end());
  }
};

class FeatureMap : public Part {
 public:
  // How many features there are now.
  virtual std::size_t size() const = 0;
  // z(x) of every row, one after the other.
  virtual void transform(const Stretch& rows, std::span<double> Z) const = 0;
  // |z|^2, where a row that is learned is part of the space.
  virtual double squared_norm(const Row&, Vector z) const { return dot(z, z); }

  // A new map makes at once what its first row would need; a restored one waits for that row.
  virtual void begin() {}
  // Rows that are learned from: what they need is made ready, and kept.
  virtual void prepare(const Stretch&) {}
  // What was made ready since `begin_preparing` is forgotten: the map is what it was then.
  virtual void begin_preparing() {}
  virtual void forget_prepared() {}
  // Whether the map still learns from the rows. If so, it is told of every one, before the weights take their step
  // (`steps` says whether there is one) and after; what it changes in its coordinates goes into changes.
  virtual bool learns() const { return false; }
  virtual void before_step(const Row&, bool /*steps*/, std::vector<Change>&) {}
  virtual void after_step(std::vector<Change>&) {}
  // No more rows will come: the coordinates are what they will be.
  virtual void settle(std::vector<Change>&) {}

  // The points that the map is made of, where there are any, as rows of dense numbers; and what is to be multiplied
  // with their kernel row to make z, size() x landmarks().
  virtual std::size_t landmarks() const { return 0; }
  virtual void landmark(std::size_t, std::span<double>) const {}
  virtual std::vector<double> from_kernel_row() const { return {}; }
};

// The inputs themselves, times a scale, and a constant 1 behind them where it is asked for.
class Identity final : public FeatureMap {
 public:
  Identity(std::size_t features, double scale, bool constant)
      : features_(features), scale_(scale), constant_(constant) {}

  std::size_t size() const override { return features_ + (constant_ ? 1 : 0); }
  void transform(const Stretch& rows, std::span<double> Z) const override {
    std::fill(Z.begin(), Z.end(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto z = Z.subspan(i * size(), size());
      std::visit(
          [&](const auto& row) { row.each([&](std::size_t j, auto v) { z[j] = scale_ * static_cast<double>(v); }); },
          rows[i]);
      if (constant_) z.back() = 1;
    }
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  std::size_t features_;
  double scale_;
  bool constant_;
};

// Maps side by side.
class Stack final : public FeatureMap {
 public:
  explicit Stack(std::vector<std::shared_ptr<FeatureMap>> maps) : maps_(std::move(maps)) {}

  std::size_t size() const override {
    std::size_t sum = 0;
    for (const auto& map : maps_) sum += map->size();
    return sum;
  }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    std::vector<double> part;
    std::size_t at = 0;
    for (const auto& map : maps_) {
      const std::size_t m = map->size();
      part.resize(rows.size() * m);
      map->transform(rows, part);
      for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(part.data() + i * m, m, Z.data() + i * size() + at);
      at += m;
    }
  }

  double squared_norm(const Row& x, Vector z) const override {
    double sum = 0;
    for (const auto& map : maps_) {
      sum += map->squared_norm(x, z.first(map->size()));
      z = z.subspan(map->size());
    }
    return sum;
  }

  void begin() override {
    for (const auto& map : maps_) map->begin();
  }
  void prepare(const Stretch& rows) override {
    for (const auto& map : maps_) map->prepare(rows);
  }
  void begin_preparing() override {
    for (const auto& map : maps_) map->begin_preparing();
  }
  void forget_prepared() override {
    for (const auto& map : maps_) map->forget_prepared();
  }
  bool learns() const override {
    return std::any_of(maps_.begin(), maps_.end(), [](const auto& map) { return map->learns(); });
  }
  void before_step(const Row& x, bool steps, std::vector<Change>& changes) override {
    each(changes, [&](FeatureMap& map, std::vector<Change>& own) { map.before_step(x, steps, own); });
  }
  void after_step(std::vector<Change>& changes) override {
    each(changes, [](FeatureMap& map, std::vector<Change>& own) { map.after_step(own); });
  }
  void settle(std::vector<Change>& changes) override {
    each(changes, [](FeatureMap& map, std::vector<Change>& own) { map.settle(own); });
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(maps_));
    for (std::size_t i = 0; i < maps_.size(); ++i) {
      Prefixed part(io, ("map." + std::to_string(i)).append("."));
      maps_[i]->fields(part);
    }
  }
  bool is_consistent(std::size_t) const override {
    return std::all_of(maps_.begin(), maps_.end(), [](const auto& map) { return map->is_consistent(map->size()); });
  }

 private:
  // Tells every map, and moves what it changes to where its coordinates stand.
  template <class Tell>
  void each(std::vector<Change>& changes, Tell tell) {
    std::size_t at = 0;
    for (const auto& map : maps_) {
      std::vector<Change> own;
      if (map->learns()) tell(*map, own);
      for (Change& change : own) {
        change.at += at;
        changes.push_back(std::move(change));
      }
      at += map->size();
    }
  }

  std::vector<std::shared_ptr<FeatureMap>> maps_;
};

}  // namespace budgetron
