/// Makes the pilots of a plan (suites/design/pilot_plan.h) before its runs. Private to suites/.
#pragma once

#include "suites/design/pilot_plan.h"
#include "suites/run/plan_runner.h"

namespace nanobench::suites {

/// Makes the pilots of the plan's cells of which no run is finished, unless a single run is to do. A failure counts as
/// one of its cell. Throws Error{kUnavailable} if every cell of the plan fails.
void run_pilots(PlanRunner& runner, results::Store& store, const RunnerOptions& options, RunnerObserver& observer,
                InterruptGuard& interrupts);

}  // namespace nanobench::suites
