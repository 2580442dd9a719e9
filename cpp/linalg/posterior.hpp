// The Gaussian posterior of a Kalman filter: the covariance P of m weights, which starts as prior * I, shrinks along
// every observation and grows by `drift` at every step, up to the prior. The first `full` weights have a full block of
// P, the others a variance each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "linalg/limits.hpp"
#include "simd/aligned.hpp"
#include "simd/loops.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

// g = P z and S = z'P z, for one z.
struct Gain {
  std::vector<double> g;
  double S = 0;
};

class Posterior {
 public:
  Posterior(double prior, double drift, std::size_t full) : prior_(prior), drift_(drift), most_full_(full) {}

  void begin(std::size_t m) {
    m_ = m;
    n_ = whole_lanes<double>(full());
    P_.assign(stored(n_), 0.0);
    variance_.assign(m, prior_);
    squares_.assign(full(), 0.0);
    U_.assign(most_pending * n_, 0.0);
    pending_ = 0;
    forget_products();
  }

  // P z and z'P z of the first row z of Z. The other rows of Z come next, one call each, until `settle`.
  void look(Vector Z, Gain& gain) {
    if (next_ == products_) multiply(Z);
    finish(Z.first(m_), Z_.data() + next_ * n_, PZ_.data() + next_ * n_, gain);
    ++next_;
  }

  // Calls use(r, gain) for every row r of Z; nothing changes.
  template <class Use>
  void each_look(Vector Z, std::size_t rows, Use use) const {
    const std::size_t at_once = std::min(rows, most_pending);
    AlignedVector padded(at_once * n_), products(at_once * n_);
    Gain gain;
    for (std::size_t first = 0; first < rows; first += at_once) {
      const std::size_t count = std::min(at_once, rows - first);
      pad(Z.subspan(first * m_), count, padded);
      loops->symmetric_multiply(P_.data(), n_, padded.data(), count, products.data());
      for (std::size_t r = 0; r < count; ++r) {
        finish(Z.subspan((first + r) * m_, m_), padded.data() + r * n_, products.data() + r * n_, gain);
        use(first + r, gain);
      }
    }
  }

  // Observes the z of the last `look` with this precision: P^-1 += precision z z'. Then the weights drift. One row
  // shrinks P by at most 2^40: beyond that, rounding would be larger than what is left.
  void observe(const Gain& gain, double precision) { observe(gain, precision, drift_); }

  // P e_i and P_ii of weight i alone, between two batches of rows.
  void look_at(std::size_t i, Gain& gain) {
    std::vector<double> unit(m_);
    unit[i] = 1;
    forget_products();
    look(unit, gain);
    forget_products();
  }
  // Weight i of the last `look_at` is known from now on.
  void know(const Gain& gain) { observe(gain, 0x1p40 / gain.S, 0); }

  // The end of a batch: the rows that were announced do not come.
  void settle() {
    forget_products();
    if (pending_ >= most_pending) subtract_pending();
  }

  // `removed` weights from `at` on are replaced by `added` new ones, which start with the prior.
  void replace(std::size_t at, std::size_t removed, std::size_t added) {
    if (removed == added) return reset(at, added);
    if (at == m_ && m_ + added <= most_full_) return append(added);
    const std::vector<double> P = packed(), variance = variance_;
    const AlignedVector U = U_;
    const std::size_t before = m_, kept = full(), stride = n_, pending = pending_;
    begin(m_ - removed + added);
    const auto source = [&](std::size_t i) { return i < at ? i : i < at + added ? before : i - added + removed; };
    std::vector<double> rows(pending * full());
    for (std::size_t i = 0; i < m_; ++i) {
      const std::size_t a = source(i);
      if (a == before) continue;
      variance_[i] = variance[a];
      if (i >= full() || a >= kept) continue;
      for (std::size_t j = 0; j < i; ++j)
        if (const std::size_t b = source(j); b < kept) set(i, j, P[a * (a + 1) / 2 + b]);
      for (std::size_t k = 0; k < pending; ++k) rows[k * full() + i] = U[k * stride + a];
    }
    set_pending(rows, pending, full());
  }

