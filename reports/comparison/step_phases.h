/// The step times of a plan by phase: steps whose cost is alike, because one attention window and one stage of the
/// learning rate hold in them. A change that costs time in one phase and saves it in another is visible only here.
/// Pure functions of store rows; as thread-safe as the Store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/comparison/comparison.h"
#include "reports/stats/robust_clock.h"

namespace nanobench::reports {

inline constexpr std::size_t kMaxPhases = 8;     ///< of more, the shortest join the phase before them
inline constexpr std::size_t kMaxPhaseRuns = 5;  ///< runs of a cell; the shares hardly differ

/// A cell in a phase.
struct PhaseTime {
  std::string cell;
  BySeed step_ms;               ///< mean over the phase; disturbed steps as settle_clocks() counts them
  std::optional<Effect> ratio;  ///< to the row's reference at the same steps; above 1: slower
};

struct StepPhase {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::vector<PhaseTime> cells;  ///< those with times, in the suite's order
};

/// Boundaries are where the window or the stage of the learning rate (constant, rising, falling) changes in a cell.
/// Where no cell has either, they are changes of the level of the cells' times (change_points()). Empty for fewer than
/// two phases, and for plans of more than kMaxClockSamples samples.
///   table   of the same cells: names the rows' references
std::vector<StepPhase> step_phases(const results::Store& store, const std::vector<CellMeasures>& cells,
                                   const ComparisonTable& table);

/// First steps of the phases after the first one: steps where `window` or the stage of `rate` changes. Both ascending.
std::vector<std::int64_t> scheduled_boundaries(const std::vector<results::Sample>& window,
                                               const std::vector<results::Sample>& rate);

/// The same from times alone: steps where their level changes by 2 % or more. Fewer than 20 times show nothing.
std::vector<std::int64_t> measured_boundaries(std::span<const StepTime> times);

}  // namespace nanobench::reports
