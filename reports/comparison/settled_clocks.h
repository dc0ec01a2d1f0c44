/// The training clocks of a cell's runs, in which disturbed steps count as the other runs took them
/// (reports/stats/robust_clock.h). As thread-safe as the Store.
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

/// Sets the clocks of a cell's runs, and what follows from them: disturbed steps are counted as the runs of the same
/// machine took them (reports/stats/robust_clock.h). Runs without samples of their clock, or without another run on
/// their machine, keep their clocks. Reads each step's clock: about 0.3 ms for 1500 steps.
void settle_clocks(const results::Store& store, std::vector<RunMeasure>& runs);

/// A plan of more samples keeps its clocks as measured, because reading them would take seconds.
inline constexpr std::int64_t kMaxClockSamples = 2'000'000;
/// Samples of the clocks of the completed runs.
std::int64_t clock_samples_of(const std::vector<CellMeasures>& cells);

}  // namespace nanobench::reports
