// The seam between models and the memory that holds their numbers. A backend creates support sets; a support set
// computes kernel rows, one at a time or for a block of rows. Nothing above this room knows where the numbers live.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "input/rows.hpp"
#include "state/fields.hpp"
#include "support/support_set.hpp"

namespace budgetron {

enum class Precision { Single, Double };

// The reduction over features that a kernel is computed from: <x, s> or |x - s|_1.
enum class ReductionKind { DotProduct, L1Distance };

// How support vectors are stored. Model files contain these numbers: add new ones, never renumber.
enum class Layout : Counter { FeatureMajor = 0, InvertedIndex = 1 };

// The number of a layout in model files.
inline Counter saved_number(Layout layout) { return static_cast<Counter>(layout); }

// The layout of a number in a model file; empty if the number is unknown, for example in a file of a later version.
inline std::optional<Layout> layout_from(Counter number) {
  for (const Layout layout : {Layout::FeatureMajor, Layout::InvertedIndex})
    if (number == saved_number(layout)) return layout;
  return std::nullopt;
}

class Backend {
 public:
  virtual ~Backend() = default;
  // The layout of a support set that is still empty.
  virtual Layout initial_layout() const = 0;
  // The layout for a support set whose first support vector is x, and which will have up to `most` of them; 0 if it is
  // not known.
  virtual Layout layout_for(const Row& x, std::size_t features, std::size_t most = 0) const = 0;
  // An empty support set.
  virtual std::unique_ptr<SupportSet> support_set(Layout, ReductionKind, Precision, std::size_t features) const = 0;
};

// The backend in use, set when the module is loaded.
inline const Backend* backend = nullptr;

}  // namespace budgetron
