#include "reports/stats/distributions.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "reports/stats/estimate.h"

namespace nanobench::reports {
namespace {

// A quantile beyond the largest double becomes infinity, and a probability below the smallest becomes 0: neither
// throws.
using Policy =
    boost::math::policies::policy<boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::underflow_error<boost::math::policies::ignore_error>>;
using Normal = boost::math::normal_distribution<double, Policy>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;
using FisherF = boost::math::fisher_f_distribution<double, Policy>;

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

namespace {

FisherF f_distribution(double f, double first, double second) {
  if (!(f >= 0.0)) refuse("F must be 0 or above");
  require_positive(first, "the first degrees of freedom");
  require_positive(second, "the second degrees of freedom");
  return FisherF(first, second);
}

}  // namespace

double f_cdf(double f, double first, double second) {
  return boost::math::cdf(f_distribution(f, first, second), f);
}

double f_upper(double f, double first, double second) {
  return boost::math::cdf(boost::math::complement(f_distribution(f, first, second), f));
}

double digamma(double x) {
  require_positive(x, "x");
  return boost::math::digamma(x, Policy());
}

double trigamma(double x) {
  require_positive(x, "x");
  return boost::math::trigamma(x, Policy());
}

double inverse_trigamma(double value) {
  require_positive(value, "the trigamma");
  // trigamma falls from infinity to 0.
  double low = std::min(1.0 / std::sqrt(value), 1.0 / value) / 2.0, high = 1.0 / std::sqrt(value) + 1.0 / value + 1.0;
  while (high - low > 1e-14 * high) {
    const double middle = low + (high - low) / 2.0;
    if (middle <= low || middle >= high) break;
    (trigamma(middle) > value ? low : high) = middle;
  }
  return low + (high - low) / 2.0;
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

namespace {

/// log Gamma(x) - x log x + x, without the cancellation of the large terms: Stirling's series for large x.
double gamma_remainder(double x) {
  if (x < 16.0) return boost::math::lgamma(x) - x * std::log(x) + x;
  const double inverse = 1.0 / x;
  const double square = inverse * inverse;
  const double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
  return 0.5 * std::log(2.0 * std::numbers::pi * inverse) + series;
}

struct Integrand {
  const std::function<double(double)>& f;
  double df;
  double slope;
  double end;

  double operator()(double u) const {
    const double value = f(u);
    return value > 0.0 ? value * std::exp(log_spread_density(u, df)) : 0.0;
  }

  double log_at(double u) const {
    if (u >= end) return -std::numeric_limits<double>::infinity();
    return std::log(std::max(0.0, f(u))) + log_spread_density(u, df);
  }

  /// A width within which neither the density nor f bends.
  double panel(double u) const {
    const double width = std::min(1.0, 1.0 / std::sqrt(2.0 * df));
    return std::min(width, 1.0 / (1.0 + slope * std::exp(u + width)));
  }
};

double mode_of(const Integrand& integrand) {
  const double finest = 0.25 * integrand.panel(0.0);
  double at = std::min(0.0, integrand.end - finest);
  double height = integrand.log_at(at);
  // A far tail may be 0 in double precision here; a smaller spread brings it back.
  while (!std::isfinite(height) && at > -700.0) height = integrand.log_at(at -= 0.5);
  for (double stride = 0.5; stride > finest;) {
    const double right = integrand.log_at(at + stride);
    const double left = integrand.log_at(at - stride);
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

}  // namespace

double log_spread_density(double u, double df) {
  const double half = df / 2.0;
  return std::numbers::ln2 - gamma_remainder(half) - half * (std::expm1(2.0 * u) - 2.0 * u);
}

double integrate_over_spread(const std::function<double(double)>& f, double df, double slope, double end) {
  using Gauss = boost::math::quadrature::gauss<double, 20>;
  const Integrand integrand{.f = f, .df = df, .slope = slope, .end = end};
  const double mode = mode_of(integrand);
  constexpr double kNothing = 1e-18;
  double sum = 0.0;
  double part = 1.0;
  for (double u = mode; u < end && part > kNothing * sum;) {
    const double next = std::min(end, u + integrand.panel(u));
    part = Gauss::integrate(integrand, u, next);
    sum += part;
    u = next;
  }
  part = 1.0;
  for (double u = mode; part > kNothing * sum;) {
    const double next = u - integrand.panel(u);
    part = Gauss::integrate(integrand, next, u);
    sum += part;
    u = next;
  }
  return std::min(1.0, sum);
}

}  // namespace nanobench::reports
