/// What the stored noise of a machine says about a gate before it runs: the margins of --calibrated, and the chance
/// that an unchanged candidate passes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/comparison/conditions.h"
#include "reports/gate/gate_policy.h"
#include "reports/gate/pass_forecast.h"
#include "results/store.h"
#include "suites/design/plan.h"

namespace nanobench::tools {

struct CalibratedPolicy {
  reports::GatePolicy policy;
  std::string note;  ///< where the margins come from, for people
};

/// A gate, as far as its margins follow from it.
struct GateOutline {
  const suites::Suite& suite;
  std::string name;  ///< of the suite, as the user typed it
  reports::Conditions conditions;
  reports::GateSize size;
  bool is_interleaved = true;
};

/// The policy with margins that the noise under these conditions allows. Throws Error when no calibration under them is
/// stored, or it has too few pairs.
CalibratedPolicy calibrated_policy(const GateOutline& gate, const reports::GatePolicy& policy,
                                   const results::Store& store);

/// The noise of a planned candidate's checks: of the newest calibration under its conditions, else of stored runs.
reports::GateNoise noise_of_plan(const suites::Plan& candidate, bool is_interleaved, const results::Store& store);

/// "chance to pass: 43 % ...", what raises it, or why it is not known and what measures it. One line.
std::string forecast_text(const reports::PassForecast& forecast, const std::string& calibrate_command);

/// Words after the program's name: "calibrate my_trainer.json --pairs 6".
std::string calibrate_command(const suites::Suite& suite, const std::string& name, int threads);

}  // namespace nanobench::tools
