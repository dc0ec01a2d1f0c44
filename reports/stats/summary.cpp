#include "reports/stats/summary.h"

#include <algorithm>
#include <cmath>

namespace nanobench::reports {
namespace {

template <class Combine>
std::optional<Effect> paired(const BySeed& values, const BySeed& reference, Combine combine) {
  std::vector<double> effects;
  for (const auto& [seed, value] : values) {
    const auto other = reference.find(seed);
    if (other == reference.end()) continue;
    const double effect = combine(value, other->second);
    if (std::isfinite(effect)) effects.push_back(effect);
  }
  const Summary summary = summarise(effects);
  if (summary.n == 0) return std::nullopt;
  return Effect{.value = *summary.mean, .sd = summary.sd, .n = summary.n, .is_paired = true};
}

template <class Combine>
std::optional<Effect> effect_of(const BySeed& values, const BySeed& reference, Combine combine) {
  if (const std::optional<Effect> effect = paired(values, reference, combine)) return effect;
  const Summary ours = summarise(values);
  const Summary theirs = summarise(reference);
  if (ours.n == 0 || theirs.n == 0) return std::nullopt;
  const double value = combine(*ours.mean, *theirs.mean);
  if (!std::isfinite(value)) return std::nullopt;
  return Effect{.value = value, .sd = std::nullopt, .n = std::min(ours.n, theirs.n), .is_paired = false};
}

}  // namespace

Summary summarise(const std::vector<double>& values) {
  Summary summary;
  double sum = 0.0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    ++summary.n;
    sum += value;
  }
  if (summary.n == 0) return summary;
  summary.mean = sum / summary.n;
  if (summary.n < 2) return summary;
  double squares = 0.0;
  for (const double value : values) {
    if (std::isfinite(value)) squares += (value - *summary.mean) * (value - *summary.mean);
  }
  summary.sd = std::sqrt(squares / (summary.n - 1));
  return summary;
}

Summary summarise(const BySeed& values) {
  std::vector<double> list;
  list.reserve(values.size());
  for (const auto& [unused, value] : values) list.push_back(value);
  return summarise(list);
}

std::optional<double> median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2.0;
}

std::optional<Effect> difference(const BySeed& values, const BySeed& reference) {
  return effect_of(values, reference, [](double value, double base) { return value - base; });
}

std::optional<Effect> speed_up(const BySeed& values, const BySeed& reference) {
  return effect_of(values, reference,
                   [](double value, double base) { return value > 0.0 && base > 0.0 ? base / value : std::nan(""); });
}

}  // namespace nanobench::reports
