// Work on the pieces of a block in several tracks at once. A track takes its pieces in order, one at a time, so what it
// computes does not depend on the threads. The first track releases pieces for the others. The last track takes a piece
// when all others have done it. A thread keeps to the tracks that it had before, because what these have learned is in
// its cache, and takes those of other threads when it has nothing else to do.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "state/threads.hpp"

namespace budgetron {

class Tracks {
 public:
  // What is known of a track from the blocks so far.
  struct Past {
    double cost = 0;       // seconds of a piece
    std::size_t seat = 0;  // of the thread that had it last
  };
  // `past` has one for each track, and is kept up to date.
  Tracks(std::size_t pieces, std::span<Past> past) : pieces_(pieces), past_(past), tracks_(past.size()) {}

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
      past_[*track].seat = Threads::seat();
      if (free_track()) changed_.notify_one();  // a thread that comes does the same, so no more wake than can work
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
      past_[*track].cost += (took.count() - past_[*track].cost) / 8;
      ++own.next;
      own.taken = false;
      if (done()) changed_.notify_all();
    }
  }

  // The first track, in its step: other tracks may take its piece, unless it is empty. No other may follow the last
  // one.
  void release(bool any, bool last) {
    const std::lock_guard lock(mutex_);
    if (any) ++released_;
    if (last) pieces_ = released_;
    changed_.notify_one();
  }

 private:
  struct Track {
    std::size_t next = 0;  // piece
    bool taken = false;
  };

  bool done() const { return failed_ || (tracks_.front().next >= pieces_ && tracks_.back().next >= pieces_); }

  // The first track and the last are never kept waiting. Of the others, a thread takes its own first; then those that
  // have begun, so that it stays with one; then the one with the most left to do.
  std::optional<std::size_t> free_track() const {
    if (failed_) return std::nullopt;
    const std::size_t last = tracks_.size() - 1, seat = Threads::seat();
    if (!tracks_[0].taken && tracks_[0].next < pieces_) return 0;
    std::size_t least = released_;
    std::optional<std::size_t> best;
    const auto rank = [&](std::size_t i) {
      const Track& track = tracks_[i];
      const double left = past_[i].cost * static_cast<double>(pieces_ - std::min(track.next, pieces_));
      return std::tuple(past_[i].seat == seat, track.next > 0, left);
    };
    for (std::size_t i = 0; i < last; ++i) {
      const Track& track = tracks_[i];
      least = std::min(least, track.next);
      if (i > 0 && !track.taken && track.next < released_ && (!best || rank(i) > rank(*best))) best = i;
    }
    return !tracks_[last].taken && tracks_[last].next < least ? last : best;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t pieces_, released_ = 0;
  bool failed_ = false;
  std::span<Past> past_;
  std::vector<Track> tracks_;
};

}  // namespace budgetron
