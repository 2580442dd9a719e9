// The row source behind the step: the kernel rows of a batch against a support set that changes while the batch is
// walked.
#pragma once

#include <memory>
#include <vector>

#include "expansion.hpp"
#include "rows.hpp"

namespace budgetron {

class KernelRows {
 public:
  KernelRows(const Rows& rows, const Expansion& f, std::size_t look_ahead)
      : f_(f), ahead_(f.support().ahead(rows, look_ahead)) {}

  // Row i against the support vectors as they are now. The numbers are valid until the next call.
  KernelRow at(std::size_t i) {
    k_.resize(f_.support().padded());
    const double norm = ahead_->kernel_row(i, f_.kernel(), k_);
    return {Vector(k_).first(f_.size()), f_.kernel().self(norm), norm};
  }

 private:
  const Expansion& f_;
  std::unique_ptr<Ahead> ahead_;
  std::vector<double> k_;
};

}  // namespace budgetron
