// Maps whose features are cells: a row lies in one cell of each member, and has a 1 there and 0 everywhere else. A cell
// has a number of its own among all cells of the map; CellTable finds room for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "local/recent_rows.hpp"
#include "state/fields.hpp"

namespace budgetron {

// The number of a cell that is not there: the row has no feature for this member.
inline constexpr Counter no_cell = ~Counter{0};

class CellMap : public Part {
 public:
  // The number of members, and a number above those of all cells, or infinity.
  virtual std::size_t members() const = 0;
  virtual double most_cells() const = 0;
  // The columns that the members look at.
  virtual std::size_t columns() const = 0;
  // Whether members see the rows as the caller gave them, where a learner around this one has scaled them.
  virtual bool unscaled() const { return true; }
  // The number of the cell of each member, for a row of `columns` numbers. There is room for whole_lanes(members()).
  virtual void find(std::span<const double> x, std::span<Counter> cells) const = 0;
  // More columns; new ones were 0 or missing so far. A row in which they still are keeps its cells, and no more.
  virtual void widen(std::size_t columns) = 0;

  // Whether thresholds are drawn from rows. If so, `draw` is called whenever the number of rows has doubled, as long as
  // all of them are kept, and `follow` whenever all kept rows are new.
  virtual bool draws() const { return false; }
  virtual void draw(const RecentRows&) {}
  virtual void follow(const RecentRows&) {}
  // Whether single members can be drawn anew, from the kept rows, and near another member.
  virtual bool redraws() const { return false; }
  virtual void redraw(std::size_t /*member*/, const RecentRows&) {}
  virtual void redraw_near(std::size_t /*member*/, std::size_t /*other*/, const RecentRows&) {}
  // Whether the cells of a new member have the numbers of those of the member that left, because these are forgotten.
  virtual void keep_numbers(bool) {}
  virtual Counter first_cell(std::size_t /*member*/) const { return 0; }
  virtual Counter cells_each() const { return 0; }
};

// Knows when a column has moved: more than half of the kept values lie outside of the range that was known. Some of
// them are from before the move. So no range is known then, and the column is followed again when all of them are new.
class KnownRanges {
 public:
  void widen(std::size_t columns) {
    low_.resize(columns, std::numeric_limits<double>::max());
    high_.resize(columns, std::numeric_limits<double>::lowest());
  }
  void learn(std::size_t column, const std::vector<double>& sorted) {
    if (sorted.empty()) return;
    low_[column] = sorted.front();
    high_[column] = sorted.back();
  }
  void forget(std::size_t column) {
    low_[column] = std::numeric_limits<double>::max();
    high_[column] = std::numeric_limits<double>::lowest();
  }
  bool known(std::size_t column) const { return low_[column] <= high_[column]; }
  bool moved(std::size_t column, const RecentRows& rows, const RecentRows::Extents& now) const {
    if (low_[column] <= now.low[column] && now.high[column] <= high_[column]) return false;
    std::size_t inside = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
      inside += low_[column] <= rows[i][column] && rows[i][column] <= high_[column] ? 1 : 0;
    return 2 * static_cast<double>(inside) < now.numbers[column];
  }
  void fields(Fields& io) {
    io.field("known.low", low_, {Merged::Own});
    io.field("known.high", high_, {Merged::Own});
  }
  bool is_consistent(std::size_t columns) const {
    const auto is_number = [](double v) { return !std::isnan(v); };
    return low_.size() == columns && high_.size() == columns && std::all_of(low_.begin(), low_.end(), is_number) &&
           std::all_of(high_.begin(), high_.end(), is_number);
  }

 private:
  std::vector<double> low_, high_;
};

}  // namespace budgetron
