#include "reports/effects/plan_effects.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/stats/factorial_effects.h"
#include "results/import/speedrun_line.h"

namespace nanobench::reports {
namespace {

constexpr double kSlopeShare = 0.2;  // last part of the run, where the slope of the loss is fitted
constexpr double kPrintedS = results::kPrintedMs / 1000.0;
constexpr double kResolutionTolerance = 1e-5;  // of one unit

std::optional<double> loss_of(const RunMeasure& run) {
  return run.val_loss;
}

/// Training clock, seconds.
std::optional<double> clock_of(const RunMeasure& run) {
  if (!run.clock_ms || !(*run.clock_ms > 0.0)) return std::nullopt;
  return *run.clock_ms / 1000.0;
}

std::optional<double> log_clock_of(const RunMeasure& run) {
  const std::optional<double> clock = clock_of(run);
  return clock ? std::optional(std::log(*clock)) : std::nullopt;
}

std::optional<double> log_memory_of(const RunMeasure& run) {
  return run.training_bytes ? std::optional(std::log(*run.training_bytes)) : std::nullopt;
}

/// Whether all values are multiples of the unit, so that they were printed with that many digits. Whole numbers say
/// nothing of their digits.
bool are_rounded(const std::vector<double>& values, double unit) {
  const auto is_multiple = [](double value, double of) {
    return std::abs(value / of - std::round(value / of)) < kResolutionTolerance;
  };
  return !values.empty() &&
         std::all_of(values.begin(), values.end(), [&](double value) { return is_multiple(value, unit); }) &&
         !std::all_of(values.begin(), values.end(), [&](double value) { return is_multiple(value, 1.0); });
}

template <class Value>
std::vector<double> values_of_runs(const std::vector<CellMeasures>& cells, Value value) {
  std::vector<double> values;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) {
      const std::optional<double> number = run.run.is_completed() ? value(run) : std::nullopt;
      if (number && std::isfinite(*number)) values.push_back(*number);
    }
  }
  return values;
}

double loss_resolution_of(const std::vector<CellMeasures>& cells) {
  return are_rounded(values_of_runs(cells, loss_of), results::kPrintedLoss) ? results::kPrintedLoss : 0.0;
}

/// The resolution of the logarithm.
double log_time_resolution_of(const std::vector<CellMeasures>& cells) {
  const std::vector<double> clocks = values_of_runs(cells, clock_of);
  if (!are_rounded(clocks, kPrintedS)) return 0.0;
  return kPrintedS / *median(clocks);
}

/// Times from different machines are never subtracted; losses may be.
bool all_share_machine(const std::vector<const RunMeasure*>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RunMeasure* run) { return share_machine(*run, *runs.front()); });
}

/// The values of each cell; empty if they are times from several machines.
template <class Value>
std::vector<std::vector<double>> values_of_cells(const std::vector<ContrastPart>& parts, Value value,
                                                 bool needs_one_machine) {
  std::vector<std::vector<double>> values;
  std::vector<const RunMeasure*> all;
  for (const ContrastPart& part : parts) {
    values.emplace_back();
    for (const RunMeasure& run : part.cell->runs) {
      const std::optional<double> number = run.run.is_completed() ? value(run) : std::nullopt;
      if (!number || !std::isfinite(*number)) continue;
      values.back().push_back(*number);
      all.push_back(&run);
    }
  }
  if (needs_one_machine && !all_share_machine(all)) return {};
  return values;
}

/// For cells that share no block: the spreads within the cells.
MeasuredEffect effect_by_cells(const std::vector<ContrastPart>& parts, const std::vector<std::vector<double>>& values) {
  MeasuredEffect effect;
  if (values.empty()) return effect;
  Contrast contrast;
  double weight = 0.0;  // by which contrast_effect() divides the effect
  for (const ContrastPart& part : parts) {
    contrast.push_back(part.coefficient);
    weight += std::max(0.0, part.coefficient);
  }
  const std::optional<ContrastEffect> found = contrast_effect(values, contrast, CellError::kWithinCells);
  if (!found) return effect;
  effect.value = weight * found->value;
  effect.estimate = found->estimate;
  const auto fewest =
      std::min_element(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  effect.n = static_cast<int>(fewest->size());
  if (!effect.estimate) return effect;
  effect.estimate->value *= weight;
  effect.estimate->se *= weight;
  effect.source = ErrorSource::kCells;
  return effect;
}

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

/// Nats per step at the end of each run that has a curve.
std::vector<double> slopes_of(const CellMeasures& cell) {
  std::vector<double> slopes;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed()) continue;
    if (const std::optional<double> slope = slope_of(end_of_curve(run))) slopes.push_back(*slope);
  }
  return slopes;
}

