// DualSGD (Le et al. 2016b): support vectors that are removed go on in random Fourier features.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

#include "features/feature_map.hpp"
#include "input/rows.hpp"
#include "model/budget.hpp"
#include "model/expansion.hpp"

namespace budgetron {

// f(x) = sum_i alpha_i k(s_i,x) + w'z(x), with z(x)'z(s) about k(x,s). If the budget is full, the `at_once` smallest
// terms, by |alpha_i|^2 k(s_i,s_i), are removed, and w += alpha_i z(s_i) for each.
class MoveToFeatures final : public Budget, public OwnNumbers {
 public:
  MoveToFeatures(std::size_t budget, std::size_t at_once, std::shared_ptr<FeatureMap> map)
      : budget_(budget), at_once_(std::min(at_once, budget)), map_(std::move(map)) {}

  std::size_t most() const override { return budget_; }
  double squared_norm_besides() const override {
    double sum = 0;
    for (const auto& row : w_) sum += dot(row, row);
    return sum;
  }

  void insert(Expansion& f, const Term& term) override {
    if (f.size() < budget_) return f.append(term);
    k_.assign(term.row.k.begin(), term.row.k.end());
    move_smallest(f, term.x);
    f.append({term.x, KernelRow{k_, term.row.kxx, term.row.norm}, term.beta, term.v, term.round, term.own});
  }

  void rest(Expansion&) override {}
  void settle(Expansion&) override {}
  bool scores(const Expansion& f, const Rows& rows, std::size_t i, const KernelRow& row,
              std::span<double> out) const override {
    if (w_.empty()) return false;
    std::vector<double> z(map_->size());
    map_->transform({rows, i, i + 1}, z);
    for (std::size_t c = 0; c < w_.size(); ++c) out[c] = (dot(f.alpha(c), row.k) + dot(w_[c], z)) / f.divisor();
    return true;
  }
  bool has_outputs(std::size_t outputs) const override { return w_.empty() || w_.size() == outputs; }

  void shrunk(double factor) override {
    for (auto& row : w_) scale(factor, row);
  }
  void widen(std::size_t outputs) override {
    if (!w_.empty()) widen_outputs(w_, outputs);
  }
  void widen_columns(std::size_t columns) override { map_->widen(columns); }

  // w of output c, divided as the coefficients are; empty if nothing was moved.
  std::vector<double> weights(std::size_t c, double divisor) const {
    std::vector<double> w = w_.empty() ? std::vector<double>(map_->size()) : w_[c];
    for (double& v : w) v /= divisor;
    return w;
  }
  const std::shared_ptr<FeatureMap>& map() const { return map_; }

  void fields(Fields& io) override {
    io.scratch(sizeof *this + bytes_of(w_) + bytes_of(k_));
    map_->fields(io);
    if (io.measuring()) {
      for (const auto& row : w_) io.scratch(bytes_of(row));
      return;
    }
    std::vector<double> all;
    for (const auto& row : w_) all.insert(all.end(), row.begin(), row.end());
    io.field("moved.weights", all, {Merged::Unsaid, OfOutputs::Rows, true});
    if (io.restoring()) restore(all);
  }
  bool is_consistent(std::size_t n) const override {
    const auto finite = [](const auto& row) { return all_finite(row); };
    return n <= budget_ && whole_ && map_->is_consistent(map_->size()) && std::all_of(w_.begin(), w_.end(), finite);
  }

 private:
  void move_smallest(Expansion& f, const Row& like) {
    if (w_.empty()) w_.assign(f.outputs(), std::vector<double>(map_->size()));
    std::vector<double> sizes;
    f.squares(sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] *= f.self(i);
    std::vector<std::size_t> order(f.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto first = [&](std::size_t i, std::size_t j) {
      return sizes[i] < sizes[j] || (sizes[i] == sizes[j] && f.births()[i] < f.births()[j]);
    };
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(at_once_);
    std::partial_sort(order.begin(), middle, order.end(), first);
    order.erase(middle, order.end());
    for (const std::size_t i : order)
      move(f, i, std::holds_alternative<SparseRow<float>>(like) || std::holds_alternative<SparseRow<double>>(like));
    std::sort(order.rbegin(), order.rend());  // the last slot first: the last one moves to the slot that is free
    for (const std::size_t i : order) {
      f.remove(i);
      k_[i] = k_.back();
      k_.pop_back();
    }
  }

  // w += alpha_i z(s_i). Frequencies are kept for the columns that are not 0, or for all, as the rows are.
  void move(const Expansion& f, std::size_t i, bool sparse) {
    std::vector<double> x(f.features());
    f.support().copy(i, x);
    if (!sparse) return add_features(f, i, Rows(DenseRows<double>{x.data(), 1, x.size()}));
    std::vector<std::int32_t> indices;
    for (std::size_t j = 0; j < x.size(); ++j)
      if (x[j] != 0) {
        x[indices.size()] = x[j];
        indices.push_back(static_cast<std::int32_t>(j));
      }
    const std::int64_t starts[] = {0, static_cast<std::int64_t>(indices.size())};
    add_features(f, i, Rows(SparseRows<double>{x.data(), indices.data(), starts, 1, f.features()}));
  }

  void add_features(const Expansion& f, std::size_t i, const Rows& rows) {
    map_->prepare({rows, 0, 1});
    std::vector<double> z(map_->size());
    map_->transform({rows, 0, 1}, z);
    for (std::size_t c = 0; c < w_.size(); ++c) add(f.alpha(c)[i], z, w_[c]);
  }

  void restore(const std::vector<double>& all) {
    const std::size_t m = map_->size();
    whole_ = all.size() % m == 0;
    w_.clear();
    for (std::size_t at = 0; whole_ && at < all.size(); at += m)
      w_.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at + m));
  }

  std::size_t budget_, at_once_;
  std::shared_ptr<FeatureMap> map_;
  std::vector<std::vector<double>> w_;  // outputs x features; empty until something is moved
  bool whole_ = true;                   // false: a model file has weights of another size
  std::vector<double> k_;               // the kernel row of the term
};

}  // namespace budgetron
