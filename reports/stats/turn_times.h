/// Times of runs that took their steps in turns (suites/run/turn_block.h): without what the cold caches of a turn's
/// first step cost, and without the slow and fast moments of the machine, which all runs of a block share. Pure,
/// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reports/stats/robust_clock.h"

namespace nanobench::reports {

/// Where a turn begins in its run, and among the turns of its block.
struct TurnStart {
  std::int64_t first_step = 0;
  /// Finite. Turns of a block with a smaller place came before, those with the same one at about the same time.
  double place = 0.0;
};

/// The steps of one run.
struct TurnTimes {
  std::size_t cell = 0;          ///< runs of one cell take the same steps
  std::string block;             ///< runs that were resident together
  std::vector<StepTime> times;   ///< single steps, ascending
  std::vector<TurnStart> turns;  ///< ascending; empty: the run took no turns
};

/// Counts the first step of each turn as the median of the turn's others, if it took longer; a turn with fewer than two
/// others keeps it. Returns the milliseconds taken away.
double warm_first_steps(TurnTimes& run);

/// Divides the times of each turn by what the machine was slower while it lasted. A turn's typical step is that of its
/// cell in the same turn of other blocks, times what its run is slower throughout, times what the machine is slower:
/// the median of what remains, over the turns of the block at its place, or where there is only itself, over it and its
/// two neighbours on each side. Only what differs between the turns of a block is taken away, so a block keeps its own
/// level, and a run what it is slower throughout. Blocks with fewer than two cells, and cells with fewer than two
/// blocks, say nothing.
///
/// Simulated (tests/reports/stats/turn_times_test.cpp) with another process on the machine for 0.3 to 4 s at a time, in
/// a quarter to two fifths of the time: the error of a cell's time is 17 to 31 % smaller than with one slowness for
/// each round. On a quiet machine it is 3 % larger.
void remove_drift(std::span<TurnTimes> runs);

}  // namespace nanobench::reports
