#include "reports/effects/likely_order.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/distributions.h"

namespace nanobench::reports {
namespace {

using Metric = MeasuredEffect EffectResult::*;

bool can_be_placed(const EffectResult& effect, Metric metric) {
  const MeasuredEffect& measured = effect.*metric;
  if (metric == &EffectResult::log_time && !effect.other_code.empty()) return false;  // times of different code
  return effect.verdict && measured.value && measured.plan_sd && *measured.plan_sd > 0.0 && measured.plan_df > 0.0 &&
         !measured.is_outlying && measured.n > 1;
}

/// The sum of the squared differences of two contrasts' coefficients.
double squared_distance(const results::PlanContrast& a, const results::PlanContrast& b) {
  std::map<std::string, double> difference = a.coefficients;
  for (const auto& [cell, coefficient] : b.coefficients) difference[cell] -= coefficient;
  double sum = 0.0;
  for (const auto& [cell, coefficient] : difference) sum += coefficient * coefficient;
  return sum;
}

/// The probability that `low` is below `high`.
double chance_of(const EffectResult& low, const EffectResult& high, Metric metric) {
  const MeasuredEffect& a = low.*metric;
  const double variance = *a.plan_sd * *a.plan_sd * squared_distance(low.contrast, high.contrast) / a.n;
  if (!(variance > 0.0)) return 0.5;  // the same contrast twice
  return t_cdf((*(high.*metric).value - *a.value) / std::sqrt(variance), a.plan_df);
}

}  // namespace

LikelyOrder likely_order(const std::vector<EffectResult>& effects, Metric metric) {
  LikelyOrder order;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (!can_be_placed(effects[i], metric)) continue;
    if (order.places.empty() || (effects[i].*metric).n == (effects[order.places.front()].*metric).n)
      order.places.push_back(i);
  }
  if (order.places.size() < 2) return {};
  std::stable_sort(order.places.begin(), order.places.end(), [&](std::size_t a, std::size_t b) {
    return *(effects[a].*metric).value < *(effects[b].*metric).value;
  });
  for (std::size_t i = 0; i + 1 < order.places.size(); ++i)
    order.chances.push_back(chance_of(effects[order.places[i]], effects[order.places[i + 1]], metric));
  return order;
}

}  // namespace nanobench::reports
