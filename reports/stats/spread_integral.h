/// Expectations over what a sample makes of a spread: the estimated standard deviation is e^U times the true one, with
/// e^U = sqrt(X / df) and X chi-squared. Non-central t and the power of equivalence tests are such integrals. Pure,
/// thread-safe.
#pragma once

#include <functional>
#include <limits>

namespace nanobench::reports {

/// Logarithm of U's density at `u`.
double log_spread_density(double u, double df);

/// Integral of f(u) times U's density, from minus infinity to `end`.
///   f       0 <= f <= 1, with one mode when multiplied by the density, and no kink below `end`
///   slope   f bends within 1 / (slope * e^u) at the fastest
/// Gauss-Legendre panels of that width outward from the mode, until nothing is added: all terms are positive, so a
/// result of 1e-30 keeps its digits. 1e-12 relative where f itself has them.
double integrate_over_spread(const std::function<double(double)>& f, double df, double slope,
                             double end = std::numeric_limits<double>::infinity());

}  // namespace nanobench::reports
