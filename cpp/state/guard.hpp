// The lock of a model: one thread learns, or several read.
#pragma once

#include <mutex>
#include <new>
#include <shared_mutex>

namespace budgetron {

// A reader-writer lock. A writer does not wait for readers that arrive after it.
class Guard {
 public:
  void lock() {
    const std::lock_guard turn(turnstile_);
    readers_.lock();
  }
  void unlock() { readers_.unlock(); }
  void lock_shared() {
    {
      const std::lock_guard turn(turnstile_);
    }
    readers_.lock_shared();
  }
  void unlock_shared() { readers_.unlock_shared(); }
  // Held by a reader while it writes what readers share.
  std::mutex& among_readers() { return among_readers_; }
  // Resets the lock in a forked process, where the threads that held it no longer exist.
  void renew() { new (this) Guard; }

 private:
  std::mutex turnstile_;
  std::shared_mutex readers_;
  std::mutex among_readers_;
};

}  // namespace budgetron
