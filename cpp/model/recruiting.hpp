// A budget for features: the members of a map that are of little use are drawn anew. The use of a member is what the
// loss would gain without it, to second order: with m_c its share of score c, r_c = [c = y] - p_c and the curvature h,
//
//   use = mean over recent rows of  sum_c m_c r_c + h m_c^2 / 2
//
// Every `every` rows the old member of least use is replaced; often the new one is drawn near one of large use.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "model/tasks.hpp"
#include "simd/loops.hpp"
#include "simd/vectors.hpp"
#include "state/fields.hpp"
#include "state/random.hpp"

namespace budgetron {

// The residual r_c of every score, with room for whole lanes, and the curvature h of the loss.
struct Residuals {
  std::vector<double> r;
  double h = 1;

  void look(const Task& task, const Question& question, Vector scores) {
    const std::size_t outputs = scores.size();
    r.assign(whole_lanes<double>(outputs), 0.0);
    h = 1;
    if (outputs > 1) {
      const double total = softmax_terms(scores, r);
      h = 1 / total * (1 - 1 / total);
      for (std::size_t c = 0; c < outputs; ++c) r[c] = (c == question.v.plus ? 1 : 0) - r[c] / total;
    } else if (task.has_labels()) {
      const double p = 1 / (1 + std::exp(-scores[0]));
      h = p * (1 - p);
      r[0] = (question.round.y + 1) / 2 - p;
    } else {
      r[0] = question.round.y - scores[0];
    }
  }
};

class Recruiting {
 public:
  // The first `members` of a map are recruited. There is no memory for them before begin() or the restored fields: in a
  // forged file their number may be far above what its arrays hold.
  Recruiting(std::size_t members, std::size_t every, std::size_t patience, Counter seed)
      : members_(members), every_(every), patience_(patience), random_(seed, 0) {}

  // At the start, and whenever all members are drawn anew.
  void begin() {
    use_.assign(members_, 0.0);
    born_.assign(members_, 0);
    rows_ = 0;
  }

  std::size_t size() const { return use_.size(); }
  // Only the last of so many rows may be followed by an exchange.
  std::size_t rows_to_exchange() const { return every_ - rows_ % every_; }
  void count_use(std::size_t member, double use) { use_[member] += 0.001 * (use - use_[member]); }

  // Counts a row. If it is time to, calls exchange(leaves, near): the member that leaves, and the one near which the
  // new one is drawn; both are the same if it is drawn near none.
  template <class Change>
  void end_row(Change exchange) {
    if (++rows_ % every_ != 0) return;
    old_.clear();
    for (std::size_t i = 0; i < size(); ++i)
      if (rows_ - born_[i] >= patience_) old_.push_back(i);
    if (old_.size() < 5) return;
    const auto less = [&](std::size_t a, std::size_t b) { return use_[a] < use_[b]; };
    const std::size_t leaves = *std::min_element(old_.begin(), old_.end(), less);
    std::size_t best = old_[random_.below(old_.size())];  // of four
    for (int k = 0; k < 3; ++k) best = std::max(best, old_[random_.below(old_.size())], less);
    if (best == leaves) return;
    use_[leaves] = 0;
    born_[leaves] = rows_;
    exchange(leaves, random_.uniform() < 0.7 ? best : leaves);
  }

  void fields(Fields& io) {
    io.scratch(bytes_of(old_));
    Prefixed recruiting(io, "recruiting.");
    recruiting.field("use", use_, {Merged::Own});
    recruiting.field("born", born_, {Merged::Own});
    recruiting.field("rows", rows_, {Merged::Own});
    random_.fields(recruiting);
  }
  bool is_consistent() const {
    return use_.size() == members_ && born_.size() == members_ && all_finite(use_) &&
           std::all_of(born_.begin(), born_.end(), [&](Counter born) { return born <= rows_; });
  }

 private:
  std::size_t members_, every_, patience_;
  Random random_;
  std::vector<double> use_;    // running means
  std::vector<Counter> born_;  // the row at which a member was drawn
  Counter rows_ = 0;
  std::vector<std::size_t> old_;
};

}  // namespace budgetron
