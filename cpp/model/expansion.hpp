// f = sum_i alpha_i k(s_i, .): support vectors with one row of coefficients per output. A support vector keeps its slot
// while others are replaced. `births` orders support vectors by age.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "input/rows.hpp"
#include "linalg/limits.hpp"
#include "model/average.hpp"
#include "model/kernels.hpp"
#include "model/tasks.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"
#include "support/layouts.hpp"
#include "support/row_block.hpp"
#include "support/support_set.hpp"

namespace budgetron {

// The kernel rows of several examples, if the support vectors do not change any more. A budget keeps here what it has
// computed from them ahead of time.
struct KernelBlock {
  static constexpr std::size_t most_rows = 32;
  std::size_t rows = 0, stride = 0;
  std::vector<double> K;            // rows x stride
  Vector y;                         // labels or targets, if the rows are to be learned
  RowBlock<double> transposed;      // rows of K, if the budget needs them so
  std::vector<double> Z;            // what the budget has computed, row after row
  std::size_t first = 0, last = 0;  // the rows that Z belongs to, if they follow each other
  std::vector<std::size_t> places;  // and if they do not

  Vector row(std::size_t place, std::size_t n) const { return Vector(K).subspan(place * stride, n); }
};

// The kernel row of an example: k_i = k(s_i, x) for the current support vectors.
struct KernelRow {
  Vector k;
  double kxx;
  double norm;                   // norm of x, as defined by the kernel's reduction
  KernelBlock* block = nullptr;  // the block that it is a row of, if any
  std::size_t place = 0;
};

// The term beta v k(x,.) that a budget inserts, with what the round already knows about it.
struct Term {
  const Row& x;
  const KernelRow& row;
  double beta;
  Direction v;
  const Round& round;
  Vector own = {};  // of a support vector of another model: its coefficients, and beta the largest

  // beta v_c
  double coefficient(std::size_t c) const { return own.empty() ? beta * v[c] : own[c]; }
};

class Expansion final : public Part {
 public:
  Expansion(std::shared_ptr<const Kernel> kernel, std::size_t features, Precision precision, std::size_t outputs)
      : kernel_(std::move(kernel)),
        alpha_(outputs),
        coefficients_(outputs),
        features_(features),
        precision_(precision) {
    lay_out(layout_);
  }

  std::size_t size() const { return births_.size(); }
  std::size_t outputs() const { return alpha_.size(); }
  std::size_t features() const { return features_; }
  const Kernel& kernel() const { return *kernel_; }
  const SupportSet& support() const { return *support_; }
  std::span<double> alpha(std::size_t c) { return alpha_[c]; }
  Vector alpha(std::size_t c) const { return alpha_[c]; }
  const std::vector<Counter>& births() const { return births_; }

  // f_c(x) for every output c.
  void scores(Vector k, std::span<double> f) const {
    for (std::size_t c = 0; c < outputs(); ++c) f[c] = dot(alpha_[c], k);
    if (divisor_ == 1) return;  // the usual case; a division takes as long as a small dot product
    for (double& score : f) score /= divisor_;
  }

  // The number of support vectors that f may have; the layout of the support set depends on it.
  void expect(std::size_t most) { most_ = most; }

  // Starts to keep the average of f; must be called before the first round.
  void keep_average(double suffix) { average_.emplace(outputs(), suffix); }
  void end_round() {
    if (average_) average_->add_round(alpha_, divisor_);
  }
  // Whether the coefficients are read after every step: by the average, or by the norm.
  bool reads_coefficients() const { return average_ || norm_kept_; }

  // The coefficients used for prediction, and their divisor: those of the average if one is kept, else those of f.
  Vector output(std::size_t c) const { return average_ ? average_->sum(c) : Vector(alpha_[c]); }
  double output_divisor() const { return average_ ? std::max(average_->rounds(), 1.0) : divisor_; }
  bool has_average() const { return average_.has_value(); }
  void average_scores(Vector k, std::span<double> f) const {
    for (std::size_t c = 0; c < outputs(); ++c) f[c] = dot(output(c), k) / output_divisor();
  }

  double divisor() const { return divisor_; }
  void divide_by(double divisor) { divisor_ = divisor; }

  // Whether the coefficients stay within the limits when they are multiplied by the factor.
  bool can_grow(double factor) const {
    return factor <= 1 || std::all_of(alpha_.begin(), alpha_.end(),
                                      [&](const auto& row) { return moderate(factor * largest_of(row)); });
  }

