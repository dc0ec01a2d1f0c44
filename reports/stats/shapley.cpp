#include "reports/stats/shapley.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "reports/stats/estimate.h"
#include "reports/stats/summary.h"

namespace nanobench::reports {
namespace {

bool is_usable(const SubsetValue& value) {
  if (value.se < 0.0) refuse("a standard error must not be below 0");
  return std::isfinite(value.value) && std::isfinite(value.se);
}

/// w[s]: share of all orders in which the s other features of one given set come before the feature, and no other.
std::vector<double> order_weights(std::size_t features) {
  const double k = static_cast<double>(features);
  std::vector<double> weights = {1.0 / k};
  for (std::size_t s = 1; s < features; ++s) {
    weights.push_back(weights.back() * static_cast<double>(s) / (k - static_cast<double>(s)));
  }
  return weights;
}

Share exact_share(std::span<const SubsetValue> values, const std::vector<double>& weights, std::size_t feature) {
  const FeatureSet bit = FeatureSet{1} << feature;
  std::vector<double> parts;
  double variance = 0.0;
  for (FeatureSet set = 0; set < values.size(); ++set) {
    if ((set & bit) != 0) continue;
    const double weight = weights[static_cast<std::size_t>(std::popcount(set))];
    const SubsetValue& without = values[set];
    const SubsetValue& with = values[set | bit];
    parts.push_back(weight * (with.value - without.value));
    variance += weight * weight * (with.se * with.se + without.se * without.se);
  }
  return {.value = compensated_sum(parts), .se_values = std::sqrt(variance), .se_orders = 0.0};
}

void require_permutation(const std::vector<int>& order, std::size_t features) {
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = order.size() == features;
  for (std::size_t i = 0; is_permutation && i < features; ++i) is_permutation = sorted[i] == static_cast<int>(i);
  if (!is_permutation) refuse("every order must hold each of the " + std::to_string(features) + " features once");
}

const SubsetValue& value_of(const std::map<FeatureSet, SubsetValue>& values, FeatureSet set) {
  const auto found = values.find(set);
  if (found == values.end()) {
    refuse("an order passes through the feature set " + std::to_string(set) + ", which has no value");
  }
  return found->second;
}

/// One feature's gains over the orders.
struct Gains {
  std::vector<double> by_order;
  std::map<FeatureSet, double> counts;  ///< how often a set's value enters, with its sign
};

std::vector<Gains> collect(const std::map<FeatureSet, SubsetValue>& values, std::span<const std::vector<int>> orders) {
  std::vector<Gains> gains(orders.front().size());
  for (const std::vector<int>& order : orders) {
    require_permutation(order, gains.size());
    FeatureSet set = 0;
    for (const int feature : order) {
      const FeatureSet next = set | (FeatureSet{1} << feature);
      Gains& gain = gains[static_cast<std::size_t>(feature)];
      gain.by_order.push_back(value_of(values, next).value - value_of(values, set).value);
      gain.counts[next] += 1.0;
      gain.counts[set] -= 1.0;
      set = next;
    }
  }
  return gains;
}

Share sampled_share(const Gains& gains, const std::map<FeatureSet, SubsetValue>& values) {
  const double m = static_cast<double>(gains.by_order.size());
  Share share{.value = compensated_sum(gains.by_order) / m};
  double variance = 0.0;
  for (const auto& [set, count] : gains.counts) {
    const double part = count / m * values.at(set).se;
    variance += part * part;
  }
  share.se_values = std::sqrt(variance);
  if (const std::optional<Moments> moments = moments_of(gains.by_order)) share.se_orders = moments->se();
  return share;
}

}  // namespace

std::optional<Attribution> shapley_exact(std::span<const SubsetValue> values) {
  if (values.size() < 2 || !std::has_single_bit(values.size()) ||
      values.size() > (std::size_t{1} << kMaxExactFeatures)) {
    refuse("exact shares need the values of all 2^k sets of 1 to " + std::to_string(kMaxExactFeatures) +
           " features, got " + std::to_string(values.size()));
  }
  if (!std::all_of(values.begin(), values.end(), is_usable)) return std::nullopt;
  const std::size_t features = static_cast<std::size_t>(std::countr_zero(values.size()));
  const std::vector<double> weights = order_weights(features);
  Attribution result{.total = values.back().value - values.front().value};
  for (std::size_t i = 0; i < features; ++i) result.shares.push_back(exact_share(values, weights, i));
  return result;
}

std::optional<Attribution> shapley_sampled(const std::map<FeatureSet, SubsetValue>& values,
                                           std::span<const std::vector<int>> orders) {
  if (orders.empty() || orders.front().empty() || orders.front().size() > 64) {
    refuse("sampled shares need an order of 1 to 64 features");
  }
  if (!std::all_of(values.begin(), values.end(), [](const auto& entry) { return is_usable(entry.second); })) {
    return std::nullopt;
  }
  const std::vector<Gains> gains = collect(values, orders);
  const FeatureSet all = ~FeatureSet{0} >> (64 - gains.size());
  Attribution result{.total = value_of(values, all).value - value_of(values, 0).value};
  for (const Gains& gain : gains) result.shares.push_back(sampled_share(gain, values));
  return result;
}

}  // namespace nanobench::reports
