// The backend of this library: support vectors in main memory, kernel rows by the loops of simd/.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>

#include "input/rows.hpp"
#include "simd/loops.hpp"
#include "support/backend.hpp"
#include "support/block_ahead.hpp"
#include "support/feature_major.hpp"
#include "support/inverted_index.hpp"

namespace budgetron {

class Host final : public Backend {
 public:
  Layout initial_layout() const override { return Layout::FeatureMajor; }

  // An inverted index pays off for sparse rows with few nonzeros, if there are thousands of columns, or if the support
  // vectors of hundreds of columns would leave the cache.
  Layout layout_for(const Row& x, std::size_t features, std::size_t most) const override {
    const bool large = features > 2048 || (features >= 256 && most > cache_numbers / features);
    const auto wide = [&](std::size_t nonzeros) { return large && 16 * nonzeros < features; };
    const bool inverted = std::visit([&](const auto& row) { return row.sparse && wide(row.size()); }, x);
    return inverted ? Layout::InvertedIndex : Layout::FeatureMajor;
  }

  std::unique_ptr<SupportSet> support_set(Layout layout, ReductionKind kind, Precision precision,
                                          std::size_t features) const override {
    if (precision == Precision::Single) return make<float>(layout, kind, features);
    return make<double>(layout, kind, features);
  }

 private:
  static constexpr std::size_t cache_numbers = (2 << 20) / sizeof(double);

  template <class T>
  static std::unique_ptr<SupportSet> make(Layout layout, ReductionKind kind, std::size_t features) {
    const Reduction<T>& reduction = kind == ReductionKind::DotProduct ? dot_product<T>() : l1_distance<T>();
    if (layout == Layout::InvertedIndex) return std::make_unique<InvertedIndex<T>>(features, reduction);
    return std::make_unique<FeatureMajor<T>>(features, reduction);
  }
};

}  // namespace budgetron
