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

double critical(double level, double df) {
  return -t_quantile((1.0 - level) / 2.0, df);
}

bool is_complete(const EqualLossInput& input) {
  return input.seconds.is_usable() && is_known(input.gain) && std::isfinite(input.loss_change) &&
         std::isfinite(input.reference_s) && input.reference_s > 0.0;
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

std::optional<double> slope_of(std::span<const SlopePoint> points) {
  const std::optional<LineSums> sums = sums_of(points);
  return sums ? std::optional(sums->slope) : std::nullopt;
}

EqualLoss at_equal_loss(const EqualLossInput& input, double level) {
  require_fraction(level, "the confidence level");
  if (!is_complete(input)) return {};
  EqualLoss result;
  result.status = EqualLoss::Status::kSlopeUncertain;
  if (!(input.gain.value > 0.0)) return result;
  const double relative = input.gain.se / input.gain.value;  // error of the gain
  const double reach = relative * critical(level, input.gain.df);
  const double by_gain = reach * reach;
  if (!(by_gain < 1.0)) return result;
  const double by_loss = input.loss_change / input.gain.value, by_time = input.seconds.value - by_loss;
  const std::array<Term, 2> terms = {
      {{.factor = 1.0, .estimate = input.seconds},
       {.factor = 1.0, .estimate = {.value = 0.0, .se = std::abs(by_loss) * relative, .df = input.gain.df}}}};
  const std::optional<Estimate> estimate = combine(terms);
  if (!estimate) return {};
  const double half = critical(level, input.seconds.df) * input.seconds.se;
  const double root = std::sqrt(by_gain * by_loss * by_loss + (1.0 - by_gain) * half * half);
  const auto seconds_of = [&](double on_log_scale) {
    return input.reference_s * std::expm1(on_log_scale / input.reference_s);
  };
  result.status = EqualLoss::Status::kConverted;
  result.seconds = seconds_of(input.seconds.value);
  result.interval = {.low = seconds_of(by_time + (by_loss - root) / (1.0 - by_gain)),
                     .high = seconds_of(by_time + (by_loss + root) / (1.0 - by_gain)),
                     .level = level};
  result.as_if_known = input.seconds;
  result.estimate = *estimate;
  return result;
}

}  // namespace nanobench::reports
