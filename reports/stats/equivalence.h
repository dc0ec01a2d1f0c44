/// "No harm" and "no difference", proved inside stated margins. The p of an ordinary test proves neither. Pure,
/// thread-safe.
#pragma once

#include "reports/stats/estimate.h"
#include "reports/stats/interval.h"

namespace nanobench::reports {

/// Which way of a number is better: losses, times and bytes are better lower, tokens/s higher.
enum class Better { kLower, kHigher };

/// How much of a change counts as none, in the unit of the effect. Both above 0.
struct Margins {
  double low = 0.0;   ///< the effect may reach down to -low
  double high = 0.0;  ///< and up to +high

  static Margins symmetric(double margin) { return {.low = margin, .high = margin}; }
};

struct Equivalence {
  double p_above_low = 0.0;     ///< against "the effect is -low or less"
  double p_below_high = 0.0;    ///< against "the effect is +high or more"
  double p = 0.0;               ///< the larger of the two: equivalent when below alpha
  ConfidenceInterval interval;  ///< at level 1 - 2 alpha: inside the margins exactly when p < alpha
  bool is_equivalent = false;
};

/// Two one-sided tests (Schuirmann 1987) on any estimate: Welch's, a paired one, or a summary (effect, se, df).
/// Throws Error{kInvalidArgument} for an unusable estimate, margins that are not above 0, or alpha outside (0, 0.5).
Equivalence equivalence(const Estimate& effect, const Margins& margins, double alpha = 0.05);

struct NonInferiority {
  double p = 0.0;               ///< against "worse by the margin or more"
  ConfidenceInterval interval;  ///< one-sided, level 1 - alpha: the worst that the data bear
  bool is_proved = false;       ///< p < alpha
};

/// Is the effect (candidate - baseline) not worse than the margin? Throws as equivalence().
NonInferiority non_inferiority(const Estimate& effect, double margin, Better better, double alpha = 0.05);

}  // namespace nanobench::reports
