// Random Fourier features (Rahimi & Recht 2007; Lu et al. 2016, Sec. 4.1): z(x) = (sin(u_1'x) .. sin(u_D'x), cos(u_1'x)
// .. cos(u_D'x)) / sqrt(D), with frequencies u_i drawn from the spectral density of the kernel.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "features/feature_map.hpp"
#include "features/frequencies.hpp"
#include "simd/aligned.hpp"
#include "simd/loops.hpp"
#include "support/row_block.hpp"

namespace budgetron {

// A cache has the frequencies u_ij of columns seen so far, each column contiguous. A row of the other precision is
// first converted, as if it had been passed in this one.
//
// If the columns of a sparse row no longer fit in the cache, it is emptied first: frequencies are a function of the
// column, so they can be drawn again. A dense row needs all columns, and then all are kept.
//
// The state is the list of columns in the cache. A restored map draws their frequencies on first use.
template <class T>
class Fourier final : public FeatureMap {
 public:
  Fourier(std::size_t features, std::shared_ptr<Frequencies> frequencies, std::size_t cache_bytes)
      : features_(features),
        D_(frequencies->components()),
        stride_((D_ + single_lanes - 1) / single_lanes * single_lanes),
        most_(cache_bytes / (stride_ * sizeof(T))),
        frequencies_(std::move(frequencies)) {}

  std::size_t size() const override { return 2 * D_; }
  double squared_norm(const Row&, Vector) const override { return 1; }

  void begin() override { frequencies_->begin(); }

  void prepare(const Stretch& rows) override {
    for (std::size_t i = 0; i < rows.size(); ++i) std::visit([&](const auto& row) { see(row); }, rows[i]);
  }

  // New columns are appended. Only the first dense row, and emptying the cache, change the order.
  void begin_preparing() override {
    known_before_ = columns();
    places_before_.reset();
  }
  void forget_prepared() override {
    if (places_before_) {
      places_ = *std::exchange(places_before_, std::nullopt);
      all_ = false;
      drawn_ = false;  // must be drawn again in the old order
    }
    std::erase_if(places_, [&](const auto& column) { return column.second >= known_before_; });
    if (drawn()) U_.resize(columns() * stride_);
  }

  void transform(const Stretch& rows, std::span<double> Z) const override {
    begin_transform(rows, Z);
    for (std::size_t i = 0; i < rows.size(); ++i) finish_transform(Z.subspan(i * size(), size()));
  }
  // Writes the angles where the cosines will be, if they fit there; otherwise they are turned at once.
  void begin_transform(const Stretch& rows, std::span<double> Z) const override {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!std::visit([&](const auto& row) { return drawn_for(row) && known(row); }, rows[i])) {
        Fourier aside(features_, frequencies_, std::numeric_limits<std::size_t>::max());
        aside.known_ = this;
        aside.prepare(rows);
        return aside.begin_transform(rows, Z);
      }
    const auto fill = [&](T* angles, std::size_t stride) {
      std::visit([&](const auto& view) { multiply(view, rows, angles, stride); }, rows.rows.view());
    };
    if constexpr (std::is_same_v<T, double>)
      if (angles_fit()) return fill(Z.data() + D_, size());
    const auto angles = std::make_unique_for_overwrite<T[]>(rows.size() * stride_);
    fill(angles.get(), stride_);
    for (std::size_t i = 0; i < rows.size(); ++i) turn(angles.get() + i * stride_, Z.data() + i * size());
  }
  void finish_transform(std::span<double> z) const override {
    if constexpr (std::is_same_v<T, double>)
      if (angles_fit()) turn(z.data() + D_, z.data());
  }

  std::vector<double> frequencies(std::size_t columns) const override {
    std::vector<double> U;
    std::vector<T> u(stride_);
    for (std::size_t j = 0; j < columns; ++j) {
      draw(j, u.data());
      U.insert(U.end(), u.begin(), u.begin() + static_cast<std::ptrdiff_t>(D_));
    }
    return U;
  }

  std::size_t members() const override { return frequencies_->redraws() ? D_ : 0; }
  void redraw(std::size_t member, std::size_t near) override {
    frequencies_->redraw(member, near, features_);
    if (!drawn()) return;
    const auto store = [&](std::size_t j, std::size_t place) {
      U_[place * stride_ + member] = stored(frequencies_->entry(member, j));
    };
    for (const auto& [j, place] : places_) store(j, place);
    if (all_)
      for (std::size_t j = 0; j < features_; ++j) store(j, j);
  }
  void redrawn_fields(Fields& io) override { frequencies_->redrawn_fields(io); }

