/// Several hypotheses at once: Holm's adjustment, and intervals that hold together. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// How a hypothesis without a p-value affects the others.
enum class Missing {
  kCounted,  ///< counts as if its p were 1: dropping a failed question would make the others look better
  kLeftOut,  ///< it is not part of the family
};

/// Holm's step-down adjusted p-values (Holm 1979), in the order given; valid under any dependence. Adjusted p's never
/// fall as p's rise, and are at most 1. A missing p stays missing.
/// Throws Error{kInvalidArgument} for a p outside [0, 1] or not a number.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p, Missing missing = Missing::kCounted);

/// Two-sided intervals that together hold with `level`: Bonferroni, each at 1 - (1 - level) / m. One that excludes 0 is
/// rejected by Holm too; Holm may reject more, because two-sided intervals that follow Holm exactly are not defined.
/// Missing estimates stay missing and count as in holm().
std::vector<std::optional<ConfidenceInterval>> simultaneous_intervals(
    std::span<const std::optional<Estimate>> estimates, double level = 0.95, Missing missing = Missing::kCounted);

/// One-sided bounds that follow one-sided Holm tests of "not above 0" exactly, and together hold with `level`
/// (Strassburger and Bretz 2008): 0 for a rejected hypothesis while others stand, else value - t * se at the level of
/// the hypotheses that stand; Bonferroni's (at least 0) when all are rejected. A bound of 0 for a rejected hypothesis
/// is open: its truth is above it. For bounds from above, negate the values and the result.
std::vector<std::optional<double>> holm_lower_bounds(std::span<const std::optional<Estimate>> estimates,
                                                     double level = 0.95, Missing missing = Missing::kCounted);

}  // namespace nanobench::reports
