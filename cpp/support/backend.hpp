// The seam between models and the place where their numbers live. A backend creates support sets, and a support set
// computes kernel rows, one by one or for a block of rows. Nothing above this file names a memory layout's classes.
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

// How support vectors are stored. Model files hold these numbers: add new ones, never renumber.
enum class Layout : Counter { FeatureMajor = 0, InvertedIndex = 1 };

// The number that a model file holds for a layout.
inline Counter saved_number(Layout layout) { return static_cast<Counter>(layout); }

// The layout that a model file names; empty if the number is unknown, as in a file of a later version.
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
  // The layout for a support set whose first support vector is x.
  virtual Layout layout_for(const Row& x, std::size_t features) const = 0;
  // An empty support set.
  virtual std::unique_ptr<SupportSet> support_set(Layout, ReductionKind, Precision, std::size_t features) const = 0;
};

// The backend in use, set when the module is loaded.
inline const Backend* backend = nullptr;

}  // namespace budgetron