  void shrink(double factor) {
    if (factor == 1) return;
    for (auto& row : alpha_) scale(factor, row);
    if (norm_kept_) norm2_ *= factor * factor;
  }

  // Starts to keep |f|^2; f must be 0.
  void keep_norm() { norm_kept_ = true; }
  // |f|^2; valid only if it is kept.
  double squared_norm() const { return norm2_ / (divisor_ * divisor_); }
  // Invalidates the cached norm; it is recomputed on next use. Call it after writing coefficients in place.
  void forget_norm() { norm_age_ = size(); }

  // Projects f onto the ball |f| <= radius; returns the factor by which f shrank. What f has besides the expansion adds
  // to |f|^2; it is not divided yet.
  double pull_into_ball(double radius, double besides = 0) {
    if (!norm_kept_) return 1;
    if (++norm_age_ > size() || !moderate_square(norm2_)) remake_norm();
    if (!moderate_square(norm2_)) norm2_ = 0, forget_norm();  // happens only if the kernel is indefinite
    const double norm2 = squared_norm() + besides / (divisor_ * divisor_);
    const double factor = norm2 > radius * radius ? radius / std::sqrt(norm2) : 1;
    shrink(factor);
    return factor;
  }

  void append(const Term& term) {
    if (size() == 0) choose_layout(term.x);
    support_->append(term.x, term.row.norm);
    push(births_, born_++);
    push(selves_, term.row.kxx);
    for (auto& row : alpha_) push(row, 0.0);
    if (average_) average_->append();
    for (std::size_t c = 0; c < outputs(); ++c) coefficients_[c] = term.coefficient(c);
    enter(size() - 1, term.row.k, term.row.kxx);
  }

  // The methods below never let a coefficient exceed the limits (limits.hpp): a share that would is dropped.

  // Replaces support vector i by the term, which also receives a share of the coefficients of i.
  void replace(std::size_t i, const Term& term, double share = 0) {
    for (std::size_t c = 0; c < outputs(); ++c) coefficients_[c] = term.coefficient(c) + share * alpha_[c][i];
    if (!possible(term.row.kxx)) {
      for (std::size_t c = 0; c < outputs(); ++c) coefficients_[c] = term.coefficient(c);
      share = 0;
    }
    if (average_) average_->keep_share(i, share);
    vanish(i);
    support_->replace(i, term.x, term.row.norm);
    births_[i] = born_++;
    selves_[i] = term.row.kxx;
    enter(i, term.row.k, term.row.kxx);
  }

  // Replaces support vector j by z, with coefficients u alpha_i + v alpha_j, and removes i.
  void merge(std::size_t i, std::size_t j, const Row& z, double u, double v) {
    for (std::size_t c = 0; c < outputs(); ++c) coefficients_[c] = u * alpha_[c][i] + v * alpha_[c][j];
    if (!possible(1))
      for (std::size_t c = 0; c < outputs(); ++c) coefficients_[c] = v * alpha_[c][j];
    if (average_) {
      average_->keep_share(j, v);
      average_->lend(i, j, u);
    }
    vanish(i);
    vanish(j);
    const double norm = support_->norm(z);
    support_->replace(j, z, norm);
    births_[j] = born_++;
    selves_[j] = kernel_->self(norm);
    if (norm_kept_) kernel_row(j, row_);
    enter(j, row_, selves_[j]);
    remove(i);
  }

  // Adds a share of the coefficients of support vector i to those of j.
  void lend(std::size_t i, std::size_t j, double share) {
    if (average_) average_->lend(i, j, share);
    for (std::size_t c = 0; c < outputs(); ++c) coefficients_[c] = share * alpha_[c][i] + alpha_[c][j];
    if (!possible(self(j))) return;
    for (std::size_t c = 0; c < outputs(); ++c) coefficients_[c] = share * alpha_[c][i];
    if (norm_kept_) kernel_row(j, row_);
    enter(j, row_, self(j));
  }

  // The same for every j, by shares[j]; shares[i] is 0.
  void lend_all(std::size_t i, Vector shares) {
    const double bound = largest(i) * largest_of(shares) + largest_alpha();
    if (norm_kept_ || !moderate(bound) || !moderate_square(bound * bound * largest_of(selves_))) {
      for (std::size_t j = 0; j < size(); ++j)
        if (j != i) lend(i, j, shares[j]);
      return;
    }
    for (std::size_t j = 0; average_ && j < size(); ++j)
      if (j != i) average_->lend(i, j, shares[j]);
    for (auto& row : alpha_)
      if (row[i] != 0) add(row[i], shares, row);
  }

