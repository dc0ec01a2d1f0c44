/// Arms of logs against each other: Welch's test for each pair, Holm's adjustment over the family, two-sided, and
/// intervals that hold together. Each metric is a family of its own. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/audit/audit_flags.h"
#include "reports/audit/tracks.h"
#include "reports/stats/estimate.h"
#include "reports/stats/loss_curve.h"
#include "reports/stats/summary.h"
#include "reports/stats/t_tests.h"
#include "reports/stats/verdict.h"

namespace nanobench::reports {

/// The validations of one run, by the name of its file.
struct LogCurve {
  std::string name;
  std::vector<CurvePoint> points;  ///< up to the step at which its loss counts
};

/// The runs of one configuration.
struct LogArm {
  std::string name;
  std::string hardware;          ///< times are compared only where it is equal; empty: several kinds
  std::vector<double> losses;    ///< nats per token, one per counted run
  std::vector<double> train_ms;  ///< training clock
  std::vector<AuditFlag> flags;
  std::vector<std::int64_t> steps;         ///< at which the losses were read, each once, ascending
  std::size_t logs = 0;                    ///< runs found, with those that do not count
  std::vector<double> step_ms = {};        ///< mean time of a step
  std::vector<double> target_ms = {};      ///< training clock at the target, of the runs that reach it
  std::vector<LogCurve> curves = {};       ///< of the counted runs
  std::vector<std::string> software = {};  ///< "PyTorch 2.9, CUDA 12.6", each kind once, sorted; empty: not logged
};

/// Places in a list of arms.
struct ArmPair {
  std::size_t control = 0;
  std::size_t candidate = 0;
};

/// Every other arm against the control, in order.
std::vector<ArmPair> pairs_with(std::size_t control, std::size_t arms);
/// Every arm against every earlier one.
std::vector<ArmPair> all_pairs(std::size_t arms);

enum class ArmMetric {
  kLoss,        ///< nats per token, printed to 1e-4
  kTrainTime,   ///< milliseconds, printed to 1
  kStepTime,    ///< milliseconds, printed to 0.01
  kTargetTime,  ///< milliseconds until the loss is first at the target; no question unless all runs of both reach it
};

/// The counted runs' values. The arm keeps them.
const std::vector<double>& values_of(const LogArm& arm, ArmMetric metric);

/// Why two arms have no verdict.
enum class ArmReason {
  kNone,
  kOtherHardware,  ///< times are no question then
  kTargetMissed,   ///< not all runs reach the target, so the time to it is no question
  kNoValue,        ///< in one of the arms
  kOneRun,         ///< of an arm, which has no spread
  kFewRuns,        ///< fewer than kMinArmRuns in an arm
};

/// candidate - control.
struct ArmEffect {
  std::optional<double> difference;            ///< of the means; absent without a value in both arms
  std::optional<Estimate> estimate;            ///< absent when an arm has fewer than two values
  std::optional<ConfidenceInterval> interval;  ///< all of a family hold together with 1 - kArmAlpha
  std::optional<double> p;                     ///< two-sided
  std::optional<double> adjusted_p;            ///< by Holm over the family
  Verdict verdict = Verdict::kMissing;         ///< improved, regressed, inconclusive or missing
  ArmReason reason = ArmReason::kNone;         ///< why there is no p, or too few runs for a verdict
  bool is_from_rounding = false;               ///< no arm has a spread: the error is that of the printed digits
  /// New runs of each of the two arms, judged by themselves in a family as large as this one, that give a verdict with
  /// the probability kSettlePower, if the difference and the spreads are those measured. Absent with a verdict, without
  /// an error, and above kMaxSettleRuns. Only compare_arms() fills it.
  std::optional<int> settling_runs;
};

inline constexpr double kArmAlpha = 0.05;  ///< of a family
inline constexpr int kMinArmRuns = 3;      ///< in each arm, for a verdict
inline constexpr double kSettlePower = 0.8;
inline constexpr int kMaxSettleRuns = 1000;

/// In the order of the pairs, which are one family: a pair without a p-value counts as one with p = 1, except times on
/// different hardware and times to a target that some runs do not reach, which are no question. A verdict needs
/// kMinArmRuns in each arm and an adjusted p below kArmAlpha. Two arms without any spread get the error of rounding:
/// the variance of a value is r^2 / 12, with r the last printed digit.
std::vector<ArmEffect> arm_effects(std::span<const LogArm> arms, std::span<const ArmPair> pairs, ArmMetric metric);

/// Arms against one of them, and each arm against the target by the rules' one-sided test.
struct ArmComparison {
  TrackRule rule;
  double p_limit = 0.01;  ///< of the one-sided test
  std::vector<LogArm> arms;
  std::size_t control = 0;
  std::vector<ArmPair> pairs;
  std::vector<ArmEffect> loss;  ///< in the order of the pairs
  std::vector<ArmEffect> time;
  std::vector<ArmEffect> step_time;
  std::vector<ArmEffect> target_time;
  std::vector<std::optional<OneSampleT>> t;  ///< against the target, in the order of the arms
  std::vector<std::optional<RuleResult>> z;
  std::vector<std::string> problems;  ///< of reading
};

/// The times to the target are read from curves with two validations or more. Throws Error{kInvalidArgument} for fewer
/// than two arms, or a control that is none of them.
ArmComparison compare_arms(std::vector<LogArm> arms, std::size_t control, const TrackRule& rule);

}  // namespace nanobench::reports
