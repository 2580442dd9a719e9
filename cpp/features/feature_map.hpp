// Explicit features z(x) instead of a kernel: z(x)'z(x') equals or approximates k(x,x').
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "input/rows.hpp"
#include "model/recruiting.hpp"
#include "model/tasks.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// Rows first .. last of a batch.
struct Stretch {
  const Rows& rows;
  std::size_t first, last;

  std::size_t size() const { return last - first; }
  Row operator[](std::size_t i) const { return rows[first + i]; }
};

// A change of the coordinates of a map that learns: `removed` coordinates from `at` on are replaced by `added` new
// ones. A function w'z keeps its values, or is best approximated, if its new weights are T times the removed ones (T is
// added x removed).
struct Change {
  std::size_t at = 0, removed = 0, added = 0;
  std::vector<double> T;

  // Applies the change to the weights of one function.
  void apply(std::vector<double>& w) const {
    const Vector gone = Vector(w).subspan(at, removed);
    std::vector<double> come(added);
    for (std::size_t i = 0; i < added && removed > 0; ++i) come[i] = dot(Vector(T).subspan(i * removed, removed), gone);
    replace_in(w, come);
  }

  // Replaces the removed entries by the given numbers.
  void replace_in(std::vector<double>& w, Vector come) const {
    assert(at + removed <= w.size() && come.size() == added);
    const auto begin = w.begin() + static_cast<std::ptrdiff_t>(at);
    w.insert(w.erase(begin, begin + static_cast<std::ptrdiff_t>(removed)), come.begin(), come.end());
  }
};

// Appends numbers to every row that is in use.
inline void append_to(std::vector<std::vector<double>>& rows, std::size_t added, double value = 0) {
  for (auto& row : rows)
    if (!row.empty()) row.resize(row.size() + added, value);
}

// State of a rule, one row for every output, for more outputs. Both of two classes start with the state that they
// shared, as if they had been two of several; new classes have a fresh row.
template <class State>
void copy_outputs(std::vector<State>& rows, std::size_t outputs, const State& fresh) {
  const bool splits = rows.size() == 1 && outputs > 1;
  rows.resize(std::max(outputs, rows.size()), fresh);
  if (splits) rows[1] = rows[0];
}

// A row that is about to be learned: its features z, the weights w_c of every output and their divisor, and what the
// scores are off.
struct Lesson {
  Vector z;
  const std::vector<std::vector<double>>& w;
  double divisor;
  const Residuals& residuals;
};

// A step beta v z of a scalar rule that is about to be taken: w_c += beta v_c z.
struct Followed {
  Vector z;
  const std::vector<std::vector<double>>& w;
  double divisor;
  Direction v;
  double beta;
};

class FeatureMap : public Part {
 public:
  // The current number of features.
  virtual std::size_t size() const = 0;
  // More columns, which were 0 so far. Features of new columns are appended, column by column; nothing happens if there
  // are as many columns already.
  virtual void widen(std::size_t columns) = 0;
  // The number of features that were appended, and how many a column appends.
  virtual std::size_t tail() const { return 0; }
  virtual std::size_t per_column() const { return 0; }
  // How many of the last features are inputs themselves: as many as columns, where others do not grow with them.
  virtual std::size_t inputs() const { return 0; }
  // z(x) of every row, concatenated.
  virtual void transform(const Stretch& rows, std::span<double> Z) const = 0;
  // The same in two steps, for rows that are used one after the other: what is best done for all rows at once, then the
  // rest of each row, whose features are still in the first-level cache when they are used.
  virtual void begin_transform(const Stretch& rows, std::span<double> Z) const { transform(rows, Z); }
  virtual void finish_transform(std::span<double> /*z*/) const {}
  // |z|^2, or k(x,x) while learning a row adds it to the space.
  virtual double squared_norm(const Row&, Vector z) const { return dot(z, z); }

