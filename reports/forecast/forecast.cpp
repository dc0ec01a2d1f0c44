#include "reports/forecast/forecast.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "reports/effects/effects.h"
#include "reports/stats/plan_model.h"
#include "reports/stats/power.h"

namespace nanobench::reports {
namespace {

using core::Error;
using core::ErrorCode;

constexpr int kMaxSeeds = 1000000;

void require(bool holds, const std::string& option, double value, const std::string& expected) {
  if (holds) return;
  throw Error(ErrorCode::kInvalidArgument,
              option + " expects " + expected + ", got " + (std::isnan(value) ? "no number" : std::to_string(value)));
}

/// Spread of one seed's contrast, if the cells' runs are independent except for the seed's common part.
double contrast_sd(const results::PlanContrast& contrast, double sd) {
  double squares = 0.0;
  for (const auto& [cell, coefficient] : contrast.coefficients) squares += coefficient * coefficient;
  return std::sqrt(squares) * sd;
}

PlannedError error_at(double sd, const DetectionPlan& plan, int seeds) {
  return ErrorForecast{.se_of_one = sd, .prior_df = plan.prior_df, .cells = plan.cells}.at(seeds);
}

std::optional<int> permitted(const std::optional<int>& seeds) {
  return seeds ? std::optional(std::max(*seeds, kVerdictSeeds)) : std::nullopt;
}

/// nullopt if n runs give no verdict.
std::optional<PlannedError> error_of(double sd, const DetectionPlan& plan) {
  if (plan.seeds >= kVerdictSeeds) return error_at(sd, plan, plan.seeds);
  if (plan.has_lenth) return PlannedError{.se = sd, .df = plan.tests / 3.0};
  return std::nullopt;
}

}  // namespace

void check_rules(const DetectionRules& rules) {
  require(rules.alpha > 0.0 && rules.alpha < 1.0, "--alpha", rules.alpha, "a number between 0 and 1");
  require(rules.power > rules.alpha && rules.power < 1.0, "--power", rules.power, "a number between alpha and 1");
  if (rules.loss) require(*rules.loss > 0.0 && std::isfinite(*rules.loss), "--detect", *rules.loss, "a number above 0");
  if (rules.time)
    require(*rules.time > 0.0 && std::isfinite(*rules.time), "--detect-time", *rules.time, "a number above 0");
}

Detectable detectable(const results::PlanContrast& contrast, const NoiseFigure& noise, const DetectionPlan& plan,
                      const DetectionRules& rules, const std::optional<double>& asked) {
  Detectable result{.is_bound = noise.is_bound};
  if (!noise.spread) {
    result.undetectable = Undetectable{Undetectable::Kind::kNoNoise};
    return result;
  }
  const double sd = contrast_sd(contrast, noise.spread->sd);
  result.sd = sd;
  if (!(sd > 0.0)) {
    result.undetectable = Undetectable{Undetectable::Kind::kEqualRuns};
    return result;
  }
  const PowerSettings alone{.alpha = rules.alpha};
  const PowerSettings among_all{.alpha = rules.alpha / plan.tests};
  if (asked) {
    const auto error = [&](int n) { return error_at(sd, plan, n); };
    result.seeds = permitted(required_runs(*asked, error, rules.power, alone, kMaxSeeds));
    result.seeds_among_all = permitted(required_runs(*asked, error, rules.power, among_all, kMaxSeeds));
    if (!result.seeds || !result.seeds_among_all)
      result.undetectable = Undetectable{Undetectable::Kind::kManySeeds, kMaxSeeds};
    return result;
  }
  const std::optional<PlannedError> error = error_of(sd, plan);
  if (!error) {
    result.undetectable = Undetectable{Undetectable::Kind::kFewSeeds, plan.seeds};
    return result;
  }
  result.effect = minimum_detectable_effect(*error, rules.power, alone);
  result.effect_among_all = minimum_detectable_effect(*error, rules.power, among_all);
  return result;
}

namespace {

/// 0.001 for 0.02 +- 0.004; 0 without an error.
double unit_of_error(double value, double relative_error) {
  return relative_error > 0.0 ? std::pow(10.0, std::floor(std::log10(std::abs(value) * relative_error))) : 0.0;
}

}  // namespace

int known_digits(double size, double df) {
  constexpr int kMaxDigits = 3;
  const double unit = unit_of_error(size, 1.0 / std::sqrt(2.0 * df));
  if (unit == 0.0) return kMaxDigits;
  const double digits = std::floor(std::log10(size)) - std::round(std::log10(unit)) + 1.0;
  return static_cast<int>(std::clamp(digits, 1.0, static_cast<double>(kMaxDigits)));
}

int known_seeds(int seeds, double df) {
  const double unit = std::max(1.0, unit_of_error(seeds, std::sqrt(2.0 / df)));
  return static_cast<int>(std::ceil(seeds / unit) * unit);
}

namespace {

std::vector<CellForecast> cells_of(const suites::Plan& plan, const results::Store* store,
                                   const ForecastOptions& options) {
  std::vector<CellForecast> cells(plan.matrix.cells.size());
  const std::vector<PastRun> history = store == nullptr ? std::vector<PastRun>() : read_history(*store, plan);
  std::set<std::string> digests;
  for (const suites::PlannedRun& run : plan.runs) {
    CellForecast& cell = cells[run.cell];
    if (cell.planned == 0) {
      cell.label = plan.cell_of(run).label;
      cell.changed = results::changes_text(plan.cell_of(run).changes);
      cell.cost = estimate_cost(plan, run, history, options.calibration);
    }
    ++cell.planned;
    if (options.is_fresh) continue;
    const bool is_stored =
        store != nullptr && store->find_evidence(run.digest, suites::needed_evidence(run)).has_value();
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
  return {.seeds = static_cast<int>(plan.suite.seeds.size()),
          .tests = std::max(1, static_cast<int>(contrasts.size())),
          .cells = static_cast<int>(plan.matrix.cells.size()),
          .has_lenth = is_judged_by_lenth(contrasts)};
}

/// Converts a logarithm to a fraction of the step time.
void to_fraction(std::optional<double>& effect) {
  if (effect) effect = std::expm1(*effect);
}

std::vector<EffectForecast> effects_of(const suites::Plan& plan, const Noise& noise, const DetectionRules& rules) {
  DetectionPlan of_loss = detection_plan(plan), of_time = of_loss;
  of_loss.prior_df = kLossPriorDf;
  of_time.prior_df = kTimePriorDf;
  const std::optional<double> log_time = rules.time ? std::optional(std::log1p(*rules.time)) : std::nullopt;
  std::vector<EffectForecast> effects;
  for (const results::PlanContrast& contrast : plan.matrix.contrasts) {
    EffectForecast& effect = effects.emplace_back();
    effect.contrast = contrast;
    effect.loss = detectable(contrast, noise.loss, of_loss, rules, rules.loss);
    effect.time = detectable(contrast, noise.log_time, of_time, rules, log_time);
    to_fraction(effect.time.effect);
    to_fraction(effect.time.effect_among_all);
  }
  return effects;
}

/// The max over everything requested; nullopt if one of them is unknown.
std::optional<int> max_seeds(const Forecast& forecast, std::optional<int> Detectable::*seeds) {
  std::optional<int> largest;
  for (const EffectForecast& effect : forecast.effects) {
    for (const auto& [is_asked, metric] :
         {std::pair(forecast.rules.loss.has_value(), &effect.loss), {forecast.rules.time.has_value(), &effect.time}}) {
      if (!is_asked) continue;
      if (!(metric->*seeds)) return std::nullopt;
      largest = std::max(largest.value_or(0), *(metric->*seeds));
    }
  }
  return largest;
}

std::optional<SeedsNeeded> needed(const Forecast& forecast, std::optional<int> Detectable::*seeds) {
  const std::optional<int> largest = max_seeds(forecast, seeds);
  if (!largest) return std::nullopt;
  SeedsNeeded needed{.seeds = *largest, .wall_s = 0.0};
  for (const CellForecast& cell : forecast.cells) {
    const int runs = std::max(0, *largest - cell.reused);
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
  double min_flops = 0.0;
  for (const suites::PlannedRun& run : plan.runs) {
    const CellForecast& cell = forecast.cells[run.cell];
    const bool is_native = run.spec.mock.is_null() && run.spec.external.is_null();
    if (!is_native || cell.to_run() == 0 || cell.cost.source != CostSource::kUnknown) continue;
    const double flops = work_of(run.spec.config).step_flops;
    if (cheapest && flops >= min_flops) continue;
    cheapest = run.position;
    min_flops = flops;
  }
  return cheapest;
}

}  // namespace nanobench::reports
