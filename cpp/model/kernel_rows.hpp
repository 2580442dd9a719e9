// Kernel rows of a batch with a support set that changes while the batch is processed.
#pragma once

#include <memory>
#include <vector>

#include "input/rows.hpp"
#include "model/expansion.hpp"

namespace budgetron {

class KernelRows {
 public:
  KernelRows(const Rows& rows, const Expansion& f, std::size_t look_ahead)
      : rows_(rows), f_(f), look_ahead_(look_ahead) {}

  // The kernel row of row i with the current support vectors, valid until the next call.
  KernelRow at(std::size_t i) {
    if (support_ != &f_.support()) begin();
    k_.resize(support_->padded());
    const double norm = ahead_->kernel_row(i, f_.kernel(), k_);
    return {Vector(k_).first(f_.size()), f_.kernel().self(norm), norm};
  }

 private:
  // Starts with a new support set: the first support vector may have changed its layout.
  void begin() {
    support_ = &f_.support();
    ahead_ = support_->ahead(rows_, look_ahead_);
  }

  const Rows& rows_;
  const Expansion& f_;
  std::size_t look_ahead_;
  const SupportSet* support_ = nullptr;
  std::unique_ptr<Ahead> ahead_;
  std::vector<double> k_;
};

}  // namespace budgetron
