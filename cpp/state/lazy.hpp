// A value that is computed on first use.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

namespace budgetron {

// Thread-safe. No lock is held during the computation, because it may need Python's lock. Two threads that ask at once
// may both compute the value; the first result is kept.
template <class T>
class Lazy {
 public:
  explicit Lazy(std::function<T()> make) : make_(std::move(make)) {}

  const T& get() const {
    if (!made_.load(std::memory_order_acquire)) keep(make_());
    return value_;
  }

  // The value if it has been computed, else null.
  const T* peek() const { return made_.load(std::memory_order_acquire) ? &value_ : nullptr; }

 private:
  void keep(T value) const {
    const std::lock_guard lock(guard_);
    if (made_.load(std::memory_order_relaxed)) return;
    value_ = std::move(value);
    made_.store(true, std::memory_order_release);
  }

  std::function<T()> make_;
  mutable std::mutex guard_;
  mutable std::atomic<bool> made_ = false;
  mutable T value_;
};

}  // namespace budgetron
