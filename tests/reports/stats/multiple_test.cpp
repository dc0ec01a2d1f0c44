#include "reports/stats/multiple.h"

#include <limits>

#include "core/base/error.h"
#include "tests/reports/stats/simulation.h"
#include "tests/reports/stats/vectors.h"

namespace nanobench::reports {
namespace {

using MaybeValues = std::vector<std::optional<double>>;
using MaybeEstimates = std::vector<std::optional<Estimate>>;

TEST(Holm, AgreesWithStatsmodels) {
  for (const nlohmann::json& entry : vectors("holm")) {
    MaybeValues p;
    for (const double value : list_of(entry, "p")) p.emplace_back(value);
    const MaybeValues adjusted = holm(p);
    const std::vector<double> expected = list_of(entry, "adjusted");
    for (std::size_t i = 0; i < expected.size(); ++i) expect_close(*adjusted[i], expected[i], entry.dump());
  }
}

TEST(Holm, AMissingPStaysMissingAndCounts) {
  const MaybeValues p = {0.01, std::nullopt, 0.02};
  const MaybeValues counted = holm(p);
  EXPECT_DOUBLE_EQ(*counted[0], 0.03);
  EXPECT_FALSE(counted[1]);
  EXPECT_DOUBLE_EQ(*counted[2], 0.04);
  const MaybeValues left_out = holm(p, Missing::kLeftOut);
  EXPECT_DOUBLE_EQ(*left_out[0], 0.02);
  EXPECT_FALSE(left_out[1]);
  EXPECT_DOUBLE_EQ(*left_out[2], 0.02);
  EXPECT_TRUE(holm(MaybeValues{}).empty());
}

TEST(Holm, RefusesWhatIsNoProbability) {
  EXPECT_THROW(holm(MaybeValues{std::nan("")}), core::Error);
  EXPECT_THROW(holm(MaybeValues{1.1}), core::Error);
  EXPECT_THROW(holm(MaybeValues{-0.1}), core::Error);
}

TEST(SimultaneousIntervals, AreBonferronis) {
  const Estimate estimate{.value = 1.0, .se = 0.2, .df = 6.0};
  const auto intervals = simultaneous_intervals(MaybeEstimates{estimate, std::nullopt, estimate, estimate});
  const ConfidenceInterval single = interval_of(estimate, 1.0 - 0.05 / 4.0);
  EXPECT_NEAR(intervals[0]->low, single.low, 1e-12);
  EXPECT_DOUBLE_EQ(intervals[0]->level, 0.95);
  EXPECT_FALSE(intervals[1]);
}

TEST(HolmLowerBounds, FollowTheRejections) {
  const auto of = [](double value) { return Estimate{.value = value, .se = 1.0, .df = 10.0}; };
  const auto some = holm_lower_bounds(MaybeEstimates{of(9.0), of(0.5), of(-1.0)});
  EXPECT_DOUBLE_EQ(*some[0], 0.0) << "rejected while others stand";
  EXPECT_NEAR(*some[1], interval_of(of(0.5), 1.0 - 0.05 / 2.0, Tail::kGreater).low, 1e-12);
  const auto all = holm_lower_bounds(MaybeEstimates{of(9.0), of(8.0)});
  EXPECT_NEAR(*all[0], interval_of(of(9.0), 1.0 - 0.05 / 2.0, Tail::kGreater).low, 1e-12);
  EXPECT_GT(*all[0], 0.0);
}

TEST(Multiple, HoldTogetherAsPromised) {
  // Five arms, two of which have an effect. Family-wise: Holm's false rejections among the three at most 5 %, the
  // intervals together at least 95 %, the bounds as well.
  const std::vector<double> truth = {0.0, 0.0, 0.0, 2.0, 0.8};
  NormalDraws draws(41);
  constexpr int kRepetitions = 4000;
  int rejected = 0;
  int held = 0;
  int bounded = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    MaybeEstimates estimates;
    MaybeValues p;
    for (const double mean : truth) {
      estimates.emplace_back(estimate_of(*moments_of(draws.sample(6, mean))));
      p.emplace_back(p_of(*estimates.back()));
    }
    const MaybeValues adjusted = holm(p);
    rejected += *adjusted[0] < 0.05 || *adjusted[1] < 0.05 || *adjusted[2] < 0.05 ? 1 : 0;
    const auto intervals = simultaneous_intervals(estimates);
    const auto bounds = holm_lower_bounds(estimates);
    bool all_held = true;
    bool all_bounded = true;
    for (std::size_t k = 0; k < truth.size(); ++k) {
      all_held = all_held && intervals[k]->contains(truth[k]);
      all_bounded = all_bounded && (*bounds[k] < truth[k] || (*bounds[k] == 0.0 && truth[k] > 0.0));
    }
    held += all_held ? 1 : 0;
    bounded += all_bounded ? 1 : 0;
  }
  EXPECT_LE(rejected, kRepetitions * (0.05 + slack(0.05, kRepetitions)));
  EXPECT_GE(rejected, kRepetitions * 0.02) << "not needlessly timid";
  EXPECT_GE(held, kRepetitions * (0.95 - slack(0.95, kRepetitions)));
  EXPECT_GE(bounded, kRepetitions * (0.95 - slack(0.95, kRepetitions)));
}

}  // namespace
}  // namespace nanobench::reports
