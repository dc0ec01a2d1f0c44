#include "reports/stats/verdict.h"

#include "core/base/error.h"
#include "reports/stats/t_tests.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

TEST(Equivalence, AgreesWithReferenceOnSummaries) {
  for (const nlohmann::json& entry : vectors("equivalence").at("summaries")) {
    const Estimate effect{.value = entry.at("value"), .se = entry.at("se"), .df = entry.at("df")};
    const double alpha = entry.at("alpha");
    const Equivalence result = equivalence(effect, {.low = entry.at("low"), .high = entry.at("high")}, alpha);
    expect_close(result.p_above_low, entry.at("p_above_low"), entry.dump());
    expect_close(result.p_below_high, entry.at("p_below_high"), entry.dump());
    expect_close(result.p, entry.at("p"), entry.dump());
    expect_interval(result.interval, entry.at("interval_low"), entry.at("interval_high"), entry.dump());
    const bool is_inside =
        -entry.at("low").get<double>() < result.interval.low && result.interval.high < entry.at("high").get<double>();
    EXPECT_EQ(result.is_equivalent, is_inside) << entry.dump();
  }
}

TEST(Equivalence, AgreesWithStatsmodelsOnWelch) {
  const nlohmann::json& entry = vectors("equivalence").at("welch");
  const auto effect = welch(list_of(entry, "first"), list_of(entry, "second"));
  const Equivalence result = equivalence(*effect, {.low = entry.at("low"), .high = entry.at("high")});
  expect_close(result.p, entry.at("p"), "p");
  expect_close(result.p_above_low, entry.at("p_above_low"), "above low");
  expect_close(result.p_below_high, entry.at("p_below_high"), "below high");
}

TEST(NonInferiority, IsOneSideOfEquivalence) {
  const Estimate effect{.value = 0.0004, .se = 0.0003, .df = 7.0};
  const Equivalence both = equivalence(effect, Margins::symmetric(0.001));
  const NonInferiority lower = non_inferiority(effect, 0.001, Better::kLower);
  EXPECT_DOUBLE_EQ(lower.p, both.p_below_high);
  EXPECT_EQ(lower.is_proved, lower.interval.high < 0.001);
  EXPECT_DOUBLE_EQ(non_inferiority(effect, 0.001, Better::kHigher).p, both.p_above_low);
  EXPECT_TRUE(non_inferiority({.value = -0.5, .se = 0.1, .df = 7.0}, 0.001, Better::kLower).is_proved)
      << "better is not worse";
  EXPECT_FALSE(non_inferiority({.value = -0.5, .se = 0.1, .df = 7.0}, 0.001, Better::kHigher).is_proved);
}

TEST(Equivalence, MisuseIsRefused) {
  const Estimate effect{.value = 0.0, .se = 1.0, .df = 5.0};
  EXPECT_THROW(equivalence(effect, Margins{}), core::Error) << "margins have no default";
  EXPECT_THROW(equivalence(effect, Margins::symmetric(std::nan(""))), core::Error);
  EXPECT_THROW(equivalence(effect, Margins::symmetric(1.0), 0.5), core::Error);
  EXPECT_THROW(equivalence(Estimate{}, Margins::symmetric(1.0)), core::Error);
  EXPECT_THROW(non_inferiority(effect, -1.0, Better::kLower), core::Error);
}

TEST(Equivalence, ATruthOnTheMarginPassesInAlpha) {
  NormalDraws draws(31);
  constexpr int kRepetitions = 20000;
  const double passed = share_of(kRepetitions, [&] {
    const auto effect = welch(draws.sample(10, 1.0, 0.6), draws.sample(10, 0.0, 0.6));
    return equivalence(*effect, Margins::symmetric(1.0)).is_equivalent;
  });
  expect_share(passed, 0.05, kRepetitions, "false proofs at the margin");
}

}  // namespace
}  // namespace nanobench::reports
