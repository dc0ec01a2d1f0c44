#include "reports/contrast_effect.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace nanobench::reports {
namespace {

struct WeightedValues {
  double coefficient = 0.0;
  BySeed values;
};

/// Sum of coefficient * value for each seed that all of them have.
std::vector<double> sums_by_seed(const std::vector<WeightedValues>& arms) {
  std::vector<double> sums;
  for (const auto& [seed, unused] : arms.front().values) {
    double sum = 0.0;
    bool is_whole = true;
    for (const WeightedValues& arm : arms) {
      const auto found = arm.values.find(seed);
      is_whole = is_whole && found != arm.values.end();
      if (is_whole) sum += arm.coefficient * found->second;
    }
    if (is_whole) sums.push_back(sum);
  }
  return sums;
}

std::optional<Effect> estimate(const std::vector<WeightedValues>& arms) {
  if (arms.empty()) return std::nullopt;
  const Summary paired = summarise(sums_by_seed(arms));
  if (paired.n > 0) return Effect{.value = *paired.mean, .sd = paired.sd, .n = paired.n, .is_paired = true};
  Effect effect{.value = 0.0, .sd = std::nullopt, .n = static_cast<int>(arms.front().values.size())};
  for (const WeightedValues& arm : arms) {
    const Summary summary = summarise(arm.values);
    if (!summary.mean) return std::nullopt;
    effect.value += arm.coefficient * *summary.mean;
    effect.n = std::min(effect.n, summary.n);
  }
  return effect;
}

BySeed logarithms(const BySeed& times) {
  BySeed logs;
  for (const auto& [seed, time] : times) {
    if (time > 0.0) logs[seed] = std::log(time);
  }
  return logs;
}

/// The spread of a ratio is taken from that of its logarithm, to first order.
std::optional<Effect> as_ratio(std::optional<Effect> logarithm) {
  if (!logarithm) return std::nullopt;
  logarithm->value = std::exp(logarithm->value);
  if (logarithm->sd) *logarithm->sd *= logarithm->value;
  return logarithm;
}

std::optional<Effect> effect_of(const results::PlanContrast& contrast, const std::vector<CellMeasures>& cells,
                                const std::function<BySeed(const CellMeasures&)>& values) {
  std::vector<WeightedValues> arms;
  for (const CellMeasures& cell : cells) {
    const auto found = contrast.coefficients.find(cell.cell.label);
    if (found != contrast.coefficients.end()) arms.push_back({found->second, values(cell)});
  }
  if (arms.size() != contrast.coefficients.size()) return std::nullopt;
  return estimate(arms);
}

}  // namespace

std::vector<ContrastEffect> contrast_effects(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells) {
  std::vector<ContrastEffect> effects;
  for (const results::PlanContrast& contrast : plan.contrasts) {
    ContrastEffect effect{.name = contrast.effect, .kind = contrast.kind, .aliases = contrast.aliases};
    effect.loss = effect_of(contrast, cells, val_losses);
    effect.time_ratio =
        as_ratio(effect_of(contrast, cells, [](const CellMeasures& cell) { return logarithms(step_times(cell)); }));
    effect.n = effect.loss ? effect.loss->n : 0;
    for (const CellMeasures& cell : cells) {
      if (contrast.coefficients.contains(cell.cell.label) && val_losses(cell).empty())
        effect.missing.push_back(cell.cell.label);
    }
    effects.push_back(std::move(effect));
  }
  return effects;
}

}  // namespace nanobench::reports
