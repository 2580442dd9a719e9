// The nonzeros of each column, as lists in an open-addressing hash table. Memory grows with the nonzeros, not with the
// number of columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "simd/loops.hpp"
#include "state/fields.hpp"

namespace budgetron {

template <class T>
class ColumnLists {
 public:
  using List = std::vector<Listed<T>>;

  // The nonzeros of a column, unsorted.
  std::span<const Listed<T>> operator[](std::int32_t column) const {
    if (cells_.empty()) return {};
    return cells_[place(column)].list;
  }

  // Makes an empty table with room for this many columns.
  void reserve(std::size_t columns) {
    std::size_t capacity = 64;
    while (capacity < 2 * (columns + 1)) capacity *= 2;
    cells_.assign(capacity, {});
  }

  void add(std::int32_t column, std::size_t slot, T value) {
    if (2 * (used_ + 1) > cells_.size()) grow();
    Cell& cell = cells_[place(column)];
    if (cell.column == none) ++used_;
    cell.column = column;
    cell.list.push_back({static_cast<std::uint32_t>(slot), value});
  }

  void remove(std::int32_t column, std::size_t slot) {
    List& list = cells_[place(column)].list;
    find(list, slot) = list.back();
    list.pop_back();
  }

  void rename(std::int32_t column, std::size_t slot, std::size_t other) {
    find(cells_[place(column)].list, slot).slot = static_cast<std::uint32_t>(other);
  }

  Bytes bytes() const {
    Bytes sum = bytes_of(cells_);
    for (const Cell& cell : cells_) sum += bytes_of(cell.list);
    return sum;
  }

 private:
  static constexpr std::int32_t none = -1;
  struct Cell {
    std::int32_t column = none;
    List list;
  };

  // The cell of the column, or the empty cell where it would be inserted.
  std::size_t place(std::int32_t column) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t at = (static_cast<std::uint64_t>(column) * multiplier() >> 32) & mask;
    while (cells_[at].column != column && cells_[at].column != none) at = (at + 1) & mask;
    return at;
  }

  // The hash multiplier is random in every process, so that no file can contain columns that all collide.
  static std::uint64_t multiplier() {
    static const std::uint64_t drawn = [] {
      std::random_device device;
      return 0x9E3779B97F4A7C15u ^ ((std::uint64_t{device()} << 32 | device()) & ~std::uint64_t{1});
    }();
    return drawn;
  }

  static Listed<T>& find(List& list, std::size_t slot) {
    std::size_t i = 0;
    while (list[i].slot != slot) ++i;
    return list[i];
  }

  // Grows to at least twice the columns in use; columns with empty lists are dropped.
  void grow() {
    std::size_t live = 0, capacity = 64;
    for (const Cell& cell : cells_) live += !cell.list.empty();
    while (capacity < 4 * live) capacity *= 2;
    std::vector<Cell> before = std::exchange(cells_, std::vector<Cell>(capacity));
    used_ = live;
    for (Cell& cell : before)
      if (!cell.list.empty()) cells_[place(cell.column)] = std::move(cell);
  }

  std::vector<Cell> cells_;  // the size is a power of 2
  std::size_t used_ = 0;
};

}  // namespace budgetron
