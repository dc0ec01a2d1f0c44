#include "reports/trend/shift.h"

#include <cmath>
#include <map>

#include "reports/stats/summary.h"
#include "reports/stats/t_tests.h"

namespace nanobench::reports {
namespace {

bool has_no_spread(std::span<const double> values) {
  const std::optional<Moments> moments = moments_of(values);
  return moments && !moments->has_spread();
}

Shift shift_of(double value, const std::optional<Estimate>& estimate, bool is_exact, double level = 0.95) {
  Shift shift{.value = value, .is_exact = is_exact};
  if (!estimate) return shift;
  shift.interval = interval_of(*estimate, level);
  shift.p = p_of(*estimate);
  return shift;
}

/// Mean of each seed's values.
BySeed means_by_seed(std::span<const SeriesValue> values) {
  BySeed means;
  std::map<std::uint64_t, int> counts;
  for (const SeriesValue& item : values) {
    double& mean = means[item.seed];
    mean += (item.value - mean) / ++counts[item.seed];
  }
  return means;
}

std::vector<double> values_of(const BySeed& values) {
  std::vector<double> result;
  for (const auto& [seed, value] : values) result.push_back(value);
  return result;
}

}  // namespace

bool Shift::is_clear() const {
  if (value == 0.0) return false;
  return interval ? !interval->contains(0.0) : is_exact;
}

std::optional<Shift> ratio_shift(std::span<const double> before, std::span<const double> after) {
  std::vector<double> logs[2];
  for (const auto& [values, target] : {std::pair(before, &logs[0]), std::pair(after, &logs[1])}) {
    for (const double value : values) {
      if (!(value > 0.0) || !std::isfinite(value)) return std::nullopt;
      target->push_back(std::log(value));
    }
  }
  const std::optional<double> first = mean_of(logs[0]);
  const std::optional<double> second = mean_of(logs[1]);
  if (!first || !second) return std::nullopt;
  Shift shift = shift_of(*second - *first, welch(logs[1], logs[0]), has_no_spread(logs[0]) && has_no_spread(logs[1]));
  shift.value = std::expm1(shift.value);
  if (shift.interval) {
    shift.interval->low = std::expm1(shift.interval->low);
    shift.interval->high = std::expm1(shift.interval->high);
  }
  return shift;
}

std::optional<Shift> loss_shift(std::span<const SeriesValue> before, std::span<const SeriesValue> after, double level) {
  const BySeed first = means_by_seed(before);
  const BySeed second = means_by_seed(after);
  std::vector<double> paired_first, paired_second;
  for (const auto& [seed, value] : first) {
    const auto other = second.find(seed);
    if (other == second.end()) continue;
    paired_first.push_back(value);
    paired_second.push_back(other->second);
  }
  if (paired_first.size() >= 2) {
    const std::optional<PairedMoments> pairs = paired_moments(paired_second, paired_first);
    if (!pairs) return std::nullopt;
    return shift_of(pairs->moments.mean, paired_t(paired_second, paired_first), !pairs->moments.has_spread(), level);
  }
  const std::vector<double> old_values = values_of(first);
  const std::vector<double> new_values = values_of(second);
  const std::optional<double> old_mean = mean_of(old_values);
  const std::optional<double> new_mean = mean_of(new_values);
  if (!old_mean || !new_mean) return std::nullopt;
  return shift_of(*new_mean - *old_mean, welch(new_values, old_values),
                  has_no_spread(old_values) && has_no_spread(new_values), level);
}

}  // namespace nanobench::reports
