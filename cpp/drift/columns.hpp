// Whether the values of some columns have changed: their level, spread, and shares of missing and of unseen values.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drift/gross.hpp"
#include "drift/rates.hpp"
#include "state/fields.hpp"

namespace budgetron::drift {

// FNV-1a.
inline Counter hash_of(std::string_view text) {
  Counter hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// The values of one column as cells. The first rows say what the cells are: of numbers six ranges with equally many of
// them, of texts the five most frequent and all others. Two more cells are for values that are new, and missing ones.
// New is a text that never came before, or among numbers a text.
class Column {
 public:
  static constexpr std::size_t ranges = 6, others = 5, unseen = 6, missing = 7, cells = 8;

  // The column appears so many rows after the beginning of a block.
  Column(std::size_t per_level, Counter late) : late_(late), shares_(cells, per_level, ranges) {}

  // Whether the value is far from all before.
  bool number(double value) {
    if (kind_ == Numbers) {
      ++open_[range_of(value)];
    } else if (kind_ == Texts) {
      count_text(std::bit_cast<Counter>(value));
    } else {
      numbers_.push_back(value);
    }
    return gross_.add(value);
  }

  void text(Counter hash) {
    if (kind_ == Numbers)
      ++open_[unseen];
    else if (kind_ == Texts)
      count_text(hash);
    else
      texts_.push_back(hash);
  }

  // The end of a row with a value that is far; so many rows of the block are over.
  std::optional<Change> sudden(double level, Counter over) {
    const std::vector<double> far =
        kind_ == Numbers ? gross_.found(level * shares_.dispersion.factor()) : std::vector<double>();
    if (far.empty()) return std::nullopt;
    std::vector<Counter> before = shares_.total(), after(cells);
    for (const double value : far) ++after[range_of(value)];
    for (std::size_t c = 0; c < cells; ++c) before[c] += open_[c] - std::min(after[c], before[c] + open_[c]);
    std::fill(open_.begin(), open_.end(), Counter(0));
    late_ = over;
    return changed(Split{0, std::move(before), std::move(after)});
  }

  // The end of a block of so many rows. After a change the cells are made anew.
  std::optional<Change> close(Counter rows, double level) {
    rows -= std::min(rows, late_);
    late_ = 0;
    if (kind_ == Unknown) {
      first_rows_ += rows;
      decide(rows);
      return std::nullopt;
    }
    Counter present = 0;
    for (std::size_t c = 0; c < missing; ++c) present += open_[c];
    open_[missing] = rows - std::min(rows, present);
    shares_.add(open_);
    std::fill(open_.begin(), open_.end(), Counter(0));
    std::optional<Split> split = shares_.changed(level);
    if (!split) return std::nullopt;
    return changed(std::move(*split));
  }

  void fields(Fields& io) {
    io.field("kind", kind_);
    io.field("late", late_);
    io.field("first_rows", first_rows_);
    io.field("numbers", numbers_);
    io.field("texts", texts_);
    io.field("limits", limits_);
    io.field("frequent", frequent_);
    io.field("seen", seen_);
    io.field("open", open_);
    shares_.fields(io);
    gross_.fields(io);
  }

  bool is_consistent() const {
    const bool first = numbers_.size() + texts_.size() <= most_first && first_rows_ <= most_first;
    return kind_ <= Texts && first && limits_.size() < ranges && std::is_sorted(limits_.begin(), limits_.end()) &&
           frequent_.size() <= others && (seen_.empty() || seen_.size() == words) && open_.size() == cells &&
           (kind_ != Texts || !seen_.empty()) && gross_.is_consistent() && shares_.is_consistent();
  }

 private:
  enum Kind : Counter { Unknown, Numbers, Texts };
  static constexpr std::size_t words = 128, enough = 100, rows_enough = 150, rows_at_most = 1200, most_first = 4096;

  std::size_t range_of(double value) const {
    std::size_t range = 0;
    for (const double limit : limits_) range += value >= limit ? 1 : 0;
    return range;
  }

  void count_text(Counter hash) {
    const auto found = std::find(frequent_.begin(), frequent_.end(), hash);
    const bool known = found != frequent_.end();
    ++open_[known ? static_cast<std::size_t>(found - frequent_.begin()) : was_seen(hash) ? others : unseen];
  }

  // Whether a text came before, up to chance: a bit for many of them.
  bool was_seen(Counter hash) {
    if (seen_.empty()) seen_.assign(words, 0);
    hash ^= hash >> 29;
    Counter& word = seen_[(hash >> 6) % words];
    const Counter bit = Counter(1) << (hash & 63);
    const bool before = (word & bit) != 0;
    word |= bit;
    return before;
  }

  // What the cells are, once there are enough rows; these are the first that are counted.
  void decide(Counter last) {
    const std::size_t values = numbers_.size() + texts_.size();
    if (first_rows_ < rows_enough || (values < enough && first_rows_ < rows_at_most)) return;
    if (values == 0) {
      first_rows_ = 0;
      return;
    }
    last = std::max<Counter>(last, 1);
    kind_ = texts_.size() > numbers_.size() ? Texts : Numbers;
    kind_ == Texts ? decide_texts(last) : decide_ranges(last);
    Counter present = 0;
    for (std::size_t c = 0; c < missing; ++c) present += open_[c];
    open_[missing] = first_rows_ - std::min<Counter>(first_rows_, values);
    if (kind_ == Texts) open_[missing] = open_[missing] * present / values;  // half of the texts are counted
    shares_.add(open_, static_cast<Counter>(std::bit_width(first_rows_ / last)) - 1);
    open_.assign(cells, 0);
    numbers_ = {}, texts_ = {}, first_rows_ = 0;
  }

  // Limits at the sextiles. A value that is several of them is a range of its own.
  void decide_ranges(Counter block) {
    std::vector<double> sorted = numbers_;
    std::sort(sorted.begin(), sorted.end());
    limits_.clear();
    double last = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 1; k < ranges; ++k) {
      const double sextile = sorted[k * sorted.size() / ranges];
      const double limit = sextile > last ? sextile : std::nextafter(last, std::numeric_limits<double>::infinity());
      if (limits_.empty() || limit > limits_.back()) limits_.push_back(limit);
      last = sextile;
    }
    count_first(std::span<const double>(numbers_), block, [&](double value) { ++open_[range_of(value)]; });
    open_[unseen] += texts_.size();
  }

  // Counts the first values that count, and compares all blocks of them with the next one.
  template <class Value, class Count>
  void count_first(std::span<const Value> values, Counter block, Count count) {
    std::vector<std::vector<Counter>> blocks;
    std::vector<Counter> before(cells);
    for (std::size_t i = 0; i < values.size(); ++i) {
      count(values[i]);
      if ((i + 1) % block != 0) continue;
      blocks.push_back(open_);
      for (std::size_t c = 0; c < cells; ++c) blocks.back()[c] -= before[c];
      before = open_;
    }
    for (Counter level = 0; blocks.size() > 1; ++level, blocks.resize(blocks.size() / 2)) {
      for (std::size_t i = 0; i + 1 < blocks.size(); ++i) shares_.dispersion.compare(level, blocks[i], blocks[i + 1]);
      for (std::size_t i = 0; i < blocks.size() / 2; ++i)
        for (std::size_t c = 0; c < cells; ++c) blocks[i][c] = blocks[2 * i][c] + blocks[2 * i + 1][c];
    }
  }

  // The first half of the texts says which are frequent, the second half is counted.
  void decide_texts(Counter block) {
    for (const double value : numbers_) texts_.push_back(std::bit_cast<Counter>(value));
    const std::size_t half = texts_.size() / 2;
    std::vector<std::pair<Counter, Counter>> counts;  // text and count, in order of their first rows
    for (std::size_t i = 0; i < half; ++i) {
      const auto same = [&](const auto& pair) { return pair.first == texts_[i]; };
      const auto found = std::find_if(counts.begin(), counts.end(), same);
      found == counts.end() ? counts.emplace_back(texts_[i], 1) : * found = {texts_[i], found->second + 1};
      was_seen(texts_[i]);
    }
    if (seen_.empty()) seen_.assign(words, 0);
    std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    frequent_.clear();
    for (std::size_t i = 0; i < std::min(counts.size(), others); ++i) frequent_.push_back(counts[i].first);
    count_first(std::span<const Counter>(texts_).subspan(half), block, [&](Counter hash) { count_text(hash); });
  }

  Change changed(Split split) {
    const double middle = limits_.empty() ? 0.0 : limits_[limits_.size() / 2];
    Change change{
        0, 0, std::move(split.before), std::move(split.after), kind_ == Texts, middle, limits_.size() / 2 + 1};
    kind_ = Unknown;
    shares_.keep(0);
    limits_.clear(), frequent_.clear();
    gross_ = Gross();
    return change;
  }

  Counter kind_ = Unknown, late_, first_rows_ = 0;
  std::vector<double> numbers_;  // the first values
  std::vector<Counter> texts_;   // the hashes of the first texts
  std::vector<double> limits_;   // between the ranges
  std::vector<Counter> frequent_;
  std::vector<Counter> seen_;
  std::vector<Counter> open_ = std::vector<Counter>(cells);
  Gross gross_;
  Shares shares_;
};

// All columns by name, told row by row; the same blocks of rows for all. Columns beyond `most` are not watched.
class Columns {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  Columns(std::size_t block, std::size_t per_level, double level, std::size_t most)
      : block_(block), per_level_(per_level), most_(most), level_(level) {}

