/// What a reviewer asks of the logs of one configuration, beside its group's numbers: intervals, and how many runs
/// would settle what they leave open. Pure, thread-safe.
#pragma once

#include <optional>

#include "reports/audit/audit.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

struct GroupReview {
  std::optional<ConfidenceInterval> loss_interval;  ///< of the mean, 95 %; nats per token
  std::optional<ConfidenceInterval> time_interval;  ///< of the mean, 95 %; milliseconds
  int unfinished = 0;                               ///< runs without a loss at the step that counts
  int repeated = 0;                                 ///< runs that repeat another one
  /// New runs that meet the rule by themselves with the probability kSettlePower, if mean and spread are those
  /// measured. Absent where the rule is met, and where nothing can be said: no spread, a mean that is not below the
  /// target, or more than kMaxSettleRuns.
  std::optional<int> rule_runs;
  std::optional<double> published_gain_ms;  ///< published time of the record before less that of the folder's record
  /// Runs of this and as many of the record before, on one machine, that show the published gain (two-sided p < 0.05)
  /// with the probability kSettlePower, if both spread as these do. Absent without a gain or a spread, and above
  /// kMaxSettleRuns.
  std::optional<int> gain_runs;
};

GroupReview review_of(const AuditGroup& group, const AuditOptions& options);

}  // namespace nanobench::reports
