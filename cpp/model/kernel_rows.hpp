// The row source behind the step: the kernel rows of a batch against a support set that changes while the batch is
// walked.
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

  // Row i against the support vectors as they are now. The numbers are valid until the next call.
  KernelRow at(std::size_t i) {
    if (support_ != &f_.support()) begin();
    k_.resize(support_->padded());
    const double norm = ahead_->kernel_row(i, f_.kernel(), k_);
    return {Vector(k_).first(f_.size()), f_.kernel().self(norm), norm};
  }

 private:
  // With a support set that is new: the first support vector says how it is laid out.
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
