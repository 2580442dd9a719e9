// Maps around other maps: one that several learners share, one that shares its features, and one whose columns are
// hashed first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "features/feature_map.hpp"
#include "input/rows.hpp"
#include "state/fields.hpp"

namespace budgetron {

// A map that passes everything on to another.
class WrappedMap : public FeatureMap {
 public:
  std::size_t size() const override { return map_->size(); }
  std::size_t inputs() const override { return map_->inputs(); }
  void widen(std::size_t columns) override { map_->widen(columns); }
  std::size_t tail() const override { return map_->tail(); }
  std::size_t per_column() const override { return map_->per_column(); }
  void begin() override { map_->begin(); }
  void fields(Fields& io) override {
    io.scratch(sizeof *this);
    map_->fields(io);
  }
  bool is_consistent(std::size_t m) const override { return map_->is_consistent(m); }
  void begin_preparing() override { map_->begin_preparing(); }
  void forget_prepared() override { map_->forget_prepared(); }
  const std::shared_ptr<FeatureMap>& inner() const { return map_; }

 protected:
  explicit WrappedMap(std::shared_ptr<FeatureMap> map) : map_(std::move(map)) {}
  std::shared_ptr<FeatureMap> map_;
};

// Remembers the features of the last view of rows, stretch by stretch, so that learners that share the map share its
// work. The map must not learn.
class SharedMap final : public WrappedMap {
 public:
  explicit SharedMap(std::shared_ptr<FeatureMap> map) : WrappedMap(std::move(map)) {}
  void add_learner() { ++learners_; }

  // Each learner measures its share.
  void fields(Fields& io) override {
    if (!io.measuring()) return WrappedMap::fields(io);
    Measure all;
    WrappedMap::fields(all);
    for (const Known& known : known_) all.scratch(sizeof known + bytes_of(known.Z));
    io.scratch(all.bytes / std::max<std::size_t>(learners_, 1));
  }

  double squared_norm(const Row& x, Vector z) const override { return map_->squared_norm(x, z); }
  void prepare(const Stretch& rows) override { map_->prepare(rows); }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    {
      const std::lock_guard lock(guard_);
      for (const Known& known : known_)
        if (view_ == rows.rows.id() && known.first == rows.first && known.last == rows.last) {
          std::copy(known.Z.begin(), known.Z.end(), Z.begin());
          return;
        }
    }
    map_->transform(rows, Z);
    if (rows.rows.size() > most_rows) return;
    const std::lock_guard lock(guard_);
    if (view_ != rows.rows.id()) known_.clear();
    view_ = rows.rows.id();
    known_.push_back({rows.first, rows.last, {Z.begin(), Z.end()}});
  }

 private:
  struct Known {
    std::size_t first, last;
    std::vector<double> Z;
  };
  static constexpr std::size_t most_rows = 64;  // of a view that is remembered: those of a stack are blocks

  std::size_t learners_ = 0;
  mutable std::mutex guard_;
  mutable std::uint64_t view_ = 0;  // that known_ belongs to; 0 is none
  mutable std::vector<Known> known_;
};

// Dense rows with their features, for equal maps of models that learn the same rows one model after the other. Rows are
// compared number by number, so it does not matter where they are, or which model scaled them. One thread at a time.
class RememberedFeatures {
 public:
  // The rows so far will not come again. Their memory is used for others.
  void forget() { used_ = next_ = bytes_ = 0; }

  // What the models would have taken alone, in processor time, beyond what they took.
  double seconds_saved() const { return seconds_saved_; }

  // Z = the features of these rows: copied, or else computed by `transform` and remembered.
  template <class Transform>
  void find(const Stretch& rows, std::span<double> Z, Transform transform) {
    const double began = processor_time();
    double cost = 0;
    take_numbers(rows);
    if (const Known* known = look(Z.size())) {
      std::copy(known->Z.begin(), known->Z.end(), Z.begin());
      cost = known->cost;
    } else {
      const double before = processor_time();
      transform();
      cost = processor_time() - before;
      remember(Z, cost);
    }
    seconds_saved_ += cost - (processor_time() - began);
  }

 private:
  struct Known {
    std::vector<double> X, Z;
    double cost;
  };
  static constexpr std::size_t most_bytes = 64 << 20;

