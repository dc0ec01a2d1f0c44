/// Tests of means: a sample against a target, with the speedrun's rules for a record claim, and one arm against
/// another. Effects are first - second, in the unit of the values. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>

#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {

/// A sample against an exactly known number.
struct OneSampleT {
  int n = 0;
  double mean = 0.0;
  double sd = 0.0;              ///< n - 1
  double t = 0.0;               ///< (mean - target) / (sd / sqrt(n))
  double df = 0.0;              ///< n - 1
  double p = 0.0;               ///< p-value of the requested tail
  ConfidenceInterval interval;  ///< interval of the mean; kLess has only a high end, kGreater only a low end
};

/// Student's t test. Assumes independent runs whose losses are near normal. The track's rule is `p < 0.01` with kLess.
///   values   n >= 2, in the target's unit
///   level    confidence of the interval
/// nullopt for n < 2, no spread, or a value that is not finite. Throws Error{kInvalidArgument} for a target that is not
/// finite or a level outside (0, 1).
std::optional<OneSampleT> one_sample_t(std::span<const double> values, double target, Tail tail = Tail::kLess,
                                       double level = 0.95);

/// A rule with a fixed threshold instead of an estimated spread, so that it can judge n = 1.
struct ThresholdRule {
  double threshold = 0.004;     ///< nats per token times sqrt(runs): the track's
  std::optional<double> sigma;  ///< known spread of one run's loss; gives z and p
};

struct RuleResult {
  double statistic = 0.0;
  double threshold = 0.0;
  bool passes = false;      ///< statistic >= threshold; equality in decimals passes, allowing for rounding of the sum
  std::optional<double> z;  ///< statistic / sigma; absent without sigma
  std::optional<double> p;  ///< one-sided, normal; absent without sigma
};

/// (target - mean) * sqrt(n) >= threshold.
/// nullopt for n = 0 or a value that is not finite.
std::optional<RuleResult> known_sigma_rule(std::span<const double> losses, double target,
                                           const ThresholdRule& rule = {});
std::optional<RuleResult> known_sigma_rule(double mean, int n, double target, const ThresholdRule& rule = {});

/// Two arms with known means and counts only.
struct PairwiseClaim {
  double baseline_loss = 0.0;   ///< mean
  double candidate_loss = 0.0;  ///< mean
  double baseline_steps = 0.0;
  double candidate_steps = 0.0;
  int baseline_n = 0;
  int candidate_n = 0;
  double loss_per_step = 0.0;  ///< value of saving one step, nats per token; at least 0
};

/// (dloss + slope * dsteps) / sqrt(1 / n1 + 1 / n2) >= threshold, with dloss = baseline - candidate loss (above 0: the
/// candidate is better) and dsteps = baseline - candidate steps (above 0: the candidate is shorter).
/// nullopt for an empty arm or a number that is not finite.
std::optional<RuleResult> pairwise_rule(const PairwiseClaim& claim, const ThresholdRule& rule = {});

/// mean(first) - mean(second) with Welch's error and Satterthwaite's degrees of freedom; never pooled. Intervals and
/// p-values: interval_of, p_of. Assumes independent runs near normal within each arm; the spreads may differ.
/// Needs n >= 2 in both arms. One arm may lack a spread, but not both.
/// nullopt otherwise, and for values that are not finite. Source: Welch 1947, Satterthwaite 1946.
std::optional<Estimate> welch(std::span<const double> first, std::span<const double> second);
std::optional<Estimate> welch(const Moments& first, const Moments& second);

/// Mean of first - second over pairs (same seed, or neighbours in an interleaved order); df = pairs - 1. Assumes
/// differences that are independent and near normal. Needs 2 pairs whose differences have a spread; nullopt otherwise.
/// Throws Error{kInvalidArgument} when the lengths differ.
std::optional<Estimate> paired_t(std::span<const double> first, std::span<const double> second);

}  // namespace nanobench::reports
