#include "reports/forecast/detection_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

// The only tests of these sentences: all others compare values.

TEST(DetectionText, SaysWhereNoiseIsKnownFrom) {
  EXPECT_EQ(source_text(NoiseFigure{}), "unknown: no replicated runs of this scale, engine and machine are stored");
  EXPECT_EQ(source_text(NoiseFigure{.source = NoiseSource::kSuite}), "stored runs of this suite, seed by seed");
  NoiseFigure noise{.source = NoiseSource::kSelfComparison, .plan_id = 3};
  EXPECT_EQ(source_text(noise), "plan 3, one configuration against itself (a_a)");
  noise.is_bound = true;
  EXPECT_EQ(source_text(noise), "plan 3, one configuration against itself (a_a), over seeds");
  EXPECT_EQ(source_text(NoiseFigure{.source = NoiseSource::kAllRuns}), "all stored runs of this scale, over seeds");
  EXPECT_EQ(source_text(NoiseFigure{.source = NoiseSource::kAllPlans}), "all stored plans of this scale, seed by seed");
}

TEST(DetectionText, SaysWhyThereIsNoNumber) {
  using Kind = Undetectable::Kind;
  EXPECT_EQ(text_of(Undetectable{Kind::kNoNoise}, {}), source_text(NoiseFigure{}));
  EXPECT_EQ(text_of(Undetectable{Kind::kEqualRuns}, {}), "the stored runs of one seed do not differ");
  EXPECT_EQ(text_of(Undetectable{Kind::kManySeeds, 1000000}, {}), "more than 1,000,000 seeds would be needed");
  EXPECT_EQ(text_of(Undetectable{Kind::kFewSeeds, 1}, {}), "1 seed gives no verdict: --seeds 3 or more");
  EXPECT_EQ(text_of(Undetectable{Kind::kFewSeeds, 2}, {}), "2 seeds give no verdict: --seeds 3 or more");
}

}  // namespace
}  // namespace nanobench::reports
