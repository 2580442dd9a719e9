// Work on the pieces of a block in several tracks at once. A track takes its pieces in order, one at a time, so what it
// computes does not depend on the threads. The first track releases pieces for the others. The last track takes a piece
// when all others have done it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace budgetron {

class Tracks {
 public:
  // `costs` has the seconds that a piece takes in every track, as measured so far; it is kept up to date.
  Tracks(std::size_t pieces, std::span<double> costs) : pieces_(pieces), costs_(costs), tracks_(costs.size()) {}

  // Calls step(track, piece) for whatever can be done, until all is done, or a step has failed. Threads may call it at
  // the same time.
  template <class Step>
  void work(Step step) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const std::optional<std::size_t> track = free_track();
      if (!track && done()) break;
      if (!track) {
        changed_.wait(lock);
        continue;
      }
      Track& own = tracks_[*track];
      own.taken = true;
      lock.unlock();
      const auto began = std::chrono::steady_clock::now();
      try {
        step(*track, own.next);
      } catch (...) {
        lock.lock();
        failed_ = true;
        changed_.notify_all();
        throw;
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      lock.lock();
      costs_[*track] += (took.count() - costs_[*track]) / 8;
      ++own.next;
      own.taken = false;
      changed_.notify_all();
    }
  }

  // The first track, in its step: other tracks may take its piece, unless it is empty. No other may follow the last
  // one.
  void release(bool any, bool last) {
    const std::lock_guard lock(mutex_);
    if (any) ++released_;
    if (last) pieces_ = released_;
    changed_.notify_all();
  }

 private:
  struct Track {
    std::size_t next = 0;  // piece
    bool taken = false;
  };

  bool done() const { return failed_ || (tracks_.front().next >= pieces_ && tracks_.back().next >= pieces_); }

  // The first track and the last are never kept waiting; of the others, the one with the most left to do goes first.
  std::optional<std::size_t> free_track() const {
    if (failed_) return std::nullopt;
    const std::size_t last = tracks_.size() - 1;
    if (!tracks_[0].taken && tracks_[0].next < pieces_) return 0;
    std::size_t least = released_;
    std::optional<std::size_t> best;
    double most = -1;
    for (std::size_t i = 0; i < last; ++i) {
      const Track& track = tracks_[i];
      least = std::min(least, track.next);
      const double left = costs_[i] * static_cast<double>(pieces_ - std::min(track.next, pieces_));
      if (i > 0 && !track.taken && track.next < released_ && left > most) best = i, most = left;
    }
    return !tracks_[last].taken && tracks_[last].next < least ? last : best;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t pieces_, released_ = 0;
  bool failed_ = false;
  std::span<double> costs_;
  std::vector<Track> tracks_;
};

}  // namespace budgetron