  // `added` weights are appended. They join the full block, unless there are weights beyond it.
  void widen(std::size_t before, std::size_t added) {
    if (before <= most_full_) most_full_ += added;
    tail_ += added;
    if (m_ > 0) replace(m_, 0, added);
  }

  // From now on only the first `most` weights have a full block; the others keep their variances.
  void narrow(std::size_t most) {
    const bool fewer = most < full();
    most_full_ = std::min(most_full_, most);
    if (!fewer) return;
    subtract_pending();
    const std::vector<double> P = packed(), variance = variance_;
    begin(m_);
    variance_ = variance;
    for (std::size_t i = 0; i < most; ++i)
      for (std::size_t j = 0; j < i; ++j) set(i, j, P[i * (i + 1) / 2 + j]);
  }

  // The last weight m, of a full block, becomes two, (s - m)/2 and (s + m)/2, where s is independent of all.
  void split_last() {
    ++most_full_;
    if (m_ == 0) return;
    subtract_pending();
    const std::size_t last = m_ - 1;
    replace(m_, 0, 1);
    const double of_m = variance_[last], of_s = 2 * prior_;
    for (std::size_t j = 0; j < last; ++j) {
      const double p = P_[place(last, j)];
      set(last + 1, j, p / 2);
      set(last, j, -p / 2);
    }
    variance_[last] = variance_[last + 1] = (of_s + of_m) / 4;
    set(last + 1, last, (of_s - of_m) / 4);
  }

  std::size_t size() const { return m_; }

  // The rows of the full block of P, as `each_look` sees them, and the variances of the other weights.
  std::vector<double> full_block() const {
    std::vector<double> rows, units(full() * m_);
    for (std::size_t i = 0; i < full(); ++i) units[i * m_ + i] = 1;
    each_look(units, full(), [&](std::size_t, const Gain& gain) {
      rows.insert(rows.end(), gain.g.begin(), gain.g.begin() + static_cast<std::ptrdiff_t>(full()));
    });
    return rows;
  }
  std::vector<double> variances() const {
    return {variance_.begin() + static_cast<std::ptrdiff_t>(full()), variance_.end()};
  }

  // If the last weights belong to outputs, `ends` says so.
  void fields(Fields& io, bool ends = false) {
    const auto of = [&](OfOutputs which, bool last) { return ends && last ? which : OfOutputs::None; };
    io.scratch(bytes_of(squares_) + bytes_of(Z_) + bytes_of(PZ_));
    io.field("posterior.rows", observed_, {Merged::Sum});
    if (io.measuring()) {
      io.scratch(bytes_of(P_) + bytes_of(variance_) + bytes_of(U_));
      return;
    }
    std::vector<double> P = packed(), U = packed_pending();
    std::vector<double> outside = variances();
    const bool all_full = outside.empty();
    io.field("posterior.variance", outside, {Merged::Own, of(OfOutputs::Last, !all_full), false, outside.size()});
    io.field("posterior.P", P, {Merged::Own, of(OfOutputs::Packed, all_full), true, m_});
    io.field("posterior.pending", U, {Merged::Own, of(OfOutputs::Last, all_full), true, m_});
    if (io.restoring()) restore(P, outside, U);
  }

  bool is_consistent(std::size_t m) const {
    if (!sound_ || m_ != m || !all_finite(P_) || !all_finite(U_)) return false;
    return std::all_of(variance_.begin(), variance_.end(), [&](double v) { return v >= 0 && v <= prior_; });
  }

