#include "reports/stats/t_tests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

/// Decimal losses are rounded to binary before they are subtracted: 3.28 - 3.276 is not 0.004 to the last bit.
RuleResult judge(double statistic, double rounding, const ThresholdRule& rule) {
  RuleResult result{.statistic = statistic, .threshold = rule.threshold};
  result.passes = statistic >= rule.threshold - rounding;
  if (rule.sigma) {
    result.z = statistic / *rule.sigma;
    result.p = normal_upper(*result.z);
  }
  return result;
}

double rounding_of(double magnitude, double factor) {
  return 8.0 * std::numeric_limits<double>::epsilon() * magnitude * factor;
}

void check(const ThresholdRule& rule) {
  require_finite(rule.threshold, "the threshold");
  if (rule.sigma) require_positive(*rule.sigma, "sigma");
}

/// mean - target; the differences are exact near the target, which the mean alone is not.
double distance(std::span<const double> values, double target) {
  std::vector<double> differences;
  for (const double value : values) differences.push_back(value - target);
  return compensated_sum(differences) / static_cast<double>(values.size());
}

}  // namespace

std::optional<OneSampleT> one_sample_t(std::span<const double> values, double target, Tail tail, double level) {
  require_finite(target, "the target");
  require_fraction(level, "the confidence level");
  const std::optional<Moments> moments = moments_of(values);
  if (!moments || !moments->has_spread()) return std::nullopt;
  OneSampleT result{.n = moments->n, .mean = moments->mean, .sd = moments->sd, .df = moments->n - 1.0};
  result.t = distance(values, target) / moments->se();
  if (!std::isfinite(result.t)) return std::nullopt;
  result.p = t_p_value(result.t, result.df, tail);
  result.interval = interval_of({.value = moments->mean, .se = moments->se(), .df = result.df}, level, tail);
  return result;
}

std::optional<RuleResult> known_sigma_rule(std::span<const double> losses, double target, const ThresholdRule& rule) {
  const std::optional<double> mean = mean_of(losses);
  if (!mean) return std::nullopt;
  return known_sigma_rule(*mean, static_cast<int>(losses.size()), target, rule);
}

std::optional<RuleResult> known_sigma_rule(double mean, int n, double target, const ThresholdRule& rule) {
  require_finite(target, "the target");
  check(rule);
  if (n < 1 || !std::isfinite(mean)) return std::nullopt;
  const double root = std::sqrt(static_cast<double>(n));
  return judge((target - mean) * root, rounding_of(std::abs(target) + std::abs(mean), root), rule);
}

std::optional<RuleResult> pairwise_rule(const PairwiseClaim& claim, const ThresholdRule& rule) {
  check(rule);
  if (claim.baseline_n < 1 || claim.candidate_n < 1) return std::nullopt;
  const double loss = claim.baseline_loss - claim.candidate_loss;
  const double steps = claim.loss_per_step * (claim.baseline_steps - claim.candidate_steps);
  const double root = std::sqrt(1.0 / claim.baseline_n + 1.0 / claim.candidate_n);
  const double statistic = (loss + steps) / root;
  if (!std::isfinite(statistic)) return std::nullopt;
  const double magnitude = std::abs(claim.baseline_loss) + std::abs(claim.candidate_loss) + std::abs(steps);
  return judge(statistic, rounding_of(magnitude, 1.0 / root), rule);
}

namespace {

/// Moments of value - offset: close values subtract exactly, while the difference of two large means would lose digits.
std::optional<Moments> moments_from(double offset, std::span<const double> values) {
  std::vector<double> differences;
  double magnitude = 0.0;
  for (const double value : values) {
    differences.push_back(value - offset);
    magnitude = std::max(magnitude, std::abs(value));
  }
  return moments_of(differences, magnitude);
}

}  // namespace

std::optional<Estimate> welch(std::span<const double> first, std::span<const double> second) {
  if (first.empty()) return std::nullopt;
  const double offset = first.front();
  const std::optional<Moments> one = moments_from(offset, first);
  const std::optional<Moments> two = moments_from(offset, second);
  if (!one || !two) return std::nullopt;
  return welch(*one, *two);
}

std::optional<Estimate> welch(const Moments& first, const Moments& second) {
  if (first.n < 2 || second.n < 2) return std::nullopt;
  const std::array<Term, 2> terms = {
      {{.factor = 1.0, .estimate = estimate_of(first)}, {.factor = -1.0, .estimate = estimate_of(second)}}};
  return combine(terms);
}

std::optional<Estimate> paired_t(std::span<const double> first, std::span<const double> second) {
  const std::optional<PairedMoments> pairs = paired_moments(first, second);
  if (!pairs || !pairs->moments.has_spread()) return std::nullopt;
  return estimate_of(pairs->moments);
}

}  // namespace nanobench::reports
