// Threads that all models of the process share. They start when they are first needed, and sleep in between.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#ifndef _WIN32
#include <pthread.h>

#include <csignal>
#endif

namespace budgetron {

class Threads {
 public:
  static Threads& shared() {
    static Threads* const threads = new Threads;  // never destroyed: its threads may outlive static objects
    return *threads;
  }
  // How many threads the present call may use. Rows that are handed to another thread stay on that one.
  static std::size_t allowed() { return allowed_; }
  // 0 in a thread that calls, and a number of its own in each thread of the pool.
  static std::size_t seat() { return seat_; }

  // Calls work() here, and in up to `others` threads of the pool at the same time. Returns when all calls have
  // returned, and rethrows the first error. The pool may send fewer threads, or none, so every call must take what is
  // left to do, until nothing is. Inside, one thread is allowed.
  void together(std::size_t others, const std::function<void()>& work) {
    const Allow one(1);
    Job job{work, others};
    std::fegetenv(&job.modes);
    {
      const std::lock_guard lock(mutex_);
      start(others);
      jobs_.push_back(&job);
    }
    for (std::size_t i = 0; i < others; ++i) called_.notify_one();
    std::exception_ptr error = error_of(work);
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);  // nobody comes any more
    job.left.wait(lock, [&] { return job.inside == 0; });
    if (!error) error = job.error;
    if (error) std::rethrow_exception(error);
  }

  // In a forked process, where no thread of the pool exists. A fork waits for the locks of models, so none was at work.
  void renew() { new (this) Threads; }

  // The rows that the scope's calls hand out may go to so many threads.
  class Allow {
   public:
    explicit Allow(std::size_t threads) : before_(allowed_) { allowed_ = std::max<std::size_t>(threads, 1); }
    ~Allow() { allowed_ = before_; }
    Allow(const Allow&) = delete;
    Allow& operator=(const Allow&) = delete;

   private:
    std::size_t before_;
  };

 private:
  struct Job {
    const std::function<void()>& work;
    std::size_t wanted;      // threads that may still come
    std::size_t inside = 0;  // those at work
    std::exception_ptr error = nullptr;
    std::fenv_t modes = {};  // how the caller rounds, and whether it flushes small numbers: the same bits everywhere
    std::condition_variable left = {};
  };

  static std::exception_ptr error_of(const std::function<void()>& work) {
    try {
      work();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  // Starts threads until there are so many, or as many as processors (eight, if there are fewer). Signals are left to
  // the threads of the caller.
  void start(std::size_t threads) {
    const std::size_t most = std::max<std::size_t>(std::thread::hardware_concurrency(), 8);
    if (started_ >= std::min(threads, most)) return;
#ifndef _WIN32
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
    try {
      for (; started_ < std::min(threads, most); ++started_)
        std::thread([this, seat = started_ + 1] { serve(seat); }).detach();
    } catch (const std::system_error&) {
      // The system has no more threads: those that there are, and the caller, do the work.
    }
#ifndef _WIN32
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  }

  void serve(std::size_t seat) {
    seat_ = seat;
    std::unique_lock lock(mutex_);
    for (;;) {
      called_.wait(lock, [&] { return !jobs_.empty(); });
      Job& job = *jobs_.front();
      ++job.inside;
      if (--job.wanted == 0) jobs_.pop_front();
      lock.unlock();
      std::fesetenv(&job.modes);
      std::exception_ptr error = error_of(job.work);
      lock.lock();
      if (!job.error) job.error = error;
      if (--job.inside == 0) job.left.notify_one();
    }
  }

  inline static thread_local std::size_t allowed_ = 1;
  inline static thread_local std::size_t seat_ = 0;

  std::mutex mutex_;
  std::condition_variable called_;
  std::deque<Job*> jobs_;
  std::size_t started_ = 0;
};

// Of a block that threads learn together, at most.
constexpr std::size_t rows_in_threads = 2048;

// Calls use(first, last) for pieces of rows 0 .. rows, in as many threads as are allowed. A few rows are one piece.
template <class Use>
void in_pieces(std::size_t rows, Use use) {
  constexpr std::size_t least = 64;
  const std::size_t threads = std::min(Threads::allowed(), rows / (2 * least));
  if (threads < 2) return use(std::size_t{0}, rows);
  const std::size_t size = std::max(least, rows / (4 * threads) / least * least);
  std::atomic<std::size_t> next = 0;
  Threads::shared().together(threads - 1, [&] {
    for (std::size_t first; (first = next.fetch_add(size)) < rows;) use(first, std::min(first + size, rows));
  });
}

}  // namespace budgetron
