// The row source behind the step: the kernel rows of a batch against a support set that changes while the batch is
// walked.
#pragma once

#include <vector>

#include "expansion.hpp"
#include "rows.hpp"

namespace budgetron {

class KernelRows {
 public:
  KernelRows(const Rows& rows, const Expansion& f) : rows_(rows), f_(f) {}

  // Row i against the support vectors as they are now. The numbers are valid until the next call.
  KernelRow at(std::size_t i) {
    const SupportSet& support = f_.support();
    const Row x = rows_[i];
    const double norm = support.norm(x);
    k_.resize(support.padded());
    support.reduce(x, k_);
    f_.kernel().finish(k_, support.norms(), norm);
    return {Vector(k_).first(support.size()), f_.kernel().self(norm), norm};
  }

 private:
  const Rows& rows_;
  const Expansion& f_;
  std::vector<double> k_;
};

}  // namespace budgetron
