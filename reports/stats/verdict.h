/// Turns an effect with its error into a verdict. Non-inferiority and equivalence are proved within stated margins,
/// which the p of an ordinary test cannot do. Nothing passes for lack of evidence: "unchanged" and "barnacle" require
/// proof, and too few runs are inconclusive however small their p. Pure, thread-safe.
#pragma once

#include <optional>

#include "core/base/enum_names.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// The better direction of a number: lower for losses, times and bytes, higher for tokens/s.
enum class Direction { kLowerIsBetter, kHigherIsBetter };

/// The largest changes that are too small to matter, in the unit of the effect. Both above 0.
struct Margins {
  double low = 0.0;   ///< the effect may reach down to -low
  double high = 0.0;  ///< and up to +high

  static Margins symmetric(double margin) { return {.low = margin, .high = margin}; }
};

struct Equivalence {
  double p_above_low = 0.0;     ///< against "the effect is -low or less"
  double p_below_high = 0.0;    ///< against "the effect is +high or more"
  double p = 0.0;               ///< the larger of the two: equivalent if below alpha
  ConfidenceInterval interval;  ///< at level 1 - 2 alpha: inside the margins exactly when p < alpha
  bool is_equivalent = false;
};

/// Two one-sided tests (Schuirmann 1987) on any estimate: Welch's, a paired one, or a summary (effect, se, df).
/// Throws Error{kInvalidArgument} for an unusable estimate, margins that are not above 0, or alpha outside (0, 0.5).
Equivalence equivalence(const Estimate& effect, const Margins& margins, double alpha = 0.05);

struct NonInferiority {
  double p = 0.0;               ///< against "worse by the margin or more"
  ConfidenceInterval interval;  ///< one-sided, level 1 - alpha: the worst effect that the data allow
  bool is_proved = false;       ///< p < alpha
};

/// Is the effect (candidate - baseline) not worse than the margin? Throws like equivalence().
NonInferiority non_inferiority(const Estimate& effect, double margin, Direction direction, double alpha = 0.05);

enum class Verdict {
  kImproved,      ///< proved better than no change
  kRegressed,     ///< proved worse than no change
  kUnchanged,     ///< proved inside the margins: any change is too small to matter
  kNotWorse,      ///< proved inside the margin on the harmful side alone; only a gate asks that (reports/gate/gate.h)
  kInconclusive,  ///< evidence, but not enough
  kMissing,       ///< no evidence: no run, or a number that is not finite
};

NB_ENUM_NAMES(Verdict, {Verdict::kImproved, "improved"}, {Verdict::kRegressed, "regressed"},
              {Verdict::kUnchanged, "unchanged"}, {Verdict::kNotWorse, "not worse"},
              {Verdict::kInconclusive, "inconclusive"}, {Verdict::kMissing, "missing"});

struct VerdictRule {
  Direction direction = Direction::kLowerIsBetter;
  Margins margins;      ///< in the unit of the effect; both above 0
  double alpha = 0.05;  ///< in (0, 0.5)
  int min_n = 3;        ///< runs in each arm, or pairs; at least 2
};

/// The evidence about one effect.
struct Evidence {
  std::optional<Estimate> effect;       ///< candidate - baseline; absent if it has no error
  int n = 0;                            ///< runs in the smaller arm, or pairs
  std::optional<double> p;              ///< two-sided p of no effect, adjusted (holm()); absent: the effect's own
  std::optional<double> p_equivalence;  ///< p of equivalence(), adjusted; absent: the effect's own
};

/// In this order:
///   missing       n = 0, or an effect or p that is not finite
///   inconclusive  n below min_n, or no effect (n = 1, or no spread, has no error)
///   unchanged     p_equivalence < alpha: inside the margins, even where it is also proved not to be 0
///   improved, regressed   p < alpha, by the effect's sign
///   inconclusive  otherwise
/// Throws Error{kInvalidArgument} for a rule out of range.
Verdict verdict_of(const Evidence& evidence, const VerdictRule& rule);

/// The verdict on a feature, from the seconds at equal loss that REMOVING it costs.
enum class FeatureVerdict {
  kKeep,          ///< removing it is proved to cost time
  kDrop,          ///< removing it is proved to gain time
  kBarnacle,      ///< proved to be inside the margin on both sides: neither helps nor harms
  kInconclusive,  ///< not enough evidence, or none
};

NB_ENUM_NAMES(FeatureVerdict, {FeatureVerdict::kKeep, "keep"}, {FeatureVerdict::kDrop, "drop"},
              {FeatureVerdict::kBarnacle, "barnacle"}, {FeatureVerdict::kInconclusive, "inconclusive"});

/// verdict_of() for a removal: a regression keeps the feature, an improvement drops it, unchanged is a barnacle.
///   removal   effect on seconds at equal loss (equal_loss.h), without the feature less with it
///   margin_s  seconds, above 0: the largest effect that is too small to matter
FeatureVerdict feature_verdict_of(const Evidence& removal, double margin_s, double alpha = 0.05, int min_n = 3);

}  // namespace nanobench::reports
