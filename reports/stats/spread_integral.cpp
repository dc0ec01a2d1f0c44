#include "reports/stats/spread_integral.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>

namespace nanobench::reports {
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

  /// Neither the density nor f bends within it.
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
