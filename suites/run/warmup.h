/// Warm-ups: runs of a cell's command before its first run, so that the caches of compiled kernels are filled
/// ("warmup" of an external suite). A warm-up is a stored run of the suite kWarmupSuite that belongs to no plan and
/// answers none. Private to suites/.
#pragma once

#include "suites/design/plan.h"
#include "suites/run/engine_process.h"
#include "suites/run/interrupt.h"
#include "suites/run/runner.h"

namespace nanobench::suites {

inline constexpr const char* kWarmupSuite = "warm-up";

/// Makes the warm-ups that the cell of the run asks for, unless this process has made them already. False if one of
/// them failed, so that the caches may be cold. `place`: where they are made. Throws like run_plan().
bool warm_up(const Plan& plan, const PlannedRun& run, const EnginePlace& place, results::Store& store,
             const RunnerOptions& options, RunnerObserver& observer, InterruptGuard& interrupts);

}  // namespace nanobench::suites