std::optional<std::int64_t> timed_steps_of(const RunMeasure& run) {
  return run.run.result->timed_steps ? run.run.result->timed_steps : run.run.result->steps;
}

/// Timed steps and training clock of the completed runs on one side of a contrast, weighted by its coefficients.
struct Course {
  double steps = 0.0, clock_s = 0.0;
};

/// `sign`: of the side's coefficients.
std::optional<Course> course_of(const std::vector<ContrastPart>& parts, double sign) {
  Course course;
  double weight = 0.0;
  for (const ContrastPart& part : parts) {
    const double share = part.coefficient * sign;
    if (share <= 0.0) continue;
    std::vector<double> steps, clocks;
    for (const RunMeasure& run : part.cell->runs) {
      const std::optional<double> clock = run.run.is_completed() ? clock_of(run) : std::nullopt;
      const std::optional<std::int64_t> timed = clock ? timed_steps_of(run) : std::nullopt;
      if (!timed) continue;
      steps.push_back(static_cast<double>(*timed));
      clocks.push_back(*clock);
    }
    if (steps.empty()) continue;
    course.steps += share * *mean_of(steps);
    course.clock_s += share * *mean_of(clocks);
    weight += share;
  }
  if (weight <= 0.0 || !(course.steps > 0.0) || !(course.clock_s > 0.0)) return std::nullopt;
  return Course{.steps = course.steps / weight, .clock_s = course.clock_s / weight};
}

Estimate scaled(Estimate estimate, double factor) {
  estimate.value *= factor;
  estimate.se *= factor;
  return estimate;
}

std::vector<std::uint64_t> seeds_of_cells(const std::vector<CellMeasures>& cells) {
  std::set<std::uint64_t> seeds;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) seeds.insert(run.run.seed);
  }
  return {seeds.begin(), seeds.end()};
}

}  // namespace

PlanEffects::PlanEffects(const std::vector<CellMeasures>& cells, int contrasts, const SpreadWeights& weights,
                         const std::optional<EarlierSpread>& earlier_loss)
    : cells_(&cells),
      contrasts_(std::max(1, contrasts)),
      weights_(weights),
      loss_model_({}),
      log_time_model_({}),
      log_memory_model_({}) {
  for (const std::uint64_t seed : seeds_of_cells(cells)) {
    seeds_.push_back({.seed = seed, .machine = nullptr});
    std::vector<const RunMeasure*> machines;
    for (const CellMeasures& cell : cells) {
      const RunMeasure* const run = completed_run(cell, seed);
      const auto same = [run](const RunMeasure* machine) { return share_machine(*run, *machine); };
      if (run == nullptr || std::any_of(machines.begin(), machines.end(), same)) continue;
      machines.push_back(run);
      places_.push_back({.seed = seed, .machine = run});
    }
  }
  read_slopes();
  losses_ = table_of(seeds_, loss_of);
  log_times_ = table_of(places_, log_clock_of);
  loss_resolution_ = loss_resolution_of(cells);
  log_time_resolution_ = log_time_resolution_of(cells);
  loss_model_ = PlanModel(
      losses_,
      {.prior_df = weights.loss, .family = contrasts_, .resolution = loss_resolution_, .earlier = earlier_loss});
  log_memory_model_ = PlanModel(table_of(places_, log_memory_of), {.prior_df = 0.0, .family = contrasts_});
  log_time_model_ =
      PlanModel(log_times_, {.prior_df = weights.time, .family = contrasts_, .resolution = log_time_resolution_});
}

void PlanEffects::read_slopes() {
  for (const CellMeasures& cell : *cells_) {
    const std::vector<double>& slopes = slopes_.emplace_back(slopes_of(cell));
    const std::optional<Moments> moments = moments_of(slopes);
    if (!moments) continue;
    slope_squares_ += moments->sd * moments->sd * (moments->n - 1.0);
    slope_df_ += moments->n - 1.0;
  }
}

