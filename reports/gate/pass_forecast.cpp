#include "reports/gate/pass_forecast.h"

#include <algorithm>
#include <cmath>

#include "reports/gate/cell_checks.h"
#include "reports/stats/plan_model.h"

namespace nanobench::reports {
namespace {

constexpr int kMaxSeeds = 10000;

PowerSettings one_sided(double alpha) {
  return {.alpha = alpha, .is_two_sided = false};
}

bool is_ratio(GateMetric metric) {
  return metric != GateMetric::kLoss;
}

bool has_enough(const GatePolicy& policy, const GateSize& size) {
  return size.n >= std::max(2, policy.min_runs);
}

/// That every cell passes the metric, if they are independent.
double chance_of(GateMetric metric, const CheckNoise& noise, const GatePolicy& policy, const GateSize& size,
                 double alpha) {
  if (noise.sd <= 0.0) return 1.0;  // the same bits
  if (!has_enough(policy, size)) return 0.0;
  const double margin = policy.of(metric).margin;
  const double one = margin > 0.0
                         ? predictive_power(to_scale(margin, is_ratio(metric)),
                                            planned_check_error(metric, noise, size), noise.df, one_sided(alpha))
                         : alpha;
  return std::pow(one, size.cells);
}

/// Counts never fail an unchanged candidate.
std::vector<GateMetric> noisy_metrics() {
  return {GateMetric::kLoss, GateMetric::kTime, GateMetric::kMemory};
}

std::optional<double> chance_of_all(const GateNoise& noise, const GatePolicy& policy, const GateSize& size,
                                    double alpha) {
  std::optional<double> chance;
  for (const GateMetric metric : noisy_metrics()) {
    if (!policy.of(metric).gates || !noise.of(metric)) continue;
    chance = chance.value_or(1.0) * chance_of(metric, *noise.of(metric), policy, size, alpha);
  }
  return chance;
}

/// The fewest seeds that give the aimed chance; nullopt if none do.
std::optional<int> seeds_for(const GateNoise& noise, const GatePolicy& policy, GateSize size, double alpha) {
  const auto suffice = [&](int n) {
    size.n = n;
    return *chance_of_all(noise, policy, size, alpha) >= PassForecast::kAimedChance;
  };
  int low = std::max(2, policy.min_runs) - 1, high = low + 1;
  while (!suffice(high)) {
    if (high == kMaxSeeds) return std::nullopt;
    low = high;
    high = std::min(kMaxSeeds, 2 * high);
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (suffice(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

const std::optional<CheckNoise>& GateNoise::of(GateMetric metric) const {
  switch (metric) {
    case GateMetric::kLoss: return loss;
    case GateMetric::kTime: return time;
    case GateMetric::kMemory:
    case GateMetric::kTrainingMemory:
    case GateMetric::kCost: break;
  }
  return memory;
}

PlannedError planned_check_error(GateMetric metric, const CheckNoise& noise, const GateSize& size) {
  if (!noise.is_paired) return planned_error(noise.sd, size.n, noise.sd, size.n);
  if (metric == GateMetric::kMemory) return planned_error(noise.sd, size.n);
  // The spread of G groups of pairs has G (n - 1) degrees of freedom, as a plan of G + 1 cells has.
  const ErrorForecast shared{.se_of_one = noise.sd,
                             .prior_df = metric == GateMetric::kTime ? kTimePriorDf : kLossPriorDf,
                             .cells = size.cells + 1};
  return shared.at(size.n);
}

double margin_with_power(GateMetric metric, const CheckNoise& noise, const GateSize& size, double alpha, double power) {
  return predictive_detectable_effect(planned_check_error(metric, noise, size), noise.df, power, one_sided(alpha));
}

PassForecast forecast_pass(const GateNoise& noise, const GatePolicy& policy, const GateSize& size, double alpha) {
  PassForecast forecast{.size = size, .source = noise.source};
  int open = 0;
  for (const GateMetric metric : noisy_metrics()) {
    if (!policy.of(metric).gates) continue;
    const std::optional<CheckNoise>& known = noise.of(metric);
    MetricForecast& one = forecast.metrics.emplace_back();
    one.metric = metric;
    one.margin = policy.of(metric).margin;
    if (!known) continue;
    one.sd = known->sd;
    one.is_bound = known->is_bound;
    one.chance = chance_of(metric, *known, policy, size, alpha);
    if (known->sd > 0.0) ++open;
  }
  forecast.chance = chance_of_all(noise, policy, size, alpha);
  if (!forecast.chance) return forecast;
  forecast.seeds = seeds_for(noise, policy, size, alpha);
  for (MetricForecast& one : forecast.metrics) {
    if (!one.sd || *one.sd <= 0.0 || !has_enough(policy, size)) continue;
    const double power = std::pow(PassForecast::kAimedChance, 1.0 / (open * size.cells));
    one.needed =
        from_scale(margin_with_power(one.metric, *noise.of(one.metric), size, alpha, power), is_ratio(one.metric));
  }
  return forecast;
}

}  // namespace nanobench::reports
