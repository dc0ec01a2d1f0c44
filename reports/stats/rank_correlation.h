/// Whether two series put the same things in the same order, and how well their errors allow that to be seen. Pure,
/// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// Ranks from 1; equal values share the mean of their ranks. REQUIRES finite values.
std::vector<double> mid_ranks(std::span<const double> values);

/// With fewer pairs, an order agrees too easily: any two of 4 series are in the same order in one case of 24.
inline constexpr int kMinRankPairs = 5;

struct RankCorrelation {
  double r = 0.0;               ///< Spearman's, with mid-ranks
  ConfidenceInterval interval;  ///< of Spearman's correlation in the population of pairs; within [-1, 1]
  int n = 0;
};

/// Spearman's correlation (1904) of independent pairs. Its interval is Fisher's z with the variance
/// (1 + r^2 / 2) / (n - 3) of Bonett and Wright (2000), each end from r moved outward by half of the smallest step that
/// r can make, 6 / (n (n^2 - 1)): without that, r = 1 would have no interval. For normal pairs, 95 % intervals hold in
/// 94 % of cases or more from 5 pairs on, for correlations up to 0.95; in 90 % at 0.98 (rank_correlation_test.cpp).
/// nullopt for fewer than kMinRankPairs pairs, a side whose values are all equal, or a value that is not finite.
/// Throws Error{kInvalidArgument} when the lengths differ, or for a level outside (0, 1).
std::optional<RankCorrelation> spearman(std::span<const double> first, std::span<const double> second,
                                        double level = 0.95);

/// A measured value: the sum of weight * error over independent sources of error of one size, scaled to `se`. Values
/// that share sources (a base cell) have correlated errors, and what moves all of them alike does not touch ranks.
struct RankedValue {
  struct Part {
    std::size_t source = 0;
    double weight = 0.0;  ///< not 0
  };
  double value = 0.0;
  double se = 0.0;          ///< 0 or more
  std::vector<Part> parts;  ///< empty: an error of its own
};

/// Share of the variance of the values that is not error, from 0 to 1, as their ranks show it. Adds errors to the
/// values once more and takes the mean rank correlation of seeded draws with the values, as a product-moment
/// correlation q (2 sin(pi r / 6), Pearson 1907). For a true variance V and an error variance W, q^2 = (V + W) / (V + 2
/// W), so the share V / (V + W) is 2 - 1 / q^2. One huge effect among equal ones does not make it large, as it would by
/// the variances themselves. The correlation of two measured series is at most about the square root of the product of
/// their shares (Spearman 1904).
/// nullopt for fewer than kMinRankPairs values, all of which are equal or one of which is not finite.
/// Throws Error{kInvalidArgument} for an se below 0.
std::optional<double> rank_reliability(std::span<const RankedValue> values, std::uint64_t seed = 1);

/// Draws of errors for rank_reliability().
inline constexpr int kReliabilityDraws = 1000;

}  // namespace nanobench::reports
