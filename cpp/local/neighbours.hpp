// A learner that stores the last rows, and predicts by the labels or targets of those nearest to a row.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "input/rows.hpp"
#include "linalg/limits.hpp"
#include "model/learner.hpp"
#include "simd/aligned.hpp"
#include "simd/loops.hpp"

namespace budgetron {

// With d_1 <= ... <= d_k the squared distances of the nearest rows, the later first on ties, h = d_k, and c_i the
// weight of the example:
//
//   labels:   v_i = c_i / (d_i/h + 0.1) / 2;   n_c = a + sum of v_i of class c;   L_c = log n_c/a
//             two classes: f = L_1 - L_0; more: f_c = L_c, so that n_c / (sum of n) is the probability of c
//   targets:  v_i = c_i / (d_i/h + 0.05);      f = sum v_i y_i / sum v_i
//
// with a = 0.5 / (classes when it was built), and d_i/h = 0 if h is. If two classes became more, the scores of the
// first two stay -f/2 and f/2, and the others are max(0, L_c - (L_0 + L_1)/2).
//
// If it shortens, only the newest rows are looked at: as many as `window`, a half or a quarter of it, whichever had the
// least error of late. The error of a length is e = (1 - n_y / (sum of n))^2, for targets (y - f)^2, and its mean m
// moves with every learned row: m += (e - m) / window. Of equals, the longest is taken.
class RecentNeighbours final : public Learner {
 public:
  // Further columns are not looked at.
  static constexpr std::size_t most_columns = 1024;
  // The number of neighbours whose distances make a row novel: about the root of a window of 1000, so that a few rows
  // of a new kind do not make it usual.
  static constexpr std::size_t recalled = 32;

  // `classes` is 0 for targets. If `raw`, distances are those of rows as they were before any scaling.
  RecentNeighbours(std::size_t window, std::size_t k, std::size_t columns, std::size_t classes, bool raw, bool shortens)
      : window_(window),
        k_(k),
        raw_(raw),
        columns_(std::min(columns, most_columns)),
        first_classes_(classes),
        classes_(classes),
        outputs_(classes > 2 ? classes : 1),
        errors_(shortens ? 3 : 1) {}

  std::size_t outputs() const override { return outputs_; }
  std::size_t size() const override { return stored_.size(); }
  bool accepts_missing() const override { return true; }
  void keep_average(double) override { throw std::invalid_argument("Neighbours has no f to average."); }

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) override {
    const Rows seen = seen_of(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double weight = weights.empty() ? 1 : weights[i];
      if (!moderate(y[i])) return i;
      read(seen[i], work_);
      if (weight != 0 && errors_.size() > 1)
        judge(coded(y[i]));
      else
        find(length(shortened()), work_);
      score(work_, scores.subspan(i * outputs_, outputs_));
      if (weight != 0) store(work_.row, {coded(y[i]), std::min(weight, largest), work_.missing});
    }
    return rows.size();
  }

  void scores(const Rows& rows, std::span<double> out) const override {
    Work work(k_);
    const Rows seen = seen_of(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      read(seen[i], work);
      find(length(shortened()), work);
      score(work, out.subspan(i * outputs_, outputs_));
    }
  }

  void widen(std::size_t features, std::size_t outputs) override {
    columns_ = std::min(features, most_columns);
    for (Tile& tile : tiles_) {
      tile.reserve(columns_ * rows_in_tile);
      tile.resize(columns_ * rows_in_tile);
    }
    if (outputs <= outputs_) return;
    if (first_classes_ == 2 && outputs_ == 1) first_ = {1, 1};
    if (!first_.empty()) first_.resize(outputs);
    outputs_ = classes_ = outputs;
  }