  // The same in the average only, if one is kept.
  void lend_in_average(std::size_t i, std::size_t j, double share) {
    if (average_) average_->lend(i, j, share);
  }

  // Removes support vector i and replaces its term by its orthogonal projection onto the span of the others; shares[i]
  // is ignored. distance2 is the squared distance of k(s_i,.) from that span.
  void project_out(std::size_t i, Vector shares, double distance2) {
    if (average_) average_->project_out(i, shares);
    if (!moderate(largest(i) * largest_of(shares))) return remove(i);
    if (norm_kept_) norm2_ -= squared(i) * distance2;
    for (auto& row : alpha_) {
      const double alpha = std::exchange(row[i], 0.0);
      add(alpha, shares, row);
      row[i] = 0;
    }
    take_out(i);
  }

  // Removes support vector i; the last one moves to its slot.
  void remove(std::size_t i) {
    vanish(i);
    take_out(i);
  }

  // alpha += factor beta v (x) d, where sum_j d_j k(s_j,.) = P k(x,.) for a projection P with P f = f.
  void spread(const Term& term, double factor, Vector d) {
    if (!moderate(term.beta * factor * largest_of(d))) return;
    if (norm_kept_) add_to_norm(factor, term, dot(term.row.k, d));
    if (!term.own.empty()) {
      for (std::size_t c = 0; c < outputs(); ++c) add(factor * term.own[c], d, alpha_[c]);
      return;
    }
    const Direction& v = term.v;
    add(term.beta * factor, d, alpha_[v.plus]);
    if (v.lifted()) add(-term.beta * factor, d, alpha_[static_cast<std::size_t>(v.minus)]);
  }

  // Updates the norm, if it is kept, to |f + factor beta v g|^2, for g with <f, g> = f(x) and |g|^2 = P.
  void add_to_norm(double factor, const Term& term, double P) {
    for (std::size_t c = 0; norm_kept_ && c < outputs(); ++c) {
      const double coefficient = term.own.empty() ? term.beta * factor * term.v[c] : factor * term.own[c];
      norm2_ += coefficient * (2 * dot(term.row.k, alpha_[c]) + coefficient * P);
    }
  }

  std::size_t oldest() const {
    return static_cast<std::size_t>(std::min_element(births_.begin(), births_.end()) - births_.begin());
  }

  // The slot with the least value, the oldest on ties; there is a value for each slot.
  std::size_t slot_of_least(Vector values) const {
    const std::size_t first = loops->place_of_least(values.data(), size());
    if (first == size()) return 0;
    const double least = values[first];
    std::size_t best = first;
    Counter earliest = births_[first];
    for (std::size_t i = first + 1; i < size(); ++i)  // ties are common: coefficients of equal steps shrink together
      if (values[i] == least && births_[i] < earliest) best = i, earliest = births_[i];
    return best;
  }

  // k(s_i, s_i)
  double self(std::size_t i) const { return selves_[i]; }
  Vector selves() const { return selves_; }

  // k(s_i, s_j) for all j.
  void kernel_row(std::size_t i, std::vector<double>& k) const {
    k.resize(support_->padded());
    support_->kernel_row(i, *kernel_, k);
    k.resize(size());
  }

  // The sum of squares of the coefficients of each support vector.
  void squares(std::vector<double>& out) const {
    out.assign(size(), 0.0);
    for (const auto& row : alpha_) loops->add_squares(row.data(), out.data(), size());
  }

  // The largest absolute value, and the sum of squares, of the coefficients of support vector i.
  double largest(std::size_t i) const {
    double most = 0;
    for (const auto& row : alpha_) most = std::max(most, std::fabs(row[i]));
    return most;
  }
  double squared(std::size_t i) const {
    double sum = 0;
    for (const auto& row : alpha_) sum += row[i] * row[i];
    return sum;
  }

