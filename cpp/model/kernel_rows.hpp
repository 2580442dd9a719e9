// Kernel rows of a batch with a support set that changes while the batch is processed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "input/rows.hpp"
#include "model/expansion.hpp"

namespace budgetron {

class KernelRows {
 public:
  KernelRows(const Rows& rows, const Expansion& f, std::size_t look_ahead, Vector y = {})
      : rows_(rows), f_(f), look_ahead_(look_ahead), y_(y) {}

  // The kernel row of row i with the current support vectors, valid until the next call.
  KernelRow at(std::size_t i) {
    if (support_ != &f_.support()) begin();
    k_.resize(support_->padded());
    const double norm = ahead_->kernel_row(i, f_.kernel(), k_);
    return {Vector(k_).first(f_.size()), f_.kernel().self(norm), norm};
  }

  // The same, as a row of a block, if the support vectors do not change until the last row.
  KernelRow in_block(std::size_t i) {
    if (i < block_begin_ || i >= block_begin_ + block_.rows) begin_block(i);
    const std::size_t place = i - block_begin_;
    const double norm = norms_[place];
    return {block_.row(place, f_.size()), f_.kernel().self(norm), norm, &block_, place};
  }

 private:
  void begin_block(std::size_t i) {
    if (support_ != &f_.support()) begin();
    block_begin_ = i;
    block_.rows = std::min(KernelBlock::most_rows, rows_.size() - i);
    block_.stride = support_->padded();
    block_.first = block_.last = 0;
    block_.places.clear();
    if (!y_.empty()) block_.y = y_.subspan(i, block_.rows);
    block_.K.resize(block_.rows * block_.stride);
    norms_.resize(block_.rows);
    for (std::size_t a = 0; a < block_.rows; ++a)
      norms_[a] = ahead_->kernel_row(i + a, f_.kernel(), std::span(block_.K).subspan(a * block_.stride, block_.stride));
  }

  // Starts with a new support set: the first support vector may have changed its layout.
  void begin() {
    support_ = &f_.support();
    ahead_ = support_->ahead(rows_, look_ahead_);
  }

  const Rows& rows_;
  const Expansion& f_;
  std::size_t look_ahead_;
  Vector y_;
  const SupportSet* support_ = nullptr;
  std::unique_ptr<Ahead> ahead_;
  std::vector<double> k_;
  std::size_t block_begin_ = 0;
  KernelBlock block_;
  std::vector<double> norms_;  // of the rows of the block
};

}  // namespace budgetron
