// How large the error e of a prediction f of the row x will be. Let S be what the predictor itself does not know, and z
// cheap features of x and f:
//
//   order      log v = level + w'z. The level is the running mean of log(e^2 / (1 + S)) + 1.27, its value for a normal
//              error. With u = e^2 / (v (1 + S)) and h = nu / (2 (nu + 3)), every error moves w towards the largest
//              likelihood of Student's distribution, nu = 10, which no single error can move far:
//                w += P z (u (nu + 1) / (u + nu) - 1) / (2 (1 + h z'P z));  P -= h (P z)^2 / (1 + h z'P z), P diagonal
//   calibrate  deviation^2 = c^2 v (1 + S). c is made such that 4.55 % of the errors are beyond two deviations, among
//   the
//              rows of small w'z as among those of large w'z: log c is piecewise linear in w'z, and each of its five
//              values goes up by 0.9545 of its rate if an error is beyond, and down by 0.0455 if not.
//   far        Where r = sum x^4 is beyond the edge R, 8 deviations above its mean, the variance of the targets times
//              sqrt(r / R) - 1 is added: a prediction may be wrong by as much as targets vary, and more with distance.
//
// Columns are expected to be scaled, as in Standardised.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "input/rows.hpp"
#include "linalg/limits.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"

namespace budgetron {

class Noise : public Part {
 public:
  Noise(std::size_t columns, double drift)
      : drift_(drift / 10),
        least_rate_(drift > 0 ? 0.002 : 0),
        per_slot_(shared(columns, slots)),
        per_paired_(shared(columns, paired)),
        columns_(static_cast<double>(std::max<std::size_t>(columns, 1))),
        w_(all),
        p_(all, prior),
        log_c_(levels, first_log_c),
        near_(levels) {}

  // The standard deviation of the error; 0 before the first.
  double deviation(const Row& x, double f, double S) const {
    if (rows_ == 0) return 0;
    const Features z = features(x, f);
    const Place place = placed(look(z).order);
    const double near = std::exp((level_ + place.order) / 2 + place.log_c) * std::sqrt(1 + S);
    const double far = beyond_edge(z.fourth);
    return far > 0 ? std::hypot(near, std::sqrt(targets_.variance() * far)) : near;
  }

  // f and S are those before the row was learned.
  void learn(const Row& x, double f, double S, double y, double weight) {
    const Features z = features(x, f);
    const Look seen = look(z);
    const Place place = placed(seen.order);
    targets_.add(y, weight);
    const double square = std::max((y - f) * (y - f), least_square * targets_.variance());
    if (square == 0) return;  // all targets so far were equal, and predicted
    const double found = std::log(square) - std::log1p(S), log_v = level_ + place.order;
    weights_ += weight;
    level_ += weight / weights_ * (found + log_of_normal - level_);
    if (++rows_ <= start) return;
    move(z, seen.S, std::exp(std::clamp(found - log_v, -50.0, 50.0)), weight);
    order_.add(place.order, weight);
    reach_.add(edge() > 0 ? std::min(z.fourth, most_beyond * edge()) : z.fourth, weight);
    calibrate(place, found - log_v - 2 * place.log_c > log_of_four, weight);
  }

  void fields(Fields& io) override {
    io.field("w", w_, {Merged::Own});
    io.field("variance", p_, {Merged::Own});
    io.field("calibration", log_c_, {Merged::Own});
    io.field("near", near_, {Merged::Sum});
    io.field("level", level_, {Merged::Own});
    io.field("weight", weights_, {Merged::Sum});
    io.field("rows", rows_, {Merged::Sum});
    targets_.fields(io, "targets.");
    reach_.fields(io, "reach.");
    order_.fields(io, "order.");
  }
  bool is_consistent(std::size_t = 0) const override {
    const auto within = [](const std::vector<double>& v, std::size_t size, double low, double high) {
      return v.size() == size && std::all_of(v.begin(), v.end(), [=](double x) { return x >= low && x <= high; });
    };
    return within(w_, all, -largest, largest) && within(p_, all, 0, prior) &&
           within(log_c_, levels, -most_log_c, most_log_c) &&
           within(near_, levels, 0, std::numeric_limits<double>::max()) && std::fabs(level_) <= 1e3 && weights_ >= 0 &&
           std::isfinite(weights_) && targets_.is_consistent() && reach_.is_consistent() && order_.is_consistent();
  }

