/// Intervals that assume no distribution: the bias-corrected and accelerated bootstrap (Efron 1987). The same seed
/// draws the same resamples on every machine. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

struct BootstrapSettings {
  int resamples = 9999;  ///< at least 99
  std::uint64_t seed = 0;
  double level = 0.95;
};

struct Bootstrap {
  double value = 0.0;           ///< statistic of the sample itself
  double se = 0.0;              ///< standard deviation over the resamples
  ConfidenceInterval interval;  ///< BCa
};

/// Fewer values have too few distinct resamples. Even so, intervals from fewer than about 15 values are too short: at n
/// = 8 a nominal 95 % interval of a mean covers about 90 %, so prefer the t interval.
inline constexpr int kMinBootstrapValues = 5;

enum class Centre {
  kMean,
  kMedian,  ///< without acceleration: the jackknife gives no information about a median's skewness
};

enum class Pairing {
  kPairs,        ///< first[i] and second[i] belong together and are drawn together
  kIndependent,  ///< each arm is drawn separately
};

/// Mean of first - second over pairs.
/// nullopt for fewer than 5 pairs, differences without spread, or a value that is not finite. Throws
/// Error{kInvalidArgument} when the lengths differ or a setting is out of range.
std::optional<Bootstrap> bootstrap_mean_difference(std::span<const double> first, std::span<const double> second,
                                                   const BootstrapSettings& settings = {});

/// Centre of first over centre of second: a speed-up when first is the baseline's times.
/// nullopt for fewer than 5 values in an arm, any value that is not above 0 or not finite, or resamples without spread.
/// Throws as above; lengths may differ for kIndependent.
std::optional<Bootstrap> bootstrap_ratio(std::span<const double> first, std::span<const double> second,
                                         Centre centre = Centre::kMedian, Pairing pairing = Pairing::kPairs,
                                         const BootstrapSettings& settings = {});

}  // namespace nanobench::reports
