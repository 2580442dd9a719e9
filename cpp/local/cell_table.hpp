// Room for cells: a table of entries. If there is room for all cells that a map can have, each has the entry of its
// number. Otherwise entries are found by hashing the number, and cells that meet share an entry. An entry has the
// weights of all outputs, then what the rule keeps; numbers are in single precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "local/cell_map.hpp"
#include "simd/loops.hpp"
#include "state/fields.hpp"

namespace budgetron {

// The cells of one row: the constant first, whose feature is 1, then one entry for each cell, whose feature is `value`.
struct ActiveCells {
  std::vector<std::size_t> entries;  // where each begins in the table
  std::vector<double> sums;          // of the numbers of the cells, without the constant
  double value = 0;

  std::size_t count() const { return entries.size(); }
  double z(std::size_t i) const { return i == 0 ? 1 : value; }
  // |z|^2
  double squared_norm() const { return 1 + static_cast<double>(entries.size() - 1) * value * value; }
};

class CellTable {
 public:
  // At most so many bytes, whatever an entry needs, and at most so many entries.
  CellTable(std::size_t bytes, std::size_t most) : bytes_(bytes), most_(std::max<std::size_t>(most, 1)) {}

  // Empty, with entries like `fresh`. `cells` is a number above those of all cells, or infinity.
  void begin(std::vector<float> fresh, double cells) {
    lay_out(std::move(fresh), cells);
    numbers_ = {};
    numbers_.reserve((room() + 1) * width());
    for (std::size_t i = 0; i <= room(); ++i) numbers_.insert(numbers_.end(), fresh_.begin(), fresh_.end());
  }
  void clear(double cells) { begin(std::move(fresh_), cells); }
  // Entries like `fresh` are about to be restored.
  void expect(std::vector<float> fresh, double cells) {
    lay_out(std::move(fresh), cells);
    numbers_ = {};
    restored_ = {};
  }

  // Whether each cell has the entry of its number.
  bool direct() const { return direct_; }
  // The number of entries before neighbours became one, and how often the number was halved by that.
  std::size_t full() const { return full_; }
  std::size_t halvings() const { return halvings_; }
  std::size_t width() const { return fresh_.size(); }
  std::size_t room() const { return room(halvings_); }
  float* operator[](std::size_t entry) { return numbers_.data() + entry; }
  const float* operator[](std::size_t entry) const { return numbers_.data() + entry; }
  const std::vector<float>& numbers() const { return numbers_; }

  void multiply(double factor) {
    for (float& v : numbers_) v = static_cast<float>(factor * v);
  }

  // Where the entries of these cells begin, and the sums of their first n numbers. The first entry is the constant.
  void find(std::span<const Counter> cells, std::size_t n, ActiveCells& active) const {
    active.entries.resize(1 + cells.size());
    std::size_t count = 0;
    active.entries[count++] = 0;
    for (const Counter cell : cells)
      if (cell != no_cell) active.entries[count++] = (1 + place_of(cell)) * width();
    active.entries.resize(count);
    active.sums.resize(whole_lanes<double>(n));
    loops->sum_cells(numbers_.data(), active.entries.data() + 1, count - 1, n, active.sums.data());
  }
  // Cells that came after the table was laid out have higher numbers than there are entries; these are hashed too.
  std::size_t place_of(Counter cell) const {
    if (direct_ && cell < full_) return cell >> halvings_;
    cell *= 0x9E3779B97F4A7C15u;
    cell ^= cell >> 29;
    cell *= 0xBF58476D1CE4E5B9u;
    return ((cell >> 32) * full_ >> 32) >> halvings_;
  }
  // What was learned in cells from `first` on is forgotten, if these have entries of their own.
  void forget(Counter first, Counter count) {
    for (std::size_t i = first >> halvings_; i < (first + count) >> halvings_; ++i)
      std::copy(fresh_.begin(), fresh_.end(), numbers_.begin() + static_cast<std::ptrdiff_t>((i + 1) * width()));
  }

  // More numbers in each entry: `grow` makes the new entry from the old one. If the table would need more memory than
  // it may have, neighbouring entries become one: the first that is not fresh.
  template <class Grow>
  void widen(std::vector<float> fresh, Grow grow) {
    const std::vector<float> before = std::move(numbers_), was_fresh = std::move(fresh_);
    const std::size_t old_room = room(), old_halvings = halvings_;
    fresh_ = std::move(fresh);
    if (before.empty()) return;
    halve();
    const std::size_t together = std::size_t{1} << (halvings_ - old_halvings), old_width = was_fresh.size();
    numbers_.resize((room() + 1) * width());
    for (std::size_t i = 0; i <= room(); ++i) {
      const std::size_t first = i == 0 ? 0 : 1 + (i - 1) * together;
      const std::size_t end = i == 0 ? 1 : std::min(first + together, old_room + 1);
      std::size_t from = first;
      for (std::size_t k = first; k < end; ++k) {
        const float* entry = before.data() + k * old_width;
        if (std::equal(was_fresh.begin(), was_fresh.end(), entry)) continue;
        from = k;
        break;
      }
      grow(before.data() + from * old_width, numbers_.data() + i * width());
    }
  }

  // Number k of every entry, as one field. All k are restored in turn, and a table of the size that the description
  // says is made only if the file holds all of it.
  void field(Fields& io, const char* name, std::size_t k, Meaning meaning) {
    std::vector<float> column;
    for (std::size_t i = k; i < numbers_.size(); i += width()) column.push_back(numbers_[i]);
    io.field(name, column, meaning);
    if (!io.restoring()) return;
    restored_.push_back(std::move(column));
    if (restored_.size() == width()) put_together();
  }
  Bytes bytes() const { return bytes_of(numbers_) + bytes_of(fresh_); }
  // What follows the weights of the outputs is a variance or a sum of squares.
  bool is_consistent(std::size_t outputs) const {
    for (std::size_t i = 0; i < numbers_.size(); i += width())
      for (std::size_t k = outputs; k < width(); ++k)
        if (numbers_[i + k] < 0) return false;
    return sound_ && all_finite(numbers_);
  }

 private:
  std::size_t room(std::size_t halvings) const { return ((full_ - 1) >> halvings) + 1; }
  void lay_out(std::vector<float> fresh, double cells) {
    fresh_ = std::move(fresh);
    direct_ = cells <= static_cast<double>(most_);
    full_ = direct_ ? std::max<std::size_t>(static_cast<std::size_t>(cells), 1) : most_;
    halvings_ = 0;
    halve();
  }
  void put_together() {
    sound_ = std::all_of(restored_.begin(), restored_.end(), [&](const auto& v) { return v.size() == room() + 1; });
    if (sound_) numbers_.resize((room() + 1) * width());
    for (std::size_t k = 0; sound_ && k < width(); ++k)
      for (std::size_t i = 0; i <= room(); ++i) numbers_[i * width() + k] = restored_[k][i];
    restored_ = {};
  }
  // Entries are halved until they fit into the memory.
  void halve() {
    while (room() > 1 && room() * width() * sizeof(float) > bytes_) ++halvings_;
  }

  std::size_t bytes_, most_;
  bool direct_ = false;
  std::size_t full_ = 1, halvings_ = 0;
  std::vector<float> fresh_;    // an entry in which nothing was learned
  std::vector<float> numbers_;  // of the constant, then of room() entries
  std::vector<std::vector<float>> restored_;
  bool sound_ = true;
};

}  // namespace budgetron
