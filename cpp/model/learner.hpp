// A rule on a space, learning row by row.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <span>
#include <vector>

#include "input/rows.hpp"
#include "linalg/limits.hpp"
#include "model/expansion.hpp"
#include "model/kernel_rows.hpp"
#include "state/fields.hpp"

namespace budgetron {

// Shared by readers, held alone by a writer, who does not wait for readers that came after.
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
  // In a process that was just forked: who else held or awaited the guard does not exist here.
  void renew() { new (this) Guard; }

 private:
  std::mutex turnstile_;
  std::shared_mutex readers_;
};

class Learner : public Part {
 public:
  virtual std::size_t outputs() const = 0;
  // How many support vectors, or landmarks, the model has now.
  virtual std::size_t size() const = 0;
  // A learner that was just built begins or is restored; until then it takes no memory for features.
  virtual void begin() {}
  // Whether restored fields fit together.
  virtual bool consistent() const = 0;
  // Predict with the average of f over the last share of the rounds; to be asked for before the first.
  virtual void keep_average(double suffix) = 0;
  // Learns the rows one after the other and writes the scores made before each update (rows x outputs). Rows of weight
  // 0 are scored and otherwise skipped. Stops before a row whose scores or step are beyond the limits (limits.hpp), and
  // that row has changed nothing; returns how many rows were done.
  virtual std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) = 0;
  // f(x) for every row (rows x outputs).
  virtual void scores(const Rows& rows, std::span<double> out) const = 0;
  Guard& guard() const { return guard_; }
  // How many rows `run` has done since the learner was built.
  std::atomic<Counter> rows_done = 0;

 private:
  mutable Guard guard_;
};

// A learner whose f is a kernel expansion: it walks the rows, and what it does with one is its step.
class ExpansionLearner : public Learner {
 public:
  std::size_t outputs() const final { return f_.outputs(); }
  std::size_t size() const final { return f_.size(); }
  bool consistent() const final { return is_consistent(f_.size()); }
  const Expansion& expansion() const { return f_; }
  void keep_average(double suffix) final { f_.keep_average(suffix); }
  // How many rows may be looked at before their turn; that changes the speed and not one bit of the model.
  std::size_t look_ahead = 64;

  std::size_t run(const Rows& rows, Vector y, Vector weights, std::span<double> scores) final {
    KernelRows kernel_rows(rows, f_, look_ahead);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const KernelRow row = kernel_rows.at(i);
      const auto f = scores.subspan(i * outputs(), outputs());
      f_.scores(row.k, f);
      const double weight = weights.empty() ? 1 : weights[i];
      if (!moderate(f) || !moderate(row.kxx) || !std::isfinite(row.norm)) return i;
      if (weight == 0) continue;
      if (!learn(rows[i], row, f, y[i], weight)) return i;
      f_.end_round();
    }
    return rows.size();
  }

  void scores(const Rows& rows, std::span<double> out) const final {
    KernelRows kernel_rows(rows, f_, look_ahead);
    for (std::size_t i = 0; i < rows.size(); ++i)
      f_.output_scores(kernel_rows.at(i).k, out.subspan(i * outputs(), outputs()));
  }

 protected:
  ExpansionLearner(std::shared_ptr<const Kernel> kernel, std::size_t features, Precision precision, std::size_t outputs)
      : f_(std::move(kernel), features, precision, outputs) {}

  // One round, f = f(x) before it; false, and nothing changed, if the step would be beyond the limits.
  virtual bool learn(const Row& x, const KernelRow& row, Vector f, double y, double weight) = 0;

  Expansion f_;
};

}  // namespace budgetron
