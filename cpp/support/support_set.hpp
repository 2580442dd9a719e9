// The support vectors s_1 .. s_n, and kernel rows k_i = finish(reduce(x, s_i)) for all i at once.
#pragma once

#include <memory>
#include <span>

#include "input/rows.hpp"
#include "state/fields.hpp"
#include "support/reduced.hpp"

namespace budgetron {

// Kernel rows of a batch, one after the other, while the support set changes.
class Ahead {
 public:
  virtual ~Ahead() = default;
  // Kernel row of row i with the current support vectors; returns the norm of the row.
  virtual double kernel_row(std::size_t i, const Finish&, std::span<double> k) = 0;
};

class SupportSet : public Part {
 public:
  virtual std::size_t size() const = 0;
  // The length of a buffer for one kernel row: size() rounded up to a multiple of the lane count.
  virtual std::size_t padded() const = 0;
  virtual double norm(const Row&) const = 0;
  virtual double norm(std::size_t i) const = 0;
  // k[i] = finish(reduce(x, s_i)); k has room for padded() numbers. Returns the norm of x.
  virtual double kernel_row(const Row& x, const Finish&, std::span<double> k) const = 0;
  virtual void kernel_row(std::size_t i, const Finish&, std::span<double> k) const = 0;
  // The same for a batch of rows; at most `length` rows are computed ahead of time.
  virtual std::unique_ptr<Ahead> ahead(const Rows&, std::size_t length) const = 0;
  virtual void append(const Row& x, double norm) = 0;
  virtual void replace(std::size_t i, const Row& x, double norm) = 0;
  // Removes support vector i; the last one moves to its slot.
  virtual void remove(std::size_t i) = 0;
  // More columns, in which all support vectors are 0.
  virtual void widen(std::size_t features) = 0;
  // Writes support vector i as a dense row.
  virtual void copy(std::size_t i, std::span<double> out) const = 0;
};

// Computes each row when it is asked for.
class RowByRow final : public Ahead {
 public:
  RowByRow(const Rows& rows, const SupportSet& support) : rows_(rows), support_(support) {}
  double kernel_row(std::size_t i, const Finish& kernel, std::span<double> k) override {
    return support_.kernel_row(rows_[i], kernel, k);
  }

 private:
  const Rows& rows_;
  const SupportSet& support_;
};

}  // namespace budgetron
