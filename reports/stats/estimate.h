/// An estimated number with its error. Welch, paired, factorial and slope estimates share it, so that intervals,
/// p-values, equivalence and simultaneous intervals are written only once. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>

#include "reports/stats/interval.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {

/// `value` is normal about the truth. `se` is its estimated standard error, independent of it, with `df` degrees of
/// freedom.
struct Estimate {
  double value = 0.0;
  double se = 0.0;  ///< above 0
  double df = 0.0;  ///< above 0, not necessarily whole; infinity: se is known

  /// Whether all three members are valid. A default Estimate is not usable.
  bool is_usable() const;
};

/// (value - null) / se.
double t_of(const Estimate& estimate, double null = 0.0);

/// The p-value of the hypothesis that the truth is `null`, against the tail. Throws Error{kInvalidArgument} for an
/// unusable estimate.
double p_of(const Estimate& estimate, Tail tail = Tail::kTwoSided, double null = 0.0);

/// kTwoSided: value -+ t * se. kLess: the upper bound only, beyond which a test against kLess rejects;
/// kGreater: the lower one. Throws as p_of, and for a level outside (0, 1).
ConfidenceInterval interval_of(const Estimate& estimate, double level = 0.95, Tail tail = Tail::kTwoSided);

/// One part of a sum of independent terms.
struct Term {
  double factor = 1.0;
  Estimate estimate;
};

/// sum(factor * value) with Satterthwaite's degrees of freedom, (sum v)^2 / sum(v^2 / df) over the terms' variances v.
/// Terms may have se 0 (their part is known); nullopt when all have, or any number is not finite.
std::optional<Estimate> combine(std::span<const Term> terms);

/// The mean of one sample: df = n - 1; se may be 0.
Estimate estimate_of(const Moments& moments);

}  // namespace nanobench::reports
