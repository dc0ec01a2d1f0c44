// From a stored A/A plan to what calibrate() needs.
#include <cstdlib>
#include <ctime>

#include "reports/gate/arm.h"
#include "reports/gate/calibration.h"

namespace nanobench::reports {
namespace {

/// Of "2026-01-31T23:59:59.123Z"; nullopt for another form.
std::optional<double> hours_of(const std::string& time) {
  std::tm parts = {};
  const char* const rest = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0.0;
  return (static_cast<double>(timegm(&parts)) + fraction) / 3600.0;
}

}  // namespace

std::vector<NoiseRun> noise_runs(const results::Store& store, const results::PlanRecord& plan) {
  std::vector<NoiseRun> runs;
  std::optional<double> begin;
  const Arm arm = read_arm(store, plan, "");
  for (std::size_t cell = 0; cell < arm.cells.size(); ++cell) {
    for (const results::PlanLine& line : plan.lines) {
      if (line.cell != arm.cells[cell].label || !line.run_id) continue;
      const std::optional<double> hours = hours_of(store.run(*line.run_id).started_at);
      for (const ArmRun& run : arm.cells[cell].runs) {
        if (run.seed != line.seed || !run.val_loss || !run.step_ms || !run.peak_bytes || !hours) continue;
        if (!begin || *hours < *begin) begin = hours;
        runs.push_back({.arm = static_cast<int>(cell),
                        .seed = run.seed,
                        .val_loss = *run.val_loss,
                        .step_ms = *run.step_ms,
                        .peak_bytes = *run.peak_bytes,
                        .hours = *hours,
                        .loss_digest = run.loss_digest});
      }
    }
  }
  for (NoiseRun& run : runs) run.hours -= *begin;
  return runs;
}

}  // namespace nanobench::reports
