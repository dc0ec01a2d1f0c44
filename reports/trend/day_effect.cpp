#include "reports/trend/day_effect.h"

#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "reports/stats/moments.h"

namespace nanobench::reports {
namespace {

struct Squares {
  double sum = 0.0;
  double df = 0.0;
};

double squares_about(std::span<const double> values, double mean) {
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

/// Adds one level: its revisions about its mean, and their values about their own.
void add_level(std::span<const TrendValue> level, Squares& between, Squares& within) {
  const double mean = *mean_of(plain(level));
  for (std::size_t begin = 0; begin < level.size();) {
    std::size_t end = begin;
    while (end < level.size() && level[end].revision == level[begin].revision) ++end;
    const std::vector<double> own = plain(level.subspan(begin, end - begin));
    const double own_mean = *mean_of(own);
    const auto count = static_cast<double>(own.size());
    within.sum += squares_about(own, own_mean);
    within.df += count - 1.0;
    between.sum += count * (own_mean - mean) * (own_mean - mean);
    between.df += 1.0;
    begin = end;
  }
  between.df -= 1.0;
}

}  // namespace

std::optional<double> day_effect_p(std::span<const TrendValue> values, std::span<const std::size_t> boundaries) {
  if (values.empty()) return std::nullopt;
  Squares between, within;
  for (std::size_t i = 0; i <= boundaries.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : boundaries[i - 1];
    const std::size_t end = i < boundaries.size() ? boundaries[i] : values.size();
    add_level(values.subspan(begin, end - begin), between, within);
  }
  const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * std::abs(values.front().value);
  if (between.df < 1.0 || within.df < 1.0 || !(std::sqrt(within.sum / within.df) > rounding)) return std::nullopt;
  const boost::math::fisher_f distribution(between.df, within.df);
  const double statistic = between.sum / between.df / (within.sum / within.df);
  return boost::math::cdf(boost::math::complement(distribution, statistic));
}

}  // namespace nanobench::reports
