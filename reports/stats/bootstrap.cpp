#include "reports/stats/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;
using Statistic = std::function<double(const Values&, const Values&)>;

/// What is resampled, and how.
struct Problem {
  Values first;
  Values second;
  Pairing pairing = Pairing::kPairs;
  bool is_accelerated = true;
  Statistic statistic;

  double value() const { return statistic(first, second); }
};

double mean(const Values& values) {
  return compensated_sum(values) / static_cast<double>(values.size());
}

double centre_of(const Values& values, Centre centre) {
  return centre == Centre::kMean ? mean(values) : *median(values);
}

/// One statistic per resample, sorted.
Values resample(const Problem& problem, const BootstrapSettings& settings) {
  core::RandomStream random(settings.seed, 0);
  Values first(problem.first.size());
  Values second(problem.second.size());
  Values results;
  for (int i = 0; i < settings.resamples; ++i) {
    for (std::size_t j = 0; j < first.size(); ++j) {
      const std::size_t drawn = random.below(first.size());
      first[j] = problem.first[drawn];
      if (problem.pairing == Pairing::kPairs) second[j] = problem.second[drawn];
    }
    if (problem.pairing == Pairing::kIndependent) {
      for (double& value : second) value = problem.second[random.below(second.size())];
    }
    results.push_back(problem.statistic(first, second));
  }
  std::sort(results.begin(), results.end());
  return results;
}

Values without(const Values& values, std::size_t index) {
  Values rest = values;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
  return rest;
}

/// Sums of the jackknife's influence values, to the second and third power.
struct JackknifeSums {
  double squares = 0.0;
  double cubes = 0.0;

  void add(const Values& left_out) {
    const double n = static_cast<double>(left_out.size());
    const double centre = mean(left_out);
    for (const double value : left_out) {
      const double influence = (n - 1.0) * (centre - value) / n;
      squares += influence * influence;
      cubes += influence * influence * influence;
    }
  }
};

double acceleration(const Problem& problem) {
  if (!problem.is_accelerated) return 0.0;
  const bool is_paired = problem.pairing == Pairing::kPairs;
  JackknifeSums influence;
  Values left_out;
  for (std::size_t i = 0; i < problem.first.size(); ++i) {
    left_out.push_back(
        problem.statistic(without(problem.first, i), is_paired ? without(problem.second, i) : problem.second));
  }
  influence.add(left_out);
  if (!is_paired) {
    left_out.clear();
    for (std::size_t i = 0; i < problem.second.size(); ++i) {
      left_out.push_back(problem.statistic(problem.first, without(problem.second, i)));
    }
    influence.add(left_out);
  }
  if (influence.squares == 0.0) return 0.0;
  return influence.cubes / (6.0 * std::pow(influence.squares, 1.5));
}

/// Quantile of sorted values, linear between neighbours.
double quantile_of(const Values& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(position), sorted.size() - 2);
  const double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/// Share of resamples below the value, those equal to it counted half.
double share_below(const Values& sorted, double value) {
  const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), value);
  const double twice = static_cast<double>((low - sorted.begin()) + (high - sorted.begin()));
  return twice / (2.0 * static_cast<double>(sorted.size()));
}

std::optional<Bootstrap> bca(const Problem& problem, const BootstrapSettings& settings) {
  const Values results = resample(problem, settings);
  const std::optional<Moments> spread = moments_of(results);
  if (!spread || !spread->has_spread()) return std::nullopt;
  const double value = problem.value();
  const double share = share_below(results, value);
  if (!(share > 0.0 && share < 1.0)) return std::nullopt;
  const double bias = normal_quantile(share);
  const double acceleration_ = acceleration(problem);
  const double z = normal_quantile((1.0 - settings.level) / 2.0);
  const auto end = [&](double tail) -> std::optional<double> {
    const double shifted = bias + tail;
    const double scale = 1.0 - acceleration_ * shifted;
    if (!(scale > 0.0)) return std::nullopt;
    return quantile_of(results, normal_cdf(bias + shifted / scale));
  };
  const std::optional<double> low = end(z);
  const std::optional<double> high = end(-z);
  if (!low || !high) return std::nullopt;
  return Bootstrap{.value = value, .se = spread->sd, .interval = {.low = *low, .high = *high, .level = settings.level}};
}

void check(const BootstrapSettings& settings) {
  require_fraction(settings.level, "the confidence level");
  require_count(settings.resamples, 99, "the number of resamples");
}

bool is_positive(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value) && value > 0.0; });
}

}  // namespace

std::optional<Bootstrap> bootstrap_mean_difference(std::span<const double> first, std::span<const double> second,
                                                   const BootstrapSettings& settings) {
  check(settings);
  const std::optional<PairedMoments> pairs = paired_moments(first, second);
  if (!pairs || !pairs->moments.has_spread() || pairs->moments.n < kMinBootstrapValues) return std::nullopt;
  // The statistic needs only the differences.
  return bca({.first = pairs->differences,
              .second = pairs->differences,
              .statistic = [](const Values& differences, const Values&) { return mean(differences); }},
             settings);
}

std::optional<Bootstrap> bootstrap_ratio(std::span<const double> first, std::span<const double> second, Centre centre,
                                         Pairing pairing, const BootstrapSettings& settings) {
  check(settings);
  if (pairing == Pairing::kPairs && first.size() != second.size()) {
    throw core::Error(core::ErrorCode::kInvalidArgument, "pairs need as many first as second values, got " +
                                                             std::to_string(first.size()) + " and " +
                                                             std::to_string(second.size()));
  }
  if (std::min(first.size(), second.size()) < static_cast<std::size_t>(kMinBootstrapValues)) return std::nullopt;
  if (!is_positive(first) || !is_positive(second)) return std::nullopt;
  return bca({.first = {first.begin(), first.end()},
              .second = {second.begin(), second.end()},
              .pairing = pairing,
              .is_accelerated = centre == Centre::kMean,
              .statistic = [centre](const Values& one,
                                    const Values& two) { return centre_of(one, centre) / centre_of(two, centre); }},
             settings);
}

}  // namespace nanobench::reports
