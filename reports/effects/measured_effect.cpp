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

/// Times from different machines are never subtracted; losses may be.
bool all_share_machine(const std::vector<const RunMeasure*>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RunMeasure* run) { return share_machine(*run, *runs.front()); });
}

/// One row for each seed for which every cell has the value.
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

/// The values of each cell; empty if they are times from several machines.
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

/// Sum of the coefficients above 0, by which contrast functions divide the effect.
double weight_of(const Contrast& contrast) {
  double sum = 0.0;
  for (const double coefficient : contrast) sum += std::max(0.0, coefficient);
  return sum;
}

/// The effect on the plan's own scale, which keeps the coefficients unchanged.
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

namespace {

constexpr double kSlopeShare = 0.2;  // last part of the run, where the slope of the loss is fitted

std::vector<SlopePoint> end_of_curve(const RunMeasure& run) {
  std::vector<SlopePoint> points;
  for (const CurvePoint& point : run.curve) {
    if (std::isfinite(point.loss)) points.push_back({.x = static_cast<double>(point.step), .loss = point.loss});
  }
  if (points.empty()) return points;
  const double last = points.back().x;
  std::vector<SlopePoint> end = in_window(points, last * (1.0 - kSlopeShare), last);
  if (end.size() < 3 && points.size() >= 3) end.assign(points.end() - 3, points.end());
  return end;
}

/// Loss per step at the end of the runs: over runs if several differ, else along the first curve.
std::optional<Estimate> slope_of(const std::vector<const RunMeasure*>& runs) {
  std::vector<std::vector<SlopePoint>> curves;
  for (const RunMeasure* run : runs) {
    std::vector<SlopePoint> curve = end_of_curve(*run);
    if (curve.size() >= 2) curves.push_back(std::move(curve));
  }
  if (curves.empty()) return std::nullopt;
  if (const std::optional<Estimate> slope = slope_over_runs(curves)) return slope;
  const std::optional<LineFit> line = fit_line(curves.front());
  return line ? std::optional<Estimate>(line->slope) : std::nullopt;
}

/// Steps and seconds per step of the completed runs, weighted by the parts' coefficients of one sign.
struct Course {
  double steps = 0.0, step_s = 0.0, weight = 0.0;
  std::vector<const RunMeasure*> runs;

  void add(const ContrastPart& part) {
    double steps_sum = 0.0, seconds = 0.0;
    int count = 0;
    for (const RunMeasure& run : part.cell->runs) {
      if (!run.run.is_completed() || !run.run.result->steps || !run.step_ms) continue;
      steps_sum += static_cast<double>(*run.run.result->steps);
      seconds += *run.step_ms / 1000.0;
      ++count;
      runs.push_back(&run);
    }
    if (count == 0) return;
    const double share = std::abs(part.coefficient);
    steps += share * steps_sum / count;
    step_s += share * seconds / count;
    weight += share;
  }
  bool finish() {
    if (weight <= 0.0 || runs.empty()) return false;
    steps /= weight;
    step_s /= weight;
    return steps > 0.0 && step_s > 0.0;
  }
};

/// If all losses are equal: the time for the same number of steps.
EqualLoss by_time_alone(const Course& course, const Estimate& ratio, double level) {
  EqualLoss result{.status = EqualLoss::Status::kConverted};
  const double reference = course.steps * course.step_s;
  result.seconds = {.value = reference * (ratio.value - 1.0), .se = reference * ratio.se, .df = ratio.df};
  result.seconds_interval = interval_of(result.seconds, level);
  result.steps_interval.level = level;
  return result;
}

void shift(EqualLoss& equal_loss, double seconds) {
  equal_loss.seconds.value += seconds;
  equal_loss.seconds_interval.low += seconds;
  equal_loss.seconds_interval.high += seconds;
}

}  // namespace

EffectSeconds seconds_at_equal_loss(const std::vector<ContrastPart>& parts, const MeasuredEffect& loss,
                                    const MeasuredEffect& log_time, double level) {
  EffectSeconds seconds;
  Course before, after;
  for (const ContrastPart& part : parts) (part.coefficient < 0.0 ? before : after).add(part);
  if (!before.finish() || !after.finish() || !log_time.estimate) return seconds;
  seconds.reference_s = before.steps * before.step_s;
  const double ratio = std::exp(log_time.estimate->value);
  const Estimate ratio_estimate{.value = ratio, .se = ratio * log_time.estimate->se, .df = log_time.estimate->df};
  const std::optional<Estimate> slope = slope_of(after.runs);
  if (loss.value && *loss.value == 0.0 && !loss.estimate) {
    Course course = before;
    course.steps = after.steps;
    seconds.equal_loss = by_time_alone(course, ratio_estimate, level);
  } else if (loss.estimate && slope) {
    seconds.equal_loss = at_equal_loss({.loss_change = *loss.estimate,
                                        .slope = *slope,
                                        .step_time_ratio = ratio_estimate,
                                        .steps = after.steps,
                                        .step_s = before.step_s},
                                       level);
  }
  if (seconds.equal_loss.is_converted()) shift(seconds.equal_loss, (after.steps - before.steps) * before.step_s);
  return seconds;
}

}  // namespace nanobench::reports
