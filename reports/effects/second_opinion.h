/// Rank tests of a change's loss as a second opinion on the t test: one wild run shifts a mean a lot but a rank only a
/// little. Pure, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "reports/effects/measured_effect.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// The shift by Hodges and Lehmann with the p-value of its rank test, in nats per token.
struct RankShift {
  double shift = 0.0;
  std::optional<ConfidenceInterval> interval;  ///< 95 % interval of this effect alone; absent for too few runs
  std::optional<double> p;                     ///< two-sided p-value of no shift; absent if all losses are equal
  std::optional<double> adjusted_p;            ///< by Holm over the plan's effects; with looks: its own
  double min_p = 1.0;                          ///< the smallest p that this number of runs can give
  int n = 0;                                   ///< runs with the change, or seeds that both arms completed
  int n_without = 0;                           ///< runs without it; for pairs equal to n
};

struct SecondOpinion {
  std::optional<RankShift> arms;   ///< Mann-Whitney, runs against runs; for contrasts between two cells
  std::optional<RankShift> pairs;  ///< signed ranks of each seed's contrast; absent without a complete seed
  bool disagrees = false;          ///< the t test and the rank test disagree on what is proved

  /// The test that answers the same question as the t test: the paired one if the error comes from the seeds.
  const RankShift* beside(const MeasuredEffect& loss) const;
};

/// The result has no adjusted p-values yet.
SecondOpinion second_opinion(const std::vector<ContrastPart>& parts);

/// Both opinions on one effect's loss; they must outlive the call.
struct TwoOpinions {
  const MeasuredEffect* loss = nullptr;
  SecondOpinion* second = nullptr;
};

/// Adjusts the rank tests over the family like the t tests, and marks where the two disagree: only one of them is below
/// `alpha`. A rank test that cannot fall below it, because the runs are too few for the size of the family, never
/// disagrees.
///   is_look   each p-value is judged on its own, against the boundary `alpha` of its look
void compare_opinions(const std::vector<TwoOpinions>& family, double alpha, bool is_look);

}  // namespace nanobench::reports