  // Rows are saved from the oldest, each as one piece, so a file does not depend on where the ring began.
  void fields(Fields& io) override {
    io.scratch(sizeof *this + tiles_.capacity() * sizeof(Tile) + bytes_of(stored_) + bytes_of(errors_) + work_.bytes());
    for (const Tile& tile : tiles_) io.scratch(bytes_of(tile));
    if (io.measuring()) return;
    std::vector<float> rows;
    std::vector<double> labels, weights;
    if (!io.restoring())
      for (std::size_t age = stored_.size(); age-- > 0;) {
        const std::size_t slot = slot_of(age);
        for (std::size_t j = 0; j < columns_; ++j) rows.push_back(value(slot, j));
        labels.push_back(stored_[slot].label);
        weights.push_back(stored_[slot].weight);
      }
    io.field("neighbours.rows", rows, {Merged::Own});
    io.field("neighbours.weights", weights, {Merged::Own});
    if (errors_.size() > 1) io.field("neighbours.errors", errors_, {Merged::Own});
    if (outputs_ == 1)
      io.field("neighbours.labels", labels, {Merged::Own, is_labelled() ? OfOutputs::Codes : OfOutputs::None});
    else
      label_fields(io, weights.size(), labels);
    if (!first_.empty()) io.field("neighbours.first", first_, {Merged::Own, OfOutputs::Rows});
    if (io.restoring()) sound_ = restore(rows, labels, weights);
  }

  // The rows that are looked at, from the newest: their numbers, classes or targets, and weights. For exports.
  std::size_t columns() const { return columns_; }
  std::vector<float> rows() const {
    std::vector<float> out;
    for (std::size_t age = 0; age < length(shortened()); ++age)
      for (std::size_t j = 0; j < columns_; ++j) out.push_back(value(slot_of(age), j));
    return out;
  }
  std::vector<double> labels() const { return stored(&Stored::label); }
  std::vector<double> weights() const { return stored(&Stored::weight); }
  // 1 for each of two first classes that became more, and 0 for the others; else empty.
  const std::vector<double>& first() const { return first_; }

  KeptRows kept_rows() const override {
    KeptRows kept{columns_, {}, raw_};
    for (std::size_t age = 0; age < std::min(stored_.size(), most_recalled); ++age)
      for (std::size_t j = 0; j < columns_; ++j) kept.values.push_back(value(slot_of(age), j));
    return kept;
  }
  Recollection recollection() const override { return Recollection::Rows; }
  // The mean distance to the nearest rows.
  void novelty(const Rows& rows, std::span<double> out) const override {
    Work work(recalled);
    const Rows seen = seen_of(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      read(seen[i], work);
      find(stored_.size(), work);
      out[i] = mean_distance(work);
    }
  }
  // Of a stored row to the nearest others.
  std::vector<double> usual_novelty() const override {
    Work work(recalled + 1);
    std::vector<double> usual;
    for (std::size_t age = 0; age < std::min(stored_.size(), most_recalled) && stored_.size() > 1; ++age) {
      const std::size_t slot = slot_of(age);
      work.row.resize(columns_);
      for (std::size_t j = 0; j < columns_; ++j) work.row[j] = value(slot, j);
      work.missing = stored_[slot].missing;
      find(stored_.size(), work);
      const auto itself = std::ranges::find(work.near, static_cast<std::uint32_t>(slot), &Near::slot);
      work.near.erase(itself == work.near.end() ? itself - 1 : itself);  // or as many others are equal to it
      usual.push_back(mean_distance(work));
    }
    return usual;
  }
  std::vector<Neighbour> nearest(const Rows& one, std::size_t most) const override {
    Work work(most);
    if (most == 0) return {};
    read(seen_of(one)[0], work);
    find(stored_.size(), work);
    std::vector<Neighbour> near;
    for (const Near& each : work.near) {
      near.push_back({std::sqrt(each.distance), std::vector<double>(columns_), {stored_[each.slot].label}, {}, raw_});
      for (std::size_t j = 0; j < columns_; ++j) near.back().row[j] = value(each.slot, j);
    }
    return near;
  }

