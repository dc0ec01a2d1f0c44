/// Distribution functions, by Boost.Math where it is exact and by integration where it is not (non-central t). Thread-
/// safe. Arguments outside the domain throw Error{kInvalidArgument}. Relative error below 1e-10 down to tails of 1e-30,
/// except near p = 1, where it is that of 1 - p.
///
/// Non-central t and the power of equivalence tests are expectations over an estimated spread: the estimated standard
/// deviation is e^U times the true one, with e^U = sqrt(X / df) and X chi-squared.
#pragma once

#include <functional>
#include <limits>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

double normal_density(double x);
double normal_cdf(double x);    ///< P(Z <= x)
double normal_upper(double x);  ///< P(Z > x), without the cancellation of 1 - cdf
double normal_quantile(double p);

/// Student's t; `df` above 0, not necessarily whole; infinity is the normal distribution.
double t_cdf(double t, double df);
double t_upper(double t, double df);
double t_quantile(double p, double df);

/// p-value of a statistic whose null distribution is Student's t.
double t_p_value(double t, double df, Tail tail);

/// Half-width in standard errors of a two-sided interval: t_quantile((1 + level) / 2, df) without the cancellation.
double t_critical(double level, double df);

/// F with `first` and `second` degrees of freedom, above 0: P(F <= f) and P(F > f). f >= 0.
double f_cdf(double f, double first, double second);
double f_upper(double f, double first, double second);

/// Derivatives of the logarithm of the gamma function, for x > 0; and the x whose trigamma is `value` > 0.
double digamma(double x);
double trigamma(double x);
double inverse_trigamma(double value);

/// Non-central t: the distribution of (Z + shift) / sqrt(X / df), X chi-squared with df degrees of freedom. By
/// integration (integrate_over_spread), because Boost 1.74 loses its digits in the tails. 10 us to 1 ms.
double noncentral_t_cdf(double t, double df, double shift);
double noncentral_t_upper(double t, double df, double shift);

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
