#include "reports/stats/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace nanobench::reports {
namespace {

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// The deviations' own mean corrects what rounding of the mean left in them.
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
