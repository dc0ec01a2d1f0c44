/// Distribution functions, by Boost.Math where it is exact and by integration where it is not (non-central t). Thread-
/// safe. Arguments outside the domain throw Error{kInvalidArgument}. Relative error below 1e-10 down to tails of 1e-30,
/// except near p = 1, where it is that of 1 - p.
#pragma once

#include "reports/stats/interval.h"

namespace nanobench::reports {

double normal_density(double x);
double normal_cdf(double x);    ///< P(Z <= x)
double normal_upper(double x);  ///< P(Z > x), without the cancellation of 1 - cdf
double normal_quantile(double p);

/// Student's t; `df` above 0, not necessarily whole.
double t_cdf(double t, double df);
double t_upper(double t, double df);
double t_quantile(double p, double df);

/// p-value of a statistic whose null distribution is Student's t.
double t_p_value(double t, double df, Tail tail);

/// Half-width in standard errors of a two-sided interval: t_quantile((1 + level) / 2, df) without the cancellation.
double t_critical(double level, double df);

/// Non-central t: the distribution of (Z + shift) / sqrt(X / df), X chi-squared with df degrees of freedom.
/// Boost 1.74 fails in its tails, so both integrate the normal tail over the distribution of sqrt(X / df) by the
/// trapezoidal rule in its logarithm: all terms are positive, so far tails keep their digits too. 10 to 500 us.
double noncentral_t_cdf(double t, double df, double shift);
double noncentral_t_upper(double t, double df, double shift);

/// Logarithm of the density of U = log sqrt(X / df) at `u`; X is chi-squared with df degrees of freedom. What power
/// calculations integrate over: the estimated spread is e^U times the true one.
double log_spread_density(double u, double df);

}  // namespace nanobench::reports
