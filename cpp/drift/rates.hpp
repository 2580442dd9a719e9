// Whether the rates of some codes have changed: mistakes, labels or predictions, told one by one.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "drift/shares.hpp"

namespace budgetron::drift {

// A change, and how many rows had been told when it was found.
struct Change {
  Counter row = 0;
  std::size_t column = 0;
  std::vector<Counter> before, after;
  bool texts = false;     // of a column of texts
  double middle = 0.0;    // of a column of numbers: a value near the earlier median
  std::size_t above = 0;  // and the first of the cells above it
};

class Rates {
 public:
  Rates(std::size_t cells, std::size_t block, std::size_t per_level, double level, Counter growing)
      : block_(block), level_(level), open_(cells), shares_(cells, per_level, 0, growing) {}

  // Tells a code below the number of cells. After a change, only the rows after it count.
  std::optional<Change> tell(std::size_t code) {
    ++open_[code];
    if (++rows_ % block_ != 0) return std::nullopt;
    shares_.add(open_);
    std::fill(open_.begin(), open_.end(), Counter(0));
    std::optional<Split> split = shares_.changed(level_);
    if (!split) return std::nullopt;
    shares_.keep(split->blocks);
    return Change{rows_, 0, std::move(split->before), std::move(split->after)};
  }

  std::size_t cells() const { return open_.size(); }

  void fields(Fields& io) {
    io.field("rows", rows_);
    io.field("open", open_);
    shares_.fields(io);
  }

  bool is_consistent(std::size_t cells) const {
    Counter open = 0;
    for (const Counter x : open_) open += std::min<Counter>(x, block_);
    return open_.size() == cells && open == rows_ % block_ && shares_.is_consistent();
  }

 private:
  std::size_t block_;
  double level_;
  Counter rows_ = 0;
  std::vector<Counter> open_;  // counts of the block that is not complete
  Shares shares_;
};

}  // namespace budgetron::drift
