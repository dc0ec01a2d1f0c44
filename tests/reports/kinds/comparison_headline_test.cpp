#include "reports/kinds/sections.h"

#include <gtest/gtest.h>

#include "reports/comparison/comparison.h"
#include "reports/kinds/effect_tally.h"
#include "reports/kinds/kinds.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

using Status = SeedsForVerdict::Status;

/// Effects with these verdicts, and of the inconclusive ones what they need, in turn.
struct Judged {
  void add(FeatureVerdict verdict, std::optional<SeedsForVerdict> seeds = std::nullopt,
           NoVerdict no_verdict = NoVerdict::kNone) {
    EffectResult effect;
    effect.contrast = simple_contrast("change" + std::to_string(effects.size()), "on", "off");
    effect.verdict = verdict;
    effect.no_verdict = no_verdict;
    effects.push_back(std::move(effect));
    needed.push_back(seeds);
  }
  void add_many(int count, FeatureVerdict verdict) {
    for (int i = 0; i < count; ++i) add(verdict);
  }
  EffectTally tally() const { return tally_of(effects, needed); }
  std::string headline() const { return effects_headline(effects, needed, "this machine"); }

  std::vector<EffectResult> effects;
  std::vector<std::optional<SeedsForVerdict>> needed;
};

SeedsForVerdict told(int have, int seeds) {
  return {.status = Status::kKnown, .have = have, .seeds = seeds, .min_seeds = seeds, .max_seeds = seeds};
}

TEST(EffectTally, CountsEveryVerdict) {
  Judged judged;
  EXPECT_EQ(judged.tally(), EffectTally{});
  judged.add_many(5, FeatureVerdict::kKeep);
  judged.add_many(2, FeatureVerdict::kBarnacle);
  judged.add(FeatureVerdict::kInconclusive, told(3, 17));
  judged.add(FeatureVerdict::kInconclusive, told(3, 17));
  const EffectTally few = judged.tally();
  EXPECT_EQ(few.total, 9);
  EXPECT_EQ(few.kept.size(), 5U);
  EXPECT_EQ(few.barnacles, (std::vector<std::string>{"change5", "change6"}));
  EXPECT_EQ(few.known, 2);
  EXPECT_EQ(few.min_more, 14);
  EXPECT_EQ(few.max_more, 14);
  judged.add(FeatureVerdict::kDrop);
  judged.add(FeatureVerdict::kInconclusive, told(3, 8));
  judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{.status = Status::kTooMany, .have = 3});
  judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{.status = Status::kOneSeed, .have = 1});
  judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{.status = Status::kWithinNoise, .have = 3});
  judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{}, NoVerdict::kMissingCell);
  judged.add(FeatureVerdict::kInconclusive);
  const EffectTally all = judged.tally();
  EXPECT_EQ(all.total, 16);
  EXPECT_EQ(all.dropped, std::vector<std::string>{"change9"});
  EXPECT_EQ(all.known, 3);
  EXPECT_EQ(all.min_more, 5);
  EXPECT_EQ(all.max_more, 14);
  EXPECT_EQ(all.too_many, 1);
  EXPECT_EQ(all.one_seed, 1);
  EXPECT_EQ(all.within_noise, 1);
  EXPECT_EQ(all.unknown, 2);
  EXPECT_EQ(all.reasons.size(), 2U);
  EXPECT_EQ(all.name, "change15");
  judged.add(FeatureVerdict::kInconclusive,
             SeedsForVerdict{.status = Status::kKnown, .have = 3, .seeds = 30, .min_seeds = 4, .max_seeds = {}});
  EXPECT_EQ(judged.tally().min_more, 1);
  EXPECT_EQ(judged.tally().max_more, std::nullopt) << "more than can be named";
}

// The only tests of these sentences: all others compare values.

TEST(EffectsHeadline, CountsEveryVerdict) {
  Judged judged;
  judged.add_many(5, FeatureVerdict::kKeep);
  judged.add_many(2, FeatureVerdict::kBarnacle);
  judged.add(FeatureVerdict::kInconclusive, told(3, 17));
  judged.add(FeatureVerdict::kInconclusive, told(3, 17));
  EXPECT_EQ(
      judged.headline(),
      "5 of 9 changes pay on this machine; 2 are barnacles, proved to do neither; 2 need more runs: about 14 more "
      "seeds each.");
  judged.add(FeatureVerdict::kDrop);
  judged.add(FeatureVerdict::kInconclusive, told(3, 8));
  judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{.status = Status::kTooMany, .have = 3});
  judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{}, NoVerdict::kMissingCell);
  EXPECT_EQ(
      judged.headline(),
      "5 of 13 changes pay on this machine; 1 costs time; 2 are barnacles, proved to do neither; 3 need more runs: "
      "about 5 to 14 more seeds each; 1 needs more than 500 seeds, so this scale cannot decide; 1 cannot be "
      "judged: not every cell has a completed run.");
}

TEST(EffectsHeadline, OneSeedTellsNothing) {
  Judged judged;
  for (int i = 0; i < 6; ++i)
    judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{.status = Status::kOneSeed, .have = 1},
               NoVerdict::kOneSeed);
  EXPECT_EQ(judged.headline(),
            "No verdict on any of the 6 changes yet: one seed gives no spread to judge by. Run at least 3 seeds.");
  judged.add(FeatureVerdict::kInconclusive, told(2, 3));
  EXPECT_EQ(
      judged.headline(),
      "None of 7 changes is proved to pay on this machine; 1 needs more runs: about 1 more seed; 6 have one seed, "
      "which gives no spread: run at least 3.");
}

