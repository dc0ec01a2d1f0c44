#include "reports/effects/seeds_needed.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/power.h"

namespace nanobench::reports {
namespace {

using Status = SeedsForVerdict::Status;

/// What is left of alpha for each effect that is not proved to differ: those that are have taken their steps of Holm's.
double alpha_left(const std::vector<EffectResult>& effects, const EffectRules& rules) {
  if (rules.nominal_p) return *rules.nominal_p;
  const auto open = std::count_if(effects.begin(), effects.end(), [&](const EffectResult& effect) {
    return !effect.adjusted_p || *effect.adjusted_p >= rules.alpha;
  });
  return rules.alpha / static_cast<double>(std::max<std::ptrdiff_t>(open, 1));
}

SeedsForVerdict seeds_for(const EffectResult& effect, const EffectRules& rules, double alpha_difference) {
  SeedsForVerdict result{.have = std::min(effect.loss.n, effect.log_time.n)};
  if (!effect.other_code.empty()) return result;
  if (result.have == 1) result.status = Status::kOneSeed;
  const EqualLoss& equal_loss = effect.seconds.equal_loss;
  if (result.have < 2 || !equal_loss.is_converted() || !equal_loss.seconds.is_usable() || !effect.seconds.reference_s)
    return result;
  const double one_se = equal_loss.seconds.se * std::sqrt(static_cast<double>(result.have));
  const double one_df = equal_loss.seconds.df / (result.have - 1.0);
  const auto error = [&](int n) {
    return PlannedError{.se = one_se / std::sqrt(static_cast<double>(n)), .df = one_df * (n - 1.0)};
  };
  const VerdictTests tests{.margins = Margins::symmetric(rules.time_margin * *effect.seconds.reference_s),
                           .alpha_difference = alpha_difference,
                           .alpha_equivalence = rules.nominal_p.value_or(rules.alpha)};
  const std::optional<int> needed =
      required_runs_for_verdict(equal_loss.seconds.value, error, tests, kVerdictPower, kMostSeedsTold);
  result.status = needed ? Status::kTold : Status::kTooMany;
  // Bad luck may have missed a verdict that so many seeds mostly give.
  if (needed) result.seeds = std::max({*needed, rules.least_n, result.have + 1});
  return result;
}

}  // namespace

const char* to_string(SeedsForVerdict::Status status) {
  switch (status) {
    case Status::kTold: return "told";
    case Status::kTooMany: return "too_many";
    case Status::kOneSeed: return "one_seed";
    case Status::kUnknown: break;
  }
  return "unknown";
}

std::vector<std::optional<SeedsForVerdict>> seeds_needed(const std::vector<EffectResult>& effects,
                                                         const EffectRules& rules) {
  const double alpha = alpha_left(effects, rules);
  std::vector<std::optional<SeedsForVerdict>> needed;
  for (const EffectResult& effect : effects) {
    const bool is_open = effect.verdict == FeatureVerdict::kInconclusive;
    needed.push_back(is_open ? std::optional(seeds_for(effect, rules, alpha)) : std::nullopt);
  }
  return needed;
}

}  // namespace nanobench::reports
