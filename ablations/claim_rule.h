/// The rule of a claim, which turns a measured number into a verdict. Pure; thread-safe.
///
/// The number is one metric of one or two arms, combined according to `form`. It supports the claim if it is inside one
/// of the intervals, and contradicts it if it is outside all of them by more than `tolerance`. In between it does
/// neither.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/json.h"

namespace nanobench::ablations {

/// kPair: the metric itself compares the two arms.
enum class RuleForm { kBefore, kAfter, kAfterOverBefore, kBeforeOverAfter, kAfterMinusBefore, kPair };
NB_ENUM_NAMES(RuleForm, {RuleForm::kBefore, "before"}, {RuleForm::kAfter, "after"},
              {RuleForm::kAfterOverBefore, "after/before"}, {RuleForm::kBeforeOverAfter, "before/after"},
              {RuleForm::kAfterMinusBefore, "after-before"}, {RuleForm::kPair, "pair"});

/// kInconclusive also stands for a number that is NaN.
enum class ClaimVerdict { kSupported, kContradicted, kInconclusive };

NB_ENUM_NAMES(ClaimVerdict, {ClaimVerdict::kSupported, "supported"}, {ClaimVerdict::kContradicted, "contradicted"},
              {ClaimVerdict::kInconclusive, "inconclusive"});

/// Closed; an absent end extends to infinity. At least one end is present.
struct RuleInterval {
  std::optional<double> low;
  std::optional<double> high;
};

/// The values a metric can take. Rules must be able to hold and to fail within them.
enum class MetricRange {
  kPositive,   ///< times, losses, bytes, counts: 0 to infinity
  kFraction,   ///< 0 to 1
  kIndicator,  ///< 0 or 1
};

struct ClaimRule {
  std::string metric;
  RuleForm form = RuleForm::kAfter;
  std::vector<RuleInterval> within;  ///< at least one
  double tolerance = 0.0;
  std::optional<double> claimed;  ///< the claim's own number, converted to `form`, to print beside the measurement
  std::string text;               ///< how the intervals follow from the claim; may be empty

  bool needs_before() const { return form != RuleForm::kAfter; }
  bool needs_after() const { return form != RuleForm::kBefore; }
};

/// Combines the two arms' metric according to `form`; NaN if it divides by zero. Not for kPair.
double combined(RuleForm form, double before, double after);

ClaimVerdict evaluate(const ClaimRule& rule, double value);

/// The same for a measurement with a confidence interval: a verdict needs all of [low, high] on its side.
ClaimVerdict evaluate(const ClaimRule& rule, double low, double high);

/// A number within `range` that gets this verdict; nullopt if there is none.
std::optional<double> example_value(const ClaimRule& rule, MetricRange range, ClaimVerdict verdict);

/// Reads {"metric", "of", "within", "tolerance", "claimed", "text"}. Throws Error{kInvalidArgument} at the pointer.
ClaimRule read_claim_rule(core::JsonObject object);

/// "step_ms after/before within [0.62, 0.69], contradicted beyond 0.03 outside", for people.
std::string describe(const ClaimRule& rule);

}  // namespace nanobench::ablations
