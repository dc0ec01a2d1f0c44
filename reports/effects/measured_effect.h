/// One metric of one contrast over a plan's cells, with its error, and its worth in seconds of training. Pure,
/// thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/estimate.h"
#include "reports/stats/loss_curve.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// The source of an effect's error.
enum class ErrorSource {
  kNone,   ///< one run, or no spread: there is no error
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
  std::optional<ConfidenceInterval> interval;  ///< holds simultaneously for all effects of the metric
  std::optional<double> p;                     ///< two-sided p-value of no effect
  std::optional<double> adjusted_p;            ///< by Holm over the plan's effects
  Verdict verdict = Verdict::kMissing;
  std::optional<int> decided_at_look;  ///< in a plan of looks: the look that decided; absent while undecided

  /// All seeds gave exactly this value.
  bool is_exact() const { return value && !estimate && n >= 2 && source == ErrorSource::kSeeds; }
};

/// A cell of a contrast with its coefficient.
struct ContrastPart {
  const CellMeasures* cell = nullptr;
  double coefficient = 0.0;
};

/// Empty if a cell of the contrast is not among `cells`.
std::vector<ContrastPart> parts_of(const results::PlanContrast& contrast, const std::vector<CellMeasures>& cells);

/// The final losses seed by seed: one row for each seed that every cell has completed. Rows are in ascending order of
/// seed, values in the order of the cells.
std::vector<std::vector<double>> loss_rows(const std::vector<const CellMeasures*>& cells);

/// Final loss, nats per token. Throws Error{kInvalidArgument} for coefficients that do not sum to 0, as does the next.
MeasuredEffect loss_effect(const std::vector<ContrastPart>& parts);
/// Logarithm of the step time. Times from different machines are never subtracted: only seeds whose cells all ran on
/// one machine count. A cell that every machine measured is therefore the shared control.
MeasuredEffect log_time_effect(const std::vector<ContrastPart>& parts);

struct EffectSeconds {
  EqualLoss equal_loss;               ///< cost of the change at equal loss; below 0: it saves time
  std::optional<double> reference_s;  ///< training clock without the change
};

/// The slope of the loss curves' last fifth converts loss into steps. If the two sides have different numbers of steps,
/// the difference counts as time. Nothing is converted if an effect has no error, unless the losses are equal.
EffectSeconds seconds_at_equal_loss(const std::vector<ContrastPart>& parts, const MeasuredEffect& loss,
                                    const MeasuredEffect& log_time, double level);

}  // namespace nanobench::reports
