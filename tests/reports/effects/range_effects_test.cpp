#include "reports/effects/range_effects.h"

#include <gtest/gtest.h>

#include <tuple>

#include "core/data/token_groups.h"
#include "reports/kinds/sections.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

BucketLosses losses_of(const std::map<int, std::pair<double, double>>& means_and_counts) {
  BucketLosses losses{.means = std::vector<double>(core::kLogBuckets),
                      .counts = std::vector<double>(core::kLogBuckets)};
  for (const auto& [bucket, number] : means_and_counts)
    std::tie(losses.means[static_cast<std::size_t>(bucket)], losses.counts[static_cast<std::size_t>(bucket)]) = number;
  return losses;
}

/// Three seeds of a base and of a change that is better at bucket 40 and worse at 8; a quarter lies at 40.
struct MadeBuckets {
  std::vector<CellMeasures> cells = {made_cell("base", {3.0, 3.1, 3.2, 3.3}), made_cell("far", {3.0, 3.1, 3.2, 3.3})};
  PlanBuckets buckets{.cells = {{"base", {}}, {"far", {}}}};
  results::PlanRecord plan;

  MadeBuckets() {
    plan.design = results::Design::kLeaveOneOut;
    plan.contrasts = {simple_contrast("far", "far", "base")};
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const double luck = 0.1 * static_cast<double>(seed), noise = seed % 2 == 0 ? 0.001 : 0.0;
      buckets.cells[0].runs[seed] =
          losses_of({{8, {4.0 + luck, 600}}, {12, {3.5 + luck, 100}}, {40, {3.0 + luck, 300}}});
      buckets.cells[1].runs[seed] =
          losses_of({{8, {4.2 + luck, 600}}, {12, {3.7 + luck, 100}}, {40, {2.9 + luck + noise, 300}}});
    }
  }
};

TEST(BucketLosses, AreWeighedByTheirTargets) {
  const BucketLosses losses = losses_of({{8, {4.0, 600}}, {12, {3.0, 200}}});
  EXPECT_DOUBLE_EQ(*losses.mean({0, 64}), (4.0 * 600 + 3.0 * 200) / 800);
  EXPECT_DOUBLE_EQ(*losses.mean({8, 9}), 4.0);
  EXPECT_FALSE(losses.mean({13, 64}));
  EXPECT_DOUBLE_EQ(losses.count({9, 64}), 200);
}

TEST(BucketLosses, TheLastQuarterHasAQuarterOrMore) {
  std::vector<double> counts(core::kLogBuckets, 0.0);
  EXPECT_FALSE(last_quarter(counts)) << "no targets";
  counts[5] = 100;
  EXPECT_FALSE(last_quarter(counts)) << "all are in one bucket";
  counts[20] = 30;
  counts[30] = 10;
  EXPECT_EQ(*last_quarter(counts), (BucketRange{20, 64})) << "10 of 140 are fewer, 40 of 140 enough";
  counts[20] = 20;
  EXPECT_FALSE(last_quarter(counts)) << "30 of 130 are fewer, and the rest would be all";
}

TEST(BucketLosses, DoublingsReachFromTheFirstTargetsToTheLast) {
  std::vector<double> counts(core::kLogBuckets, 0.0);
  counts[9] = counts[17] = 1;
  EXPECT_EQ(doublings(counts), (std::vector<BucketRange>{{8, 12}, {12, 16}, {16, 20}}));
  EXPECT_EQ(range_text({8, 12}), "4 to 7");
  EXPECT_EQ(range_text({0, 1}), "1");
  EXPECT_EQ(range_text({40, 64}), "1,024 on");
}

TEST(RangeEffects, AreJudgedOnTheLastQuarterSeedBySeed) {
  const MadeBuckets made;
  const RangeEffects judged = *judge_ranges(made.plan, made.cells, made.buckets, {}, true);
  EXPECT_EQ(judged.last, (BucketRange{40, 64}));
  ASSERT_EQ(judged.effects.size(), 1U);
  EXPECT_NEAR(*judged.effects[0].value, -0.0995, 1e-12);
  EXPECT_EQ(judged.effects[0].n, 4);
  EXPECT_EQ(judged.effects[0].verdict, Verdict::kImproved);
  EXPECT_NEAR(*judged.on_before[0].value, 0.2, 1e-12);
  EXPECT_EQ(judged.ranges.size(), judged.by_range.size());
  EXPECT_EQ(judged.ranges.front(), (BucketRange{8, 12}));
  EXPECT_NEAR(*judged.by_range.front()[0].value, 0.2, 1e-12);
  EXPECT_FALSE(judged.by_range[2][0].value) << "a doubling without targets";
}

TEST(RangeEffects, AreOneFamilyOfTheirOwn) {
  MadeBuckets made;
  const MeasuredEffect alone = judge_ranges(made.plan, made.cells, made.buckets, {})->effects[0];
  EXPECT_EQ(*alone.adjusted_p, *alone.p);
  made.cells.push_back(made_cell("near", {3.0, 3.1, 3.2, 3.3}));
  made.buckets.cells.push_back(made.buckets.cells[0]);
  made.plan.contrasts.push_back(simple_contrast("near", "near", "base"));
  const MeasuredEffect one_of_two = judge_ranges(made.plan, made.cells, made.buckets, {})->effects[0];
  EXPECT_GT(*one_of_two.adjusted_p, *one_of_two.p) << "Holm, over two";
}

TEST(RangeEffects, WithoutRunsThereAreNone) {
  MadeBuckets made;
  for (CellBuckets& cell : made.buckets.cells) cell.runs.clear();
  EXPECT_FALSE(judge_ranges(made.plan, made.cells, made.buckets, {}));
}

TEST(TokenLossSections, HaveARowForEachCellAndChange) {
  const MadeBuckets made;
  const std::vector<JudgedBuckets> judged = {
      {made.buckets, *judge_ranges(made.plan, made.cells, made.buckets, {}, true)}};
  const std::vector<Section> sections = token_loss_sections(made.plan, judged, true);
  ASSERT_EQ(sections.size(), 1U);
  const Table& cells = sections[0].tables.at(0);
  EXPECT_EQ(cells.id, "loss_at_position");
  ASSERT_EQ(cells.rows.size(), 2U);
  EXPECT_NEAR(cells.rows[1][2].value.at("mean").get<double>(), 3.1505, 1e-12);
  const Table& changes = sections[0].tables.at(1);
  EXPECT_EQ(changes.id, "loss_at_position_effects");
  EXPECT_NEAR(changes.rows[0][2].value.at("value").get<double>(), -0.0995, 1e-12);
  EXPECT_EQ(changes.rows[0][3].value, "improved");
  ASSERT_EQ(sections[0].charts.size(), 2U);
  EXPECT_EQ(sections[0].charts[0].data.rows.size(), 6U) << "three buckets of two cells";
  EXPECT_EQ(sections[0].charts[1].id, "loss_at_position_changes");
  const std::vector<Section> buckets = bucket_sections(made.plan, judged);
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_TRUE(buckets[0].is_background);
  EXPECT_EQ(buckets[0].tables.at(0).rows.size(), 6U);
}

TEST(TokenLossSections, FillTheEffectsOfAReport) {
  const MadeBuckets made;
  std::vector<EffectResult> effects = analyse_effects(made.plan, made.cells);
  add_long_positions(effects, {{made.buckets, *judge_ranges(made.plan, made.cells, made.buckets, {})}});
  EXPECT_EQ(effects[0].at_long_positions.verdict, Verdict::kImproved);
}

}  // namespace
}  // namespace nanobench::reports
