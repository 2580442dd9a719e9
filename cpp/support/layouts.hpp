// How support vectors are stored: which layout suits them, and support sets of each layout.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>

#include "input/rows.hpp"
#include "simd/loops.hpp"
#include "state/fields.hpp"
#include "support/block_ahead.hpp"
#include "support/feature_major.hpp"
#include "support/inverted_index.hpp"
#include "support/support_set.hpp"

namespace budgetron {

enum class Precision { Single, Double };

// The reduction over features that a kernel is computed from: <x, s> or |x - s|_1.
enum class ReductionKind { DotProduct, L1Distance };

// Model files contain these numbers: add new ones, never renumber. A support set that is still empty has the first.
enum class Layout : Counter { FeatureMajor = 0, InvertedIndex = 1 };

// The number of a layout in model files.
inline Counter saved_number(Layout layout) { return static_cast<Counter>(layout); }

// The layout of a number in a model file; empty if the number is unknown, for example in a file of a later version.
inline std::optional<Layout> layout_from(Counter number) {
  for (const Layout layout : {Layout::FeatureMajor, Layout::InvertedIndex})
    if (number == saved_number(layout)) return layout;
  return std::nullopt;
}

// The layout for a support set whose first support vector is x, and which will have up to `most` of them; 0 if it is
// not known. An inverted index pays off for sparse rows with few nonzeros, if there are thousands of columns, or if the
// support vectors of hundreds of columns would leave the cache. Floats must be more, and rarer: the vectors of a dense
// layout are then twice as fast, but the lists of an index are not.
inline Layout layout_for(const Row& x, std::size_t features, std::size_t most = 0,
                         Precision precision = Precision::Double) {
  const bool singles = precision == Precision::Single;
  const std::size_t numbers = singles ? 1 << 21 : 1 << 18;  // of a full budget of dense rows
  const auto sparse_enough = [&](std::size_t nonzeros) {
    if (features > 2048) return 16 * nonzeros < features;
    return features >= 256 && most > numbers / features && (singles ? 32 : 16) * nonzeros < features;
  };
  const bool inverted = std::visit([&](const auto& row) { return row.sparse && sparse_enough(row.size()); }, x);
  return inverted ? Layout::InvertedIndex : Layout::FeatureMajor;
}

template <class T>
std::unique_ptr<SupportSet> support_set_of(Layout layout, ReductionKind kind, std::size_t features) {
  const Reduction<T>& reduction = kind == ReductionKind::DotProduct ? dot_product<T>() : l1_distance<T>();
  if (layout == Layout::InvertedIndex) return std::make_unique<InvertedIndex<T>>(features, reduction);
  return std::make_unique<FeatureMajor<T>>(features, reduction);
}

// An empty support set.
inline std::unique_ptr<SupportSet> support_set(Layout layout, ReductionKind kind, Precision precision,
                                               std::size_t features) {
  if (precision == Precision::Single) return support_set_of<float>(layout, kind, features);
  return support_set_of<double>(layout, kind, features);
}

}  // namespace budgetron
