// Random Fourier features (Rahimi & Recht 2007; Lu et al. 2016, Sec. 4.1): z(x) = (sin(u_1'x) .. sin(u_D'x), cos(u_1'x)
// .. cos(u_D'x)) / sqrt(D), with frequencies u_i drawn from the spectral density of the kernel.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "features/feature_map.hpp"
#include "features/frequencies.hpp"
#include "simd/loops.hpp"
#include "support/row_block.hpp"

namespace budgetron {

// Stores the frequencies u_ij of the columns seen so far, each column contiguous. Memory grows with the columns seen,
// not with the number of columns. A row of the other precision is first converted, as if it had been passed in this
// one.
//
// The state is the list of columns seen. A restored map draws their frequencies on first use.
template <class T>
class Fourier final : public FeatureMap {
 public:
  Fourier(std::size_t features, std::shared_ptr<const Frequencies> frequencies)
      : features_(features),
        D_(frequencies->components()),
        stride_((D_ + single_lanes - 1) / single_lanes * single_lanes),
        frequencies_(std::move(frequencies)) {}

  std::size_t size() const override { return 2 * D_; }
  double squared_norm(const Row&, Vector) const override { return 1; }

  void begin() override { frequencies_->begin(); }

  void prepare(const Stretch& rows) override {
    for (std::size_t i = 0; i < rows.size(); ++i) std::visit([&](const auto& row) { see(row); }, rows[i]);
  }

  // New columns are appended; only the first dense row changes the order.
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
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!std::visit([&](const auto& row) { return drawn_for(row) && known(row); }, rows[i])) {
        Fourier aside(features_, frequencies_);
        aside.known_ = this;
        aside.prepare(rows);
        return aside.transform(rows, Z);
      }
    std::vector<T> angles(rows.size() * stride_);
    std::visit([&](const auto& view) { multiply(view, rows, angles); }, rows.rows.view());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto z = Z.subspan(i * size(), size());
      turn(angles.data() + i * stride_, z.data());
    }
  }

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
    io.field("fourier.all", all);
    io.field("fourier.columns", columns);
    if (io.restoring()) restore(all, columns);
  }

  bool is_consistent(std::size_t) const override { return sound_; }

 private:
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
    std::vector<T> U(features_ * stride_);
    for (std::size_t j = 0; j < features_; ++j) draw(j, U.data() + j * stride_);
    U_ = std::move(U);
    places_before_ = std::exchange(places_, {});
    all_ = drawn_ = true;
  }
  template <class V>
  void see(const SparseRow<V>& row) {
    if (all_columns()) return;
    row.each([&](std::size_t j, V) {
      if (places_.contains(j)) return;
      if (drawn()) {
        U_.resize((columns() + 1) * stride_);
        draw(j, U_.data() + columns() * stride_);
      }
      places_.emplace(j, places_.size());
    });
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
    std::vector<T> U(columns() * stride_);
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
    std::transform(u.begin(), u.end(), out, [](double v) { return static_cast<T>(v); });
  }

  // u_i'x for all components and rows: one product for dense rows, a sum over nonzeros for sparse rows.
  template <class V>
  void multiply(const DenseRows<V>& view, const Stretch& rows, std::span<T> angles) const {
    RowBlock<T> x;
    x.take(view, rows.first, rows.size());
    dot_product<T>().block(x.from(0), x.stride(), rows.size(), features_, U_.data(), stride_, stride_, angles.data(),
                           stride_);
  }
  template <class V>
  void multiply(const SparseRows<V>&, const Stretch& rows, std::span<T> angles) const {
    std::vector<T> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = std::get<SparseRow<V>>(rows[i]);
      values.assign(row.values, row.values + row.nonzeros);
      const auto r = angles.subspan(i * stride_, stride_);
      if (in_order())
        dot_product<T>().sparse(values.data(), row.indices, row.nonzeros, U_.data(), stride_, stride_, r.data(),
                                r.data());
      else
        add_up(row.with(values.data()), r);
    }
  }

  // The same for columns stored in order of appearance. Float sums restart after each run of columns.
  void add_up(const SparseRow<T>& row, std::span<T> r) const {
    constexpr bool single = std::is_same_v<T, float>;
    std::vector<T> sums(stride_);
    std::fill(r.begin(), r.end(), T{0});
    for (std::size_t i = 0; i < row.nonzeros; ++i) {
      const auto j = static_cast<std::size_t>(row.indices[i]);
      const T* const u = U_.data() + places_.at(j) * stride_;
      if constexpr (single)
        loops->add_single(row.values[i], u, sums.data(), stride_);
      else
        loops->add(row.values[i], u, r.data(), stride_);
      const bool run_ends =
          i + 1 == row.nonzeros || static_cast<std::size_t>(row.indices[i + 1]) / single_run > j / single_run;
      if (single && run_ends) {
        std::transform(r.begin(), r.end(), sums.begin(), r.begin(), std::plus<>());
        std::fill(sums.begin(), sums.end(), T{0});
      }
    }
  }

  void turn(const float* angles, double* z) const {
    loops->sine_cosine_single(angles, 1 / std::sqrt(static_cast<float>(D_)), D_, z, z + D_);
  }
  void turn(const double* angles, double* z) const {
    loops->sine_cosine(angles, 1 / std::sqrt(static_cast<double>(D_)), D_, z, z + D_);
  }

  std::size_t features_, D_, stride_;
  std::shared_ptr<const Frequencies> frequencies_;
  const Fourier* known_ = nullptr;                       // source of columns that are already drawn
  bool all_ = false;                                     // all columns were seen and are stored in order
  std::unordered_map<std::size_t, std::size_t> places_;  // slot of each column, unless stored in order
  bool sound_ = true;                                    // the restored columns are valid
  mutable std::mutex guard_;
  mutable std::atomic<bool> drawn_ = true;
  mutable std::vector<T> U_;      // columns() x stride_, if drawn
  std::size_t known_before_ = 0;  // number of columns at begin_preparing
  // places_ at begin_preparing, if a dense row has replaced it since.
  std::optional<std::unordered_map<std::size_t, std::size_t>> places_before_;
};

}  // namespace budgetron
