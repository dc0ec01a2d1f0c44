#include "reports/stats/distributions.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "reports/stats/checks.h"
#include "reports/stats/spread_integral.h"

namespace nanobench::reports {
namespace {

// Beyond the largest double a quantile is infinite, and below the smallest a probability is 0: no exceptions for these.
using Policy =
    boost::math::policies::policy<boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::underflow_error<boost::math::policies::ignore_error>>;
using Normal = boost::math::normal_distribution<double, Policy>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double normal_density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
}

double normal_cdf(double x) {
  return normal_upper(-x);
}

double normal_upper(double x) {
  return 0.5 * std::erfc(x / std::numbers::sqrt2);
}

double normal_quantile(double p) {
  require_fraction(p, "the probability");
  return boost::math::quantile(Normal(), p);
}

double t_cdf(double t, double df) {
  return t_upper(-t, df);
}

double t_upper(double t, double df) {
  require_finite(t, "t");
  if (df == kInfinity) return normal_upper(t);
  require_positive(df, "the degrees of freedom");
  return boost::math::cdf(boost::math::complement(StudentsT(df), t));
}

double t_quantile(double p, double df) {
  if (df == kInfinity) return normal_quantile(p);
  require_fraction(p, "the probability");
  require_positive(df, "the degrees of freedom");
  return boost::math::quantile(StudentsT(df), p);
}

double t_p_value(double t, double df, Tail tail) {
  switch (tail) {
    case Tail::kLess: return t_cdf(t, df);
    case Tail::kGreater: return t_upper(t, df);
    case Tail::kTwoSided: break;
  }
  return std::min(1.0, 2.0 * t_upper(std::abs(t), df));
}

double t_critical(double level, double df) {
  require_fraction(level, "the confidence level");
  return -t_quantile((1.0 - level) / 2.0, df);
}

double noncentral_t_cdf(double t, double df, double shift) {
  return noncentral_t_upper(-t, df, -shift);
}

double noncentral_t_upper(double t, double df, double shift) {
  require_finite(t, "t");
  require_finite(shift, "the shift");
  if (df == kInfinity) return normal_upper(t - shift);
  require_positive(df, "the degrees of freedom");
  return integrate_over_spread([&](double u) { return normal_upper(t * std::exp(u) - shift); }, df, std::abs(t));
}

}  // namespace nanobench::reports