  // A new map allocates here what its first row needs; a restored map waits for that row.
  virtual void begin() {}
  // Prepares the map for rows that will be learned, and keeps the result.
  virtual void prepare(const Stretch&) {}
  // forget_prepared undoes all `prepare` calls since begin_preparing.
  virtual void begin_preparing() {}
  virtual void forget_prepared() {}
  // Whether the map still learns from the rows. If so, before_step and after_step are called for every row, around the
  // step of the weights (`steps` says whether there is one). They append changes of coordinates to `changes`.
  virtual bool learns() const { return false; }
  virtual void before_step(const Row&, bool /*steps*/, std::vector<Change>&) {}
  virtual void after_step(std::vector<Change>&) {}
  // A map that learns is told of steps along z before before_step, with the place of its features in z.
  virtual void follow(const Row&, const Followed&, std::size_t /*at*/) {}
  // The map itself, if it remembers work for several learners.
  virtual const void* shared_work() const { return nullptr; }
  // Fixes the coordinates; no more rows will be learned by the map.
  virtual void settle(std::vector<Change>&) {}

  // Members that can be drawn anew, near another one or, if both are the same, near none. Member i has the features i
  // and members() + i.
  virtual std::size_t members() const { return 0; }
  virtual void redraw(std::size_t /*member*/, std::size_t /*near*/) {}
  virtual void redrawn_fields(Fields&) {}
  // Whether members of little use are drawn anew while rows are learned, and how many rows are learned before this may
  // happen. Then count_use is called for every row before its step, with the place of the map's features in z, and
  // `exchange` after it.
  bool recruits() const { return rows_to_exchange() != never; }
  virtual std::size_t rows_to_exchange() const { return never; }
  virtual void count_use(const Lesson&, std::size_t /*at*/) {}
  virtual void exchange(std::vector<Change>&) {}
  static constexpr auto never = std::numeric_limits<std::size_t>::max();

  // The landmarks of the map, if any, as dense rows, and the matrix A (size() x landmarks()) with z = A k(x).
  virtual std::size_t landmarks() const { return 0; }
  virtual void landmark(std::size_t, std::span<double>) const {}
  virtual std::vector<double> from_kernel_row() const { return {}; }
  // The frequencies of the first columns, columns x components, of a Fourier map; empty for other maps.
  virtual std::vector<double> frequencies(std::size_t /*columns*/) const { return {}; }
};

// The input, scaled, with an optional constant 1 appended.
class Identity final : public FeatureMap {
 public:
  Identity(std::size_t features, double scale, bool constant)
      : first_(features), features_(features), scale_(scale), constant_(constant) {}

  std::size_t size() const override { return features_ + (constant_ ? 1 : 0); }
  std::size_t inputs() const override { return size(); }
  void widen(std::size_t columns) override { features_ = columns; }
  std::size_t tail() const override { return features_ - first_; }
  std::size_t per_column() const override { return 1; }
  void transform(const Stretch& rows, std::span<double> Z) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto z = Z.subspan(i * size(), size());
      std::visit([&](const auto& row) { transform(row, z); }, rows[i]);
      if (constant_) z[first_] = 1;
    }
  }
  void fields(Fields& io) override { io.scratch(sizeof *this); }

 private:
  template <class OneRow>
  void transform(const OneRow& row, std::span<double> z) const {
    if constexpr (OneRow::sparse) {
      std::fill(z.begin(), z.end(), 0.0);
      row.each([&](std::size_t j, auto v) { z[place(j)] = scale_ * static_cast<double>(v); });
    } else {
      const auto scaled = [c = scale_](auto v) { return c * static_cast<double>(v); };
      const std::size_t head = std::min(first_, row.columns);
      const auto rest = std::transform(row.values, row.values + head, z.begin(), scaled);
      std::transform(row.values + head, row.values + row.columns, rest + (constant_ ? 1 : 0), scaled);
    }
  }
  // The constant is behind the first columns.
  std::size_t place(std::size_t j) const { return j < first_ || !constant_ ? j : j + 1; }

  std::size_t first_, features_;  // columns when it was built, and now
  double scale_;
  bool constant_;
};

// Concatenates the features of several maps.
class Stack final : public FeatureMap {
 public:
  explicit Stack(std::vector<std::shared_ptr<FeatureMap>> maps) : maps_(std::move(maps)) {}

  std::size_t size() const override { return total(&FeatureMap::size); }
  std::size_t inputs() const override { return maps_.back()->inputs(); }

