#include "reports/stats/loss_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"

namespace nanobench::reports {

TimeToTarget time_to_target(const std::vector<CurvePoint>& curve, double target) {
  TimeToTarget result;
  const CurvePoint* previous = nullptr;
  for (const CurvePoint& point : curve) {
    if (!std::isfinite(point.loss)) continue;
    if (point.clock_s) result.status = TimeToTarget::Status::kNotReached;
    if (point.loss > target) {
      previous = &point;
      continue;
    }
    if (!point.clock_s) return {.status = TimeToTarget::Status::kBeforeClock};
    result = {.status = TimeToTarget::Status::kReached, .seconds = *point.clock_s};
    if (previous != nullptr) {
      const double start = previous->clock_s.value_or(0.0);
      const double fraction = (previous->loss - target) / (previous->loss - point.loss);
      result.seconds = start + fraction * (*point.clock_s - start);
    }
    return result;
  }
  return result;
}

namespace {

bool is_usable(const SlopePoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.loss) && std::isfinite(point.weight) && point.weight > 0.0;
}

/// Weighted sums about the weighted means.
struct LineSums {
  double x = 0.0;
  double loss = 0.0;
  double slope = 0.0;
  double squares_of_x = 0.0;
};

std::optional<LineSums> sums_of(std::span<const SlopePoint> points) {
  if (points.size() < 2 || !std::all_of(points.begin(), points.end(), is_usable)) return std::nullopt;
  std::vector<double> weights;
  std::vector<double> xs;
  std::vector<double> losses;
  for (const SlopePoint& point : points) {
    weights.push_back(point.weight);
    xs.push_back(point.weight * point.x);
    losses.push_back(point.weight * point.loss);
  }
  const double weight = compensated_sum(weights);
  LineSums sums{.x = compensated_sum(xs) / weight, .loss = compensated_sum(losses) / weight};
  std::vector<double> products;
  std::vector<double> squares;
  for (const SlopePoint& point : points) {
    products.push_back(point.weight * (point.x - sums.x) * (point.loss - sums.loss));
    squares.push_back(point.weight * (point.x - sums.x) * (point.x - sums.x));
  }
  sums.squares_of_x = compensated_sum(squares);
  if (!(sums.squares_of_x > 0.0)) return std::nullopt;
  sums.slope = compensated_sum(products) / sums.squares_of_x;
  if (!std::isfinite(sums.slope)) return std::nullopt;
  return sums;
}

/// An estimate whose error may also be 0.
bool is_known(const Estimate& estimate) {
  return std::isfinite(estimate.value) && std::isfinite(estimate.se) && estimate.se >= 0.0 && estimate.df > 0.0;
}

struct Limits {
  double low = 0.0;
  double high = 0.0;
};

/// Fieller's limits of numerator / denominator, which must be independent; nullopt if the denominator may be 0.
std::optional<Limits> fieller(const Estimate& numerator, const Estimate& denominator, double t) {
  const double m = denominator.value;
  const double ratio = numerator.value / m;
  const double g = t * denominator.se / m * (t * denominator.se / m);
  if (!(g < 1.0)) return std::nullopt;
  const double spread = (1.0 - g) * numerator.se * numerator.se + ratio * ratio * denominator.se * denominator.se;
  const double half = t / std::abs(m) * std::sqrt(spread);
  return Limits{.low = (ratio - half) / (1.0 - g), .high = (ratio + half) / (1.0 - g)};
}

double critical(double level, double df) {
  return -t_quantile((1.0 - level) / 2.0, df);
}

/// Limits of the time from those of its two uncertain factors: squares of the distances add.
Limits join(const EqualLossInput& input, double steps, const Limits& steps_limits, double seconds, double level) {
  const Estimate& ratio = input.step_time_ratio;
  const double by_ratio =
      ratio.se > 0.0 ? critical(level, ratio.df) * ratio.se * std::abs(input.steps + steps) * input.step_s : 0.0;
  const double low = ratio.value * (steps - steps_limits.low) * input.step_s;
  const double high = ratio.value * (steps_limits.high - steps) * input.step_s;
  return {.low = seconds - std::hypot(low, by_ratio), .high = seconds + std::hypot(high, by_ratio)};
}

bool is_complete(const EqualLossInput& input) {
  return is_known(input.loss_change) && is_known(input.slope) && is_known(input.step_time_ratio) &&
         input.step_time_ratio.value > 0.0 && std::isfinite(input.steps) && input.steps > 0.0 &&
         std::isfinite(input.step_s) && input.step_s > 0.0;
}

}  // namespace

