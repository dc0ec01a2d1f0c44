/// Words that all statistics here share. The rule of this folder: data that cannot answer (too few values, no spread, a
/// value that is not finite) gives nullopt; a setting that makes no sense (level, margin, target, count) throws
/// Error{kInvalidArgument}. Nothing returns NaN.
/// Checks of settings, one sentence each. Thread-safe.
#pragma once

namespace nanobench::reports {

/// Where the true value lies, at the given confidence. A one-sided bound has an infinite end.
struct ConfidenceInterval {
  double low = 0.0;
  double high = 0.0;
  double level = 0.0;  ///< 0.95: holds the true value 95 times in 100

  bool contains(double value) const { return low <= value && value <= high; }
};

/// What the alternative hypothesis says of the true value: below, above, or other than the null's.
enum class Tail { kLess, kGreater, kTwoSided };

/// Throws Error{kInvalidArgument} that names the setting unless 0 < value < 1: confidence levels, alphas, powers.
void require_fraction(double value, const char* name);

/// Throws unless the value is finite.
void require_finite(double value, const char* name);

/// Throws unless the value is finite and above 0: margins, sigmas, degrees of freedom.
void require_positive(double value, const char* name);

/// Throws unless count >= least.
void require_count(long count, long least, const char* name);

}  // namespace nanobench::reports
