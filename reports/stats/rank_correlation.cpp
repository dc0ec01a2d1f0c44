#include "reports/stats/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/base/random.h"
#include "reports/stats/distributions.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

/// Pearson's correlation; nullopt for a side without spread.
std::optional<double> product_moment(std::span<const double> first, std::span<const double> second) {
  const double n = static_cast<double>(first.size());
  const double mean_first = compensated_sum(first) / n;
  const double mean_second = compensated_sum(second) / n;
  double xx = 0.0, yy = 0.0, xy = 0.0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double x = first[i] - mean_first;
    const double y = second[i] - mean_second;
    xx += x * x;
    yy += y * y;
    xy += x * y;
  }
  if (!(xx > 0.0 && yy > 0.0)) return std::nullopt;
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

/// One end of the interval: `r` is moved outward by half a step, in the direction of `sign`.
double interval_end(double r, double sign, double n, double level) {
  const double moved = r + sign * 6.0 / (n * (n * n - 1.0));
  if (std::abs(moved) >= 1.0) return sign;
  return std::tanh(std::atanh(moved) +
                   sign * t_critical(level, kInfinity) * std::sqrt((1.0 + moved * moved / 2.0) / (n - 3.0)));
}

double standard_normal(core::RandomStream& random) {
  return normal_quantile(random.fraction() + 0x1p-54);
}

/// The values, each with a fresh error.
class NoisyValues {
 public:
  explicit NoisyValues(std::span<const RankedValue> values) : values_(values) {
    std::size_t sources = 0;
    for (const RankedValue& value : values) {
      double squares = value.parts.empty() ? 1.0 : 0.0;
      for (const RankedValue::Part& part : value.parts) {
        squares += part.weight * part.weight;
        sources = std::max(sources, part.source + 1);
      }
      lengths_.push_back(std::sqrt(squares));
    }
    errors_.resize(sources);
  }

  std::vector<double> draw(core::RandomStream& random) {
    for (double& error : errors_) error = standard_normal(random);
    std::vector<double> drawn;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      double error = values_[i].parts.empty() ? standard_normal(random) : 0.0;
      for (const RankedValue::Part& part : values_[i].parts) error += part.weight * errors_[part.source];
      drawn.push_back(values_[i].value + values_[i].se * error / lengths_[i]);
    }
    return drawn;
  }

 private:
  std::span<const RankedValue> values_;
  std::vector<double> lengths_;  ///< of each value's weights
  std::vector<double> errors_;   ///< of each source
};

}  // namespace

std::vector<double> mid_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + 1 + end) / 2.0;
    begin = end;
  }
  return ranks;
}

std::optional<RankCorrelation> spearman(std::span<const double> first, std::span<const double> second, double level) {
  require_fraction(level, "the confidence level");
  if (first.size() != second.size()) refuse("a rank correlation needs pairs: the lengths differ");
  if (first.size() < static_cast<std::size_t>(kMinRankPairs) || !mean_of(first) || !mean_of(second))
    return std::nullopt;
  const std::optional<double> r = product_moment(mid_ranks(first), mid_ranks(second));
  if (!r) return std::nullopt;
  const double n = static_cast<double>(first.size());
  return RankCorrelation{
      .r = *r,
      .interval = {.low = interval_end(*r, -1.0, n, level), .high = interval_end(*r, 1.0, n, level), .level = level},
      .n = static_cast<int>(first.size())};
}

std::optional<double> rank_reliability(std::span<const RankedValue> values, std::uint64_t seed) {
  if (values.size() < static_cast<std::size_t>(kMinRankPairs)) return std::nullopt;
  std::vector<double> measured;
  for (const RankedValue& value : values) {
    if (!(value.se >= 0.0)) refuse("a standard error is below 0");
    if (!std::isfinite(value.value) || !std::isfinite(value.se)) return std::nullopt;
    measured.push_back(value.value);
  }
  const std::vector<double> ranks = mid_ranks(measured);
  core::RandomStream random(seed, 0);
  NoisyValues noisy(values);
  double sum = 0.0;
  for (int i = 0; i < kReliabilityDraws; ++i) {
    const std::optional<double> r = product_moment(ranks, mid_ranks(noisy.draw(random)));
    if (!r) return std::nullopt;
    sum += *r;
  }
  const double rank_q = std::clamp(sum / kReliabilityDraws, 0.0, 1.0);
  const double q = 2.0 * std::sin(std::numbers::pi * rank_q / 6.0);
  return q > 0.0 ? std::clamp(2.0 - 1.0 / (q * q), 0.0, 1.0) : 0.0;
}

}  // namespace nanobench::reports
