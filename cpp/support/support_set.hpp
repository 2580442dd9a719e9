// The support vectors s_1 .. s_n, and the one reduction over features that a kernel needs of (x, s_i), for all i at
// once.
#pragma once

#include <memory>
#include <span>

#include "input/rows.hpp"
#include "state/fields.hpp"
#include "support/reduced.hpp"

namespace budgetron {

// The kernel rows of a batch of rows, one after the other, while the support set changes.
class Ahead {
 public:
  virtual ~Ahead() = default;
  // Row i against the support vectors as they are now; its norm.
  virtual double kernel_row(std::size_t i, const Finish&, std::span<double> k) = 0;
};

class SupportSet : public Part {
 public:
  virtual std::size_t size() const = 0;
  // How many numbers a buffer for one row over the support vectors must hold (size() rounded up to whole lanes).
  virtual std::size_t padded() const = 0;
  virtual double norm(const Row&) const = 0;
  virtual double norm(std::size_t i) const = 0;
  // k_i = what is made of the reduction of (x, s_i); k has room for padded() numbers. The norm of x.
  virtual double kernel_row(const Row& x, const Finish&, std::span<double> k) const = 0;
  virtual void kernel_row(std::size_t i, const Finish&, std::span<double> k) const = 0;
  // The same for many rows; at most `length` of them are looked at before it is their turn.
  virtual std::unique_ptr<Ahead> ahead(const Rows&, std::size_t length) const = 0;
  virtual void append(const Row& x, double norm) = 0;
  virtual void replace(std::size_t i, const Row& x, double norm) = 0;
  // The last one moves to place i.
  virtual void remove(std::size_t i) = 0;
  // Support vector i as dense numbers.
  virtual void copy(std::size_t i, std::span<double> out) const = 0;
};

// Nothing is looked at before its turn.
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
