// A value that is made when it is first asked for.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

namespace budgetron {

// Threads may share it. No lock is held while the value is made, since that may need Python's lock: two threads that
// ask at once may both make the value, and the first one is kept.
template <class T>
class Lazy {
 public:
  explicit Lazy(std::function<T()> make) : make_(std::move(make)) {}

  const T& get() const {
    if (!made_.load(std::memory_order_acquire)) keep(make_());
    return value_;
  }

  // The value if it was made, else null.
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
