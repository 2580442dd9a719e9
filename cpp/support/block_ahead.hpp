// Computes reductions for a block of dense rows ahead of time: one register-tiled product covers the whole block, with
// the support vectors as they are at its start. While the block is processed, only the columns of changed support
// vectors are recomputed, for the remaining rows. The results equal those of row-by-row computation bit for bit.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "input/rows.hpp"
#include "support/feature_major.hpp"
#include "support/row_block.hpp"

namespace budgetron {

template <class T, class U>
class BlockAhead final : public Ahead {
 public:
  BlockAhead(const DenseRows<U>& rows, const FeatureMajor<T>& support, std::size_t length)
      : rows_(rows), support_(support), length_(length) {}

  double kernel_row(std::size_t i, const Finish& kernel, std::span<double> k) override {
    const bool too_many = support_.changes() - seen_ > support_.remembered;
    if (i < begin_ || i >= end_ || support_.padded() > stride_ || too_many) begin(i);
    if (end_ == begin_) return support_.kernel_row(rows_[i], kernel, k);
    if (seen_ != support_.changes()) follow(i - begin_);
    const std::size_t n = support_.padded();
    const T norm = norms_[i - begin_];
    kernel.finish(Reduced<T>{std::span<const T>(r_).subspan((i - begin_) * stride_, n), support_.norms(), norm}, k);
    return static_cast<double>(norm);
  }

 private:
  // Recomputing a changed column costs half a block of reductions on average, a row costs n. A block of n/4 rows
  // therefore loses little even if every row changes the support set. Blocks below `lanes` rows are not worth the
  // overhead. If the reductions of a block would leave the second-level cache, the block is shorter.
  std::size_t worthwhile(std::size_t i) const {
    const bool large = length_ * support_.size() * sizeof(T) > second_cache;
    const std::size_t length = large ? std::min(length_, single_lanes) : length_;
    const std::size_t most = std::min({length, support_.size() / 4, rows_.size() - i});
    return most < lanes ? 0 : most < single_lanes ? most : most / single_lanes * single_lanes;
  }

  void begin(std::size_t i) {
    const std::size_t count = worthwhile(i);
    begin_ = i;
    end_ = i + count;
    if (count == 0) return;
    stride_ = whole_lanes<T>(support_.size() + count);
    x_.take(rows_, i, count);
    norms_.resize(x_.stride());
    support_.reduction().norms(x_.from(0), x_.stride(), x_.stride(), rows_.columns, norms_.data());
    r_.resize(x_.stride() * stride_);
    support_.reduce(x_.from(0), x_.stride(), x_.stride(), r_.data(), stride_);
    seen_ = support_.changes();
  }

  // Recomputes the columns of changed support vectors, for row a of the block and later rows. The reduction is
  // symmetric, so here the rows take the role of the support vectors.
  void follow(std::size_t a) {
    a = a / lanes_of<T> * lanes_of<T>;
    column_.resize(x_.stride());
    s_.resize(rows_.columns);
    while (seen_ < support_.changes()) {
      const std::size_t p = support_.changed(++seen_);
      if (p >= support_.size()) continue;  // removed since
      support_.take(p, s_.data());
      support_.reduction().block(s_.data(), 1, 1, rows_.columns, x_.from(a), x_.stride(), x_.stride() - a,
                                 column_.data(), 0);
      for (std::size_t b = a; b < x_.stride(); ++b) r_[b * stride_ + p] = column_[b - a];
    }
  }

  static constexpr std::size_t second_cache = 1 << 20;

  const DenseRows<U> rows_;
  const FeatureMajor<T>& support_;
  std::size_t length_;
  std::size_t begin_ = 0, end_ = 0;  // the rows of the block
  RowBlock<T> x_;
  std::vector<T> norms_;    // norms of the rows
  std::size_t stride_ = 0;  // stride of r_, with room for one new support vector per row
  std::vector<T> r_;        // rows x stride
  Counter seen_ = 0;        // r_ includes changes up to this one
  std::vector<T> s_, column_;
};

template <class T>
std::unique_ptr<Ahead> FeatureMajor<T>::ahead(const Rows& rows, std::size_t length) const {
  return std::visit(
      [&](const auto& view) -> std::unique_ptr<Ahead> {
        using View = std::remove_cvref_t<decltype(view)>;
        if constexpr (!View::sparse) return std::make_unique<BlockAhead<T, typename View::Value>>(view, *this, length);
        return std::make_unique<RowByRow>(rows, *this);
      },
      rows.view());
}

}  // namespace budgetron
