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

/// The steps of one run.
struct TurnTimes {
  std::size_t cell = 0;             ///< runs of one cell take the same steps
  std::string block;                ///< runs that were resident together
  std::vector<StepTime> times;      ///< single steps, ascending
  std::vector<std::int64_t> turns;  ///< the first step of each turn, ascending; empty: the run took no turns
};

/// Counts the first step of each turn as the median of the turn's others, if it took longer; a turn with fewer than two
/// others keeps it. Returns the milliseconds taken away.
double warm_first_steps(TurnTimes& run);

/// Divides the times of each round by what the machine was slower in it, for all runs of a block alike. That is the
/// median, over the block's cells, of a turn's typical step against the cell's typical step of the same turn in other
/// blocks. Only what differs between the rounds of a block is taken away, so a block keeps its own level. Blocks with
/// fewer than two cells, and cells with fewer than two blocks, say nothing.
void remove_drift(std::span<TurnTimes> runs);

}  // namespace nanobench::reports
