#include "reports/forecast/forecast.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace nanobench::reports {
namespace {

constexpr std::size_t kLeastForLenth = 7;  // as in reports/effects

std::vector<CellForecast> cells_of(const suites::Plan& plan, const results::Store* store,
                                   const ForecastOptions& options) {
  std::vector<CellForecast> cells(plan.matrix.cells.size());
  const std::vector<PastRun> history = store == nullptr ? std::vector<PastRun>() : read_history(*store, plan);
  std::set<std::string> digests;
  for (const suites::PlannedRun& run : plan.runs) {
    CellForecast& cell = cells[run.cell];
    if (cell.planned == 0) {
      cell.label = plan.cell_of(run).label;
      cell.changed = plan.cell_of(run).changed;
      cell.cost = estimate_cost(plan, run, history, options.calibration);
    }
    ++cell.planned;
    if (options.is_fresh) continue;
    const bool is_stored = store != nullptr && store->find_evidence(run.digest).has_value();
    if (is_stored || !digests.insert(run.digest).second) ++cell.reused;
  }
  return cells;
}

ForecastTotals totals_of(const std::vector<CellForecast>& cells) {
  ForecastTotals totals;
  for (const CellForecast& cell : cells) {
    totals.planned += cell.planned;
    totals.reused += cell.reused;
    if (cell.to_run() == 0) continue;
    totals.is_whole = totals.is_whole && cell.cost.wall_s.has_value();
    totals.wall_s += cell.to_run() * cell.cost.wall_s.value_or(0.0);
    totals.clock_s += cell.to_run() * cell.cost.clock_s.value_or(0.0);
    if (cell.cost.peak_bytes) totals.peak_bytes = std::max(totals.peak_bytes.value_or(0.0), *cell.cost.peak_bytes);
  }
  return totals;
}

DetectionPlan detection_plan(const suites::Plan& plan) {
  const std::vector<results::PlanContrast>& contrasts = plan.matrix.contrasts;
  const bool is_factorial = std::all_of(contrasts.begin(), contrasts.end(), [](const auto& contrast) {
    return contrast.kind == results::ContrastKind::kMain || contrast.kind == results::ContrastKind::kInteraction;
  });
  return {.seeds = static_cast<int>(plan.suite.seeds.size()),
          .tests = std::max(1, static_cast<int>(contrasts.size())),
          .has_lenth = is_factorial && contrasts.size() >= kLeastForLenth};
}

/// From the logarithm to a fraction of the step time.
void to_fraction(std::optional<double>& effect) {
  if (effect) effect = std::expm1(*effect);
}

std::vector<EffectForecast> effects_of(const suites::Plan& plan, const Noise& noise, const DetectionRules& rules) {
  const DetectionPlan detection = detection_plan(plan);
  const std::optional<double> log_time = rules.time ? std::optional(std::log1p(*rules.time)) : std::nullopt;
  std::vector<EffectForecast> effects;
  for (const results::PlanContrast& contrast : plan.matrix.contrasts) {
    EffectForecast& effect = effects.emplace_back();
    effect.contrast = contrast;
    effect.loss = detectable(contrast, noise.loss, detection, rules, rules.loss);
    effect.time = detectable(contrast, noise.log_time, detection, rules, log_time);
    to_fraction(effect.time.effect);
    to_fraction(effect.time.effect_among_all);
  }
  return effects;
}

/// The largest over all that is asked for; nullopt where one of them is not known.
std::optional<int> most_seeds(const Forecast& forecast, std::optional<int> Detectable::*seeds) {
  std::optional<int> most;
  for (const EffectForecast& effect : forecast.effects) {
    for (const auto& [is_asked, metric] :
         {std::pair(forecast.rules.loss.has_value(), &effect.loss), {forecast.rules.time.has_value(), &effect.time}}) {
      if (!is_asked) continue;
      if (!(metric->*seeds)) return std::nullopt;
      most = std::max(most.value_or(0), *(metric->*seeds));
    }
  }
  return most;
}

std::optional<SeedsNeeded> needed(const Forecast& forecast, std::optional<int> Detectable::*seeds) {
  const std::optional<int> most = most_seeds(forecast, seeds);
  if (!most) return std::nullopt;
  SeedsNeeded needed{.seeds = *most, .wall_s = 0.0};
  for (const CellForecast& cell : forecast.cells) {
    const int runs = std::max(0, *most - cell.reused);
    needed.more_runs += runs;
    if (runs == 0 || !needed.wall_s) continue;
    needed.wall_s = cell.cost.wall_s ? std::optional(*needed.wall_s + runs * *cell.cost.wall_s) : std::nullopt;
  }
  return needed;
}

}  // namespace

Forecast forecast(const suites::Plan& plan, const results::Store* store, const ForecastOptions& options) {
  check_rules(options.rules);
  Forecast result{.cells = cells_of(plan, store, options),
                  .noise = read_noise(store, plan),
                  .rules = options.rules,
                  .seeds = static_cast<int>(plan.suite.seeds.size())};
  result.totals = totals_of(result.cells);
  result.effects = effects_of(plan, result.noise, options.rules);
  result.needed = needed(result, &Detectable::seeds);
  result.needed_among_all = needed(result, &Detectable::seeds_among_all);
  return result;
}

std::optional<std::size_t> run_to_calibrate(const suites::Plan& plan, const Forecast& forecast) {
  std::optional<std::size_t> cheapest;
  double least_flops = 0.0;
  for (const suites::PlannedRun& run : plan.runs) {
    const CellForecast& cell = forecast.cells[run.cell];
    const bool is_native = run.spec.mock.is_null() && run.spec.external.is_null();
    if (!is_native || cell.to_run() == 0 || cell.cost.source != CostSource::kUnknown) continue;
    const double flops = work_of(run.spec.config).step_flops;
    if (cheapest && flops >= least_flops) continue;
    cheapest = run.position;
    least_flops = flops;
  }
  return cheapest;
}

}  // namespace nanobench::reports