 private:
  // Rounding makes a random walk of a few units in the last place. Now and then the diagonal grows by more than that,
  // so that P stays positive definite; also after a row that tells so much that rounding may exceed what is left.
  static constexpr Counter rows_between_repairs = 1024;
  static constexpr double most_told = 1e6;
  static constexpr double repair_factor = 1 + 0x1p-48;
  // P is read and written once for this many rows.
  static constexpr std::size_t most_pending = 8;

  void observe(const Gain& gain, double precision, double drift) {
    if (precision * gain.S > 0x1p40) precision = 0x1p40 / gain.S;
    const double root = std::sqrt(precision / (1 + precision * gain.S));
    // Only rounding makes u_i^2 larger than P_ii. Without the bound, a P that is not positive would grow forever.
    loops->observe(root, gain.g.data(), drift, prior_, full(), U_.data() + pending_ * n_, variance_.data(),
                   squares_.data());
    for (std::size_t i = full(); i < m_; ++i) {
      const double u = root * gain.g[i];
      variance_[i] = std::clamp(variance_[i] - u * u + drift, 0.0, prior_);
    }
    ++pending_;
    if (++observed_ % rows_between_repairs == 0 || precision * gain.S > most_told) return repair();
    if (pending_ >= most_pending) forget_products();
  }

  void repair() {
    subtract_pending();
    for (std::size_t i = 0; i < full(); ++i) variance_[i] = std::clamp(variance_[i] * repair_factor, 0.0, prior_);
  }

  std::size_t full() const { return std::min(m_, most_full_); }

  // `count` weights from `at` on start again with the prior.
  void reset(std::size_t at, std::size_t count) {
    forget_products();
    for (std::size_t a = at; a < at + count; ++a) {
      variance_[a] = prior_;
      if (a >= full()) continue;
      squares_[a] = 0;
      for (std::size_t j = 0; j < a; ++j) set(a, j, 0);
      for (std::size_t i = a + 1; i < full(); ++i) set(i, a, 0);
      for (std::size_t k = 0; k < pending_; ++k) U_[k * n_ + a] = 0;
    }
  }

  // New weights after the others, in the full block: the rows of P that are there stay where they are. A model that
  // grows output by output is then not copied each time.
  void append(std::size_t added) {
    const std::vector<double> rows = packed_pending();
    const std::size_t before = m_;
    m_ += added;
    n_ = whole_lanes<double>(m_);
    if (stored(n_) > P_.capacity()) P_.reserve(stored(n_) + stored(n_) / 16);
    P_.resize(stored(n_));
    variance_.resize(m_, prior_);
    squares_.assign(m_, 0.0);
    U_.assign(most_pending * n_, 0.0);
    forget_products();
    set_pending(rows, pending_, before);
  }

  // Takes up what is pending, if it is time to, and multiplies P with the rows of Z until the next time.
  void multiply(Vector Z) {
    const std::size_t count = pending_ >= most_pending ? pending_ : 0;
    const std::size_t rows =
        std::clamp<std::size_t>(Z.size() / std::max<std::size_t>(m_, 1), 1, most_pending - (pending_ - count));
    Z_.resize(rows * n_);
    PZ_.resize(rows * n_);
    pad(Z, rows, Z_);
    loops->symmetric_update_multiply(P_.data(), n_, U_.data(), count, Z_.data(), rows, PZ_.data());
    if (count > 0) clear_pending();
    products_ = rows;
    next_ = 0;
  }
  void forget_products() { products_ = next_ = 0; }

