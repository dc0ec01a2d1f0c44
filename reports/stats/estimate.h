/// Types and checks that all statistics here share, and an estimated number with its error: Welch, paired, factorial
/// and slope estimates share it, so that intervals, p-values, equivalence and simultaneous intervals are written only
/// once.
///
/// The rule of this folder: data without an answer (too few values, no spread, a value that is not finite) yield
/// nullopt. A setting out of range (level, margin, target, count) throws Error{kInvalidArgument}. Nothing returns NaN.
/// Pure, thread-safe.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>

#include "reports/stats/summary.h"

namespace nanobench::reports {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Where the true value lies, at the given confidence. A one-sided bound has an infinite end.
struct ConfidenceInterval {
  double low = 0.0;
  double high = 0.0;
  double level = 0.0;  ///< 0.95: it contains the true value 95 times in 100

  bool contains(double value) const { return low <= value && value <= high; }
};

/// The true value under the alternative hypothesis: below, above, or different from the null's.
enum class Tail { kLess, kGreater, kTwoSided };

/// Throws Error{kInvalidArgument}.
[[noreturn]] void refuse(const std::string& message);

/// Throws Error{kInvalidArgument} that names the setting unless 0 < value < 1: confidence levels, alphas, powers.
void require_fraction(double value, const char* name);

/// Throws unless the value is finite.
void require_finite(double value, const char* name);

/// Throws unless the value is finite and above 0: margins, sigmas, degrees of freedom.
void require_positive(double value, const char* name);

/// Throws unless count >= min.
void require_count(long count, long min, const char* name);

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
