/// Checks of settings, one sentence each. Thread-safe.
#pragma once

namespace nanobench::reports {

/// Throws Error{kInvalidArgument} that names the setting unless 0 < value < 1: confidence levels, alphas, powers.
void require_fraction(double value, const char* name);

/// Throws unless the value is finite.
void require_finite(double value, const char* name);

/// Throws unless the value is finite and above 0: margins, sigmas, degrees of freedom.
void require_positive(double value, const char* name);

/// Throws unless count >= least.
void require_count(long count, long least, const char* name);

}  // namespace nanobench::reports
