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

/// Student's t; `df` above 0, not necessarily whole; infinity is the normal distribution.
double t_cdf(double t, double df);
double t_upper(double t, double df);
double t_quantile(double p, double df);

/// p-value of a statistic whose null distribution is Student's t.
double t_p_value(double t, double df, Tail tail);

/// Half-width in standard errors of a two-sided interval: t_quantile((1 + level) / 2, df) without the cancellation.
double t_critical(double level, double df);

/// Non-central t: the distribution of (Z + shift) / sqrt(X / df), X chi-squared with df degrees of freedom. By
/// integration (spread_integral.h), because Boost 1.74 loses its digits in the tails. 10 us to 1 ms.
double noncentral_t_cdf(double t, double df, double shift);
double noncentral_t_upper(double t, double df, double shift);

}  // namespace nanobench::reports
