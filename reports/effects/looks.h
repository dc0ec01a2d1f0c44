/// The number of looks at results while seeds were added. A p-value holds for one look: looking, adding seeds and
/// looking again mistakes chance for an effect more often than the p-value says. Pure, thread-safe.
#pragma once

#include <vector>

#include "results/records.h"

namespace nanobench::reports {

/// Seeds at each look, the plan's own last. A look is an earlier plan of the same suite, scale, data and cells whose
/// runs are part of this plan's, and which had p-values: two complete seeds, or one of a factorial with enough effects.
/// A repeated look at the same seeds does not count, nor does a look at repeated runs. Empty for a plan that is not
/// judged by plain p-values: without contrasts, or with planned looks (PlanRecord::sequential).
///   plans   those of the store, in any order; plans of other suites are ignored
std::vector<int> looks_taken(const results::PlanRecord& plan, const std::vector<results::PlanRecord>& plans);

}  // namespace nanobench::reports
