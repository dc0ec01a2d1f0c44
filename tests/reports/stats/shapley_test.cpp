#include "reports/stats/shapley.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

std::vector<SubsetValue> values_of(const nlohmann::json& entry) {
  const std::vector<double> values = list_of(entry, "values");
  const std::vector<double> errors = list_of(entry, "errors");
  std::vector<SubsetValue> result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back({.value = values[i], .se = errors[i]});
  return result;
}

std::map<FeatureSet, SubsetValue> by_set(const std::vector<SubsetValue>& values) {
  std::map<FeatureSet, SubsetValue> result;
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i];
  return result;
}

std::vector<std::vector<int>> all_orders(std::size_t features) {
  std::vector<int> order(features);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders;
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

double sum_of(const Attribution& attribution) {
  double sum = 0.0;
  for (const Share& share : attribution.shares) sum += share.value;
  return sum;
}

TEST(Shapley, ExactAgreesWithEveryOrderCounted) {
  for (const nlohmann::json& entry : vectors("shapley")) {
    const auto result = shapley_exact(values_of(entry));
    const std::vector<double> shares = list_of(entry, "shares");
    const std::vector<double> errors = list_of(entry, "se");
    ASSERT_EQ(result->shares.size(), shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      EXPECT_NEAR(result->shares[i].value, shares[i], 1e-12);
      expect_close(result->shares[i].se_values, errors[i], entry.dump());
    }
    EXPECT_NEAR(sum_of(*result), result->total, 1e-12) << "the shares are the whole";
  }
}

TEST(Shapley, AllOrdersSampledIsExact) {
  for (const nlohmann::json& entry : vectors("shapley")) {
    const std::vector<SubsetValue> values = values_of(entry);
    const auto exact = shapley_exact(values);
    const auto sampled = shapley_sampled(by_set(values), all_orders(exact->shares.size()));
    for (std::size_t i = 0; i < exact->shares.size(); ++i) {
      EXPECT_NEAR(sampled->shares[i].value, exact->shares[i].value, 1e-12);
      EXPECT_NEAR(sampled->shares[i].se_values, exact->shares[i].se_values, 1e-12);
    }
  }
}

TEST(Shapley, OneOrderIsTheHistoryAndHasNoErrorOfOrders) {
  const std::map<FeatureSet, SubsetValue> history = {
      {0, {10.0, 0.1}}, {2, {7.0, 0.2}}, {6, {6.5, 0.0}}, {7, {6.0, 0.0}}};
  const std::vector<std::vector<int>> orders = {{1, 2, 0}};
  const auto result = shapley_sampled(history, orders);
  EXPECT_DOUBLE_EQ(result->shares[1].value, -3.0);
  EXPECT_NEAR(result->shares[1].se_values, std::hypot(0.1, 0.2), 1e-15);
  EXPECT_DOUBLE_EQ(result->shares[2].value, -0.5);
  EXPECT_DOUBLE_EQ(result->shares[0].value, -0.5);
  EXPECT_FALSE(result->shares[0].se_orders);
  EXPECT_DOUBLE_EQ(result->total, -4.0);
  EXPECT_DOUBLE_EQ(sum_of(*result), -4.0);
}

TEST(Shapley, SampledOrdersCoverTheExactShare) {
  // Values without error, so only the choice of orders errs; 40 of the 720 orders, with interactions.
  NormalDraws draws(81);
  core::RandomStream random(81, 2);
  constexpr int kRepetitions = 400;
  int held = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    std::vector<SubsetValue> values;
    for (int set = 0; set < 64; ++set) values.push_back({.value = draws.next()});
    std::vector<std::vector<int>> orders;
    for (int k = 0; k < 40; ++k) {
      std::vector<double> keys = {0, 1, 2, 3, 4, 5};
      random.shuffle(keys);
      orders.emplace_back(keys.begin(), keys.end());
    }
    const Share exact = shapley_exact(values)->shares[0];
    const Share sampled = shapley_sampled(by_set(values), orders)->shares[0];
    held += std::abs(sampled.value - exact.value) <= t_critical(0.95, 39) * *sampled.se_orders ? 1 : 0;
  }
  EXPECT_NEAR(held, 0.95 * kRepetitions, slack(0.95, kRepetitions) * kRepetitions);
}

TEST(Shapley, MisuseIsRefusedAndMissingIsNothing) {
  EXPECT_THROW(shapley_exact(std::vector<SubsetValue>(3)), core::Error);
  EXPECT_THROW(shapley_exact(std::vector<SubsetValue>(1)), core::Error);
  EXPECT_THROW(shapley_exact(std::vector<SubsetValue>{{1.0, -0.1}, {2.0, 0.0}}), core::Error);
  EXPECT_FALSE(shapley_exact(std::vector<SubsetValue>{{1.0, 0.0}, {std::nan(""), 0.0}}));
  EXPECT_FALSE(shapley_exact(std::vector<SubsetValue>{{1.0, 0.0}, {1.0, INFINITY}}));
  const std::map<FeatureSet, SubsetValue> values = {{0, {}}, {1, {}}, {3, {}}};
  const std::vector<std::vector<int>> missing = {{1, 0}};
  EXPECT_THROW(shapley_sampled(values, missing), core::Error);
  const std::vector<std::vector<int>> twice = {{0, 0}};
  EXPECT_THROW(shapley_sampled(values, twice), core::Error);
  EXPECT_THROW(shapley_sampled(values, std::vector<std::vector<int>>{}), core::Error);
}

}  // namespace
}  // namespace nanobench::reports