std::vector<SlopePoint> in_window(std::span<const SlopePoint> points, double from, double to) {
  std::vector<SlopePoint> inside;
  std::copy_if(points.begin(), points.end(), std::back_inserter(inside),
               [from, to](const SlopePoint& point) { return from <= point.x && point.x <= to; });
  return inside;
}

std::vector<SlopePoint> near_target(std::span<const SlopePoint> points, double target_loss, std::size_t count) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto distance = [&](std::size_t i) {
    const double value = std::abs(points[i].loss - target_loss);
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  order.resize(std::min(count, order.size()));
  std::sort(order.begin(), order.end());
  std::vector<SlopePoint> nearest;
  for (const std::size_t i : order) nearest.push_back(points[i]);
  return nearest;
}

std::optional<LineFit> fit_line(std::span<const SlopePoint> points) {
  const std::optional<LineSums> sums = sums_of(points);
  if (points.size() < 3 || !sums) return std::nullopt;
  double squares = 0.0;
  double magnitude = 0.0;
  for (const SlopePoint& point : points) {
    const double residual = point.loss - sums->loss - sums->slope * (point.x - sums->x);
    squares += point.weight * residual * residual;
    magnitude = std::max(magnitude, std::sqrt(point.weight) * std::abs(point.loss));
  }
  const double df = static_cast<double>(points.size()) - 2.0;
  const double sd = std::sqrt(squares / df);
  if (!(sd > 4.0 * std::numeric_limits<double>::epsilon() * magnitude)) return std::nullopt;
  return LineFit{.slope = {.value = sums->slope, .se = sd / std::sqrt(sums->squares_of_x), .df = df},
                 .loss = sums->loss,
                 .x = sums->x,
                 .residual_sd = sd};
}

std::optional<Estimate> slope_over_runs(std::span<const std::vector<SlopePoint>> runs) {
  std::vector<double> slopes;
  for (const std::vector<SlopePoint>& run : runs) {
    const std::optional<LineSums> sums = sums_of(run);
    if (!sums) return std::nullopt;
    slopes.push_back(sums->slope);
  }
  const std::optional<Moments> moments = moments_of(slopes);
  if (!moments || !moments->has_spread()) return std::nullopt;
  return estimate_of(*moments);
}

EqualLoss at_equal_loss(const EqualLossInput& input, double level) {
  require_fraction(level, "the confidence level");
  if (!is_complete(input)) return {};
  EqualLoss result{.status = EqualLoss::Status::kSlopeUncertain};
  const Estimate gain{.value = -input.slope.value, .se = input.slope.se, .df = input.slope.df};
  if (gain.value <= critical(level, gain.df) * gain.se) return result;
  const double steps = input.loss_change.value / gain.value;
  const double ratio = input.step_time_ratio.value;
  const double seconds = ((input.steps + steps) * ratio - input.steps) * input.step_s;
  const std::array<Term, 3> terms = {
      {{.factor = ratio * input.step_s / gain.value, .estimate = input.loss_change},
       {.factor = -ratio * input.step_s * steps / gain.value, .estimate = gain},
       {.factor = (input.steps + steps) * input.step_s, .estimate = input.step_time_ratio}}};
  const std::optional<Estimate> steps_error = combine(std::span(terms).first(2));
  const std::optional<Estimate> seconds_error = combine(terms);
  if (!steps_error || !seconds_error) return {};
  const std::optional<Limits> limits = fieller(input.loss_change, gain, critical(level, steps_error->df));
  if (!limits) return result;
  result.status = EqualLoss::Status::kConverted;
  result.steps = {.value = steps, .se = steps_error->se / (ratio * input.step_s), .df = steps_error->df};
  result.steps_interval = {.low = limits->low, .high = limits->high, .level = level};
  result.seconds = {.value = seconds, .se = seconds_error->se, .df = seconds_error->df};
  const Limits joined = join(input, steps, *limits, seconds, level);
  result.seconds_interval = {.low = joined.low, .high = joined.high, .level = level};
  return result;
}

}  // namespace nanobench::reports
