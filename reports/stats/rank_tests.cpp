#include "reports/stats/rank_tests.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/error.h"
#include "reports/stats/distributions.h"
#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {

std::vector<double> rank_sum_cdf(int n, int m) {
  NB_CHECK(n >= 1 && m >= 1 && n <= kExactRankSumLimit && m <= kExactRankSumLimit, "arms outside the exact range");
  // counts[i][u]: ways to place i of the first arm among those seen so far with statistic u. The largest value is the
  // first arm's (it beats all of the second) or the second's.
  const std::size_t top = static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
  std::vector<std::vector<double>> counts(static_cast<std::size_t>(n) + 1, std::vector<double>(top + 1, 0.0));
  for (auto& row : counts) row[0] = 1.0;
  for (std::size_t j = 1; j <= static_cast<std::size_t>(m); ++j) {
    for (std::size_t i = 1; i <= static_cast<std::size_t>(n); ++i) {
      for (std::size_t u = top; u >= j; --u) counts[i][u] = counts[i - 1][u - j] + counts[i][u];
      // Below j only the second arm's value can be the largest, so the count for j - 1 stays.
    }
  }
  std::vector<double> cdf = counts[static_cast<std::size_t>(n)];
  for (std::size_t u = 1; u <= top; ++u) cdf[u] += cdf[u - 1];
  const double total = cdf[top];
  for (double& value : cdf) value /= total;
  return cdf;
}

namespace {

/// Maps doubles to integers in the same order, so that bisection ends at a double. Not for NaN.
std::int64_t ordinal_of(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value + 0.0);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}

double value_of_ordinal(std::int64_t ordinal) {
  return std::bit_cast<double>(ordinal >= 0 ? ordinal : std::numeric_limits<std::int64_t>::min() - ordinal);
}

