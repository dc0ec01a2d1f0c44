/// Tests whether a new run fits earlier runs, and finds outliers in a set of runs. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// The target of a prediction interval.
enum class Predicted {
  kMeanOfRuns,  ///< the mean of m new runs: mean -+ t * sd * sqrt(1/m + 1/n)
  kEachRun,     ///< all of m new runs at once: the interval for one, Bonferroni-corrected for m
};

/// The range of m new runs of the same kind. Assumes independent, near normal runs; normality matters, because single
/// runs are predicted. Needs n >= 2. nullopt for fewer, no spread, or values that are not finite. Throws
/// Error{kInvalidArgument} for m below 1 or a level outside (0, 1).
std::optional<ConfidenceInterval> prediction_interval(std::span<const double> values, int new_runs = 1,
                                                      double level = 0.95,
                                                      Predicted predicted = Predicted::kMeanOfRuns);

struct OutlierFlags {
  std::vector<double> score;     ///< modified z, signed: distance from the median in robust standard deviations
  std::vector<bool> is_outlier;  ///< |score| above the limit
  int count = 0;
  bool uses_mean_deviation = false;  ///< the median absolute deviation was 0 (half of the values are equal)
};

/// Flags outliers, but drops none. Modified z = 0.6745 (x - median) / MAD; where MAD is 0, (x -
/// median) / (1.253314 * mean absolute deviation). Source: Iglewicz and Hoaglin 1993, limit 3.5. Needs n >= 3; nullopt
/// for fewer, for a value that is not finite, and when all are equal.
std::optional<OutlierFlags> outlier_flags(std::span<const double> values, double limit = 3.5);

}  // namespace nanobench::reports
