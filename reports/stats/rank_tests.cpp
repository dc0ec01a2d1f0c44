#include "reports/stats/rank_tests.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#include "reports/stats/checks.h"
#include "reports/stats/distributions.h"
#include "reports/stats/moments.h"
#include "reports/stats/ordered_doubles.h"
#include "reports/stats/rank_sum.h"

namespace nanobench::reports {
namespace {

std::optional<std::vector<double>> sorted(std::span<const double> values) {
  if (!mean_of(values)) return std::nullopt;
  std::vector<double> result(values.begin(), values.end());
  std::sort(result.begin(), result.end());
  return result;
}

struct Ranking {
  double u = 0.0;     ///< of the first arm
  double ties = 0.0;  ///< sum of t^3 - t over groups of t equal values
};

/// Both sorted.
Ranking rank(const std::vector<double>& first, const std::vector<double>& second) {
  Ranking ranking;
  for (const double value : first) {
    const auto [low, high] = std::equal_range(second.begin(), second.end(), value);
    ranking.u += static_cast<double>(low - second.begin()) + 0.5 * static_cast<double>(high - low);
  }
  std::vector<double> all;
  std::merge(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(all));
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::upper_bound(begin, all.end(), *begin);
    const double count = static_cast<double>(end - begin);
    ranking.ties += count * count * count - count;
    begin = end;
  }
  return ranking;
}

/// P(U >= u), for whole u.
double exact_upper(double u, int n, int m) {
  const std::vector<double> cdf = rank_sum_cdf(n, m);
  // The distribution is symmetric: P(U >= u) = P(U <= nm - u).
  return cdf[static_cast<std::size_t>(static_cast<double>(n) * m - u)];
}

/// Standard deviation of U under the null; 0 when all values are equal.
double deviation_of_u(double n, double m, double ties) {
  const double all = n + m;
  return std::sqrt(n * m / 12.0 * ((all + 1.0) - ties / (all * (all - 1.0))));
}

/// How many first - second are at most `limit`; both sorted.
std::uint64_t count_up_to(const std::vector<double>& first, const std::vector<double>& second, double limit) {
  std::uint64_t count = 0;
  std::size_t within = 0;  // from here on second gives differences within the limit
  for (const double value : first) {
    while (within < second.size() && value - second[within] > limit) ++within;
    count += second.size() - within;
  }
  return count;
}

/// The k-th smallest of all first - second, k from 1.
double difference_of_rank(const std::vector<double>& first, const std::vector<double>& second, std::uint64_t k) {
  return smallest_with(k, first.front() - second.back(), first.back() - second.front(),
                       [&](double limit) { return count_up_to(first, second, limit); });
}

double median_difference(const std::vector<double>& first, const std::vector<double>& second) {
  const std::uint64_t count = static_cast<std::uint64_t>(first.size()) * second.size();
  const double upper = difference_of_rank(first, second, count / 2 + 1);
  return count % 2 == 1 ? upper : std::midpoint(difference_of_rank(first, second, count / 2), upper);
}

struct Rank {
  std::uint64_t k = 0;  ///< the interval runs from the k-th smallest to the k-th largest difference; 0: none
  double held_level = 0.0;
};

Rank exact_rank(int n, int m, double level) {
  const std::vector<double> cdf = rank_sum_cdf(n, m);
  Rank result;
  // 1 - level is rounded: 3 against 3 give exactly 0.9.
  const double tail = (1.0 - level) / 2.0 * (1.0 + 1e-12);
  while (cdf[result.k] <= tail) ++result.k;
  if (result.k > 0) result.held_level = 1.0 - 2.0 * cdf[result.k - 1];
  return result;
}

Rank normal_rank(double n, double m, double level) {
  const double sd = deviation_of_u(n, m, 0.0);
  const double k = std::floor(n * m / 2.0 + 0.5 + normal_quantile((1.0 - level) / 2.0) * sd);
  if (k < 1.0) return {};
  return {.k = static_cast<std::uint64_t>(k), .held_level = 1.0 - 2.0 * normal_cdf((k - 0.5 - n * m / 2.0) / sd)};
}

bool is_small(std::size_t n, std::size_t m) {
  return n <= kExactRankSumLimit && m <= kExactRankSumLimit;
}

}  // namespace

std::optional<MannWhitney> mann_whitney(std::span<const double> first, std::span<const double> second, Tail tail) {
  const std::optional<std::vector<double>> one = sorted(first);
  const std::optional<std::vector<double>> two = sorted(second);
  if (!one || !two) return std::nullopt;
  const Ranking ranking = rank(*one, *two);
  const double n = static_cast<double>(one->size());
  const double m = static_cast<double>(two->size());
  MannWhitney result{.u = ranking.u, .is_exact = ranking.ties == 0.0 && is_small(one->size(), two->size())};
  double u = ranking.u;
  if (tail == Tail::kLess) u = n * m - ranking.u;
  if (tail == Tail::kTwoSided) u = std::max(ranking.u, n * m - ranking.u);
  if (result.is_exact) {
    result.p = exact_upper(u, static_cast<int>(n), static_cast<int>(m));
  } else {
    const double sd = deviation_of_u(n, m, ranking.ties);
    if (!(sd > 0.0)) return std::nullopt;
    result.p = normal_upper((u - n * m / 2.0 - 0.5) / sd);
  }
  if (tail == Tail::kTwoSided) result.p = std::min(1.0, 2.0 * result.p);
  return result;
}

double least_mann_whitney_p(int n, int m) {
  require_count(n, 1, "the runs of the first arm");
  require_count(m, 1, "the runs of the second arm");
  double p = 2.0;  // two of all ways to choose the arm's ranks
  for (int i = 1; i <= n; ++i) p *= static_cast<double>(i) / (static_cast<double>(m) + i);
  return std::min(1.0, p);
}

std::optional<HodgesLehmann> hodges_lehmann(std::span<const double> first, std::span<const double> second,
                                            double level) {
  require_fraction(level, "the confidence level");
  const std::optional<std::vector<double>> one = sorted(first);
  const std::optional<std::vector<double>> two = sorted(second);
  if (!one || !two) return std::nullopt;
  HodgesLehmann result{.shift = median_difference(*one, *two), .is_exact = is_small(one->size(), two->size())};
  const Rank rank = result.is_exact
                        ? exact_rank(static_cast<int>(one->size()), static_cast<int>(two->size()), level)
                        : normal_rank(static_cast<double>(one->size()), static_cast<double>(two->size()), level);
  if (!std::isfinite(result.shift)) return std::nullopt;
  if (rank.k == 0) return result;
  const std::uint64_t count = static_cast<std::uint64_t>(one->size()) * two->size();
  result.interval = {.low = difference_of_rank(*one, *two, rank.k),
                     .high = difference_of_rank(*one, *two, count + 1 - rank.k),
                     .level = level};
  result.held_level = rank.held_level;
  return result;
}

}  // namespace nanobench::reports
