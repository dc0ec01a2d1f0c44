#include "reports/stats/power.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/error.h"
#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {
namespace {

void check(const PlannedError& error) {
  require_positive(error.se, "the planned standard error");
  require_positive(error.df, "the planned degrees of freedom");
}

/// Power as a function of effect / se.
double power_at(double shift, double df, const PowerSettings& settings) {
  const double critical = -t_quantile(settings.is_two_sided ? settings.alpha / 2.0 : settings.alpha, df);
  const double above = noncentral_t_upper(critical, df, shift);
  return settings.is_two_sided ? std::min(1.0, above + noncentral_t_cdf(-critical, df, shift)) : above;
}

/// The smallest n in [2, max] for which `holds` is true; once true, it must stay true. nullopt if there is none.
std::optional<int> smallest_runs(int max, const std::function<bool(int)>& holds) {
  int high = 2;
  int low = 1;  // does not hold
  while (!holds(high)) {
    if (high == max) return std::nullopt;
    low = high;
    high = high > max / 2 ? max : 2 * high;
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

/// P(-low + t e^u < Z' < high - t e^u): both tests reject, given that the spread is estimated e^u times too large.
struct EquivalenceTail {
  double to_low;   ///< (effect + low margin) / se
  double to_high;  ///< (high margin - effect) / se
  double critical;

  double at(double u) const {
    const double reach = critical * std::exp(u);
    // P(reach - to_low < Z < to_high - reach)
    return std::max(0.0, normal_upper(reach - to_low) - normal_upper(to_high - reach));
  }
};

/// P(Z' is beyond the reach of noise and yet inside the margin), on one side of 0: both tests of a verdict pass.
double both_power(double shift, double margin, double df, const VerdictTests& tests) {
  const double difference = -t_quantile(tests.alpha_difference / 2.0, df);
  const double equivalence = -t_quantile(tests.alpha_equivalence, df);
  const auto at = [&](double u) {
    const double reach = difference * std::exp(u), held = margin - equivalence * std::exp(u);
    return std::max(0.0, normal_upper(reach - shift) - normal_upper(held - shift));
  };
  const double critical = difference + equivalence;
  return integrate_over_spread(at, df, critical, std::log(margin / critical));
}

/// An estimated spread in units of the true one, as a few values with weights whose sum is 1.
struct SpreadValue {
  double value = 0.0;
  double weight = 0.0;
};

std::vector<SpreadValue> spread_values(double df) {
  using Gauss = boost::math::quadrature::gauss<double, 10>;
  constexpr int kPanels = 5;
  constexpr double kNegligible = 20.0;  // of the density's logarithm, below its mode at 0
  const double top = log_spread_density(0.0, df), step = 0.5 / std::sqrt(df);
  double low = -step, high = step;
  while (log_spread_density(low, df) > top - kNegligible) low -= step;
  while (log_spread_density(high, df) > top - kNegligible) high += step;
  const double half = (high - low) / (2.0 * kPanels);
  std::vector<SpreadValue> values;
  for (int panel = 0; panel < kPanels; ++panel) {
    const double centre = low + half * (2.0 * panel + 1.0);
    for (std::size_t i = 0; i < Gauss::abscissa().size(); ++i) {
      for (const double side : {-1.0, 1.0}) {
        const double u = centre + side * half * Gauss::abscissa()[i];
        values.push_back(
            {.value = std::exp(u), .weight = half * Gauss::weights()[i] * std::exp(log_spread_density(u, df))});
      }
    }
  }
  return values;
}

/// Power when the planned spread is an estimate too: the mean over both estimates, the planned one and the test's own.
class PredictivePower {
 public:
  PredictivePower(double df, double spread_df, const PowerSettings& settings)
      : own_(spread_values(df)),
        planned_(spread_values(spread_df)),
        critical_(-t_quantile(settings.is_two_sided ? settings.alpha / 2.0 : settings.alpha, df)),
        is_two_sided_(settings.is_two_sided) {}

  /// `effect` in planned standard errors.
  double at(double effect) const {
    double sum = 0.0;
    for (const SpreadValue& planned : planned_) {
      const double shift = effect * planned.value;
      for (const SpreadValue& own : own_) {
        const double reach = critical_ * own.value;
        const double found = normal_upper(reach - shift) + (is_two_sided_ ? normal_upper(reach + shift) : 0.0);
        sum += planned.weight * own.weight * found;
      }
    }
    return sum;
  }

 private:
  std::vector<SpreadValue> own_;
  std::vector<SpreadValue> planned_;
  double critical_;
  bool is_two_sided_;
};

}  // namespace

PlannedError planned_error(double sd, int n) {
  require_positive(sd, "the standard deviation");
  require_count(n, 2, "the number of runs");
  return {.se = sd / std::sqrt(n), .df = n - 1.0};
}

PlannedError planned_error(double first_sd, int first_n, double second_sd, int second_n) {
  const PlannedError first = planned_error(first_sd, first_n);
  const PlannedError second = planned_error(second_sd, second_n);
  const double se = std::hypot(first.se, second.se);
  const double one = std::pow(first.se / se, 4.0) / first.df;
  const double two = std::pow(second.se / se, 4.0) / second.df;
  return {.se = se, .df = 1.0 / (one + two)};
}

double power_of(double effect, const PlannedError& error, const PowerSettings& settings) {
  require_finite(effect, "the effect");
  require_fraction(settings.alpha, "alpha");
  check(error);
  return power_at(effect / error.se, error.df, settings);
}

namespace {

void check(const PlannedError& error, double power, const PowerSettings& settings) {
  require_fraction(settings.alpha, "alpha");
  require_fraction(power, "the power");
  check(error);
  if (power <= settings.alpha) {
    throw core::Error(core::ErrorCode::kInvalidArgument, "the power must be above alpha, which no effect at all has");
  }
}

}  // namespace

double minimum_detectable_effect(const PlannedError& error, double power, const PowerSettings& settings) {
  check(error, power, settings);
  double low = 0.0;
  double high = 1.0;
  while (power_at(high, error.df, settings) < power) {
    low = high;
    high *= 2.0;
  }
  while (high - low > 1e-12 * high) {
    const double middle = low + (high - low) / 2.0;
    (power_at(middle, error.df, settings) < power ? low : high) = middle;
  }
  return high * error.se;
}

double predictive_detectable_effect(const PlannedError& error, double spread_df, double power,
                                    const PowerSettings& settings) {
  check(error, power, settings);
  require_positive(spread_df, "the degrees of freedom of the spread");
  const PredictivePower predictive(error.df, spread_df, settings);
  const auto excess = [&](double effect) { return predictive.at(effect) - power; };
  double low = 1.0;
  while (excess(low) > 0.0) low /= 2.0;
  double high = 2.0 * low;
  while (excess(high) < 0.0) high *= 2.0;
  std::uintmax_t rounds = 60;
  const boost::math::tools::eps_tolerance<double> tolerance(24);
  return boost::math::tools::toms748_solve(excess, low, high, tolerance, rounds).second * error.se;
}

double predictive_power(double effect, const PlannedError& error, double spread_df, const PowerSettings& settings) {
  require_finite(effect, "the effect");
  require_fraction(settings.alpha, "alpha");
  require_positive(spread_df, "the degrees of freedom of the spread");
  check(error);
  return PredictivePower(error.df, spread_df, settings).at(effect / error.se);
}

std::optional<int> required_runs(double effect, const ErrorOfRuns& error, double power, const PowerSettings& settings,
                                 int max) {
  require_fraction(power, "the power");
  require_count(max, 2, "the max runs");
  if (effect == 0.0) {
    throw core::Error(core::ErrorCode::kInvalidArgument, "no number of runs detects an effect of 0; name one");
  }
  const double size = settings.is_two_sided ? effect : std::abs(effect);
  return smallest_runs(max, [&](int n) { return power_of(size, error(n), settings) >= power; });
}

double equivalence_power(double effect, const PlannedError& error, const Margins& margins, double alpha) {
  require_finite(effect, "the effect");
  require_positive(margins.low, "the lower margin");
  require_positive(margins.high, "the upper margin");
  require_fraction(alpha, "alpha");
  check(error);
  const EquivalenceTail tail{.to_low = (effect + margins.low) / error.se,
                             .to_high = (margins.high - effect) / error.se,
                             .critical = -t_quantile(alpha, error.df)};
  // Beyond this spread the tests cannot both reject; there the integrand has a kink, so the range ends at it.
  const double end = std::log((margins.low + margins.high) / (2.0 * error.se * tail.critical));
  return integrate_over_spread([&](double u) { return tail.at(u); }, error.df, tail.critical, end);
}

std::optional<int> required_runs_for_equivalence(double effect, const ErrorOfRuns& error, const Margins& margins,
                                                 double power, double alpha, int max) {
  require_fraction(power, "the power");
  require_count(max, 2, "the max runs");
  if (effect <= -margins.low || effect >= margins.high) return std::nullopt;
  return smallest_runs(max, [&](int n) { return equivalence_power(effect, error(n), margins, alpha) >= power; });
}

double verdict_power(double effect, const PlannedError& error, const VerdictTests& tests) {
  const double different = power_of(effect, error, {.alpha = tests.alpha_difference});
  const double equivalent = equivalence_power(effect, error, tests.margins, tests.alpha_equivalence);
  const double shift = effect / error.se;
  const double both = both_power(shift, tests.margins.high / error.se, error.df, tests) +
                      both_power(-shift, tests.margins.low / error.se, error.df, tests);
  return std::clamp(different + equivalent - both, 0.0, 1.0);
}

std::optional<int> required_runs_for_verdict(double effect, const ErrorOfRuns& error, const VerdictTests& tests,
                                             double power, int max) {
  require_fraction(power, "the power");
  require_count(max, 2, "the max runs");
  return smallest_runs(max, [&](int n) { return verdict_power(effect, error(n), tests) >= power; });
}

}  // namespace nanobench::reports
