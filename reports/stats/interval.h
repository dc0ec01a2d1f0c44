/// Words that all statistics here share. The rule of this folder: data that cannot answer (too few values, no spread, a
/// value that is not finite) gives nullopt; a setting that makes no sense (level, margin, target, count) throws
/// Error{kInvalidArgument}. Nothing returns NaN.
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

}  // namespace nanobench::reports
