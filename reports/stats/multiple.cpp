#include "reports/stats/multiple.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {
namespace {

template <class Value>
std::vector<std::size_t> present(std::span<const std::optional<Value>> values) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) indices.push_back(i);
  }
  return indices;
}

std::size_t family_size(std::size_t given, std::size_t present, Missing missing) {
  return missing == Missing::kCounted ? given : present;
}

void require_probability(double p) {
  if (p >= 0.0 && p <= 1.0) return;
  throw core::Error(core::ErrorCode::kInvalidArgument, "a p-value must lie between 0 and 1, got " + std::to_string(p));
}

double lower_bound(const Estimate& estimate, double alpha) {
  return interval_of(estimate, 1.0 - alpha, Tail::kGreater).low;
}

}  // namespace

std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p, Missing missing) {
  std::vector<std::size_t> order = present(p);
  for (const std::size_t i : order) require_probability(*p[i]);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return *p[a] < *p[b]; });
  std::vector<std::optional<double>> adjusted(p.size());
  double left = static_cast<double>(family_size(p.size(), order.size(), missing));
  double highest = 0.0;
  for (const std::size_t i : order) {
    highest = std::max(highest, std::min(1.0, left * *p[i]));
    adjusted[i] = highest;
    left -= 1.0;
  }
  return adjusted;
}

std::vector<std::optional<ConfidenceInterval>> simultaneous_intervals(
    std::span<const std::optional<Estimate>> estimates, double level, Missing missing) {
  require_fraction(level, "the confidence level");
  const std::vector<std::size_t> indices = present(estimates);
  const double m = static_cast<double>(family_size(estimates.size(), indices.size(), missing));
  std::vector<std::optional<ConfidenceInterval>> intervals(estimates.size());
  for (const std::size_t i : indices) {
    intervals[i] = interval_of(*estimates[i], 1.0 - (1.0 - level) / m);
    intervals[i]->level = level;
  }
  return intervals;
}

std::vector<std::optional<double>> holm_lower_bounds(std::span<const std::optional<Estimate>> estimates, double level,
                                                     Missing missing) {
  require_fraction(level, "the confidence level");
  const double alpha = 1.0 - level;
  std::vector<std::optional<double>> p(estimates.size());
  const std::vector<std::size_t> indices = present(estimates);
  for (const std::size_t i : indices) p[i] = p_of(*estimates[i], Tail::kGreater);
  const std::vector<std::optional<double>> adjusted = holm(p, missing);
  const auto rejected = [&](std::size_t i) { return *adjusted[i] <= alpha; };
  const double m = static_cast<double>(family_size(estimates.size(), indices.size(), missing));
  const double standing = m - static_cast<double>(std::count_if(indices.begin(), indices.end(), rejected));
  std::vector<std::optional<double>> bounds(estimates.size());
  for (const std::size_t i : indices) {
    if (standing == 0.0) {
      bounds[i] = std::max(0.0, lower_bound(*estimates[i], alpha / m));
    } else {
      bounds[i] = rejected(i) ? 0.0 : lower_bound(*estimates[i], alpha / standing);
    }
  }
  return bounds;
}

}  // namespace nanobench::reports
