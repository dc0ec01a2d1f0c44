// Cells with runs that were never run, for tests of what is made of them.
#pragma once

#include <string>
#include <vector>

#include "reports/comparison/comparison.h"

namespace nanobench::reports {

/// The step time, and the training clock of all steps that the run says it made (of one if it says none).
inline void set_step_ms(RunMeasure& run, double step_ms) {
  run.step_ms = step_ms;
  run.clock_ms = step_ms * static_cast<double>(run.run.result->steps.value_or(1));
}

inline RunMeasure made_run(std::uint64_t seed, double val_loss, double step_ms = 100.0) {
  RunMeasure measure;
  measure.run.id = static_cast<std::int64_t>(seed) + 1000;
  measure.run.seed = seed;
  measure.run.hardware = "machine";
  measure.run.result = results::RunResult{.outcome = core::RunOutcome::kCompleted, .final_val_loss = val_loss};
  measure.val_loss = val_loss;
  set_step_ms(measure, step_ms);
  return measure;
}

/// Seeds from `first_seed` on.
inline CellMeasures made_cell(const std::string& label, const std::vector<double>& losses,
                              std::uint64_t first_seed = 1) {
  CellMeasures cell;
  cell.cell.label = label;
  cell.planned = static_cast<int>(losses.size());
  for (const double loss : losses) cell.runs.push_back(made_run(first_seed + cell.runs.size(), loss));
  return cell;
}

inline results::PlanContrast simple_contrast(const std::string& effect, const std::string& on, const std::string& off) {
  return {.effect = effect,
          .kind = results::ContrastKind::kSimple,
          .meaning = "",
          .coefficients = {{on, 1.0}, {off, -1.0}},
          .aliases = {}};
}

}  // namespace nanobench::reports