  // The place of a column, which is new if nobody told of it; none if there are too many.
  std::size_t place_of(std::string_view name) {
    const auto found = places_.find(std::string(name));
    if (found != places_.end()) return found->second;
    if (columns_.size() >= most_) return none;
    places_.emplace(name, columns_.size());
    names_.emplace_back(name);
    columns_.emplace_back(per_level_, rows_ % block_);
    return columns_.size() - 1;
  }

  void number(std::size_t column, double value) {
    if (!std::isnan(value) && columns_[column].number(value)) far_.push_back(column);
  }
  void text(std::size_t column, std::string_view value) { columns_[column].text(hash_of(value)); }

  // The end of a row. The probability of a false alarm is shared by all columns.
  void end_row(std::vector<Change>& found) {
    if (++rows_ % block_ != 0 && far_.empty()) return;
    const double level = level_ + std::log(static_cast<double>(std::max<std::size_t>(columns_.size(), 1)));
    const auto put = [&](std::size_t column, std::optional<Change> change) {
      if (!change) return;
      change->row = rows_, change->column = column;
      found.push_back(std::move(*change));
    };
    for (const std::size_t column : far_) put(column, columns_[column].sudden(level, (rows_ - 1) % block_ + 1));
    far_.clear();
    if (rows_ % block_ != 0) return;
    for (std::size_t i = 0; i < columns_.size(); ++i) put(i, columns_[i].close(block_, level));
  }

  const std::vector<std::string>& names() const { return names_; }

  // Columns of these names, whose fields are about to be restored.
  void begin(const std::vector<std::string>& names) {
    rows_ = 0, places_.clear(), names_.clear(), columns_.clear();
    for (const std::string& name : names) place_of(name);
  }

  void fields(Fields& io) {
    io.field("rows", rows_);
    for (Column& column : columns_) column.fields(io);
  }

  bool is_consistent() const {
    return std::all_of(columns_.begin(), columns_.end(), [](const Column& c) { return c.is_consistent(); });
  }

 private:
  std::size_t block_, per_level_, most_;
  double level_;
  Counter rows_ = 0;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::vector<std::size_t> far_;  // columns whose values in this row are far
};

}  // namespace budgetron::drift