  void widen(std::size_t columns) override {
    if (all_ && drawn() && columns > features_) {
      U_.resize(columns * stride_);
      for (std::size_t j = features_; j < columns; ++j) draw(j, U_.data() + j * stride_);
    }
    features_ = columns;
  }

  // Saves the columns seen, in order; their frequencies are drawn again.
  void fields(Fields& io) override {
    io.scratch(sizeof *this + frequencies_->bytes() + (drawn() ? bytes_of(U_) : 0) +
               places_.size() * 4 * sizeof(std::size_t));
    Counter all = all_ ? 1 : 0;
    std::vector<Counter> columns(io.measuring() ? 0 : places_.size());
    if (!io.measuring())
      for (const auto& [j, place] : places_) columns[place] = j;
    io.field("fourier.all", all, {Merged::Most});
    io.field("fourier.columns", columns, {Merged::Joined});
    if (io.restoring()) restore(all, columns);
  }

  bool is_consistent(std::size_t) const override { return sound_ && frequencies_->is_consistent(); }

 private:
  using Matrix = std::vector<T, AlignedAllocator<T>>;

  void restore(Counter all, const std::vector<Counter>& columns) {
    sound_ = all == 0 || (all == 1 && columns.empty());
    all_ = all != 0;
    places_.clear();
    places_.reserve(columns.size());
    for (const Counter j : columns)
      sound_ = j < features_ && places_.emplace(static_cast<std::size_t>(j), places_.size()).second && sound_;
    drawn_ = !all_ && places_.empty();
    U_.clear();
  }

  // Whether the angles of a row, which are padded, fit where its cosines will be.
  bool angles_fit() const { return stride_ == D_; }
  // The number of columns seen.
  std::size_t columns() const { return all_ ? features_ : places_.size(); }
  bool all_columns() const { return columns() == features_; }
  bool in_order() const { return places_.empty(); }
  // Whether the frequencies of all columns seen have been drawn.
  bool drawn() const { return drawn_.load(std::memory_order_acquire); }

  // A dense row contains all columns; they are then stored in order.
  template <class V>
  void see(const DenseRow<V>&) {
    if (all_) return;
    Matrix U(features_ * stride_);
    for (std::size_t j = 0; j < features_; ++j) draw(j, U.data() + j * stride_);
    U_ = std::move(U);
    set_places_aside();
    all_ = drawn_ = true;
  }
  template <class V>
  void see(const SparseRow<V>& row) {
    if (all_columns()) return;
    std::size_t added = 0;
    row.each([&](std::size_t j, V) { added += places_.contains(j) ? 0 : 1; });
    if (added == 0) return;
    const bool overflows = columns() + added > std::max(most_, row.nonzeros);
    if (overflows) empty();
    if (drawn()) make_room(overflows ? row.nonzeros : columns() + added);
    row.each([&](std::size_t j, V) {
      if (places_.contains(j)) return;
      if (drawn()) {
        U_.resize((columns() + 1) * stride_);
        draw(j, U_.data() + columns() * stride_);
      }
      places_.emplace(j, places_.size());
    });
  }

  void empty() {
    set_places_aside();
    U_.clear();
    drawn_ = true;
  }
  // Empties places_; forget_prepared restores what it was at first.
  void set_places_aside() {
    if (!places_before_) places_before_ = std::move(places_);
    places_ = {};
  }
  // Memory for this many columns. It doubles, but no further than the cache may grow.
  void make_room(std::size_t columns) {
    const std::size_t held = U_.capacity() / stride_;
    if (columns > held) U_.reserve(std::max(columns, std::min(2 * held, most_)) * stride_);
  }

  template <class V>
  bool known(const DenseRow<V>&) const {
    return all_;
  }
  template <class V>
  bool known(const SparseRow<V>& row) const {
    bool all = true;
    if (!all_columns()) row.each([&](std::size_t j, V) { all = all && places_.contains(j); });
    return all;
  }

