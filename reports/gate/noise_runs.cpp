// From a stored A/A plan to what calibrate() needs.
#include "reports/gate/arm.h"
#include "reports/gate/calibration.h"
#include "results/provenance.h"

namespace nanobench::reports {
std::vector<NoiseRun> noise_runs(const results::Store& store, const results::PlanRecord& plan) {
  std::vector<NoiseRun> runs;
  std::optional<double> first;
  const Arm arm = read_arm(store, plan, "");
  for (std::size_t cell = 0; cell < arm.cells.size(); ++cell) {
    for (const results::PlanLine& line : plan.lines) {
      if (line.cell != arm.cells[cell].label || !line.run_id) continue;
      const std::optional<double> began = results::seconds_since_epoch(store.run(*line.run_id).started_at);
      for (const ArmRun& run : arm.cells[cell].runs) {
        if (run.seed != line.seed || !run.val_loss || !run.step_ms || !run.peak_bytes || !began) continue;
        if (!first || *began < *first) first = began;
        runs.push_back({.arm = static_cast<int>(cell),
                        .seed = run.seed,
                        .val_loss = *run.val_loss,
                        .step_ms = *run.step_ms,
                        .peak_bytes = *run.peak_bytes,
                        .hours = *began / 3600.0,
                        .loss_digest = run.loss_digest});
      }
    }
  }
  for (NoiseRun& run : runs) run.hours -= *first / 3600.0;
  return runs;
}

}  // namespace nanobench::reports
