/// Types and checks that all statistics here share. The rule of this folder: data without an answer (too few values, no
/// spread, a value that is not finite) yield nullopt. A setting out of range (level, margin, target, count) throws
/// Error{kInvalidArgument}. Nothing returns NaN. Thread-safe.
#pragma once

#include <limits>
#include <string>

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

}  // namespace nanobench::reports