  // Draws the frequencies of all columns seen, if not done yet. For a sparse row this is skipped if there are very many
  // columns; returns false then.
  template <class AnyRow>
  bool drawn_for(const AnyRow&) const {
    constexpr std::size_t most = std::size_t{1} << 25;
    if (drawn()) return true;
    if (AnyRow::sparse && columns() > most / stride_) return false;
    Matrix U(columns() * stride_);
    for (const auto& [j, place] : places_) draw(j, U.data() + place * stride_);
    if (all_)
      for (std::size_t j = 0; j < features_; ++j) draw(j, U.data() + j * stride_);
    const std::lock_guard lock(guard_);  // if several threads predict at once, the first result is kept
    if (drawn()) return true;
    U_ = std::move(U);
    drawn_.store(true, std::memory_order_release);
    return true;
  }

  // The frequencies of column j, or null if they are not stored.
  const T* column(std::size_t j) const {
    if (!drawn()) return nullptr;
    if (all_) return U_.data() + j * stride_;
    const auto place = places_.find(j);
    return place == places_.end() ? nullptr : U_.data() + place->second * stride_;
  }

  void draw(std::size_t j, T* out) const {
    const Fourier& source = known_ == nullptr ? *this : *known_;
    if (const T* there = j < source.features_ ? source.column(j) : nullptr) {
      std::copy_n(there, stride_, out);
      return;
    }
    std::vector<double> u(D_);
    frequencies_->column(j, u);
    std::transform(u.begin(), u.end(), out, stored);
  }
  // An infinite frequency times 0 would be NaN.
  static T stored(double v) {
    constexpr double most = std::numeric_limits<T>::max();
    return static_cast<T>(std::clamp(v, -most, most));
  }

  // u_i'x for all components and rows: one product for dense rows, a sum over nonzeros for sparse rows.
  template <class V>
  void multiply(const DenseRows<V>& view, const Stretch& rows, T* angles, std::size_t stride) const {
    RowBlock<T> x;
    x.take(view, rows.first, rows.size());
    dot_product<T>().block(x.from(0), x.stride(), rows.size(), features_, U_.data(), stride_, stride_, angles, stride);
  }
  template <class V>
  void multiply(const SparseRows<V>&, const Stretch& rows, T* angles, std::size_t stride) const {
    std::vector<T> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = std::get<SparseRow<V>>(rows[i]);
      values.assign(row.values, row.values + row.nonzeros);
      T* const r = angles + i * stride;
      if (in_order())
        scatter(row.with(values.data()), [&](std::size_t j) { return U_.data() + j * stride_; }, r);
      else
        scatter(row.with(values.data()), [&](std::size_t j) { return U_.data() + places_.at(j) * stride_; }, r);
    }
  }

  // r = sum of x_j times the frequencies of column j, at(j).
  template <class At>
  void scatter(const SparseRow<T>& row, At at, T* r) const {
    std::vector<const T*> columns;
    columns.reserve(row.nonzeros);
    row.each([&](std::size_t j, T) { columns.push_back(at(j)); });
    if constexpr (std::is_same_v<T, float>)
      loops->scattered_single(row.values, row.indices, row.nonzeros, columns.data(), stride_, r);
    else
      loops->scattered_double(row.values, row.indices, row.nonzeros, columns.data(), stride_, r);
  }

  void turn(const float* angles, double* z) const {
    loops->sine_cosine_single(angles, 1 / std::sqrt(static_cast<float>(D_)), D_, z, z + D_);
  }
  void turn(const double* angles, double* z) const {
    loops->sine_cosine(angles, 1 / std::sqrt(static_cast<double>(D_)), D_, z, z + D_);
  }

  std::size_t features_, D_, stride_;
  std::size_t most_;  // columns of the cache, unless a row has more
  std::shared_ptr<Frequencies> frequencies_;
  const Fourier* known_ = nullptr;                       // source of columns that are already drawn
  bool all_ = false;                                     // all columns were seen and are stored in order
  std::unordered_map<std::size_t, std::size_t> places_;  // slot of each column, unless stored in order
  bool sound_ = true;                                    // the restored columns are valid
  mutable std::mutex guard_;
  mutable std::atomic<bool> drawn_ = true;
  mutable Matrix U_;              // columns() x stride_, if drawn
  std::size_t known_before_ = 0;  // number of columns at begin_preparing
  // places_ as they were since begin_preparing, before they were first replaced.
  std::optional<std::unordered_map<std::size_t, std::size_t>> places_before_;
};

}  // namespace budgetron