TEST(EffectsHeadline, OneChangeIsNamed) {
  const auto of = [](FeatureVerdict verdict, std::optional<SeedsForVerdict> needed = std::nullopt) {
    Judged judged;
    judged.add(verdict, needed);
    return judged.headline();
  };
  EXPECT_EQ(of(FeatureVerdict::kKeep), "change0 pays on this machine.");
  EXPECT_EQ(of(FeatureVerdict::kDrop), "change0 costs time on this machine.");
  EXPECT_EQ(of(FeatureVerdict::kBarnacle), "change0 is a barnacle: it is proved to do neither good nor harm.");
  EXPECT_EQ(of(FeatureVerdict::kInconclusive, told(4, 9)), "change0 needs more runs: about 5 more seeds.");
  const SeedsForVerdict wide{.status = Status::kKnown, .have = 3, .seeds = 30, .min_seeds = 4, .max_seeds = 348};
  EXPECT_EQ(of(FeatureVerdict::kInconclusive, wide), "change0 needs more runs: at least 1 more seed.");
  EXPECT_EQ(of(FeatureVerdict::kInconclusive), "change0 cannot be judged: its runs give no answer.");
  EXPECT_EQ(Judged().headline(), "");
}

TEST(EffectsHeadline, AListNamesWhatIsDecided) {
  Judged judged;
  judged.add_many(2, FeatureVerdict::kKeep);
  judged.add(FeatureVerdict::kBarnacle);
  judged.add(FeatureVerdict::kDrop);
  judged.add(FeatureVerdict::kInconclusive, SeedsForVerdict{.status = Status::kWithinNoise, .have = 3});
  const auto list = [&] { return effects_headline(judged.effects, judged.needed, "this machine", true); };
  EXPECT_EQ(list(),
            "Of 5 techniques 2 pay on this machine: change0 and change1; 1 does nothing within the margin: change2; 1 "
            "costs time: change3; 1 is within noise, so no number of seeds is promised.");
  judged.add_many(19, FeatureVerdict::kKeep);
  EXPECT_EQ(
      list(),
      "Of 24 techniques 21 pay on this machine; 1 does nothing within the margin: change2; 1 costs time: change3; "
      "1 is within noise, so no number of seeds is promised.")
      << "too many to name";
  judged = {};
  judged.add_many(2, FeatureVerdict::kDrop);
  EXPECT_EQ(list(), "Of 2 techniques none is proved to pay on this machine; 2 cost time: change0 and change1.");
}

TEST(VerdictList, EachTechniqueStandsInOneRowOfEitherMeasure) {
  Judged judged;
  judged.add(FeatureVerdict::kKeep);
  EXPECT_FALSE(verdict_list(judged.effects).has_value());
  judged.add(FeatureVerdict::kBarnacle);
  judged.add(FeatureVerdict::kDrop);
  judged.add(FeatureVerdict::kInconclusive);
  judged.effects[0].loss.verdict = Verdict::kRegressed;
  judged.effects[1].loss.verdict = Verdict::kImproved;
  judged.effects[2].loss.verdict = Verdict::kUnchanged;
  EffectResult interaction;  // has no verdict, so it is in no row
  interaction.contrast = simple_contrast("a x b", "on", "off");
  judged.effects.push_back(interaction);
  const std::optional<Section> section = verdict_list(judged.effects);
  ASSERT_TRUE(section);
  const Table& table = section->tables.at(0);
  std::vector<std::string> rows;
  for (const std::vector<TableCell>& row : table.rows)
    rows.push_back(core::OrderedJson{row[0].value, row[1].value, row[2].value}.dump());
  EXPECT_EQ(rows, (std::vector<std::string>{
                      R"(["pays",["change0"],["change1"]])", R"(["does_nothing",["change1"],["change2"]])",
                      R"(["costs",["change2"],["change0"]])", R"(["undecided",["change3"],["change3"]])"}));
}

TEST(ComparisonHeadline, SaysWhatFailedAndWhereAHistoryWent) {
  results::PlanRecord plan;
  plan.design = results::Design::kHistory;
  std::vector<CellMeasures> cells = {made_cell("record1", {3.3, 3.4}), made_cell("record2", {3.2, 3.2})};
  for (RunMeasure& run : cells[1].runs) run.step_ms = 80.0;
  cells[1].planned = 4;
  EXPECT_EQ(
      comparison_report(plan, cells, compare(plan, cells, {})).headline,
      "This design judges no single change. From record1 to record2 the step became 1.25 times as fast and val loss "
      "fell by 0.1500. 2 of 6 runs are not done.");
  cells[1].runs[0].run.result->outcome = core::RunOutcome::kCrashed;
  EXPECT_EQ(comparison_report(plan, cells, compare(plan, cells, {})).headline,
            "This design judges no single change. From record1 to record2 the step became 1.25 times as fast and val "
            "loss fell by 0.1500. 1 of 6 runs failed, 2 are not done.");
  EXPECT_EQ(comparison_report(plan, {}, compare(plan, {}, {})).headline, "Nothing has been measured yet.");
}

TEST(ComparisonHeadline, TwoMachinesAreNotOne) {
  results::PlanRecord plan;
  plan.design = results::Design::kLeaveOneOut;
  plan.contrasts.push_back(simple_contrast("x", "on", "off"));
  std::vector<CellMeasures> cells = {made_cell("on", {3.3}), made_cell("off", {3.2})};
  EffectResult effect;
  effect.contrast = plan.contrasts.front();
  effect.verdict = FeatureVerdict::kKeep;
  const auto headline = [&] {
    return comparison_headline(plan, cells, compare(plan, cells, {}), {effect}, {std::nullopt});
  };
  EXPECT_EQ(headline(), "x pays on this machine.");
  cells[1].runs[0].run.owner.host = "another";
  EXPECT_EQ(headline(), "x pays on these machines.");
}

}  // namespace
}  // namespace nanobench::reports