/// The smallest number in [lowest, highest] for which `count_up_to`, which never decreases, returns at least `k`.
template <class CountUpTo>
double smallest_with(std::uint64_t k, double lowest, double highest, CountUpTo count_up_to) {
  std::int64_t low = ordinal_of(lowest);
  std::int64_t high = ordinal_of(highest);
  while (low < high) {
    const std::int64_t middle = std::midpoint(low, high);
    if (count_up_to(value_of_ordinal(middle)) >= k) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return value_of_ordinal(low);
}

std::optional<std::vector<double>> sorted(std::span<const double> values) {
  if (!mean_of(values)) return std::nullopt;
  std::vector<double> result(values.begin(), values.end());
  std::sort(result.begin(), result.end());
  return result;
}

struct Ranking {
  double u = 0.0;     ///< U of the first arm
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

/// Number of differences first - second that are at most `limit`; both sorted.
std::uint64_t count_up_to(const std::vector<double>& first, const std::vector<double>& second, double limit) {
  std::uint64_t count = 0;
  std::size_t within = 0;  // from here on, `second` gives differences within the limit
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

/// The interval runs from the k-th smallest to the k-th largest difference, or pairwise mean; k = 0: there is none.
struct Rank {
  std::uint64_t k = 0;
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

double min_mann_whitney_p(int n, int m) {
  require_count(n, 1, "the runs of the first arm");
  require_count(m, 1, "the runs of the second arm");
  double p = 2.0;  // two out of all ways to choose the arm's ranks
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

namespace {

/// Ranks are doubled, so that shared ones are whole.
struct SignedRanking {
  std::vector<std::size_t> doubled;  ///< doubled rank of each difference that is not 0
  std::size_t doubled_w = 0;         ///< sum for those above 0
  double ties = 0.0;                 ///< sum of t^3 - t over groups of t equal sizes
};

SignedRanking rank(std::vector<double> differences) {
  std::erase(differences, 0.0);
  std::sort(differences.begin(), differences.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  SignedRanking ranking;
  for (std::size_t begin = 0; begin < differences.size();) {
    std::size_t end = begin;
    while (end < differences.size() && std::abs(differences[end]) == std::abs(differences[begin])) ++end;
    const double count = static_cast<double>(end - begin);
    ranking.ties += count * count * count - count;
    const std::size_t doubled_rank = begin + end + 1;  // the mean of begin + 1 ... end, twice
    for (; begin < end; ++begin) {
      ranking.doubled.push_back(doubled_rank);
      if (differences[begin] > 0.0) ranking.doubled_w += doubled_rank;
    }
  }
  return ranking;
}

/// P(W <= k / 2) over all signs, k = 0 ... the sum of the doubled ranks. Counts up to 2^50 are whole doubles.
std::vector<double> cdf_of(const std::vector<std::size_t>& doubled) {
  const std::size_t top = std::accumulate(doubled.begin(), doubled.end(), std::size_t{0});
  std::vector<double> counts(top + 1, 0.0);
  counts[0] = 1.0;
  for (const std::size_t rank : doubled) {
    for (std::size_t sum = top; sum >= rank; --sum) counts[sum] += counts[sum - rank];
  }
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  for (double& count : counts) count = std::ldexp(count, -static_cast<int>(doubled.size()));
  return counts;
}

/// P(W >= w); by symmetry, the probability of at most the rest.
double exact_upper(const SignedRanking& ranking, std::size_t doubled_w) {
  const std::vector<double> cdf = cdf_of(ranking.doubled);
  return cdf[cdf.size() - 1 - doubled_w];
}

double normal_upper_of(double n, double w, double ties) {
  const double sd = std::sqrt(n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0);
  return normal_upper((w - n * (n + 1.0) / 4.0 - 0.5) / sd);
}

/// The interval runs from the k-th smallest to the k-th largest pairwise mean.
Rank exact_rank(std::size_t n, double level) {
  std::vector<std::size_t> doubled(n);
  for (std::size_t i = 0; i < n; ++i) doubled[i] = 2 * (i + 1);
  const std::vector<double> cdf = cdf_of(doubled);
  Rank result;
  const double tail = (1.0 - level) / 2.0 * (1.0 + 1e-12);  // 1 - level is rounded
  while (cdf[2 * result.k] <= tail) ++result.k;
  if (result.k > 0) result.held_level = 1.0 - 2.0 * cdf[2 * (result.k - 1)];
  return result;
}

Rank normal_rank(double n, double level) {
  const double middle = n * (n + 1.0) / 4.0;
  const double sd = std::sqrt(n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
  const double k = std::floor(middle + 0.5 + normal_quantile((1.0 - level) / 2.0) * sd);
  if (k < 1.0) return {};
  return {.k = static_cast<std::uint64_t>(k), .held_level = 1.0 - 2.0 * normal_cdf((k - 0.5 - middle) / sd)};
}

/// Number of pairwise means of the sorted values, including each with itself, that are at most `limit`.
std::uint64_t count_up_to(const std::vector<double>& sorted, double limit) {
  std::uint64_t count = 0;
  std::size_t end = sorted.size();  // values below it keep the mean within the limit
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    while (end > 0 && std::midpoint(sorted[i], sorted[end - 1]) > limit) --end;
    if (end <= i) break;
    count += end - i;
  }
  return count;
}

/// The k-th smallest pairwise mean, k from 1.
double mean_of_rank(const std::vector<double>& sorted, std::uint64_t k) {
  return smallest_with(k, sorted.front(), sorted.back(), [&](double limit) { return count_up_to(sorted, limit); });
}

}  // namespace

std::optional<SignedRank> signed_rank(std::span<const double> differences, Tail tail) {
  if (!mean_of(differences)) return std::nullopt;
  const SignedRanking ranking = rank({differences.begin(), differences.end()});
  if (ranking.doubled.empty()) return std::nullopt;
  const std::size_t top = ranking.doubled.size() * (ranking.doubled.size() + 1);
  std::size_t w = ranking.doubled_w;
  if (tail == Tail::kLess) w = top - w;
  if (tail == Tail::kTwoSided) w = std::max(w, top - w);
  SignedRank result{.w = static_cast<double>(ranking.doubled_w) / 2.0, .n = static_cast<int>(ranking.doubled.size())};
  result.is_exact = result.n <= kExactSignedRankLimit;
  result.p =
      result.is_exact ? exact_upper(ranking, w) : normal_upper_of(result.n, static_cast<double>(w) / 2.0, ranking.ties);
  if (tail == Tail::kTwoSided) result.p = std::min(1.0, 2.0 * result.p);
  return result;
}

double min_signed_rank_p(int n) {
  require_count(n, 1, "the number of differences");
  return std::ldexp(2.0, -n);
}

std::optional<PairedShift> paired_shift(std::span<const double> differences, double level) {
  require_fraction(level, "the confidence level");
  const std::optional<std::vector<double>> values = sorted(differences);
  if (!values) return std::nullopt;
  const std::uint64_t count = static_cast<std::uint64_t>(values->size()) * (values->size() + 1) / 2;
  PairedShift result{
      .shift = std::midpoint(mean_of_rank(*values, (count + 1) / 2), mean_of_rank(*values, count / 2 + 1)),
      .is_exact = values->size() <= static_cast<std::size_t>(kExactSignedRankLimit)};
  const Rank rank = result.is_exact ? exact_rank(differences.size(), level)
                                    : normal_rank(static_cast<double>(differences.size()), level);
  if (rank.k == 0) return result;
  result.interval = {
      .low = mean_of_rank(*values, rank.k), .high = mean_of_rank(*values, count + 1 - rank.k), .level = level};
  result.held_level = rank.held_level;
  return result;
}

}  // namespace nanobench::reports
