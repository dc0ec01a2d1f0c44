/// The page about a profile: where a step's time goes, by phase and op, beside what the machine can do. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/base/step_profile.h"
#include "core/protocol/run_event.h"
#include "reports/document/document.h"

namespace nanobench::reports {

/// What a profiled run said besides its profile.
struct ProfiledRun {
  std::string name;                        ///< of the configuration
  core::HelloEvent hello;                  ///< threads, parameters, which attention
  std::map<std::string, double> counters;  ///< by name: "cost/flops_per_step", ...
  std::optional<std::string> trace_file;   ///< where the trace was left
};

Document profile_report(const core::StepProfile& profile, const ProfiledRun& run);

/// The table "cost" of a run's counters "cost/...": FLOPs, bytes and their shares by family of ops and by phase;
/// without rows when the run has none.
Table cost_table(const std::map<std::string, double>& counters);

/// "1.234 G": four significant digits and k, M, G, T, P.
std::string format_amount(double value);

}  // namespace nanobench::reports
