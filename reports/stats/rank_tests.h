/// Rank tests, which assume no distribution, as a second opinion on the t tests. They compare one arm with another, or
/// pairs by their differences, each with the corresponding shift. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

struct MannWhitney {
  double u = 0.0;         ///< pairs with first > second, ties count one half
  double p = 0.0;         ///< p-value of the requested tail; kGreater: first tends to be larger
  bool is_exact = false;  ///< from the permutation distribution; else the normal approximation
};

/// Wilcoxon-Mann-Whitney. Assumes independent runs; under the null both arms have the same distribution.
/// Exact for up to 20 values in each arm without ties; else normal with tie and continuity correction (as SciPy's
/// mannwhitneyu). With 3 against 3 runs the smallest two-sided p is 0.1, so few runs cannot decide.
/// nullopt for an empty arm, a value that is not finite, or when all values are equal.
std::optional<MannWhitney> mann_whitney(std::span<const double> first, std::span<const double> second,
                                        Tail tail = Tail::kTwoSided);

/// The smallest possible two-sided p of arms with n and m runs, without ties. n, m >= 1.
double min_mann_whitney_p(int n, int m);

struct HodgesLehmann {
  double shift = 0.0;                          ///< median of all first - second
  std::optional<ConfidenceInterval> interval;  ///< absent where the runs are too few for the level
  double held_level = 0.0;  ///< the actual level of the interval, at least the requested one; 0 without an interval
  bool is_exact = false;    ///< the interval is exact; else by the normal approximation of U
};

/// Shift between two distributions of the same shape, with its distribution-free interval (Hodges and Lehmann 1963,
/// Moses 1965): order statistics of the differences, exact for up to 20 values in each arm (conservative under ties).
/// nullopt for an empty arm or a value that is not finite. O((n + m) log) time, no table of differences.
std::optional<HodgesLehmann> hodges_lehmann(std::span<const double> first, std::span<const double> second,
                                            double level = 0.95);

/// Larger arms use the normal approximation.
inline constexpr int kExactRankSumLimit = 20;

/// P(U <= k) for k = 0 ... n * m, exact: counts up to C(40, 20) are whole doubles. 1 <= n, m <= kExactRankSumLimit.
std::vector<double> rank_sum_cdf(int n, int m);

/// More differences use the normal approximation.
inline constexpr int kExactSignedRankLimit = 50;

struct SignedRank {
  double w = 0.0;         ///< sum of the ranks of the differences above 0; equal sizes share their mean rank
  double p = 0.0;         ///< p-value of the requested tail; kGreater: differences tend to be above 0
  int n = 0;              ///< differences that are not 0
  bool is_exact = false;  ///< from all 2^n signs, also under ties; else the normal approximation
};

/// Wilcoxon's signed ranks. Assumes independent differences, symmetric about 0 under the null. Differences of 0 are
/// left out (Wilcoxon 1945). Exact for up to 50; else normal with tie and continuity correction (as SciPy's wilcoxon).
/// With 5 the smallest two-sided p is 0.0625, so few pairs cannot decide. nullopt for no difference other than 0, or a
/// value that is not finite.
std::optional<SignedRank> signed_rank(std::span<const double> differences, Tail tail = Tail::kTwoSided);

/// The smallest possible two-sided p of n differences. n >= 1.
double min_signed_rank_p(int n);

struct PairedShift {
  double shift = 0.0;  ///< median of the means of all pairs of differences, each also paired with itself
  std::optional<ConfidenceInterval> interval;  ///< absent where the pairs are too few for the level
  double held_level = 0.0;  ///< the actual level of the interval, at least the requested one; 0 without an interval
  bool is_exact = false;    ///< the interval is exact; else by the normal approximation
};

/// The centre of symmetric differences (Hodges and Lehmann 1963) with the interval of the signed ranks (Tukey 1949):
/// order statistics of the pairwise means, exact for up to 50 differences (conservative under ties).
/// nullopt for no difference or a value that is not finite. O(n log n) time, no table of means.
std::optional<PairedShift> paired_shift(std::span<const double> differences, double level = 0.95);

}  // namespace nanobench::reports
