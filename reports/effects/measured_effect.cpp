#include "reports/effects/measured_effect.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/factorial_effects.h"

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

/// Times of different machines are never subtracted from each other; losses may be.
bool all_share_machine(const std::vector<const RunMeasure*>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RunMeasure* run) { return share_machine(*run, *runs.front()); });
}

/// A row for each seed in which every cell has the value.
std::vector<std::vector<double>> rows_by_seed(const std::vector<const CellMeasures*>& cells, Value value,
                                              bool needs_one_machine) {
  std::vector<std::vector<double>> rows;
  if (cells.empty()) return rows;
  for (const RunMeasure& first : cells.front()->runs) {
    std::vector<const RunMeasure*> runs;
    std::vector<double> row;
    for (const CellMeasures* cell : cells) {
      const RunMeasure* const run = completed_run(*cell, first.run.seed);
      const std::optional<double> number = run == nullptr ? std::nullopt : value(*run);
      if (!number || !std::isfinite(*number)) break;
      runs.push_back(run);
      row.push_back(*number);
    }
    if (row.size() == cells.size() && (!needs_one_machine || all_share_machine(runs))) rows.push_back(std::move(row));
  }
  return rows;
}

/// The values of each cell; empty where they are times of several machines.
std::vector<std::vector<double>> values_of_cells(const std::vector<const CellMeasures*>& cells, Value value,
                                                 bool needs_one_machine) {
  std::vector<std::vector<double>> values;
  std::vector<const RunMeasure*> all;
  for (const CellMeasures* cell : cells) {
    values.emplace_back();
    for (const RunMeasure& run : cell->runs) {
      const std::optional<double> number = run.run.is_completed() ? value(run) : std::nullopt;
      if (!number || !std::isfinite(*number)) continue;
      values.back().push_back(*number);
      all.push_back(&run);
    }
  }
  if (needs_one_machine && !all_share_machine(all)) return {};
  return values;
}

/// Sum of the coefficients above 0: contrast functions give the effect divided by it.
double weight_of(const Contrast& contrast) {
  double sum = 0.0;
  for (const double coefficient : contrast) sum += std::max(0.0, coefficient);
  return sum;
}

/// The effect on the plan's own scale, at which the coefficients are taken as they are.
void set_effect(MeasuredEffect& effect, const ContrastEffect& found, double weight) {
  effect.value = weight * found.value;
  effect.estimate = found.estimate;
  if (!effect.estimate) return;
  effect.estimate->value *= weight;
  effect.estimate->se *= weight;
}

MeasuredEffect effect_by_seeds(const std::vector<std::vector<double>>& rows, const Contrast& contrast) {
  MeasuredEffect effect;
  const std::optional<ContrastEffect> found = contrast_by_seed(rows, contrast);
  if (!found) return effect;
  set_effect(effect, *found, weight_of(contrast));
  effect.n = static_cast<int>(rows.size());
  if (effect.n >= 2) effect.source = ErrorSource::kSeeds;
  return effect;
}

MeasuredEffect effect_by_cells(const std::vector<std::vector<double>>& values, const Contrast& contrast) {
  MeasuredEffect effect;
  if (values.empty()) return effect;
  const std::optional<ContrastEffect> found = contrast_effect(values, contrast, CellError::kWithinCells);
  if (!found) return effect;
  set_effect(effect, *found, weight_of(contrast));
  const auto fewest =
      std::min_element(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  effect.n = static_cast<int>(fewest->size());
  if (effect.estimate) effect.source = ErrorSource::kCells;
  return effect;
}

MeasuredEffect measure(const std::vector<ContrastPart>& parts, Value value, bool needs_one_machine) {
  if (parts.empty()) return {};
  std::vector<const CellMeasures*> cells;
  Contrast contrast;
  for (const ContrastPart& part : parts) {
    cells.push_back(part.cell);
    contrast.push_back(part.coefficient);
  }
  const std::vector<std::vector<double>> rows = rows_by_seed(cells, value, needs_one_machine);
  if (!rows.empty()) return effect_by_seeds(rows, contrast);
  return effect_by_cells(values_of_cells(cells, value, needs_one_machine), contrast);
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

std::vector<std::vector<double>> loss_rows(const std::vector<const CellMeasures*>& cells) {
  return rows_by_seed(cells, loss_of, /*needs_one_machine=*/false);
}

MeasuredEffect loss_effect(const std::vector<ContrastPart>& parts) {
  return measure(parts, loss_of, /*needs_one_machine=*/false);
}

MeasuredEffect log_time_effect(const std::vector<ContrastPart>& parts) {
  return measure(parts, log_time_of, /*needs_one_machine=*/true);
}

}  // namespace nanobench::reports
