// Vectors whose first number begins a cache line.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace budgetron {

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t cache_line{64};

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), cache_line)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, cache_line); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

using AlignedVector = std::vector<double, AlignedAllocator<double>>;

}  // namespace budgetron
