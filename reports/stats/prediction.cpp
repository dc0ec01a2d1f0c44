#include "reports/stats/prediction.h"

#include <cmath>
#include <limits>

#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

// For a normal distribution, the median absolute deviation is 0.6745 sd (its 0.75 quantile), the mean one sd /
// 1.253314.
constexpr double kMadPerSd = 0.6744897501960817;
constexpr double kSdPerMeanDeviation = 1.2533141373155003;

}  // namespace

std::optional<ConfidenceInterval> prediction_interval(std::span<const double> values, int new_runs, double level,
                                                      Predicted predicted) {
  require_count(new_runs, 1, "the number of new runs");
  require_fraction(level, "the confidence level");
  const std::optional<Moments> moments = moments_of(values);
  if (!moments || !moments->has_spread()) return std::nullopt;
  const bool is_mean = predicted == Predicted::kMeanOfRuns;
  const double each = is_mean ? level : 1.0 - (1.0 - level) / new_runs;
  const double averaged = is_mean ? new_runs : 1.0;
  const double half = t_critical(each, moments->n - 1.0) * moments->sd * std::sqrt(1.0 / averaged + 1.0 / moments->n);
  return ConfidenceInterval{.low = moments->mean - half, .high = moments->mean + half, .level = level};
}

std::optional<OutlierFlags> outlier_flags(std::span<const double> values, double limit) {
  require_positive(limit, "the outlier limit");
  const std::optional<Moments> moments = moments_of(values);
  if (values.size() < 3 || !moments || !moments->has_spread()) return std::nullopt;
  const double middle = *median({values.begin(), values.end()});
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  const double mad = *median(deviations);
  const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * (std::abs(middle) + mad);
  OutlierFlags flags{.uses_mean_deviation = mad <= rounding};
  const double sd = flags.uses_mean_deviation ? *mean_of(deviations) * kSdPerMeanDeviation : mad / kMadPerSd;
  for (const double value : values) {
    flags.score.push_back((value - middle) / sd);
    flags.is_outlier.push_back(std::abs(flags.score.back()) > limit);
    flags.count += flags.is_outlier.back() ? 1 : 0;
  }
  return flags;
}

}  // namespace nanobench::reports