std::optional<Estimate> PlanEffects::slope_after(const std::vector<ContrastPart>& parts) const {
  std::vector<double> slopes;
  for (const ContrastPart& part : parts) {
    if (part.coefficient < 0.0) continue;
    const std::vector<double>& own = slopes_[index_of(part)];
    slopes.insert(slopes.end(), own.begin(), own.end());
  }
  const std::optional<double> mean = mean_of(slopes);
  if (!mean) return std::nullopt;
  if (slope_df_ > 0.0) {
    const double variance = slope_squares_ / slope_df_;
    return Estimate{.value = *mean, .se = std::sqrt(variance / static_cast<double>(slopes.size())), .df = slope_df_};
  }
  for (const ContrastPart& part : parts) {
    if (part.coefficient < 0.0) continue;
    for (const RunMeasure& run : part.cell->runs) {
      const std::optional<LineFit> line = run.run.is_completed() ? fit_line(end_of_curve(run)) : std::nullopt;
      if (line) return line->slope;
    }
  }
  return std::nullopt;
}

std::size_t PlanEffects::index_of(const ContrastPart& part) const {
  return static_cast<std::size_t>(part.cell - cells_->data());
}

const RunMeasure* PlanEffects::run_at(std::size_t cell, const Block& block) const {
  const RunMeasure* const run = completed_run((*cells_)[cell], block.seed);
  if (run == nullptr || (block.machine != nullptr && !share_machine(*run, *block.machine))) return nullptr;
  return run;
}

template <class Value>
ResponseTable PlanEffects::table_of(const std::vector<Block>& blocks, Value value) const {
  ResponseTable table;
  for (std::size_t cell = 0; cell < cells_->size(); ++cell) {
    auto& row = table.emplace_back();
    for (const Block& block : blocks) {
      const RunMeasure* const run = run_at(cell, block);
      std::optional<double> number = run == nullptr ? std::nullopt : value(*run);
      if (number && !std::isfinite(*number)) number.reset();
      row.push_back(number);
    }
  }
  return table;
}

/// Empty if the plan lacks a cell of the contrast.
Contrast PlanEffects::coefficients_of(const results::PlanContrast& contrast) const {
  const std::vector<ContrastPart> parts = parts_of(contrast, *cells_);
  if (parts.empty()) return {};
  Contrast coefficients(cells_->size());
  for (const ContrastPart& part : parts) coefficients[index_of(part)] = part.coefficient;
  return coefficients;
}

MeasuredEffect PlanEffects::fitted(const PlanModel& model, const results::PlanContrast& contrast) const {
  MeasuredEffect effect;
  const Contrast coefficients = coefficients_of(contrast);
  const std::optional<ContrastFit> fit = coefficients.empty() ? std::nullopt : model.fit(coefficients);
  if (!fit) return effect;
  effect.value = fit->value;
  effect.estimate = fit->estimate;
  effect.n = fit->n;
  effect.is_exact = fit->is_exact;
  effect.spread = fit->spread;
  effect.own_sd = fit->own_sd;
  effect.is_outlying = fit->is_outlying;
  effect.plan_sd = model.plan_sd();
  effect.plan_df = model.plan_df();
  if (fit->estimate) {
    effect.source = fit->forecast.prior_df > 0.0 ? ErrorSource::kPlan : ErrorSource::kSeeds;
    effect.forecast = fit->forecast;
  } else if (fit->is_exact) {
    effect.source = ErrorSource::kSeeds;
  }
  return effect;
}

MeasuredEffect PlanEffects::loss(const results::PlanContrast& contrast) const {
  MeasuredEffect effect = fitted(loss_model_, contrast);
  if (effect.value) return effect;
  const std::vector<ContrastPart> parts = parts_of(contrast, *cells_);
  return effect_by_cells(parts, values_of_cells(parts, loss_of, /*needs_one_machine=*/false));
}

MeasuredEffect PlanEffects::log_time(const results::PlanContrast& contrast) const {
  MeasuredEffect effect = fitted(log_time_model_, contrast);
  if (effect.value) return effect;
  const std::vector<ContrastPart> parts = parts_of(contrast, *cells_);
  return effect_by_cells(parts, values_of_cells(parts, log_clock_of, /*needs_one_machine=*/true));
}

