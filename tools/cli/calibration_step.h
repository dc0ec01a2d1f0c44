/// A few steps of one planned run in the foreground, to see how long they take. Stores nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "reports/forecast/run_cost.h"
#include "suites/design/plan.h"

namespace nanobench::tools {

struct CalibrationStep {
  std::optional<reports::PastRun> run;  ///< absent: it did not end well
  std::string failure;                  ///< why, one sentence
  bool is_interrupted = false;
};

/// Of `plan.runs[position]`, by the plan's engine, with the schedule compressed into these steps. Ctrl-C ends it.
/// Throws Error when the engine cannot be started.
CalibrationStep run_calibration_step(const suites::Plan& plan, std::size_t position);

}  // namespace nanobench::tools