  void widen(std::size_t columns) override {
    for (const auto& map : maps_) map->widen(columns);
  }
  std::size_t tail() const override { return total(&FeatureMap::tail); }
  std::size_t per_column() const override { return total(&FeatureMap::per_column); }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    std::vector<double> part;
    const std::size_t all = size();
    each_part([&](const FeatureMap& map, auto each_piece) {
      const std::size_t m = map.size();
      part.resize(rows.size() * m);
      map.transform(rows, part);
      each_piece([&](std::size_t from, std::size_t count, std::size_t to) {
        for (std::size_t i = 0; i < rows.size(); ++i)
          std::copy_n(part.data() + i * m + from, count, Z.data() + i * all + to);
      });
    });
  }

  double squared_norm(const Row& x, Vector z) const override {
    double sum = 0;
    std::vector<double> part;
    each_part([&](const FeatureMap& map, auto each_piece) {
      part.clear();
      each_piece([&](std::size_t, std::size_t count, std::size_t at) {
        if (map.tail() == 0)
          sum += map.squared_norm(x, z.subspan(at, count));
        else
          part.insert(part.end(), z.begin() + static_cast<std::ptrdiff_t>(at),
                      z.begin() + static_cast<std::ptrdiff_t>(at + count));
      });
      if (map.tail() > 0) sum += map.squared_norm(x, part);
    });
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
    each(changes, [&](FeatureMap& map, std::vector<Change>& own) {
      if (map.learns()) map.before_step(x, steps, own);
    });
  }
  void after_step(std::vector<Change>& changes) override {
    each(changes, [](FeatureMap& map, std::vector<Change>& own) {
      if (map.learns()) map.after_step(own);
    });
  }
  void follow(const Row& x, const Followed& step, std::size_t at) override {
    for (const auto& map : maps_) {
      const Followed own{step.z.subspan(at), step.w, step.divisor, step.v, step.beta};
      map->follow(x, own, at);
      at += map->size() - map->tail();
    }
  }
  void settle(std::vector<Change>& changes) override {
    each(changes, [](FeatureMap& map, std::vector<Change>& own) {
      if (map.learns()) map.settle(own);
    });
  }
  std::size_t rows_to_exchange() const override {
    std::size_t rows = never;
    for (const auto& map : maps_) rows = std::min(rows, map->rows_to_exchange());
    return rows;
  }
  void count_use(const Lesson& lesson, std::size_t at) override {
    for (const auto& map : maps_) {
      map->count_use(lesson, at);
      at += map->size() - map->tail();
    }
  }
  void exchange(std::vector<Change>& changes) override {
    each(changes, [](FeatureMap& map, std::vector<Change>& own) { map.exchange(own); });
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
  const std::vector<std::shared_ptr<FeatureMap>>& maps() const { return maps_; }

 private:
  // Calls tell for every map, and shifts its changes to its position in z.
  template <class Tell>
  void each(std::vector<Change>& changes, Tell tell) {
    std::size_t at = 0;
    for (const auto& map : maps_) {
      std::vector<Change> own;
      tell(*map, own);
      for (Change& change : own) {
        change.at += at;
        changes.push_back(std::move(change));
      }
      at += map->size() - map->tail();
    }
  }

  std::size_t total(std::size_t (FeatureMap::*count)() const) const {
    std::size_t sum = 0;
    for (const auto& map : maps_) sum += (map.get()->*count)();
    return sum;
  }

  // Calls use(map, each_piece) for every map. each_piece(copy) calls copy(from, count, to) for the pieces of the map's
  // features: those of its first columns, which are behind those of the maps before it, and those of every new column,
  // which are behind those of all maps.
  template <class Use>
  void each_part(Use use) const {
    std::size_t at = 0, in_tail = size() - tail();
    for (const auto& map : maps_) {
      const std::size_t count = map->per_column(), first = map->size() - map->tail();
      use(*map, [&](auto copy) {
        copy(0, first, at);
        for (std::size_t i = 0; i < map->tail(); i += count) copy(first + i, count, in_tail + i / count * per_column());
      });
      at += first;
      in_tail += count;
    }
  }

  std::vector<std::shared_ptr<FeatureMap>> maps_;
};

}  // namespace budgetron