  void widen(std::size_t features, std::size_t outputs) {
    features_ = features;
    support_->widen(features);
    if (this->outputs() == 1 && outputs > 1) norm2_ /= 2;  // |f/2|^2 + |f/2|^2
    widen_outputs(alpha_, outputs);
    coefficients_.resize(outputs);
    if (average_) average_->widen(outputs);
  }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(alpha_) + bytes_of(coefficients_) + bytes_of(row_) + bytes_of(selves_) +
               kernel_->bytes());
    Counter layout = saved_number(layout_);
    io.field("support.layout", layout);
    if (io.restoring()) {
      layout_known_ = layout_from(layout).has_value();
      lay_out(layout_from(layout).value_or(layout_));
    }
    support_->fields(io);
    if (io.restoring() && support_->is_consistent(support_->size())) remake_selves();
    if (average_) average_->fields(io);
    io.field("expansion.divisor", divisor_);
    io.field("expansion.norm2", norm2_);
    io.field("expansion.norm_age", norm_age_);
    io.field("expansion.births", births_);
    io.field("expansion.born", born_);
    io.outputs("expansion.alpha", alpha_, Merged::Unsaid, true);
  }

  bool is_consistent(std::size_t n) const override {
    const auto right = [n](const auto& row) { return row.size() == n; };
    return layout_known_ && right(births_) && std::all_of(alpha_.begin(), alpha_.end(), right) &&
           support_->is_consistent(n) && (!average_ || average_->is_consistent(n)) && births_differ();
  }

 private:
  void lay_out(Layout layout) {
    layout_ = layout;
    support_ = support_set(layout, kernel_->reduction(), precision_, features_);
  }

  // The first support vector decides the layout.
  void choose_layout(const Row& x) {
    if (const Layout layout = layout_for(x, features_, most_, precision_); layout != layout_) lay_out(layout);
  }

  void remake_selves() {
    selves_.resize(support_->size());
    for (std::size_t i = 0; i < selves_.size(); ++i) selves_[i] = kernel_->self(support_->norm(i));
  }

  // Whether the pending coefficients are within the limits, given k(s,s) = kii.
  bool possible(double kii) const {
    return std::all_of(coefficients_.begin(), coefficients_.end(),
                       [&](double a) { return moderate(a) && moderate_square(a * a * kii); });
  }

  // Adds the pending coefficients at slot i; k is the kernel row of its support vector.
  void enter(std::size_t i, Vector k, double kii) {
    for (std::size_t c = 0; c < outputs(); ++c) {
      const double coefficient = coefficients_[c];
      if (norm_kept_) norm2_ += coefficient * (2 * dot(k, alpha_[c]) + coefficient * kii);
      alpha_[c][i] += coefficient;
    }
  }

  // An upper bound on the absolute values of all coefficients.
  double largest_alpha() const {
    double most = 0;
    for (const auto& row : alpha_) most = std::max(most, largest_of(row));
    return most;
  }

  bool births_differ() const {
    std::vector<Counter> sorted = births_;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
           (sorted.empty() || sorted.back() < born_);
  }

  // Sets the coefficients at slot i to 0.
  void vanish(std::size_t i) {
    if (norm_kept_) kernel_row(i, row_);
    for (auto& row : alpha_) {
      if (norm_kept_) norm2_ -= row[i] * (2 * dot(row, row_) - row[i] * row_[i]);
      row[i] = 0;
    }
  }

  // Removes slot i, whose coefficients are 0; the last support vector moves there.
  void take_out(std::size_t i) {
    if (average_) average_->take_out(i);
    support_->remove(i);
    births_[i] = births_.back();
    births_.pop_back();
    selves_[i] = selves_.back();
    selves_.pop_back();
    for (auto& row : alpha_) {
      row[i] = row.back();
      row.pop_back();
    }
  }

  // Recomputes |f|^2 from the kernel; done once per size() updates.
  void remake_norm() {
    norm_age_ = 0;
    norm2_ = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      kernel_row(i, row_);
      for (const auto& row : alpha_) norm2_ += row[i] * dot(row, row_);
    }
  }

  std::shared_ptr<const Kernel> kernel_;
  Layout layout_ = Layout::FeatureMajor;
  std::unique_ptr<SupportSet> support_;
  std::vector<std::vector<double>> alpha_;  // outputs x n
  std::vector<Counter> births_;
  std::vector<double> selves_;
  Counter born_ = 0;
  double divisor_ = 1;
  bool norm_kept_ = false;
  bool layout_known_ = true;          // false: the model file names an unknown layout
  Counter norm_age_ = 0;              // updates since the norm was last recomputed
  double norm2_ = 0;                  // |sum_i alpha_i k(s_i,.)|^2, if kept
  std::vector<double> coefficients_;  // pending coefficients, one per output
  std::vector<double> row_;
  std::size_t features_;
  std::size_t most_ = 0;  // 0: not known
  Precision precision_;
  std::optional<Average> average_;
};

}  // namespace budgetron