  void subtract_pending() {
    forget_products();
    loops->symmetric_update_multiply(P_.data(), n_, U_.data(), pending_, nullptr, 0, nullptr);
    clear_pending();
  }
  void clear_pending() {
    pending_ = 0;
    std::fill(squares_.begin(), squares_.end(), 0.0);
  }
  // Rows of so many numbers are pending, and no others.
  void set_pending(const std::vector<double>& rows, std::size_t count, std::size_t numbers) {
    pending_ = count;
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < numbers; ++i) {
        const double u = U_[k * n_ + i] = rows[k * numbers + i];
        squares_[i] += u * u;
      }
  }

  // Numbers stored for n rows, n a multiple of eight.
  static std::size_t stored(std::size_t n) { return n * (n + lanes) / 2; }
  static std::size_t place(std::size_t i, std::size_t j) {
    const std::size_t block = i / lanes * lanes;
    return stored(block) + (i - block) * (block + lanes) + j;
  }

  // P_ij = P_ji = p, for j < i.
  void set(std::size_t i, std::size_t j, double p) {
    P_[place(i, j)] = p;
    if (i / lanes == j / lanes) P_[place(j, i)] = p;
  }

  // The lower triangle of the full block, row by row. Only its diagonal has taken up what is pending.
  std::vector<double> packed() const {
    std::vector<double> out;
    out.reserve(full() * (full() + 1) / 2);
    for (std::size_t i = 0; i < full(); ++i) {
      for (std::size_t j = 0; j < i; ++j) out.push_back(P_[place(i, j)]);
      out.push_back(variance_[i]);
    }
    return out;
  }
  std::vector<double> packed_pending() const {
    std::vector<double> out;
    out.reserve(pending_ * full());
    for (std::size_t k = 0; k < pending_; ++k)
      for (std::size_t i = 0; i < full(); ++i) out.push_back(U_[k * n_ + i]);
    return out;
  }
  void restore(const std::vector<double>& P, const std::vector<double>& outside, const std::vector<double>& U) {
    const auto rows = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(P.size()) + 1) - 1) / 2 + 0.5);
    sound_ = rows * (rows + 1) / 2 == P.size() && rows <= most_full_ && (outside.empty() || rows == most_full_) &&
             (rows == 0 ? U.empty() : U.size() % rows == 0 && U.size() / rows < most_pending);
    if (!sound_) return;
    begin(rows + outside.size());
    const double* next = P.data();
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < i; ++j) set(i, j, *next++);
      variance_[i] = *next++;
    }
    std::copy(outside.begin(), outside.end(), variance_.begin() + static_cast<std::ptrdiff_t>(rows));
    set_pending(U, rows == 0 ? 0 : U.size() / rows, full());
  }

  void pad(Vector Z, std::size_t rows, AlignedVector& padded) const {
    for (std::size_t r = 0; r < rows; ++r) {
      double* const row = padded.data() + r * n_;
      std::fill(std::copy_n(Z.data() + r * m_, full(), row), row + n_, 0.0);
    }
  }
  // P z from the product with the stored part of P. S is at least what rounding makes of it: a smaller one is noise, of
  // any sign, and would take more from P than there is.
  void finish(Vector z, const double* padded, const double* product, Gain& gain) const {
    gain.g.resize(m_);
    const double diagonal = loops->add_pending(U_.data(), pending_, n_, variance_.data(), squares_.data(), full(),
                                               padded, product, gain.g.data());
    for (std::size_t i = full(); i < m_; ++i) gain.g[i] = variance_[i] * z[i];
    gain.S = std::max(dot(z, gain.g, tail_), 0x1p-49 * diagonal);
  }

  double prior_, drift_;
  std::size_t most_full_;
  std::size_t m_ = 0, n_ = 0;     // weights; rows of the full block with padding
  std::size_t tail_ = 0;          // weights that were appended
  AlignedVector P_;               // as in simd/symmetric.hpp, before what is pending
  std::vector<double> variance_;  // the diagonal of P
  AlignedVector U_;               // what is pending: P -= U'U, for the first rows of U
  std::size_t pending_ = 0;       // their number
  std::vector<double> squares_;   // the diagonal of U'U
  AlignedVector Z_, PZ_;          // rows to come, with padding, and their products with the stored part of P
  std::size_t products_ = 0, next_ = 0;
  bool sound_ = true;
  Counter observed_ = 0;
};

}  // namespace budgetron