  bool consistent() const override {
    const auto ones = static_cast<std::size_t>(std::count(first_.begin(), first_.end(), 1.0));
    return sound_ && std::ranges::all_of(errors_, [](double e) { return e >= 0 && std::isfinite(e); }) &&
           (errors_.size() == 3 || errors_.size() == 1) && (first_.empty() || (first_.size() == outputs_ && ones == 2));
  }

 private:
  using Tile = std::vector<float, AlignedAllocator<float>>;  // columns x rows_in_tile

  struct Stored {
    double label;  // the number of a class, or a target
    double weight;
    bool missing;  // whether the row has NaN
  };
  struct Near {
    float distance;
    std::uint32_t slot;
  };
  // What one row needs.
  struct Work {
    explicit Work(std::size_t k) : most(k) {}
    std::size_t most;  // how many neighbours are looked for
    std::vector<float> row;
    bool missing = false;
    std::vector<Near> near;  // from the nearest
    std::vector<Near> used;  // those of the length that is used
    std::vector<double> votes;

    Bytes bytes() const { return bytes_of(row) + bytes_of(near) + bytes_of(used) + bytes_of(votes); }
  };

  bool is_labelled() const { return classes_ > 0; }
  Rows seen_of(const Rows& rows) const { return raw_ ? rows.original() : rows; }
  double coded(double y) const { return classes_ != 2 ? y : y > 0 ? 1 : 0; }
  // The newest row has age 0.
  std::size_t slot_of(std::size_t age) const {
    return next_ > age ? next_ - 1 - age : next_ + stored_.size() - 1 - age;
  }
  float& value(std::size_t slot, std::size_t j) {
    return tiles_[slot / rows_in_tile][j * rows_in_tile + slot % rows_in_tile];
  }
  float value(std::size_t slot, std::size_t j) const {
    return tiles_[slot / rows_in_tile][j * rows_in_tile + slot % rows_in_tile];
  }
  std::vector<double> stored(double Stored::* number) const {
    std::vector<double> out;
    for (std::size_t age = 0; age < length(shortened()); ++age) out.push_back(stored_[slot_of(age)].*number);
    return out;
  }

  void score(Work& work, std::span<double> f) const {
    if (is_labelled())
      score_labels(work, f);
    else
      f[0] = mean_target(work.near);
  }

  // How often the window is halved.
  std::size_t shortened() const {
    return static_cast<std::size_t>(std::ranges::min_element(errors_) - errors_.begin());
  }
  std::size_t length(std::size_t halved) const { return std::min(((window_ - 1) >> halved) + 1, stored_.size()); }

  // Finds the rows nearest to work_.row, and counts the errors of all lengths.
  void judge(double y) {
    const std::size_t used = shortened();
    work_.near.clear();
    for (std::size_t halved = errors_.size(), from = 0; halved-- > 0; from = length(halved)) {
      find_ages(from, length(halved), work_);
      errors_[halved] += (error(work_.near, y) - errors_[halved]) / static_cast<double>(window_);
      if (halved == used) work_.used = work_.near;
    }
    work_.near.swap(work_.used);
  }
  double error(const std::vector<Near>& near, double y) const {
    if (!is_labelled()) return (y - mean_target(near)) * (y - mean_target(near));
    double all = 0.5 * static_cast<double>(classes_) / static_cast<double>(first_classes_),
           right = 0.5 / static_cast<double>(first_classes_);
    for (const Near& row : near) {
      const double v = stored_[row.slot].weight * vote(row, near.back().distance, 0.1) / 2;
      all += v;
      if (stored_[row.slot].label == y) right += v;
    }
    return (1 - right / all) * (1 - right / all);
  }

