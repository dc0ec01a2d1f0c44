/// Pairs without assuming a shape: the rank test of their differences and the shift that belongs to it, as a second
/// opinion beside the paired t. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>

#include "reports/stats/interval.h"

namespace nanobench::reports {

/// More differences take the normal approximation.
inline constexpr int kExactSignedRankLimit = 50;

struct SignedRank {
  double w = 0.0;         ///< sum of the ranks of the differences above 0; equal sizes share their mean rank
  double p = 0.0;         ///< of the tail that was asked; kGreater: differences tend to be above 0
  int n = 0;              ///< differences that are not 0
  bool is_exact = false;  ///< from all 2^n signs, also under ties; else the normal approximation
};

/// Wilcoxon's signed ranks. Assumes independent differences, symmetric about 0 under the null. Differences of 0 are
/// left out (Wilcoxon 1945). Exact for up to 50; else normal with tie and continuity correction (as SciPy's wilcoxon).
/// With 5 the smallest two-sided p is 0.0625: few pairs cannot decide. nullopt for no difference other than 0, or a
/// value that is not finite.
std::optional<SignedRank> signed_rank(std::span<const double> differences, Tail tail = Tail::kTwoSided);

/// The smallest two-sided p that n differences can give. n >= 1.
double least_signed_rank_p(int n);

struct PairedShift {
  double shift = 0.0;                          ///< median of the means of every two differences, each with itself too
  std::optional<ConfidenceInterval> interval;  ///< absent where so few pairs cannot give the level
  double held_level = 0.0;                     ///< what the interval holds, at least the level asked; 0 without one
  bool is_exact = false;                       ///< of the interval; else by the normal approximation
};

/// The middle of symmetric differences (Hodges and Lehmann 1963) with the interval of the signed ranks (Tukey 1949):
/// order statistics of the means of two, exact for up to 50 differences (conservative under ties).
/// nullopt for no difference or a value that is not finite. O(n log n) time, no table of means.
std::optional<PairedShift> paired_shift(std::span<const double> differences, double level = 0.95);

}  // namespace nanobench::reports
