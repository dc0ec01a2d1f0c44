/// The share of each feature in a total gain. A feature's gain depends on the features before it; Shapley's value
/// is its mean over all orders (Shapley 1953). The shares sum to the total gain exactly. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace nanobench::reports {

/// Which features are on: bit i is feature i.
using FeatureSet = std::uint64_t;

/// The measurement with a set of features.
struct SubsetValue {
  double value = 0.0;
  double se = 0.0;  ///< standard error of the value; 0 if it is known exactly
};

struct Share {
  double value = 0.0;
  double se_values = 0.0;           ///< from the values' own errors, assumed independent
  std::optional<double> se_orders;  ///< from the choice of orders; 0 if exact, absent for a single order
};

struct Attribution {
  std::vector<Share> shares;  ///< by feature
  double total = 0.0;         ///< value with all features minus value with none; the sum of the shares
};

inline constexpr int kMaxExactFeatures = 20;

/// Exact, from the values of all 2^k sets, in the order of FeatureSet.
/// If sets share their seeds, the errors are not independent: attribute seed by seed and take the moments of the
/// shares. nullopt when a value or an error is not finite. Throws Error{kInvalidArgument} when the count is not 2^k
/// with 1 <= k <= 20, or an error is below 0. O(k 2^k).
std::optional<Attribution> shapley_exact(std::span<const SubsetValue> values);

/// From a sample of orders, each a permutation of 0 ... k - 1 (k <= 64); `values` holds every set that the orders pass
/// through, the empty one first. A single order, such as the history's, gives each feature's gain in that order: a
/// share, but not Shapley's, and its distance from it is unknown. The values' own scatter is also in se_orders, so the
/// two errors together are conservative. An order given twice counts twice.
/// nullopt as above. Throws Error{kInvalidArgument} for no order, one that is not a permutation, or a set without a
/// value.
std::optional<Attribution> shapley_sampled(const std::map<FeatureSet, SubsetValue>& values,
                                           std::span<const std::vector<int>> orders);

}  // namespace nanobench::reports
