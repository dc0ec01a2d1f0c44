#include "reports/stats/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "reports/stats/checks.h"
#include "reports/stats/distributions.h"
#include "reports/stats/moments.h"
#include "reports/stats/ordered_doubles.h"

namespace nanobench::reports {
namespace {

/// Ranks are kept twice, so that shared ones are whole.
struct Ranking {
  std::vector<std::size_t> doubled;  ///< of each difference that is not 0
  std::size_t doubled_w = 0;         ///< of those above 0
  double ties = 0.0;                 ///< sum of t^3 - t over groups of t equal sizes
};

Ranking rank(std::vector<double> differences) {
  std::erase(differences, 0.0);
  std::sort(differences.begin(), differences.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  Ranking ranking;
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

/// P(W >= w), by symmetry that of at most the rest.
double exact_upper(const Ranking& ranking, std::size_t doubled_w) {
  const std::vector<double> cdf = cdf_of(ranking.doubled);
  return cdf[cdf.size() - 1 - doubled_w];
}

double normal_upper_of(double n, double w, double ties) {
  const double sd = std::sqrt(n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0);
  return normal_upper((w - n * (n + 1.0) / 4.0 - 0.5) / sd);
}

/// The interval runs from the k-th smallest to the k-th largest mean of two; 0: none.
struct Rank {
  std::size_t k = 0;
  double held_level = 0.0;
};

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
  return {.k = static_cast<std::size_t>(k), .held_level = 1.0 - 2.0 * normal_cdf((k - 0.5 - middle) / sd)};
}

/// How many means of two of the sorted values, each with itself too, are at most `limit`.
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

/// The k-th smallest mean of two, k from 1.
double mean_of_rank(const std::vector<double>& sorted, std::uint64_t k) {
  return smallest_with(k, sorted.front(), sorted.back(), [&](double limit) { return count_up_to(sorted, limit); });
}

}  // namespace

std::optional<SignedRank> signed_rank(std::span<const double> differences, Tail tail) {
  if (!mean_of(differences)) return std::nullopt;
  const Ranking ranking = rank({differences.begin(), differences.end()});
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

double least_signed_rank_p(int n) {
  require_count(n, 1, "the number of differences");
  return std::ldexp(2.0, -n);
}

std::optional<PairedShift> paired_shift(std::span<const double> differences, double level) {
  require_fraction(level, "the confidence level");
  if (!mean_of(differences)) return std::nullopt;
  std::vector<double> sorted(differences.begin(), differences.end());
  std::sort(sorted.begin(), sorted.end());
  const std::uint64_t count = static_cast<std::uint64_t>(sorted.size()) * (sorted.size() + 1) / 2;
  PairedShift result{.shift = std::midpoint(mean_of_rank(sorted, (count + 1) / 2), mean_of_rank(sorted, count / 2 + 1)),
                     .is_exact = sorted.size() <= static_cast<std::size_t>(kExactSignedRankLimit)};
  const Rank rank = result.is_exact ? exact_rank(differences.size(), level)
                                    : normal_rank(static_cast<double>(differences.size()), level);
  if (rank.k == 0) return result;
  result.interval = {
      .low = mean_of_rank(sorted, rank.k), .high = mean_of_rank(sorted, count + 1 - rank.k), .level = level};
  result.held_level = rank.held_level;
  return result;
}

}  // namespace nanobench::reports
