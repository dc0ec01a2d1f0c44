/// Runs side by side: several engines compute at once, each on processors that it shares with no other, where they give
/// losses, the same as alone, and no times; or each on a seat, a GPU of its own, where they give times too. Private to
/// suites/.
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

/// The same on seats: all runs of a seed on the same one (seat_of_seed), one after the other, or with SeatChunk::kRun
/// each on the one that is free first.
void run_on_seats(const std::vector<BlockRun>& runs, const Seats& seats, InterruptGuard& interrupts,
                  RunnerObserver& observer);

}  // namespace nanobench::suites
