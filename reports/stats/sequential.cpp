#include "reports/stats/sequential.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {
namespace {

using Gauss = boost::math::quadrature::gauss<double, 16>;

constexpr double kHighestZ = 8.0;
constexpr std::size_t kMaxLooks = 50;
constexpr double kMinStep = 0.002;

void check_information(std::span<const double> information) {
  if (information.empty() || information.size() > kMaxLooks) refuse("a sequential plan has 1 to 50 looks");
  double before = 0.0;
  for (const double fraction : information) {
    if (!(fraction - before >= kMinStep)) refuse("looks stand at ascending fractions, at min 0.002 apart");
    before = fraction;
  }
  if (std::abs(information.back() - 1.0) > 1e-12) refuse("the last look stands at fraction 1");
}

void check(const SequentialSettings& settings) {
  if (!(settings.alpha > 0.0 && settings.alpha < 0.5)) refuse("alpha must be between 0 and 0.5, without the ends");
  if (!(settings.spending_power >= 0.0 && settings.spending_power <= 10.0))
    refuse("the power of a spending function lies between 0 and 10");
}

/// The density of the score (a Brownian motion at the looks' times) as long as no boundary has been crossed, on the
/// nodes of a quadrature rule.
class Walk {
 public:
  Walk(double drift, bool is_two_sided) : drift_(drift), is_two_sided_(is_two_sided) {}

  /// Probability of crossing the upper boundary z at the next look, without an earlier crossing.
  double upper(double z, double time) const {
    return crossing(time, [&](double mean, double sd) { return normal_upper((z * std::sqrt(time) - mean) / sd); });
  }

  double lower(double z, double time) const {
    if (!is_two_sided_) return 0.0;
    return crossing(time, [&](double mean, double sd) { return normal_cdf((-z * std::sqrt(time) - mean) / sd); });
  }

  /// Advances to `time` between the boundaries; the look after it is `next_step` later.
  void advance(double z, double time, double next_step) {
    // Less than 1e-16 of the density is beyond 8.5 standard deviations.
    const double reach = 8.5 * std::sqrt(time);
    const double top = std::min(z * std::sqrt(time), drift_ * time + reach);
    const double bottom = std::max(is_two_sided_ ? -z * std::sqrt(time) : -kInfinity, drift_ * time - reach);
    const double width = 2.0 * std::sqrt(std::min(time - time_, next_step));
    Walk next(drift_, is_two_sided_);
    next.time_ = time;
    next.lay_nodes(bottom, top, width);
    for (std::size_t i = 0; i < next.nodes_.size(); ++i) next.weights_[i] *= density(next.nodes_[i], time);
    *this = std::move(next);
  }

 private:
  template <class Tail>
  double crossing(double time, Tail tail) const {
    const double step = time - time_;
    const double sd = std::sqrt(step);
    double sum = 0.0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) sum += weights_[i] * tail(nodes_[i] + drift_ * step, sd);
    return sum;
  }

  double density(double at, double time) const {
    return crossing(time, [at](double mean, double sd) { return normal_density((at - mean) / sd) / sd; });
  }

  /// Gauss-Legendre panels of at most `width` over [bottom, top].
  void lay_nodes(double bottom, double top, double width) {
    nodes_.clear();
    weights_.clear();
    if (!(top > bottom)) return;
    const int panels = static_cast<int>(std::ceil((top - bottom) / width));
    const double half = (top - bottom) / panels / 2.0;
    for (int i = 0; i < panels; ++i) {
      const double middle = bottom + (2.0 * i + 1.0) * half;
      for (std::size_t k = 0; k < Gauss::abscissa().size(); ++k) {
        for (const double sign : {-1.0, 1.0}) {
          nodes_.push_back(middle + sign * half * Gauss::abscissa()[k]);
          weights_.push_back(half * Gauss::weights()[k]);
        }
      }
    }
  }

  double drift_;
  bool is_two_sided_;
  double time_ = 0.0;
  std::vector<double> nodes_ = {0.0};  ///< scores
  std::vector<double> weights_ = {1.0};
};

/// The boundary whose upper crossing has this probability.
double boundary(const Walk& walk, double time, double probability) {
  double low = -kHighestZ;
  double high = kHighestZ;
  if (walk.upper(high, time) >= probability) return high;
  while (high - low > 1e-12) {
    const double middle = low + (high - low) / 2.0;
    (walk.upper(middle, time) > probability ? low : high) = middle;
  }
  return high;
}

double step_after(std::span<const double> information, std::size_t look) {
  return look + 1 < information.size() ? information[look + 1] - information[look] : 1.0;
}

