/// Pilots: the first steps of a cell, with its whole schedule compressed into them, before the runs of a plan. They
/// show whether the engine can run the cell, and what a run will take.
///
/// A pilot is a stored run of the suite kPilotSuite that belongs to no plan; its fact results::kPilotOf names the
/// configuration that it tries. A pilot that has succeeded is not made again. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "suites/design/plan.h"

namespace nanobench::suites {

inline constexpr const char* kPilotSuite = "pilot";

/// Shortens a run to so many steps, with its whole schedule and the smallest validation. Throws Error{kInvalidArgument}
/// with `source` if the steps are too few for a setting.
void compress_schedule(core::TrainConfig& config, std::int64_t untimed_steps, std::int64_t timed_steps,
                       const std::string& source);

/// Whether the run can be tried by its first steps: those of our engine can, if they are longer than a pilot. The mock
/// engine, trainers of others and single operations have none.
bool has_pilot(const PlannedRun& run);

/// The pilots of runs of a plan, by their indexes, in this order. REQUIRES has_pilot() of each.
Plan pilot_plan(const Plan& plan, const std::vector<std::size_t>& runs);

}  // namespace nanobench::suites
