/// The places where a series changed, such as a drift over commits or days. E-divisive (Matteson and James 2014):
/// detects any change of distribution, without assuming its shape. The same seed gives the same result on every
/// machine. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nanobench::reports {

struct ChangePointSettings {
  double alpha = 0.05;     ///< a split is accepted up to this permutation p
  int permutations = 199;  ///< at least 19; the smallest p is 1 / (permutations + 1)
  int min_segment = 5;     ///< values on each side of a split, at least 2
  /// Correlation of neighbours that is no change, in [0, 1): 0 assumes values that are independent in time.
  double autocorrelation = 0.0;
  std::uint64_t seed = 0;
};

struct ChangePoint {
  std::size_t index = 0;     ///< first value of the new segment
  double statistic = 0.0;    ///< energy statistic of the split, in the unit of the values
  double p = 0.0;            ///< by permutation, given the segments found before it
  double mean_before = 0.0;  ///< mean of the segment that ends here
  double mean_after = 0.0;   ///< mean of the segment that begins here
  int order = 0;  ///< order in which it was found, from 1; the first one's p is that of "nothing ever changed"
};

/// Hierarchical: the best split of any segment is tested against permutations within all segments; if it is rejected,
/// the search ends. A slow drift is found as steps.
///   autocorrelation = 0   the values are permuted. Assumes values that are independent in time.
///   above 0               the innovations are permuted: what remains of each value without the levels and without its
///                         share of the value before. A first-order autoregression of that strength turns them into
///                         series again, and statistics count in units of the spread about the levels. Valid for
///                         weaker autocorrelation too (Gaussian series of 8 to 80 values, measured), where it asks for
///                         larger changes. Values without a spread about their levels are permuted as above.
/// `values` are in order of time. Changes are returned in ascending order; none for a series without a change.
/// nullopt for fewer than 2 * min_segment values, or one that is not finite. Throws Error{kInvalidArgument} for
/// settings out of range. O(permutations * n^2) per change; 500 values take about 50 ms.
/// Differs from the published form: a split is sought with the segment's own end, not with every earlier end.
std::optional<std::vector<ChangePoint>> change_points(std::span<const double> values,
                                                      const ChangePointSettings& settings = {});

}  // namespace nanobench::reports