  // The row in single precision. Numbers are clipped where their squares could overflow.
  void read(const Row& row, Work& work) const {
    work.row.resize(columns_);
    work.missing = std::visit([&](const auto& x) { return copy(x, work.row); }, row);
  }
  template <class Kind>
  static bool copy(const Kind& x, std::span<float> out) {
    using T = std::remove_cvref_t<decltype(*x.values)>;
    constexpr T limit = 1e17f;
    bool missing = false;
    const auto put = [&](std::size_t j, T v) {
      out[j] = static_cast<float>(std::clamp(v, -limit, limit));
      missing = missing || v != v;
    };
    if constexpr (Kind::sparse) {
      std::fill(out.begin(), out.end(), 0.0f);
      x.each([&](std::size_t j, T v) {
        if (j < out.size()) put(j, v);
      });
    } else {
      assert(out.size() <= x.columns);
      for (std::size_t j = 0; j < out.size(); ++j) put(j, x.values[j]);
    }
    return missing;
  }

  // Among so many of the newest rows.
  void find(std::size_t newest, Work& work) const {
    work.near.clear();
    find_ages(0, newest, work);
  }
  // From the newest row to the oldest, so that near rows are met early on a stream that moves.
  void find_ages(std::size_t from, std::size_t to, Work& work) const {
    const std::size_t all = stored_.size(), seam = std::clamp(next_, from, to);
    if (from < seam) find_among(next_ - seam, next_ - from, work);
    if (seam < to) find_among(next_ + all - to, next_ + all - seam, work);
  }

  // Among the slots first .. last.
  void find_among(std::size_t first, std::size_t last, Work& work) const {
    alignas(64) float distances[rows_in_tile];
    while (last > first) {
      const std::size_t tile = (last - 1) / rows_in_tile, begin = tile * rows_in_tile;
      const float bound =
          work.near.size() < work.most ? std::numeric_limits<float>::infinity() : work.near.back().distance;
      std::uint64_t below = loops->tile_distances(tiles_[tile].data(), work.row.data(), columns_, bound,
                                                  missing_ > 0 || work.missing, distances);
      below &= ~std::uint64_t{0} >> (begin + rows_in_tile - last);
      if (first > begin) below &= ~std::uint64_t{0} << (first - begin);
      for (; below != 0; below -= std::bit_floor(below)) {
        const auto lane = static_cast<std::size_t>(std::bit_width(below)) - 1;
        insert({distances[lane], static_cast<std::uint32_t>(begin + lane)}, work);
      }
      last = std::max(first, begin);
    }
  }

  void insert(Near row, Work& work) const {
    std::vector<Near>& near = work.near;
    if (near.size() == work.most) {
      if (!(row.distance < near.back().distance)) return;
      near.pop_back();
    }
    const auto closer = [](const Near& a, const Near& b) { return a.distance < b.distance; };
    near.insert(std::upper_bound(near.begin(), near.end(), row, closer), row);
  }

  static double mean_distance(const Work& work) {
    double sum = 0;
    for (const Near& row : work.near) sum += std::sqrt(static_cast<double>(row.distance));
    return work.near.empty() ? 0 : sum / static_cast<double>(work.near.size());
  }

  // The vote of a neighbour, if `most` is the largest squared distance of one.
  static double vote(const Near& row, float most, double softening) {
    return 1 / ((most > 0 ? static_cast<double>(row.distance) / static_cast<double>(most) : 0) + softening);
  }

  void score_labels(Work& work, std::span<double> f) const {
    std::vector<double>& votes = work.votes;
    votes.assign(classes_, 0.0);
    for (const Near& row : work.near) {
      const Stored& stored = stored_[row.slot];
      votes[static_cast<std::size_t>(stored.label)] += stored.weight * vote(row, work.near.back().distance, 0.1) / 2;
    }
    const double start = 0.5 / static_cast<double>(first_classes_);
    for (double& v : votes) v = std::log1p(v / start);
    if (outputs_ == 1) {
      f[0] = votes[1] - votes[0];
      return;
    }
    std::copy(votes.begin(), votes.end(), f.begin());
    if (!first_.empty()) keep_two(f);
  }

