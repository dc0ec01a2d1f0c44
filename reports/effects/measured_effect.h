/// One metric of one contrast over a plan's cells, with its error. Pure, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/estimate.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// Where an effect's error comes from.
enum class ErrorSource {
  kNone,   ///< one run, or no spread: no error can be told
  kSeeds,  ///< the contrast of each seed
  kCells,  ///< the spreads within the cells
  kLenth,  ///< the other effects of an unreplicated factorial
};

/// One metric of one contrast.
struct MeasuredEffect {
  std::optional<double> value;  ///< nats, or log ratio
  std::optional<Estimate> estimate;
  ErrorSource source = ErrorSource::kNone;
  int n = 0;                                   ///< complete seeds, or runs of the cell with the fewest
  std::optional<ConfidenceInterval> interval;  ///< all effects of the metric together hold with the level
  std::optional<double> p;                     ///< of no effect, two-sided
  std::optional<double> adjusted_p;            ///< by Holm over the plan's effects
  Verdict verdict = Verdict::kMissing;
  std::optional<int> decided_at_look;  ///< of a plan of looks: whose verdict it is; absent while there is none

  /// All seeds gave exactly this.
  bool is_exact() const { return value && !estimate && n >= 2 && source == ErrorSource::kSeeds; }
};

/// A cell of a contrast with its coefficient.
struct ContrastPart {
  const CellMeasures* cell = nullptr;
  double coefficient = 0.0;
};

/// Empty when a cell of the contrast is not among `cells`.
std::vector<ContrastPart> parts_of(const results::PlanContrast& contrast, const std::vector<CellMeasures>& cells);

/// The final losses seed by seed: a row for each seed that every cell has completed, in ascending seeds, in the order
/// of the cells.
std::vector<std::vector<double>> loss_rows(const std::vector<const CellMeasures*>& cells);

/// Final loss, nats per token. Throws Error{kInvalidArgument} for coefficients that do not sum to 0, as does the next.
MeasuredEffect loss_effect(const std::vector<ContrastPart>& parts);
/// Logarithm of the step time. Times of different machines are never subtracted from each other: only seeds count whose
/// cells all ran on one, so a cell that every machine has measured is the shared control.
MeasuredEffect log_time_effect(const std::vector<ContrastPart>& parts);

}  // namespace nanobench::reports
