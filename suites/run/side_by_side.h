/// Runs side by side: several engines compute at once, each on processors that it shares with no other. They give
/// losses, the same as alone, and no times. Private to suites/.
#pragma once

#include <vector>

#include "suites/run/plan_runner.h"
#include "suites/run/turn_block.h"

namespace nanobench::suites {

/// Executes the runs that have no answer yet, `jobs` at once where memory allows: another one starts only if what is
/// free holds twice the most that one has needed so far. Returns when all have an answer or the user has interrupted.
/// Throws as run_plan() does.
void run_side_by_side(const std::vector<BlockRun>& runs, int jobs, InterruptGuard& interrupts,
                      RunnerObserver& observer);

}  // namespace nanobench::suites
