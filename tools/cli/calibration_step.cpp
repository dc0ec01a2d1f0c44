#include "tools/cli/calibration_step.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "core/base/text.h"
#include "tools/cli/engine_run.h"

namespace nanobench::tools {
namespace {

constexpr std::int64_t kUntimedSteps = 2;  // caches are cold and memory is new
constexpr std::int64_t kTimedSteps = 4;

/// What its events say.
struct Observed {
  std::vector<double> step_ms;
  double peak_bytes = 0.0;

  void on_event(const core::RunEvent& event) {
    if (const auto* step = std::get_if<core::StepEvent>(&event); step != nullptr && step->train_ms)
      step_ms.push_back(step->step_ms);
    if (const auto* finished = std::get_if<core::FinishedEvent>(&event))
      peak_bytes = std::max(peak_bytes, static_cast<double>(finished->peak_bytes));
  }
};

core::RunSpec short_spec(const suites::Plan& plan, const suites::PlannedRun& run) {
  core::RunSpec spec = run.spec;
  spec.run_id = "calibration";
  compress_schedule(spec.config, kUntimedSteps, kTimedSteps, plan.cell_of(run).label);
  return spec;
}

reports::PastRun past_run(const Observed& observed, const core::TrainConfig& config, double wall_s) {
  const double sum = std::accumulate(observed.step_ms.begin(), observed.step_ms.end(), 0.0);
  return {.config_digest = config.digest(),
          .step_ms = sum / static_cast<double>(observed.step_ms.size()),
          .wall_s = wall_s,
          .peak_bytes = observed.peak_bytes,
          .timed_steps = static_cast<std::int64_t>(observed.step_ms.size()),
          .work = reports::work_of(config)};
}

}  // namespace

CalibrationStep run_calibration_step(const suites::Plan& plan, std::size_t position) {
  const core::RunSpec spec = short_spec(plan, plan.runs.at(position));
  Observed observed;
  const auto started = std::chrono::steady_clock::now();
  const ForegroundResult result =
      run_in_foreground(plan.engine.command, spec,
                        {.on_event = [&](const core::RunEvent& event) { observed.on_event(event); },
                         .on_tick = [] {},
                         .on_output = [](const std::string&) {}});
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  CalibrationStep step;
  const core::RunOutcome outcome = result.classification.outcome;
  step.is_interrupted = outcome == core::RunOutcome::kInterrupted;
  if (outcome == core::RunOutcome::kCompleted && !observed.step_ms.empty()) {
    step.run = past_run(observed, spec.config, wall_s);
  } else {
    step.failure =
        "the calibration run ended as " + enum_name(outcome) + ": " + printable(result.classification.message);
  }
  return step;
}

}  // namespace nanobench::tools
