/// From an effect with its error to one word. Nothing passes for lack of evidence: "unchanged" and "barnacle" are
/// proved inside a margin, and too few runs are inconclusive however small their p. Pure, thread-safe.
#pragma once

#include <optional>

#include "reports/stats/equivalence.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

enum class Verdict {
  kImproved,      ///< proved better than no change
  kRegressed,     ///< proved worse than no change
  kUnchanged,     ///< proved inside the margins: any change is too small to matter
  kInconclusive,  ///< evidence, but not enough
  kMissing,       ///< no evidence: no run, or a number that is not finite
};

/// "improved", "regressed", "unchanged", "inconclusive", "missing": stable names.
const char* to_string(Verdict verdict);

struct VerdictRule {
  Better better = Better::kLower;
  Margins margins;      ///< in the unit of the effect; both above 0
  double alpha = 0.05;  ///< in (0, 0.5)
  int least_n = 3;      ///< runs in each arm, or pairs; at least 2
};

/// What is known of one effect.
struct Evidence {
  std::optional<Estimate> effect;       ///< candidate - baseline; absent where no error can be told
  int n = 0;                            ///< runs in the smaller arm, or pairs
  std::optional<double> p;              ///< two-sided, of no effect, adjusted (holm()); absent: the effect's own
  std::optional<double> p_equivalence;  ///< of equivalence(), adjusted; absent: the effect's own
};

/// In this order:
///   missing       n = 0, or an effect or p that is not finite
///   inconclusive  n below least_n, or no effect (n = 1, or no spread, has no error)
///   unchanged     p_equivalence < alpha: inside the margins, even where it is also proved not to be 0
///   improved, regressed   p < alpha, by the effect's sign
///   inconclusive  otherwise
/// Throws Error{kInvalidArgument} for a rule out of range.
Verdict verdict_of(const Evidence& evidence, const VerdictRule& rule);

/// What to do with a feature, from the seconds at equal loss that REMOVING it costs.
enum class FeatureVerdict {
  kKeep,          ///< removing it is proved to cost time
  kDrop,          ///< removing it is proved to gain time
  kBarnacle,      ///< proved inside the margin on both sides: it does nothing
  kInconclusive,  ///< not enough evidence, or none
};

/// "keep", "drop", "barnacle", "inconclusive": stable names.
const char* to_string(FeatureVerdict verdict);

/// verdict_of() read for a removal: a regression keeps the feature, an improvement drops it, unchanged is a barnacle.
///   removal   effect on seconds at equal loss (equal_loss.h), without the feature less with it
///   margin_s  seconds, above 0: what is too little to matter
FeatureVerdict feature_verdict_of(const Evidence& removal, double margin_s, double alpha = 0.05, int least_n = 3);

}  // namespace nanobench::reports