  // The scores of the first two classes become -f/2 and f/2, with the bits of f.
  void keep_two(std::span<double> f) const {
    const auto is_first = [&](std::size_t c) { return first_[c] == 1; };
    std::size_t one = 0;
    while (!is_first(one)) ++one;
    std::size_t other = one + 1;
    while (!is_first(other)) ++other;
    const double mean = (f[one] + f[other]) / 2, half = (f[other] - f[one]) / 2;
    for (double& v : f) v = std::max(v - mean, 0.0);
    f[other] = half;
    f[one] = 0 - half;
  }

  double mean_target(const std::vector<Near>& near) const {
    if (near.empty()) return 0;
    const double nearest = stored_[near.front().slot].label;  // equal targets have exactly their mean
    double most = 0, total = 0, sum = 0;
    for (const Near& row : near) most = std::max(most, stored_[row.slot].weight);
    for (const Near& row : near) {
      const double share = stored_[row.slot].weight / most * vote(row, near.back().distance, 0.05);
      total += share;
      sum += share * (stored_[row.slot].label - nearest);
    }
    return nearest + sum / total;
  }

  void store(std::span<const float> row, const Stored& stored) {
    if (stored_.size() < window_) {
      if (next_ % rows_in_tile == 0 && tiles_.size() * rows_in_tile == next_)
        push(tiles_, Tile(columns_ * rows_in_tile));
      push(stored_, stored);
    } else {
      missing_ -= stored_[next_].missing ? 1 : 0;
      stored_[next_] = stored;
    }
    missing_ += stored.missing ? 1 : 0;
    for (std::size_t j = 0; j < columns_; ++j) value(next_, j) = row[j];
    next_ = next_ + 1 == window_ ? 0 : next_ + 1;
  }

  // The labels of n rows as one field for each class, with the places of its rows: a file with many classes has many
  // fields. A row without a class gets the label -1.
  void label_fields(Fields& io, std::size_t n, std::vector<double>& labels) const {
    std::vector<std::vector<double>> places(outputs_);
    for (std::size_t i = 0; i < labels.size(); ++i)
      places[static_cast<std::size_t>(labels[i])].push_back(static_cast<double>(i));
    io.outputs("neighbours.rows_of", places, Merged::Own, false);
    if (!io.restoring()) return;
    labels.assign(n, -1.0);
    for (std::size_t c = 0; c < outputs_; ++c)
      for (const double place : places[c])
        if (place >= 0 && place < static_cast<double>(n))
          labels[static_cast<std::size_t>(place)] = static_cast<double>(c);
  }

  // Whether the fields fit together.
  bool restore(const std::vector<float>& rows, const std::vector<double>& labels, const std::vector<double>& weights) {
    const std::size_t n = labels.size();
    const auto is_label = [&](double y) {
      return is_labelled() ? y >= 0 && y < static_cast<double>(classes_) && y == std::floor(y) : moderate(y);
    };
    if (n > window_ || weights.size() != n || rows.size() != n * columns_ ||
        !std::all_of(labels.begin(), labels.end(), is_label) ||
        !std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0 && w <= largest; }))
      return false;
    tiles_.clear();
    stored_.clear();
    next_ = missing_ = 0;
    Work work(k_);
    for (std::size_t i = 0; i < n; ++i) {
      read(DenseRow<float>{rows.data() + i * columns_, columns_}, work);
      store(work.row, {labels[i], weights[i], work.missing});
    }
    return true;
  }

  std::size_t window_, k_;
  bool raw_;
  std::size_t columns_, first_classes_, classes_, outputs_;
  std::vector<double> first_;  // for every output, 1 if it is one of two first classes that became more; else empty
  std::vector<Tile> tiles_;
  std::vector<Stored> stored_;  // by slot
  std::size_t next_ = 0;        // the slot of the next row; that of the oldest if the window is full
  std::size_t missing_ = 0;     // stored rows with NaN
  std::vector<double> errors_;  // of late, of the window and of its half and quarter
  bool sound_ = true;           // the restored fields fit together
  Work work_{k_};
};

}  // namespace budgetron