std::vector<Look> looks_of(std::span<const double> information, const SequentialSettings& settings) {
  const double sides = settings.is_two_sided ? 2.0 : 1.0;
  Walk walk(0.0, settings.is_two_sided);
  std::vector<Look> looks;
  double spent = 0.0;
  for (std::size_t i = 0; i < information.size(); ++i) {
    Look look{.information = information[i], .spent = spent_by(information[i], settings)};
    look.z = boundary(walk, information[i], (look.spent - spent) / sides);
    look.nominal_p = sides * normal_upper(look.z);
    spent = look.spent;
    walk.advance(look.z, information[i], step_after(information, i));
    looks.push_back(look);
  }
  return looks;
}

bool crosses(const std::optional<double>& p, double limit) {
  if (!p) return false;
  if (!(*p >= 0.0 && *p <= 1.0)) refuse("a p-value must lie between 0 and 1");
  return *p < limit;
}

}  // namespace

double obrien_fleming_spending(double information, const SequentialSettings& settings) {
  check(settings);
  require_positive(information, "the fraction of information");
  const double sides = settings.is_two_sided ? 2.0 : 1.0;
  if (information >= 1.0) return settings.alpha;
  const double z = -normal_quantile(settings.alpha / sides / 2.0);
  return sides * 2.0 * normal_upper(z / std::sqrt(information));
}

double spent_by(double information, const SequentialSettings& settings) {
  if (settings.spending_power == 0.0) return obrien_fleming_spending(information, settings);
  check(settings);
  require_positive(information, "the fraction of information");
  return settings.alpha * std::pow(std::min(1.0, information), settings.spending_power);
}

double small_sample_guard(const SequentialSettings& settings) {
  constexpr double kObrienFlemingGuard = 0.85, kEarlySpendingGuard = 0.8;
  return settings.spending_power == 0.0 ? kObrienFlemingGuard : kEarlySpendingGuard;
}

std::vector<Look> sequential_looks(std::span<const double> information, const SequentialSettings& settings) {
  check(settings);
  check_information(information);
  std::vector<Look> looks = looks_of(information, settings);
  SequentialSettings one_side = settings;
  one_side.is_two_sided = false;
  const std::vector<Look> one_sided = looks_of(information, one_side);
  for (std::size_t i = 0; i < looks.size(); ++i) looks[i].equivalence_p = one_sided[i].nominal_p;
  return looks;
}

std::vector<Look> sequential_looks(int first, int max, int step, const SequentialSettings& settings) {
  require_count(first, 2, "the first look's runs");
  require_count(max, first, "the max runs");
  require_count(step, 1, "the runs between looks");
  std::vector<double> information;
  for (int runs = first; runs < max; runs += step) information.push_back(static_cast<double>(runs) / max);
  information.push_back(1.0);
  SequentialSettings guarded = settings;
  if (information.size() > 1) guarded.alpha *= small_sample_guard(settings);
  return sequential_looks(information, guarded);
}

int look_step(int first, int max) {
  constexpr int kSteps = static_cast<int>(kMaxLooks) - 1;
  return std::max(1, (max - first + kSteps - 1) / kSteps);
}

std::vector<double> crossing_probabilities(std::span<const double> z, std::span<const double> information, double drift,
                                           bool is_two_sided) {
  check_information(information);
  require_finite(drift, "the drift");
  if (z.size() != information.size()) refuse("every look needs one boundary");
  Walk walk(drift, is_two_sided);
  std::vector<double> crossed;
  double sum = 0.0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    require_finite(z[i], "a boundary");
    sum += walk.upper(z[i], information[i]) + walk.lower(z[i], information[i]);
    crossed.push_back(sum);
    walk.advance(z[i], information[i], step_after(information, i));
  }
  return crossed;
}

double conditional_power(double z, double information, double drift, double outer, double inner) {
  require_finite(z, "the statistic");
  require_finite(drift, "the drift");
  require_fraction(information, "the information");
  require_positive(outer, "the outer bound");
  const double mean = std::sqrt(information) * z + (1.0 - information) * drift;
  const double sd = std::sqrt(1.0 - information);
  const double beyond = normal_upper((outer - mean) / sd) + normal_cdf((-outer - mean) / sd);
  const double within = inner > 0.0 ? normal_cdf((inner - mean) / sd) - normal_cdf((-inner - mean) / sd) : 0.0;
  return std::min(1.0, beyond + within);
}

SequentialResult decide(std::span<const Look> plan, std::span<const LookEvidence> so_far) {
  if (so_far.size() > plan.size()) refuse("there is evidence of more looks than the plan has");
  for (std::size_t i = 0; i < so_far.size(); ++i) {
    const int look = static_cast<int>(i) + 1;
    if (crosses(so_far[i].p, plan[i].nominal_p)) return {.decision = SequentialDecision::kStopForEffect, .look = look};
    if (crosses(so_far[i].p_equivalence, plan[i].equivalence_p)) {
      return {.decision = SequentialDecision::kStopForEquivalence, .look = look};
    }
  }
  const bool is_over = so_far.size() == plan.size();
  return {.decision = is_over ? SequentialDecision::kStopAtEnd : SequentialDecision::kContinue,
          .look = static_cast<int>(so_far.size())};
}

}  // namespace nanobench::reports
