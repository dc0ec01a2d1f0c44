/// Whether the machine had its days: runs of one revision that are more alike than those of different ones. Pure,
/// thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "reports/trend/trend_values.h"

namespace nanobench::reports {

/// p of "the revisions of one level differ by no more than their runs do": the F test of one-way analysis of variance,
/// within the levels that begin at `boundaries` (ascending). Assumes near normal runs. nullopt when no level has two
/// revisions, no revision has two values, or nothing differs.
std::optional<double> day_effect_p(std::span<const TrendValue> values, std::span<const std::size_t> boundaries);

}  // namespace nanobench::reports
