/// The training clocks of runs, in which disturbed steps count as the other runs of the cell took them
/// (reports/stats/robust_clock.h), and turns without what they cost (reports/stats/turn_times.h). As thread-safe as the
/// Store.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/robust_clock.h"

namespace nanobench::reports {

/// Sets the clock of a completed run, its step time and its rate of tokens.
void set_clock(RunMeasure& measure, double clock_ms);

/// What the run's training clock counted at each sample; empty if it ever runs backwards.
std::vector<StepTime> clock_increments(const results::Store& store, std::int64_t run_id);

/// Mean over the steps between the first and the last sample of the clock; nullopt without two of them.
std::optional<double> sampled_step_ms(const results::Store& store, std::int64_t run_id);

/// Sets the clocks of runs, one list for each cell, and what follows from them:
///   1. the first step of a turn counts as the others of its turn;
///   2. slow and fast moments are taken from the times of all runs that were resident together;
///   3. disturbed steps are counted as the cell's other runs on the machine took them.
/// Runs without samples of their clock keep their clocks. Reads each step's clock: about 0.3 ms for 1500 steps.
void settle_clocks(const results::Store& store, const std::vector<std::vector<RunMeasure>*>& cells);

/// A plan of more samples keeps its clocks as measured, because reading them would take seconds.
inline constexpr std::int64_t kMaxClockSamples = 2'000'000;
/// Samples of the clocks of the completed runs.
std::int64_t clock_samples_of(const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
