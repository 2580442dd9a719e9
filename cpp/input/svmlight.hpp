// Parses the svmlight / LIBSVM format: one row a line, "label index:value index:value ... # comment".
//
// Text may arrive in pieces of any size. The parser is strict: it stops at the first malformed token and reports its
// position. The rows before it stay available.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "input/decimal.hpp"

namespace budgetron {

// What is wrong with a token.
enum class Fault { Label, SeveralLabels, Query, Pair, Range, Order, Value };

struct Problem {
  Fault fault;
  std::size_t line, column;  // 1-based; the column counts bytes
  std::string found;
};

struct LabelledRows {
  std::vector<double> data;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> starts;
  std::vector<double> labels;
};

class SvmlightParser {
 public:
  // Indices in the text run from `first` to `last`.
  SvmlightParser(std::int64_t first, std::int64_t last) : first_(first), last_(last), largest_(first - 1) {
    assert(first >= 0 && last - first < INT32_MAX);
  }

  void feed(std::string_view piece) {
    forget_taken();
    if (!tail_.empty()) {
      const std::size_t newline = piece.find('\n');
      const std::size_t rest = newline == piece.npos ? piece.size() : newline + 1;
      tail_.append(piece.substr(0, rest));
      piece.remove_prefix(rest);
      if (tail_.back() != '\n') return;
      lines(tail_);
      tail_.clear();
    }
    const std::size_t whole = piece.rfind('\n') + 1;  // 0 if there is none
    lines(piece.substr(0, whole));
    if (!problem_) tail_.assign(piece.substr(whole));
  }

  // The last line may lack a newline.
  void finish() {
    if (!tail_.empty()) feed("\n");
  }

  std::size_t ready() const { return labels_.size() - taken_; }
  const std::optional<Problem>& problem() const { return problem_; }
  // The number of columns that the largest index so far implies.
  std::int64_t columns() const { return largest_ - first_ + 1; }

  LabelledRows take(std::size_t n) {
    assert(n <= ready());
    const std::size_t from = starts_[taken_], to = starts_[taken_ + n];
    LabelledRows rows{{data_.data() + from, data_.data() + to}, {indices_.data() + from, indices_.data() + to}, {}, {}};
    rows.labels.assign(labels_.data() + taken_, labels_.data() + taken_ + n);
    rows.starts.reserve(n + 1);
    for (std::size_t i = taken_; i <= taken_ + n; ++i)
      rows.starts.push_back(static_cast<std::int64_t>(starts_[i] - from));
    taken_ += n;
    return rows;
  }

  void drop(std::size_t n) {
    assert(n <= ready());
    taken_ += n;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  static bool ends_line(const char* p) { return *p == '\n' || *p == '#' || (*p == '\r' && p[1] == '\n'); }
  static bool ends_token(const char* p) { return is_blank(*p) || ends_line(p); }
  static const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
  }

  // Moves the rows that were not taken to the front.
  void forget_taken() {
    if (taken_ == 0) return;
    const std::size_t gone = starts_[taken_], kept = nonzeros_ - gone;
    std::copy_n(data_.data() + gone, kept, data_.data());
    std::copy_n(indices_.data() + gone, kept, indices_.data());
    nonzeros_ = kept;
    labels_.erase(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(taken_));
    starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(taken_));
    for (std::size_t& start : starts_) start -= gone;
    taken_ = 0;
  }

  // Parses whole lines; all of them end with a newline.
  void lines(std::string_view text) {
    const char* p = text.data();
    const char* const end = p + text.size();
    while (p != end && !problem_) {
      const char* const newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
      make_room(static_cast<std::size_t>(newline - p));
      ++line_;
      if (auto bad = row(p)) problem_ = std::move(bad);
      p = newline + 1;
    }
  }

  // Reserves space for a line: the shortest pair, " 1:1", has four bytes.
  void make_room(std::size_t bytes) {
    const std::size_t most = nonzeros_ + bytes / 4 + 1;
    if (data_.size() >= most) return;
    data_.resize(std::max(most, 2 * data_.size()));
    indices_.resize(data_.size());
  }

  // Parses one line and stores its row, unless it is malformed.
  std::optional<Problem> row(const char* const begin) {
    const char* p = skip_blanks(begin);
    if (ends_line(p)) return {};
    double y;
    const char* q = read_decimal(p, y);
    if (q != nullptr && *q == ',') return refuse(Fault::SeveralLabels, begin, p);
    if (q == nullptr || !ends_token(q)) return refuse(Fault::Label, begin, p);
    p = skip_blanks(q);
    if (is_query(p)) {
      q = p + 4;
      while (is_digit(*q)) ++q;
      if (q == p + 4 || !ends_token(q)) return refuse(Fault::Query, begin, p);
      p = skip_blanks(q);
    }
    return pairs(begin, p, y);
  }

  static bool is_query(const char* p) { return p[0] == 'q' && p[1] == 'i' && p[2] == 'd' && p[3] == ':'; }

  std::optional<Problem> pairs(const char* const begin, const char* p, double y) {
    double* data = data_.data() + nonzeros_;
    std::int32_t* indices = indices_.data() + nonzeros_;
    std::int64_t before = first_ - 1;
    while (!ends_line(p)) {
      std::int64_t index;
      const char* q = read_index(p, index);
      if (q == p || *q != ':') return refuse(Fault::Pair, begin, p);
      if (index < first_ || index > last_) return refuse(Fault::Range, begin, p);
      if (index <= before) return refuse(Fault::Order, begin, p);
      const char* const value = q + 1;
      q = read_decimal(value, *data);
      if (q == nullptr || !ends_token(q)) return refuse(Fault::Value, begin, value);
      *indices = static_cast<std::int32_t>(index - first_);
      ++data;
      ++indices;
      before = index;
      p = skip_blanks(q);
    }
    nonzeros_ = static_cast<std::size_t>(data - data_.data());
    starts_.push_back(nonzeros_);
    labels_.push_back(y);
    largest_ = std::max(largest_, before);
    return {};
  }

  static const char* read_index(const char* p, std::int64_t& index) {
    constexpr std::int64_t too_large = std::int64_t{1} << 40;
    for (index = 0; is_digit(*p); ++p) index = std::min(10 * index + (*p - '0'), too_large);
    return p;
  }

  Problem refuse(Fault fault, const char* begin, const char* token) const {
    constexpr std::ptrdiff_t longest = 40;
    const char* end = token;
    while (!ends_token(end) && end - token < longest) ++end;
    return {fault, line_, static_cast<std::size_t>(token - begin) + 1, {token, end}};
  }

  const std::int64_t first_, last_;
  std::int64_t largest_;
  std::size_t line_ = 0;
  std::string tail_;  // an incomplete line
  std::optional<Problem> problem_;

  // The parsed rows. Space is reserved for a whole line at a time; nonzeros_ counts the part in use.
  std::vector<double> data_;
  std::vector<std::int32_t> indices_;
  std::size_t nonzeros_ = 0;
  std::vector<std::size_t> starts_{0};
  std::vector<double> labels_;
  std::size_t taken_ = 0;  // rows already handed out
};

}  // namespace budgetron
