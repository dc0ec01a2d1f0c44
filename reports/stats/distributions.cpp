#include "reports/stats/distributions.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "reports/stats/checks.h"

namespace nanobench::reports {
namespace {

// Beyond the largest double a quantile is infinite, and below the smallest a probability is 0: no exceptions for these.
using Policy =
    boost::math::policies::policy<boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::underflow_error<boost::math::policies::ignore_error>>;
using Normal = boost::math::normal_distribution<double, Policy>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;

/// log Gamma(x) - x log x + x, without the cancellation of the large terms: Stirling's series for large x.
double gamma_remainder(double x) {
  if (x < 16.0) return boost::math::lgamma(x, Policy()) - x * std::log(x) + x;
  const double inverse = 1.0 / x;
  const double square = inverse * inverse;
  const double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
  return 0.5 * std::log(2.0 * std::numbers::pi * inverse) + series;
}

/// P(Z + shift > t s) as a function of u = log s, times the density of u; the integrand of the upper tail.
struct UpperTail {
  double t;
  double df;
  double shift;

  double log_at(double u) const {
    const double s = std::exp(u);
    const double tail = normal_upper(t * s - shift);
    if (tail == 0.0) return -std::numeric_limits<double>::infinity();
    return std::log(tail) + log_spread_density(u, df);
  }

  /// The log-density of u has this width about 0; the normal tail bends within 1 / |shift|.
  double step() const { return std::min(1.0 / std::sqrt(2.0 * df), 1.0 / (1.0 + std::abs(shift))) / 2.5; }
};

/// Where the integrand is largest. It has one mode: climbing with growing, then shrinking steps finds it.
double mode_of(const UpperTail& tail) {
  double at = 0.0;
  double height = tail.log_at(at);
  // A far tail may be 0 in double precision at u = 0; smaller s brings it back.
  while (!std::isfinite(height) && at > -700.0) height = tail.log_at(at -= 0.5);
  for (double stride = 0.5; stride > tail.step() / 4.0;) {
    const double right = tail.log_at(at + stride);
    const double left = tail.log_at(at - stride);
    if (right > height) {
      at += stride;
      height = right;
    } else if (left > height) {
      at -= stride;
      height = left;
    } else {
      stride /= 2.0;
    }
  }
  return at;
}

double integrate(const UpperTail& tail) {
  const double start = mode_of(tail);
  const double step = tail.step();
  double sum = 0.0;
  for (const double direction : {1.0, -1.0}) {
    for (long i = direction > 0.0 ? 0 : 1;; ++i) {
      const double term = std::exp(tail.log_at(start + direction * static_cast<double>(i) * step));
      sum += term;
      if (term <= 1e-18 * sum) break;
    }
  }
  return std::min(1.0, sum * step);
}

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
  require_positive(df, "the degrees of freedom");
  return boost::math::cdf(boost::math::complement(StudentsT(df), t));
}

double t_quantile(double p, double df) {
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
  require_positive(df, "the degrees of freedom");
  return integrate({.t = t, .df = df, .shift = shift});
}

double log_spread_density(double u, double df) {
  const double half = df / 2.0;
  return std::numbers::ln2 - gamma_remainder(half) - half * (std::expm1(2.0 * u) - 2.0 * u);
}

}  // namespace nanobench::reports