 private:
  static constexpr double prior = 0.1;  // the variance of every w at first
  static constexpr double nu = 10, h = nu / (2 * (nu + 3));
  static constexpr Counter start = 16;                         // rows before w is learned
  static constexpr double log_of_normal = 1.2703628454614782;  // minus the mean of log e^2, e normal of variance 1
  static constexpr double log_of_four = 1.3862943611198906;
  static constexpr double least_square = 1e-12;  // a smaller share of the variance of the targets counts as this
  static constexpr double most_order = 12, most_log_c = 3;
  static constexpr double first_log_c = 0.15;   // v of few rows is often too small
  static constexpr double beyond_two = 0.0455;  // the share of normal numbers beyond two deviations
  static constexpr double most_beyond = 4;      // edges: a row farther away counts as this
  static constexpr double limit = 10;           // of a number of a row
  // A number x has six hats, |x - knot| / step below 1, at -2.1, -1.4, -0.7, 0.7, 1.4 and 2.1. One at 0 is left out, so
  // that a column that is 0 has no part in anything.
  static constexpr double step = 0.7;
  static constexpr std::size_t hats = 6;
  // The first columns have places of their own; others share them.
  static constexpr std::size_t slots = 32, paired = 12;
  static constexpr std::size_t of_prediction = 1, of_length = of_prediction + hats, of_slots = of_length + hats;
  static constexpr std::size_t of_pairs = of_slots + slots * hats, pairs = paired * (paired - 1) / 2;
  static constexpr std::size_t all = of_pairs + pairs;
  static constexpr std::size_t levels = 5;  // of w'z: -1.2, -0.6, 0, 0.6 and 1.2 deviations from its mean

  // -most if x is NaN.
  static double within(double x, double most) { return x > -most ? std::min(x, most) : -most; }

  struct Features {
    static constexpr std::size_t most = 1 + 2 * (2 + slots);
    std::array<std::uint16_t, most + 1> at;  // of the constant and the hats, those that are not 0
    std::array<double, most + 1> value;
    std::size_t count = 0;
    std::array<double, pairs> products{};
    double fourth = 0;  // sum x^4

    // If there is such a feature, and v is not 0. It does not branch: nobody could predict where.
    void add(bool there, std::size_t which, double v) {
      at[count] = static_cast<std::uint16_t>(which);
      value[count] = v;
      count += static_cast<std::size_t>(there) & static_cast<std::size_t>(v != 0);
    }
    void add_hats(std::size_t first, double x) {
      const double place = within(x / step, 3) + 3;
      const int j = std::min(static_cast<int>(place), 5);
      const double share = place - j;
      const auto behind_centre = static_cast<std::size_t>(j > 2);
      add(j != 3, first + static_cast<std::size_t>(j) - behind_centre, 1 - share);
      add(j != 2, first + static_cast<std::size_t>(j) + 1 - behind_centre, share);
    }
  };

  struct Look {
    double order, S;  // w'z and z'P z
  };

  // Where w'z is among its values so far: between the levels first and first + 1.
  struct Place {
    double order;
    std::size_t first;
    double share;  // of the level first + 1
    double log_c;
  };

  // A weighted mean and variance.
  struct Moments {
    double weight = 0, mean = 0, squares = 0;

    void add(double x, double c) {
      weight += c;
      const double d = x - mean;
      mean += c / weight * d;
      const double rise = std::max(c * d * (x - mean), 0.0);  // rounding may make it negative
      squares = std::min(squares + rise, std::numeric_limits<double>::max());
    }
    double variance() const { return weight > 0 ? squares / weight : 0; }
    void fields(Fields& io, const std::string& name) {
      io.field((name + "weight").c_str(), weight, {Merged::Sum});
      io.field((name + "mean").c_str(), mean, {Merged::Own});
      io.field((name + "squares").c_str(), squares, {Merged::Own});
    }
    bool is_consistent() const {
      return std::isfinite(weight) && moderate(mean) && std::isfinite(squares) && weight >= 0 && squares >= 0;
    }
  };

