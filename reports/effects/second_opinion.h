/// Rank tests of a change's loss as a second opinion on the t test: one wild run moves a mean far and a rank little.
/// Pure, thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "reports/effects/measured_effect.h"
#include "reports/stats/interval.h"

namespace nanobench::reports {

/// The shift by Hodges and Lehmann with the p-value of its rank test, in nats per token.
struct RankShift {
  double shift = 0.0;
  std::optional<ConfidenceInterval> interval;  ///< of this effect alone, at 95 %; absent for too few runs
  std::optional<double> p;                     ///< two-sided, of no shift; absent when all losses are equal
  std::optional<double> adjusted_p;            ///< by Holm over the plan's effects; with looks: its own
  double min_p = 1.0;                          ///< the smallest p that so many runs can give
  int n = 0;                                   ///< runs with the change, or seeds that both arms completed
  int n_without = 0;                           ///< runs without it; for pairs equal to n
};

struct SecondOpinion {
  std::optional<RankShift> arms;   ///< Mann-Whitney, runs against runs; of contrasts between two cells
  std::optional<RankShift> pairs;  ///< signed ranks of the contrast of each seed; absent without a complete seed
  bool disagrees = false;          ///< with the t test on what is proved

  /// The test that answers the same question as the t test, which is paired where the error comes from the seeds.
  const RankShift* beside(const MeasuredEffect& loss) const;
};

/// Without adjusted p-values.
SecondOpinion second_opinion(const std::vector<ContrastPart>& parts);

/// Both opinions on one effect's loss; they must outlive the call.
struct TwoOpinions {
  const MeasuredEffect* loss = nullptr;
  SecondOpinion* second = nullptr;
};

/// Adjusts the rank tests over the family like the t tests, and marks where the two disagree: only one of them is below
/// `alpha`. A rank test that cannot be below it, with so few runs in so large a family, disagrees with nothing.
///   is_look   each p-value stands for itself, against the boundary `alpha` of its look
void compare_opinions(const std::vector<TwoOpinions>& family, double alpha, bool is_look);

}  // namespace nanobench::reports
