#include "reports/trend/trend_values.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

using SeedLevels = std::map<std::uint64_t, double>;

// Sums in a different order count as the same loss.
constexpr double kLossResolution = 1e-8;
constexpr int kMaxRounds = 200;

TrendValue value_from(std::span<const SeriesValue> members, std::size_t revision, const SeedLevels& levels) {
  TrendValue result{.revision = revision, .members = {members.begin(), members.end()}};
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto level = levels.find(members[i].seed);
    const double own = members[i].value - (level == levels.end() ? 0.0 : level->second);
    result.value += (own - result.value) / static_cast<double>(i + 1);
  }
  if (!levels.empty()) result.value = std::round(result.value / kLossResolution) * kLossResolution;
  return result;
}

/// One round of fitting: what remains of each seed's values after subtracting their revisions.
SeedLevels refined(const TrendSeries& series, const SeedLevels& levels) {
  SeedLevels next;
  std::map<std::uint64_t, int> counts;
  for (const SeriesRevision& revision : series.revisions) {
    double mean = 0.0;
    for (const SeriesValue& item : revision.values)
      mean += (item.value - levels.at(item.seed)) / static_cast<double>(revision.values.size());
    for (const SeriesValue& item : revision.values) {
      double& level = next[item.seed];
      level += (item.value - mean - level) / ++counts[item.seed];
    }
  }
  return next;
}

}  // namespace

int revisions_with_values(const TrendSeries& series) {
  return static_cast<int>(std::count_if(series.revisions.begin(), series.revisions.end(),
                                        [](const SeriesRevision& revision) { return !revision.values.empty(); }));
}

bool seeds_differ(const TrendSeries& series) {
  std::set<std::set<std::uint64_t>> seeds;
  for (const SeriesRevision& revision : series.revisions) {
    if (revision.values.empty()) continue;
    std::set<std::uint64_t> own;
    for (const SeriesValue& item : revision.values) own.insert(item.seed);
    seeds.insert(std::move(own));
  }
  return seeds.size() > 1;
}

std::map<std::uint64_t, double> seed_levels(const TrendSeries& series) {
  SeedLevels levels;
  if (series.metric != TrendMetric::kLoss) return levels;
  for (const SeriesRevision& revision : series.revisions) {
    for (const SeriesValue& item : revision.values) levels[item.seed] = 0.0;
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    const SeedLevels next = refined(series, levels);
    double moved = 0.0;
    for (const auto& [seed, level] : next) moved = std::max(moved, std::abs(level - levels.at(seed)));
    levels = next;
    if (moved < 1e-3 * kLossResolution) break;
  }
  return levels;
}

std::vector<TrendValue> trend_values(const TrendSeries& series, bool is_by_revision) {
  const SeedLevels levels = is_by_revision ? seed_levels(series) : SeedLevels{};
  std::vector<TrendValue> result;
  for (std::size_t i = 0; i < series.revisions.size(); ++i) {
    const std::span<const SeriesValue> own(series.revisions[i].values);
    if (own.empty()) continue;
    const std::size_t together = is_by_revision ? own.size() : 1;
    for (std::size_t begin = 0; begin < own.size(); begin += together)
      result.push_back(value_from(own.subspan(begin, together), i, levels));
  }
  return result;
}

std::vector<double> averaged(std::span<const double> values, std::size_t max) {
  const std::size_t together = std::max<std::size_t>(1, (values.size() + max - 1) / max);
  const std::size_t parts = values.size() / together;
  std::vector<double> result;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = values.size() * part / parts;
    const std::size_t end = values.size() * (part + 1) / parts;
    result.push_back(*mean_of(values.subspan(begin, end - begin)));
  }
  return result;
}

std::size_t refined_split(std::span<const double> values, std::size_t split, std::size_t reach, std::size_t min) {
  if (reach == 0 || values.size() < 2 * min) return split;
  const double centre = *mean_of(values);
  double before = 0.0;  // sum of the values before `index`, relative to the overall mean
  double best_gain = -1.0;
  std::size_t best = split;
  for (std::size_t index = 0; index + min <= values.size(); ++index) {
    const std::size_t distance = index > split ? index - split : split - index;
    const double count = static_cast<double>(index);
    const double gain = before * before / (count * (static_cast<double>(values.size()) - count));
    if (index >= min && distance <= reach && gain > best_gain) {
      best = index;
      best_gain = gain;
    }
    before += values[index] - centre;
  }
  return best;
}

std::vector<double> plain(std::span<const TrendValue> values) {
  std::vector<double> result;
  for (const TrendValue& item : values) result.push_back(item.value);
  return result;
}

std::vector<SeriesValue> members_of(std::span<const TrendValue> values) {
  std::vector<SeriesValue> result;
  for (const TrendValue& item : values) result.insert(result.end(), item.members.begin(), item.members.end());
  return result;
}

Boundary boundary_at(std::span<const TrendValue> values, std::size_t split, std::size_t min) {
  const std::size_t revision = values[split].revision;
  std::size_t begin = split, end = split;
  while (begin > 0 && values[begin - 1].revision == revision) --begin;
  while (end < values.size() && values[end].revision == revision) ++end;
  const std::size_t left = split - begin, right = end - split;
  std::size_t index = split;
  const std::size_t apart = std::max(min, (left + right) / 10);
  const bool is_within = left >= apart && right >= apart;
  if (!is_within && (begin > 0 || end < values.size())) {
    index = left <= right ? begin : end;
    if (index == 0) index = end;
    if (index == values.size()) index = begin;
  }
  return {.index = index, .before = values[index - 1].revision, .after = values[index].revision};
}

namespace {

struct SumOfSquares {
  double sum = 0.0;
  double df = 0.0;
};

double squares_about(std::span<const double> values, double mean) {
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

/// Adds one level: squares of its revisions around its mean, and of their values around their own means.
void add_level(std::span<const TrendValue> level, SumOfSquares& between, SumOfSquares& within) {
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
  SumOfSquares between, within;
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
