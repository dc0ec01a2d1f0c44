#include "reports/stats/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

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

namespace {

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// The deviations' own mean corrects for rounding of the mean.
double deviation(const std::vector<double>& centred) {
  const double scale = largest_magnitude(centred);
  if (scale == 0.0) return 0.0;
  std::vector<double> squares;
  double rest = 0.0;
  for (const double value : centred) {
    squares.push_back((value / scale) * (value / scale));
    rest += value / scale;
  }
  const double n = static_cast<double>(centred.size());
  return scale * std::sqrt((compensated_sum(squares) - rest * rest / n) / (n - 1.0));
}

}  // namespace

double compensated_sum(std::span<const double> values) {
  double sum = 0.0;
  double lost = 0.0;
  for (const double value : values) {
    const double next = sum + value;
    lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return sum + lost;
}

std::optional<double> mean_of(std::span<const double> values) {
  if (values.empty() || !all_finite(values)) return std::nullopt;
  const double mean = compensated_sum(values) / static_cast<double>(values.size());
  if (!std::isfinite(mean)) return std::nullopt;
  return mean;
}

double Moments::se() const {
  return sd / std::sqrt(static_cast<double>(n));
}

std::optional<Moments> moments_of(std::span<const double> values, double magnitude) {
  const std::optional<double> mean = mean_of(values);
  if (values.size() < 2 || !mean) return std::nullopt;
  std::vector<double> centred;
  centred.reserve(values.size());
  for (const double value : values) centred.push_back(value - *mean);
  double sd = deviation(centred);
  const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * std::max(magnitude, largest_magnitude(values));
  if (!std::isfinite(sd)) return std::nullopt;
  if (sd <= rounding) sd = 0.0;
  return Moments{.n = static_cast<int>(values.size()), .mean = *mean, .sd = sd};
}

std::optional<PairedMoments> paired_moments(std::span<const double> first, std::span<const double> second) {
  if (first.size() != second.size()) {
    throw core::Error(core::ErrorCode::kInvalidArgument, "pairs need as many first as second values, got " +
                                                             std::to_string(first.size()) + " and " +
                                                             std::to_string(second.size()));
  }
  PairedMoments result;
  for (std::size_t i = 0; i < first.size(); ++i) result.differences.push_back(first[i] - second[i]);
  const double magnitude = std::max(largest_magnitude(first), largest_magnitude(second));
  const std::optional<Moments> moments = moments_of(result.differences, magnitude);
  if (!moments) return std::nullopt;
  result.moments = *moments;
  return result;
}

}  // namespace nanobench::reports
