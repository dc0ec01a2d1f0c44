#include "reports/audit/review.h"

#include <algorithm>
#include <cmath>

#include "reports/stats/distributions.h"
#include "reports/stats/power.h"
#include "results/import/speedrun_line.h"

namespace nanobench::reports {
namespace {

constexpr double kMsPerMinute = 60'000.0;

std::vector<double> counted_values(const AuditGroup& group, std::optional<double> AuditedRun::*member) {
  std::vector<double> values;
  for (const AuditedRun& run : group.runs) {
    if (run.is_counted() && run.*member) values.push_back(*(run.*member));
  }
  return values;
}

std::optional<ConfidenceInterval> interval_of_mean(const std::vector<double>& values) {
  const std::optional<OneSampleT> t = one_sample_t(values, 0.0, Tail::kTwoSided);
  return t ? std::optional(t->interval) : std::nullopt;
}

/// The fewest runs whose (target - mean) * sqrt(n) reaches the threshold: it is normal about margin * sqrt(n) with the
/// spread of one run.
std::optional<int> runs_for_z(double margin, double sd, double threshold) {
  const double least = threshold + normal_quantile(kSettlePower) * sd;
  const double runs = std::ceil(std::pow(std::max(least, 0.0) / margin, 2.0));
  return runs <= kMaxSettleRuns ? std::optional(std::max(1, static_cast<int>(runs))) : std::nullopt;
}

std::optional<int> runs_for_rule(const AuditGroup& group, const AuditOptions& options) {
  if (group.verdict == AuditVerdict::kMeets || !group.t) return std::nullopt;
  const double margin = group.rule.target - *group.loss.mean;
  if (margin <= 0) return std::nullopt;
  const double sd = *group.loss.sd;
  if (group.rule.rule == AuditRule::kZ) return runs_for_z(margin, sd, options.z_threshold);
  const PowerSettings settings{.alpha = options.p_limit, .is_two_sided = false};
  return required_runs(
      margin, [&](int n) { return planned_error(sd, n); }, kSettlePower, settings, kMaxSettleRuns);
}

std::optional<int> runs_for_gain(const AuditGroup& group, double gain_ms) {
  if (gain_ms <= 0 || !group.train_ms.sd) return std::nullopt;
  const double sd = std::max(*group.train_ms.sd, std::sqrt(rounding_variance(results::kPrintedMs)));
  const auto error = [&](int n) { return planned_error(sd, n, sd, n); };
  const std::optional<int> runs = required_runs(gain_ms, error, kSettlePower, {.alpha = kArmAlpha}, kMaxSettleRuns);
  return runs ? std::optional(std::max(*runs, kMinArmRuns)) : std::nullopt;
}

}  // namespace

GroupReview review_of(const AuditGroup& group, const AuditOptions& options) {
  GroupReview review;
  review.loss_interval = interval_of_mean(counted_values(group, &AuditedRun::loss));
  review.time_interval = interval_of_mean(counted_values(group, &AuditedRun::train_ms));
  for (const AuditedRun& run : group.runs) {
    if (!run.loss) ++review.unfinished;
    if (run.repeats) ++review.repeated;
  }
  review.rule_runs = runs_for_rule(group, options);
  if (group.record == nullptr || group.before == nullptr) return review;
  review.published_gain_ms = (group.before->minutes - group.record->minutes) * kMsPerMinute;
  review.gain_runs = runs_for_gain(group, *review.published_gain_ms);
  return review;
}

}  // namespace nanobench::reports
