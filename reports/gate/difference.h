/// Two sides of one metric: their difference with its error, in the scale of the test (the unit itself, or logarithms).
/// Pure, thread-safe.
#pragma once

#include <optional>

#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {

struct Difference {
  std::optional<Estimate> estimate;  ///< candidate - baseline
  std::optional<double> exact;       ///< all pairs differ by just this (or there is one pair)
  int pairs = 0;                     ///< 0: not paired
  int least_n = 0;                   ///< pairs, or runs of the side with fewer
};

/// Over the seeds that both have. `takes_log`: of the values' logarithms; values above 0.
Difference paired_difference(const BySeed& candidate, const BySeed& baseline, bool takes_log);

/// Of the means (Welch), whatever the seeds.
Difference unpaired_difference(const BySeed& candidate, const BySeed& baseline, bool takes_log);

}  // namespace nanobench::reports
