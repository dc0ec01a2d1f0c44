#include "reports/effects/effect_seconds.h"

#include <cmath>

namespace nanobench::reports {
namespace {

constexpr double kSlopeShare = 0.2;  // of the run, at its end, where the slope of the loss is fitted

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

/// Loss per step at the end of the runs: over runs where there are several that differ, else along the first curve.
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

/// Steps and seconds a step of the completed runs, weighted by the parts' coefficients of one sign.
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

/// Where all losses are the same: the time of as many steps.
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