MeasuredEffect PlanEffects::log_memory(const results::PlanContrast& contrast) const {
  return fitted(log_memory_model_, contrast);
}

EffectSeconds PlanEffects::seconds(const results::PlanContrast& contrast, const MeasuredEffect& loss,
                                   const MeasuredEffect& log_time, double level) const {
  Seconds result;
  const std::vector<ContrastPart> parts = parts_of(contrast, *cells_);
  const std::optional<Course> before = course_of(parts, -1.0), after = course_of(parts, 1.0);
  if (!before || !after || !loss.value || !log_time.value) return result;
  const double reference = before->clock_s;
  result.reference_s = reference;
  EqualLossInput input{.seconds = {}, .loss_change = *loss.value, .gain = {}, .reference_s = reference};
  if (*loss.value == 0.0 && !loss.estimate) {  // time alone
    if (!log_time.estimate) return result;
    input.gain = {.value = 1.0, .se = 0.0, .df = kInfinity};
    input.seconds = scaled(*log_time.estimate, reference);
    result.n = log_time.n;
    result.forecast = log_time.forecast;
    if (result.forecast) result.forecast->se_of_one *= reference;
  } else {
    const std::optional<Estimate> slope = slope_after(parts);
    result.equal_loss.status = EqualLoss::Status::kNoSlope;
    if (!slope) return result;
    result.equal_loss.status = EqualLoss::Status::kSlopeUncertain;
    if (!(slope->value < 0.0)) return result;
    // More steps are run at the pace of the runs with the change: a share of their number is that share of the time.
    input.gain = scaled(*slope, -after->steps / reference);
    input.gain.se = std::abs(input.gain.se);
    result.steps = *loss.value / -slope->value;
    result.gain = input.gain.value;
    input.seconds =
        seconds_estimate(result, contrast, {.value = input.gain.value, .reference_s = reference}, loss, log_time);
  }
  result.equal_loss = at_equal_loss(input, level);
  return result;
}

Estimate PlanEffects::seconds_estimate(Seconds& result, const results::PlanContrast& contrast, const Rate& gain,
                                       const MeasuredEffect& loss, const MeasuredEffect& log_time) const {
  const ResponseTable table = table_of(places_, [&](const RunMeasure& run) -> std::optional<double> {
    const std::optional<double> run_loss = loss_of(run), log_clock = log_clock_of(run);
    if (!run_loss || !log_clock) return std::nullopt;
    return *run_loss / gain.value + gain.reference_s * *log_clock;
  });
  const double resolution = std::hypot(loss_resolution_ / gain.value, log_time_resolution_ * gain.reference_s);
  const PlanModel model(table, {.prior_df = weights_.loss, .family = contrasts_, .resolution = resolution});
  const std::optional<ContrastFit> fit = model.fit(coefficients_of(contrast));
  if (fit && fit->estimate) {
    result.forecast = fit->forecast;
    result.n = fit->n;
    return *fit->estimate;
  }
  if (!loss.estimate || !log_time.estimate) return {};
  // No common blocks, or one run of each cell.
  result.n = std::min(loss.n, log_time.n);
  const std::vector<Term> terms = {{.factor = 1.0 / gain.value, .estimate = *loss.estimate},
                                   {.factor = gain.reference_s, .estimate = *log_time.estimate}};
  return combine(terms).value_or(Estimate{});
}

std::vector<PlanEffects::Residual> PlanEffects::residuals_of(const PlanModel& model, const std::vector<Block>& blocks,
                                                             const ResponseTable& table) const {
  std::vector<Residual> list;
  const ResponseTable residuals = model.residuals();
  for (std::size_t cell = 0; cell < residuals.size(); ++cell) {
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      if (!residuals[cell][block] || !table[cell][block]) continue;
      list.push_back({.cell = (*cells_)[cell].cell.label,
                      .seed = blocks[block].seed,
                      .fitted = *table[cell][block] - *residuals[cell][block],
                      .residual = *residuals[cell][block]});
    }
  }
  return list;
}

std::vector<PlanEffects::Residual> PlanEffects::loss_residuals() const {
  return residuals_of(loss_model_, seeds_, losses_);
}

std::vector<PlanEffects::Residual> PlanEffects::log_time_residuals() const {
  return residuals_of(log_time_model_, places_, log_times_);
}

}  // namespace nanobench::reports
