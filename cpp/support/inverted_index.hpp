// Support vectors of wide sparse rows. Each is stored as its nonzeros; for every column there is a list of the support
// vectors that are nonzero there. A row visits only the support vectors that share a column with it.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "input/rows.hpp"
#include "simd/loops.hpp"
#include "state/fields.hpp"
#include "support/column_lists.hpp"
#include "support/support_set.hpp"

namespace budgetron {

template <class T>
class InvertedIndex final : public SupportSet {
 public:
  InvertedIndex(std::size_t features, const Reduction<T>& reduction) : features_(features), reduction_(reduction) {}

  std::size_t size() const override { return vectors_.size(); }
  std::size_t padded() const override { return whole_lanes<T>(size()); }
  double norm(const Row& x) const override { return static_cast<double>(norm_of(Nonzeros(x).row())); }
  double norm(std::size_t i) const override { return static_cast<double>(norms_[i]); }

  double kernel_row(const Row& x, const Finish& kernel, std::span<double> k) const override {
    Lists lists;
    return kernel_row(x, lists, kernel, k);
  }
  void kernel_row(std::size_t i, const Finish& kernel, std::span<double> k) const override {
    Lists lists;
    finish(vectors_[i].row(), norms_[i], lists, kernel, k);
  }
  std::unique_ptr<Ahead> ahead(const Rows& rows, std::size_t) const override {
    return std::make_unique<OneAfterTheOther>(rows, *this);
  }

  void append(const Row& x, double norm) override {
    vectors_.emplace_back();
    norms_.resize(whole_lanes<T>(size()));
    write(size() - 1, Nonzeros(x), norm);
  }

  void replace(std::size_t i, const Row& x, double norm) override {
    clear(i);
    write(i, Nonzeros(x), norm);
  }

  void remove(std::size_t i) override {
    const std::size_t last = size() - 1;
    clear(i);
    if (i != last) {
      for (const std::int32_t j : vectors_[last].indices) lists_.rename(j, last, i);
      vectors_[i] = std::move(vectors_[last]);
      norms_[i] = norms_[last];
    }
    vectors_.pop_back();
  }

  void copy(std::size_t i, std::span<double> out) const override {
    const Nonzeros& s = vectors_[i];
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t k = 0; k < s.indices.size(); ++k)
      out[static_cast<std::size_t>(s.indices[k])] = static_cast<double>(s.values[k]);
  }

  void widen(std::size_t features) override { features_ = features; }

  void fields(Fields& io) override {
    if (io.measuring()) return io.scratch(bytes());
    Saved saved = save();
    io.field("support.sizes", saved.sizes);
    io.field("support.columns", saved.columns);
    io.field("support.values", saved.values);
    io.field("support.norms", saved.norms);
    if (io.restoring()) restore(saved);
  }

  bool is_consistent(std::size_t n) const override { return size() == n; }

 private:
  using Lists = std::vector<std::span<const Listed<T>>>;  // of the columns of a row

  // Computes each row when it is asked for, and keeps the memory for the lists.
  class OneAfterTheOther final : public Ahead {
   public:
    OneAfterTheOther(const Rows& rows, const InvertedIndex& support) : rows_(rows), support_(support) {}
    double kernel_row(std::size_t i, const Finish& kernel, std::span<double> k) override {
      return support_.kernel_row(rows_[i], lists_, kernel, k);
    }

   private:
    const Rows& rows_;
    const InvertedIndex& support_;
    Lists lists_;
  };

  // The nonzeros of a row, sorted by column.
  struct Nonzeros {
    std::vector<std::int32_t> indices;
    std::vector<T> values;

    Nonzeros() = default;
    explicit Nonzeros(const Row& x) {
      std::visit(
          [&](const auto& row) {
            if (row.sparse) reserve(row.size());
            row.each([&](std::size_t j, auto v) { add(j, static_cast<T>(v)); });
          },
          x);
    }
    SparseRow<T> row() const { return {values.data(), indices.data(), indices.size()}; }
    void reserve(std::size_t nonzeros) {
      indices.reserve(nonzeros);
      values.reserve(nonzeros);
    }
    void add(std::size_t j, T value) {
      if (value == 0) return;
      indices.push_back(static_cast<std::int32_t>(j));
      values.push_back(value);
    }
  };

  struct Saved {
    std::vector<Counter> sizes, columns;  // of all support vectors, concatenated
    std::vector<T> values, norms;
  };

