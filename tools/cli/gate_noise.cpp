#include "tools/cli/gate_noise.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/forecast/noise.h"
#include "reports/gate/calibration.h"
#include "reports/kinds/kinds.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;
using reports::CheckNoise;
using reports::GateMetric;

constexpr double kCalibratedPower = 0.8;  // of each check, for an unchanged candidate

std::string source_of(const results::PlanRecord& plan) {
  return "the calibration in plan " + std::to_string(plan.id);
}

/// The noise of two runs of one seed, from the spread of one run that cell and seed do not explain.
std::optional<CheckNoise> pair_noise(const reports::NoiseFigure& figure) {
  if (!figure.spread) return std::nullopt;
  return CheckNoise{.sd = std::sqrt(2.0) * figure.spread->sd, .df = figure.spread->df, .is_bound = figure.is_bound};
}

}  // namespace

std::string calibrate_command(const suites::Suite& suite, const std::string& name, int threads) {
  const std::string which =
      suite.external ? name : name + " --scale " + suite.scale + " --threads " + std::to_string(threads);
  return "calibrate " + which + " --pairs 6";
}

CalibratedPolicy calibrated_policy(const GateOutline& gate, const reports::GatePolicy& policy,
                                   const results::Store& store) {
  const suites::Suite& suite = gate.suite;
  const reports::Conditions& conditions = gate.conditions;
  const std::string advice = "; run `nanobench " + calibrate_command(suite, gate.name, conditions.threads) + "` first";
  const auto plan = reports::newest_calibration(store, conditions);
  if (!plan) {
    const std::string what = suite.external ? suite.name
                                            : "the engine " + conditions.engine + " at scale " + suite.scale +
                                                  " with " + counted(conditions.threads, "thread");
    throw Error(ErrorCode::kNotFound,
                "--calibrated: no calibration of " + what + " on this machine is stored" + advice);
  }
  const reports::Calibration calibration = reports::calibrate(reports::noise_runs(store, *plan));
  const auto derived = reports::derived_policy(
      calibration,
      {.n = gate.size.n, .cells = gate.size.cells, .is_interleaved = gate.is_interleaved, .power = kCalibratedPower},
      policy);
  if (derived) {
    return {*derived, "Margins: from " + source_of(*plan) + " (" + std::to_string(calibration.pairs) + " pairs, " +
                          plan->created_at + ")."};
  }
  throw Error(ErrorCode::kInvalidArgument, "--calibrated: plan " + std::to_string(plan->id) +
                                               " has too few pairs, or the suite has one seed" + advice);
}

reports::GateNoise noise_of_plan(const suites::Plan& candidate, bool is_interleaved, const results::Store& store) {
  if (const auto plan = reports::newest_calibration(store, reports::conditions_of(candidate))) {
    reports::GateNoise noise =
        reports::noise_of_gate(reports::calibrate(reports::noise_runs(store, *plan)), is_interleaved);
    noise.source = source_of(*plan);
    if (noise.loss || noise.time) return noise;
  }
  const reports::Noise stored = reports::read_noise(&store, candidate);
  reports::GateNoise noise{.loss = pair_noise(stored.loss), .source = "stored runs"};
  if (is_interleaved) noise.time = pair_noise(stored.log_time);
  return noise;
}

std::string forecast_text(const reports::PassForecast& forecast, const std::string& calibrate_command) {
  if (!forecast.chance) return "chance to pass: unknown without stored noise; `" + calibrate_command + "` measures it";
  return reports::forecast_sentence(forecast);
}

}  // namespace nanobench::tools