  // 1 / sqrt(the number of columns that share a place).
  static double shared(std::size_t columns, std::size_t places) {
    return 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, (columns + places - 1) / places)));
  }

  Features features(const Row& row, double f) const {
    std::array<double, slots> own{};
    std::array<double, paired> pair{};
    double squares = 0;
    Features z;
    const auto take = [&](std::size_t j, auto value) {
      if (std::isnan(value)) return;
      const double x = std::clamp(static_cast<double>(value), -limit, limit);
      own[j % slots] += x;
      pair[j % paired] += x;
      squares += x * x;
      z.fourth += x * x * x * x;
    };
    std::visit([&](const auto& r) { r.each(take); }, row);
    z.add(true, 0, 1);
    z.add_hats(of_prediction, f);
    z.add_hats(of_length, 3 * (std::sqrt(squares / columns_) - 1));
    for (std::size_t k = 0; k < slots; ++k)
      if (own[k] != 0) z.add_hats(of_slots + k * hats, own[k] * per_slot_);
    for (double& v : pair) v = std::clamp(3 * per_paired_ * v, -1.0, 1.0);
    for (std::size_t j = 0, k = 0; j < paired; k += j++)
      if (pair[j] != 0)
        for (std::size_t i = 0; i < j; ++i) z.products[k + i] = pair[i] * pair[j];
    return z;
  }

  Look look(const Features& z) const {
    double order = 0, S = 0;
    for (std::size_t i = 0; i < z.count; ++i) {
      const double v = z.value[i];
      order += w_[z.at[i]] * v;
      S += p_[z.at[i]] * v * v;
    }
    std::array<double, pairs> squares;
    for (std::size_t k = 0; k < pairs; ++k) squares[k] = z.products[k] * z.products[k];
    order += dot(z.products, Vector(w_).subspan(of_pairs));
    S += dot(squares, Vector(p_).subspan(of_pairs));
    return {std::clamp(order, -most_order, most_order), S};
  }

  Place placed(double order) const {
    const double deviation = std::max(std::sqrt(order_.variance()), 0.1);
    const double place = within((order - order_.mean) / deviation / 0.6, 2) + 2;
    const std::size_t first = std::min<std::size_t>(static_cast<std::size_t>(place), levels - 2);
    const double share = place - static_cast<double>(first);
    return {order, first, share, (1 - share) * log_c_[first] + share * log_c_[first + 1]};
  }

  void move(const Features& z, double S, double u, double weight) {
    const double told = weight / (1 + weight * h * S);
    const double by = told * ((nu + 1) * u / (nu + u) - 1) / 2;
    const auto learn = [&](std::size_t i, double v) {
      const double g = p_[i] * v;
      w_[i] += by * g;
      p_[i] = std::clamp(p_[i] - told * h * g * g + drift_, 0.0, prior);
    };
    for (std::size_t i = 0; i < z.count; ++i) learn(z.at[i], z.value[i]);
    for (std::size_t k = 0; k < pairs; ++k) learn(of_pairs + k, z.products[k]);
  }

  void calibrate(const Place& place, bool beyond, double weight) {
    const double by = beyond ? 1 - beyond_two : -beyond_two;
    const double shares[] = {1 - place.share, place.share};
    for (std::size_t i = 0; i < 2; ++i) {
      double& near = near_[place.first + i];
      near += weight * shares[i];
      const double rate = std::max(10 * weight / (near + 100), least_rate_ * std::min(weight, 1.0));
      double& log_c = log_c_[place.first + i];
      log_c = std::clamp(log_c + rate * shares[i] * by, -most_log_c, most_log_c);
    }
  }

  double edge() const { return reach_.mean + 8 * std::sqrt(reach_.variance()); }
  double beyond_edge(double fourth) const { return edge() > 0 && fourth > edge() ? std::sqrt(fourth / edge()) - 1 : 0; }

  double drift_, least_rate_, per_slot_, per_paired_, columns_;
  std::vector<double> w_, p_;
  std::vector<double> log_c_, near_;  // of every level: log c, and the weight of the rows near it
  double level_ = 0, weights_ = 0;
  Counter rows_ = 0;
  Moments targets_, reach_, order_;  // of y, of sum x^4, of w'z
};

}  // namespace budgetron