  T norm_of(const SparseRow<T>& x) const { return reduction_.sparse_norm(x.values, x.indices, x.nonzeros); }

  double kernel_row(const Row& x, Lists& lists, const Finish& kernel, std::span<double> k) const {
    if (const auto* row = std::get_if<SparseRow<T>>(&x)) return finish(*row, norm_of(*row), lists, kernel, k);
    const Nonzeros nonzeros(x);
    return finish(nonzeros.row(), norm_of(nonzeros.row()), lists, kernel, k);
  }

  double finish(const SparseRow<T>& x, T norm, Lists& lists, const Finish& kernel, std::span<double> k) const {
    assert(k.size() >= padded());
    lists.clear();
    x.each([&](std::size_t j, T) { lists.push_back(lists_[static_cast<std::int32_t>(j)]); });
    with_room<T>(k, padded(), [&](std::span<T> r) {
      std::fill(r.begin(), r.end(), T{0});
      reduction_.listed(x.values, x.indices, lists, norm, norms_.data(), r);
      kernel.finish(Reduced<T>{r, norms_, norm}, k);
    });
    return static_cast<double>(norm);
  }

  void write(std::size_t i, Nonzeros x, double norm) {
    for (std::size_t k = 0; k < x.indices.size(); ++k) lists_.add(x.indices[k], i, x.values[k]);
    vectors_[i] = std::move(x);
    norms_[i] = static_cast<T>(norm);
  }

  void clear(std::size_t i) {
    for (const std::int32_t j : vectors_[i].indices) lists_.remove(j, i);
    vectors_[i] = {};
  }

  Bytes bytes() const {
    Bytes sum = sizeof *this + bytes_of(vectors_) + bytes_of(norms_) + lists_.bytes();
    for (const Nonzeros& s : vectors_) sum += bytes_of(s.indices) + bytes_of(s.values);
    return sum;
  }

  Saved save() const {
    Saved out;
    out.norms.assign(norms_.begin(), norms_.begin() + static_cast<std::ptrdiff_t>(size()));
    for (const Nonzeros& s : vectors_) {
      out.sizes.push_back(s.indices.size());
      out.columns.insert(out.columns.end(), s.indices.begin(), s.indices.end());
      out.values.insert(out.values.end(), s.values.begin(), s.values.end());
    }
    return out;
  }

  // Restores nothing if the fields are malformed; the size then disagrees with the other parts, and the model is
  // refused.
  void restore(const Saved& saved) {
    if (!sound(saved)) return;
    vectors_.resize(saved.sizes.size());
    norms_.resize(padded());
    lists_.reserve(different(saved.columns));
    for (std::size_t i = 0, at = 0; i < size(); ++i) {
      Nonzeros s;
      s.reserve(static_cast<std::size_t>(saved.sizes[i]));
      for (const std::size_t end = at + saved.sizes[i]; at < end; ++at) s.add(saved.columns[at], saved.values[at]);
      write(i, std::move(s), static_cast<double>(saved.norms[i]));
    }
  }

  static std::size_t different(std::vector<Counter> columns) {
    std::sort(columns.begin(), columns.end());
    return static_cast<std::size_t>(std::unique(columns.begin(), columns.end()) - columns.begin());
  }

  bool sound(const Saved& saved) const {
    if (saved.columns.size() != saved.values.size() || saved.norms.size() != saved.sizes.size()) return false;
    const auto possible = [](T norm) { return norm >= 0 && std::isfinite(norm); };
    if (!all_finite(saved.values) || !std::all_of(saved.norms.begin(), saved.norms.end(), possible)) return false;
    std::size_t at = 0;
    for (const Counter size : saved.sizes) {
      if (size > saved.columns.size() - at) return false;
      const auto columns = std::span(saved.columns).subspan(at, static_cast<std::size_t>(size));
      const auto descends = [](Counter a, Counter b) { return a >= b; };
      if (std::adjacent_find(columns.begin(), columns.end(), descends) != columns.end()) return false;
      if (!columns.empty() && columns.back() >= features_) return false;
      at += columns.size();
    }
    return at == saved.columns.size();
  }

  std::size_t features_;
  const Reduction<T>& reduction_;
  std::vector<Nonzeros> vectors_;
  std::vector<T> norms_;  // length padded() or more
  ColumnLists<T> lists_;
};

}  // namespace budgetron