  void take_numbers(const Stretch& rows) {
    X_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::visit([&](const auto& row) { X_.insert(X_.end(), row.values, row.values + row.size()); }, rows[i]);
  }
  // The place after the last one found is looked at first: the next rows are there.
  const Known* look(std::size_t features) {
    for (std::size_t looked = 0; looked < used_; ++looked) {
      const Known& known = known_[next_++ % used_];
      if (known.Z.size() == features && same_bits(known.X, X_)) return &known;
    }
    return nullptr;
  }
  void remember(Vector Z, double cost) {
    bytes_ += (X_.size() + Z.size()) * sizeof(double);
    if (bytes_ > most_bytes) return;
    if (used_ == known_.size()) known_.emplace_back();
    Known& known = known_[used_++];
    known.X = X_;
    known.Z.assign(Z.begin(), Z.end());
    known.cost = cost;
  }
  static bool same_bits(Vector a, Vector b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }
  // Of this thread; where systems have none, the time that passes.
  static double processor_time() {
#ifdef CLOCK_THREAD_CPUTIME_ID
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
  }

  std::vector<Known> known_;
  std::size_t used_ = 0, next_ = 0;  // of known_: the number in use, and where the next look begins
  std::size_t bytes_ = 0;
  std::vector<double> X_;  // of the rows in question
  double seconds_saved_ = 0;
};

// The map of one model, which shares the features of dense rows with equal maps. It must not learn.
class RememberingMap final : public WrappedMap {
 public:
  RememberingMap(std::shared_ptr<FeatureMap> map, std::shared_ptr<RememberedFeatures> remembered)
      : WrappedMap(std::move(map)), remembered_(std::move(remembered)) {}

  void fields(Fields& io) override { map_->fields(io); }  // a model has the size that it has alone
  double squared_norm(const Row& x, Vector z) const override { return map_->squared_norm(x, z); }
  void prepare(const Stretch& rows) override { map_->prepare(rows); }
  void transform(const Stretch& rows, std::span<double> Z) const override {
    if (rows.rows.sparse()) return map_->transform(rows, Z);
    remembered_->find(rows, Z, [&] { map_->transform(rows, Z); });
  }

 private:
  std::shared_ptr<RememberedFeatures> remembered_;
};

// Columns are added up in fewer ones, with random signs (Weinberger et al. 2009), before they reach the map. Inner
// products are kept on average.
class HashedMap final : public WrappedMap {
 public:
  HashedMap(std::shared_ptr<FeatureMap> map, std::size_t columns) : WrappedMap(std::move(map)), columns_(columns) {}

  void widen(std::size_t) override {}  // new columns are hashed into the same ones
  std::size_t per_column() const override { return 0; }
  double squared_norm(const Row&, Vector z) const override { return dot(z, z); }
  // Hashed rows are dense, so one row prepares the map for all.
  void prepare(const Stretch&) override {
    const std::vector<double> zeros(columns_);
    const Rows row(DenseRows<double>{zeros.data(), 1, columns_});
    map_->prepare({row, 0, 1});
  }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    std::vector<double> X(rows.size() * columns_);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::visit(
          [&](const auto& row) {
            row.each([&](std::size_t j, auto v) {
              const Place place = place_of(j);
              X[i * columns_ + place.column] += place.negative ? -static_cast<double>(v) : static_cast<double>(v);
            });
          },
          rows[i]);
    const Rows hashed(DenseRows<double>{X.data(), rows.size(), columns_});
    map_->transform({hashed, 0, rows.size()}, Z);
  }

  // Where a column is added, and whether its sign changes.
  struct Place {
    std::size_t column;
    bool negative;
  };
  Place place_of(std::size_t j) const {
    const std::uint64_t h = mixed(j);
    return {static_cast<std::size_t>(h % columns_), h >> 63 != 0};
  }
  std::size_t columns() const { return columns_; }

 private:
  // The finaliser of SplitMix64 (Steele et al. 2014).
  static std::uint64_t mixed(std::uint64_t v) {
    v += 0x9E3779B97F4A7C15u;
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9u;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBu;
    return v ^ (v >> 31);
  }

  std::size_t columns_;
};

}  // namespace budgetron
