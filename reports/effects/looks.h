/// How often results were looked at while seeds were added. A p-value holds for one look; who looks, adds seeds and
/// looks again calls chance an effect more often than it says. Pure, thread-safe.
#pragma once

#include <vector>

#include "results/records.h"

namespace nanobench::reports {

/// Seeds at each look, the plan's own last. A look is an earlier plan of the same suite, scale, data and cells whose
/// runs are part of this plan's, and which had p-values: two complete seeds, or one of a factorial with enough effects.
/// The same seeds again are no other look, and runs that were made anew are no other look at the old ones. Empty for a
/// plan that is not judged by plain p-values: without contrasts, or one of planned looks (PlanRecord::sequential).
///   plans   those of the store, in any order; others than of this suite do no harm
std::vector<int> looks_taken(const results::PlanRecord& plan, const std::vector<results::PlanRecord>& plans);

}  // namespace nanobench::reports
