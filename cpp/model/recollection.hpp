// What a learner can say about a row beyond its scores, from what it has anyway: the rows that it keeps, those nearest
// to the row, how unlike them the row is, and the share that each expert has in the scores.
#pragma once

#include <cstddef>
#include <vector>

namespace budgetron {

// The numbers of the last rows kept, or of the support vectors, from the newest. In the unit of the rows that the
// learner is given, or as they were before a learner around it has scaled them.
struct KeptRows {
  std::size_t columns = 0;
  std::vector<double> values;  // row after row
  bool original = false;

  bool empty() const { return values.empty(); }
};

// A kept row or a support vector near another row, in the same unit.
struct Neighbour {
  double distance;
  std::vector<double> row;
  std::vector<double> label;   // one number, if labels or targets are kept
  std::vector<double> shares;  // of a support vector, in each score
  bool original = false;
};

// What novelty is measured by; a stack asks the expert whose is greatest.
enum class Recollection {
  None,
  Weights,  // the variance of the score, or the cells without a weight: of filters and cells
  Support,  // the distance to the nearest support vector
  Rows,     // the distance to the nearest of the last rows
};

// How many kept rows are looked at, from the newest: enough for a rank, and quick.
inline constexpr std::size_t most_recalled = 256;

}  // namespace budgetron
