/// One metric of one contrast over a plan's cells, with its error and verdict. Pure, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/comparison/comparison.h"
#include "reports/stats/estimate.h"
#include "reports/stats/plan_model.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// The source of an effect's error.
enum class ErrorSource {
  kNone,   ///< one run, or no spread: there is no error
  kSeeds,  ///< the contrast of each seed
  kPlan,   ///< the same, moderated by the spread of the whole plan
  kCells,  ///< the spreads within the cells, which share no seeds
  kLenth,  ///< the other effects of an unreplicated factorial
};
NB_ENUM_NAMES(ErrorSource, {ErrorSource::kNone, "none"}, {ErrorSource::kSeeds, "seeds"}, {ErrorSource::kPlan, "plan"},
              {ErrorSource::kCells, "cells"}, {ErrorSource::kLenth, "lenth"});

/// One metric of one contrast.
struct MeasuredEffect {
  std::optional<double> value;  ///< nats, or log ratio
  std::optional<Estimate> estimate;
  ErrorSource source = ErrorSource::kNone;
  SpreadKind spread = SpreadKind::kNone;       ///< kSeeds and kPlan only
  std::optional<double> own_sd;                ///< of one run, from this contrast alone; absent for one seed
  bool is_outlying = false;                    ///< of a cell that is not counted in the plan's spread
  std::optional<double> plan_sd;               ///< of one run, from the residuals of the whole plan
  double plan_df = 0.0;                        ///< degrees of freedom of plan_sd
  std::optional<ErrorForecast> forecast;       ///< the error with another number of seeds; kSeeds and kPlan only
  int n = 0;                                   ///< complete seeds, or runs of the cell with the fewest
  bool is_exact = false;                       ///< all of two or more seeds gave exactly this value
  std::optional<ConfidenceInterval> interval;  ///< holds simultaneously for all effects of the metric
  std::optional<double> p;                     ///< two-sided p-value of no effect
  std::optional<double> adjusted_p;            ///< by Holm over the plan's effects
  std::optional<double> equivalence_p;         ///< of an effect beyond the margins; by Holm over the plan's effects
  Verdict verdict = Verdict::kMissing;
  std::optional<int> decided_at_look;  ///< in a plan of looks: the look that decided; absent while undecided
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

}  // namespace nanobench::reports
