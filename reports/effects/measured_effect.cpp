#include "reports/effects/measured_effect.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/moments.h"

namespace nanobench::reports {
namespace {

using Value = std::optional<double> (*)(const RunMeasure&);

std::optional<double> loss_of(const RunMeasure& run) {
  return run.val_loss;
}
std::optional<double> log_time_of(const RunMeasure& run) {
  if (!run.step_ms || !(*run.step_ms > 0.0)) return std::nullopt;
  return std::log(*run.step_ms);
}

const RunMeasure* completed_run(const CellMeasures& cell, std::uint64_t seed) {
  for (const RunMeasure& run : cell.runs) {
    if (run.run.seed == seed && run.run.is_completed()) return &run;
  }
  return nullptr;
}

/// Times of different machines are never subtracted from each other; losses may be.
bool share_machine(const std::vector<const RunMeasure*>& runs) {
  return std::all_of(runs.begin(), runs.end(), [&](const RunMeasure* run) {
    return run->run.hardware == runs.front()->run.hardware && run->run.owner.host == runs.front()->run.owner.host &&
           run->run.threads == runs.front()->run.threads;
  });
}

/// Seeds in which every cell of the contrast has the value.
std::vector<double> values_by_seed(const std::vector<ContrastPart>& parts, Value value, bool needs_one_machine,
                                   double& magnitude) {
  std::vector<double> values;
  for (const RunMeasure& first : parts.front().cell->runs) {
    std::vector<const RunMeasure*> runs;
    double sum = 0.0;
    for (const ContrastPart& part : parts) {
      const RunMeasure* const run = completed_run(*part.cell, first.run.seed);
      const std::optional<double> number = run == nullptr ? std::nullopt : value(*run);
      if (!number || !std::isfinite(*number)) break;
      runs.push_back(run);
      sum += part.coefficient * *number;
      magnitude = std::max(magnitude, std::abs(*number));
    }
    if (runs.size() == parts.size() && (!needs_one_machine || share_machine(runs))) values.push_back(sum);
  }
  return values;
}

/// From each cell's own mean and spread; all of one machine where times are compared.
MeasuredEffect effect_by_cells(const std::vector<ContrastPart>& parts, Value value, bool needs_one_machine) {
  MeasuredEffect effect;
  std::vector<Term> terms;
  std::vector<const RunMeasure*> all;
  double sum = 0.0;
  int least = 0;
  for (const ContrastPart& part : parts) {
    std::vector<double> values;
    for (const RunMeasure& run : part.cell->runs) {
      const std::optional<double> number = run.run.is_completed() ? value(run) : std::nullopt;
      if (!number || !std::isfinite(*number)) continue;
      values.push_back(*number);
      all.push_back(&run);
    }
    const std::optional<double> mean = mean_of(values);
    if (!mean) return {};
    sum += part.coefficient * *mean;
    least = least == 0 ? static_cast<int>(values.size()) : std::min(least, static_cast<int>(values.size()));
    if (const std::optional<Moments> moments = moments_of(values))
      terms.push_back({.factor = part.coefficient, .estimate = estimate_of(*moments)});
  }
  if (needs_one_machine && !share_machine(all)) return {};
  effect.value = sum;
  effect.n = least;
  if (terms.size() == parts.size()) effect.estimate = combine(terms);
  if (effect.estimate) effect.source = ErrorSource::kCells;
  return effect;
}

MeasuredEffect measure(const std::vector<ContrastPart>& parts, Value value, bool needs_one_machine) {
  if (parts.empty()) return {};
  double magnitude = 0.0;
  const std::vector<double> values = values_by_seed(parts, value, needs_one_machine, magnitude);
  if (values.empty()) return effect_by_cells(parts, value, needs_one_machine);
  MeasuredEffect effect{.value = mean_of(values), .n = static_cast<int>(values.size())};
  const std::optional<Moments> moments = moments_of(values, magnitude);
  if (moments) effect.source = ErrorSource::kSeeds;
  if (moments && moments->has_spread()) effect.estimate = estimate_of(*moments);
  return effect;
}

}  // namespace

std::vector<ContrastPart> parts_of(const results::PlanContrast& contrast, const std::vector<CellMeasures>& cells) {
  std::vector<ContrastPart> parts;
  for (const auto& [label, coefficient] : contrast.coefficients) {
    const auto found = std::find_if(cells.begin(), cells.end(),
                                    [&label = label](const CellMeasures& cell) { return cell.cell.label == label; });
    if (found != cells.end() && coefficient != 0.0) parts.push_back({&*found, coefficient});
  }
  return parts.size() == contrast.coefficients.size() ? parts : std::vector<ContrastPart>();
}

MeasuredEffect loss_effect(const std::vector<ContrastPart>& parts) {
  return measure(parts, loss_of, /*needs_one_machine=*/false);
}

MeasuredEffect log_time_effect(const std::vector<ContrastPart>& parts) {
  return measure(parts, log_time_of, /*needs_one_machine=*/true);
}

}  // namespace nanobench::reports
