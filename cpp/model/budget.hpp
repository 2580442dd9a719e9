// The interface of a budget: how a new term enters f.
#pragma once

#include <cstddef>
#include <span>

#include "model/expansion.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Budget : public Part {
 public:
  virtual void insert(Expansion& f, const Term& term) = 0;
  // Whether `insert` is also called for rows without a step, with beta = 0.
  virtual bool takes_every_row() const { return false; }
  // The number of support vectors that f may have; 0 if it is not known.
  virtual std::size_t most() const { return 0; }
  // f has more outputs than before (widen_outputs in tasks.hpp).
  virtual void widen(std::size_t /*outputs*/) {}
  // Rows have more columns than before.
  virtual void widen_columns(std::size_t /*columns*/) {}
  // All coefficients were multiplied by the factor, outside of `insert`.
  virtual void shrunk(double) {}
  // Whether it solves linear systems of the kernel matrix. Their condition number would magnify single-precision
  // rounding, so kernels are then computed in double.
  virtual bool solves() const { return false; }
  // The squared norm of what f has besides its expansion, before division.
  virtual double squared_norm_besides() const { return 0; }
  // Whether the support vectors will not change any more. Kernel rows are then part of a block.
  virtual bool support_is_final() const { return false; }
};

// A budget that never has more than this many support vectors.
class OfSize : public Budget {
 public:
  explicit OfSize(std::size_t budget) : budget_(budget) {}
  std::size_t most() const final { return budget_; }
  bool is_consistent(std::size_t n) const override { return n <= budget_; }

 protected:
  std::size_t budget_;
};

// A budget that keeps f in other numbers than its coefficients: those of ProjectLowRank are coordinates in the span,
// those of MoveToFeatures are weights of explicit features.
class OwnNumbers {
 public:
  virtual ~OwnNumbers() = default;
  // A round without a step has ended.
  virtual void rest(Expansion&) = 0;
  // Writes f_c(x) of row i and returns true, unless the coefficients are as good.
  virtual bool scores(const Expansion&, const Rows&, std::size_t i, const KernelRow&, std::span<double>) const = 0;
  // Makes the coefficients those of f, and changes nothing else.
  virtual void settle(Expansion&) = 0;
  virtual bool has_outputs(std::size_t) const = 0;
};

}  // namespace budgetron
