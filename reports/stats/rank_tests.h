/// One arm against another without assuming a shape: the rank test and the shift that belongs to it, as a second
/// opinion beside Welch. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>

#include "reports/stats/interval.h"

namespace nanobench::reports {

struct MannWhitney {
  double u = 0.0;         ///< pairs with first > second, ties count one half
  double p = 0.0;         ///< of the tail that was asked; kGreater: first tends to be larger
  bool is_exact = false;  ///< from the permutation distribution; else the normal approximation
};

/// Wilcoxon-Mann-Whitney. Assumes independent runs; under the null both arms have one distribution.
/// Exact for up to 20 values in each arm without ties; else normal with tie and continuity correction (as SciPy's
/// mannwhitneyu). With 3 against 3 the smallest two-sided p is 0.1: few runs cannot decide.
/// nullopt for an empty arm, a value that is not finite, or when all values are equal.
std::optional<MannWhitney> mann_whitney(std::span<const double> first, std::span<const double> second,
                                        Tail tail = Tail::kTwoSided);

/// The smallest two-sided p that arms of n and m runs can give, without ties. n, m >= 1.
double least_mann_whitney_p(int n, int m);

struct HodgesLehmann {
  double shift = 0.0;                          ///< median of all first - second
  std::optional<ConfidenceInterval> interval;  ///< absent where so few runs cannot give the level
  double held_level = 0.0;                     ///< what the interval holds, at least the level asked; 0 without one
  bool is_exact = false;                       ///< of the interval; else by the normal approximation of U
};

/// Shift between two distributions of one shape, with its distribution-free interval (Hodges and Lehmann 1963, Moses
/// 1965): order statistics of the differences, exact for up to 20 values in each arm (conservative under ties).
/// nullopt for an empty arm or a value that is not finite. O((n + m) log) time, no table of differences.
std::optional<HodgesLehmann> hodges_lehmann(std::span<const double> first, std::span<const double> second,
                                            double level = 0.95);

}  // namespace nanobench::reports
