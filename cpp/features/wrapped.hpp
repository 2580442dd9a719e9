// Maps around other maps: one that several learners share, and one whose columns are hashed first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "features/feature_map.hpp"
#include "input/rows.hpp"
#include "state/fields.hpp"
#include "state/threads.hpp"

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
  std::size_t rows_to_exchange() const override { return map_->rows_to_exchange(); }
  void count_use(const Lesson& lesson, std::size_t at) override { map_->count_use(lesson, at); }
  void exchange(std::vector<Change>& changes) override { map_->exchange(changes); }
  const std::shared_ptr<FeatureMap>& inner() const { return map_; }

 protected:
  explicit WrappedMap(std::shared_ptr<FeatureMap> map) : map_(std::move(map)) {}
  std::shared_ptr<FeatureMap> map_;
};

// Remembers the features of the last view of rows, stretch by stretch, so that learners that share the map share its
// work. The map must not learn. Each thread of the pool has its own last view: one thread scores a piece of rows with
// all learners, and another thread must not make it forget.
class SharedMap final : public WrappedMap {
 public:
  explicit SharedMap(std::shared_ptr<FeatureMap> map) : WrappedMap(std::move(map)) {}
  void add_learner() { ++learners_; }
  const void* shared_work() const override { return this; }

  // Each learner measures its share.
  void fields(Fields& io) override {
    if (!io.measuring()) return WrappedMap::fields(io);
    Measure all;
    WrappedMap::fields(all);
    const std::lock_guard lock(guard_);
    for (const View& view : views_)
      for (const Known& known : view.known) all.scratch(sizeof known + bytes_of(known.Z));
    io.scratch(all.bytes / std::max<std::size_t>(learners_, 1));
  }

  double squared_norm(const Row& x, Vector z) const override { return map_->squared_norm(x, z); }
  void prepare(const Stretch& rows) override { map_->prepare(rows); }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    {
      const std::lock_guard lock(guard_);
      const View& last = own_view();
      for (const Known& known : last.known)
        if (last.id == rows.rows.id() && known.first == rows.first && known.last == rows.last) {
          std::copy(known.Z.begin(), known.Z.end(), Z.begin());
          return;
        }
    }
    map_->transform(rows, Z);
    if (rows.rows.size() > most_rows) return;
    const std::lock_guard lock(guard_);
    View& last = own_view();
    if (last.id != rows.rows.id()) last.known.clear();
    last.id = rows.rows.id();
    last.known.push_back({rows.first, rows.last, {Z.begin(), Z.end()}});
  }

 private:
  struct Known {
    std::size_t first, last;
    std::vector<double> Z;
  };
  struct View {
    std::uint64_t id = 0;  // 0 is none
    std::vector<Known> known;
  };
  // Of this thread; the lock is held.
  View& own_view() const {
    if (views_.size() <= Threads::seat()) views_.resize(Threads::seat() + 1);
    return views_[Threads::seat()];
  }
  static constexpr std::size_t most_rows = 64;  // of a view that is remembered: those of a stack are blocks

  std::size_t learners_ = 0;
  mutable std::mutex guard_;
  mutable std::vector<View> views_;
};

// A budget for features: members of little use are drawn anew (model/recruiting.hpp). Their weights start at 0.
class RecruitedMap final : public WrappedMap {
 public:
  RecruitedMap(std::shared_ptr<FeatureMap> map, Recruiting recruiting)
      : WrappedMap(std::move(map)), recruiting_(std::move(recruiting)) {}

  void begin() override {
    WrappedMap::begin();
    recruiting_.begin();
  }
  void transform(const Stretch& rows, std::span<double> Z) const override { map_->transform(rows, Z); }
  void begin_transform(const Stretch& rows, std::span<double> Z) const override { map_->begin_transform(rows, Z); }
  void finish_transform(std::span<double> z) const override { map_->finish_transform(z); }
  double squared_norm(const Row& x, Vector z) const override { return map_->squared_norm(x, z); }
  void prepare(const Stretch& rows) override { map_->prepare(rows); }
  std::vector<double> frequencies(std::size_t columns) const override { return map_->frequencies(columns); }

  std::size_t rows_to_exchange() const override { return recruiting_.rows_to_exchange(); }
  void count_use(const Lesson& lesson, std::size_t at) override {
    const std::size_t D = map_->members();
    for (std::size_t i = 0; i < recruiting_.size(); ++i) {
      const std::size_t sine = at + i, cosine = at + D + i;
      double use = 0;
      for (std::size_t c = 0; c < lesson.w.size(); ++c) {
        const std::vector<double>& w = lesson.w[c];
        const double m = (w[sine] * lesson.z[sine] + w[cosine] * lesson.z[cosine]) / lesson.divisor;
        use += m * lesson.residuals.r[c] + lesson.residuals.h / 2 * m * m;
      }
      recruiting_.count_use(i, use);
    }
  }
  void exchange(std::vector<Change>& changes) override {
    recruiting_.end_row([&](std::size_t leaves, std::size_t near) {
      map_->redraw(leaves, near);
      changes.push_back({leaves, 1, 1, {0}});
      changes.push_back({map_->members() + leaves, 1, 1, {0}});
    });
  }

  void fields(Fields& io) override {
    recruiting_.fields(io);
    map_->redrawn_fields(io);
    WrappedMap::fields(io);  // a restored map draws with what was drawn anew
  }
  bool is_consistent(std::size_t m) const override {
    return recruiting_.is_consistent() && WrappedMap::is_consistent(m);
  }

 private:
  Recruiting recruiting_;
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
