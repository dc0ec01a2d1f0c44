// Verdicts of a plan of looks: what crossed a boundary stays decided.
#include <gtest/gtest.h>

#include "reports/comparison/comparison.h"
#include "reports/effects/effects.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "reports/stats/power.h"
#include "tests/reports/made_cells.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

using Values = std::vector<double>;

results::PlanRecord sequential_effects_plan_of(const results::SequentialLook& look,
                                               const std::vector<std::uint64_t>& seeds) {
  results::PlanRecord plan;
  plan.design = results::Design::kLeaveOneOut;
  plan.sequential = look;
  plan.contrasts = {simple_contrast("x", "base", "without x")};
  for (const std::uint64_t seed : seeds) {
    for (const char* label : {"without x", "base"}) plan.lines.push_back({.cell = label, .seed = seed});
  }
  return plan;
}

std::vector<std::uint64_t> seeds_up_to(std::size_t count) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= count; ++seed) seeds.push_back(seed);
  return seeds;
}

/// What the change does in each seed, on losses that differ from seed to seed.
std::vector<CellMeasures> sequential_effects_cells_of(const Values& effects) {
  Values with, without;
  for (const double effect : effects) {
    without.push_back(3.0 + 0.01 * static_cast<double>(without.size() % 3));
    with.push_back(without.back() + effect);
  }
  return {made_cell("base", with), made_cell("without x", without)};
}

/// Sure at three seeds, and nothing at six.
const Values kSureThenNot = {-0.1000, -0.1001, -0.0999, 0.5, -0.4, 0.3};
constexpr results::SequentialLook kFourLooks = {.first = 3, .most = 6, .step = 1, .look = 4};

TEST(SequentialEffects, WhatCrossedItsBoundaryStaysDecided) {
  const std::vector<CellMeasures> cells = sequential_effects_cells_of(kSureThenNot);
  const EffectResult effect = analyse_effects(sequential_effects_plan_of(kFourLooks, seeds_up_to(6)), cells).front();
  EXPECT_EQ(effect.loss.verdict, Verdict::kImproved);
  EXPECT_EQ(effect.loss.decided_at_look, 1);
  EXPECT_EQ(effect.loss.n, 6) << "values and intervals are those of all seeds";
  EXPECT_GT(*effect.loss.p, 0.5);
  results::PlanRecord fixed = sequential_effects_plan_of(kFourLooks, seeds_up_to(6));
  fixed.sequential.reset();
  EXPECT_EQ(analyse_effects(fixed, cells).front().loss.verdict, Verdict::kInconclusive);
}

TEST(SequentialEffects, SeedsToComeAreJudgedByTheLastBoundary) {
  results::SequentialLook first = kFourLooks;
  first.look = 1;
  const results::PlanRecord plan = sequential_effects_plan_of(first, seeds_up_to(3));
  EXPECT_GT(*final_rules_of(plan).nominal_p, *rules_of(plan).nominal_p);
  EXPECT_EQ(final_rules_of(plan).nominal_p, rules_of(sequential_effects_plan_of(kFourLooks, seeds_up_to(6))).nominal_p);
  EXPECT_FALSE(final_rules_of(results::PlanRecord{}).nominal_p);
}

TEST(SequentialEffects, ALookHasTheSeedsThatRanFirst) {
  // Were the seeds taken by their numbers, the sure ones would come last.
  results::PlanRecord plan = sequential_effects_plan_of(kFourLooks, {6, 5, 4, 3, 2, 1});
  Values effects(kSureThenNot.rbegin(), kSureThenNot.rend());
  EXPECT_EQ(analyse_effects(plan, sequential_effects_cells_of(effects)).front().loss.decided_at_look, 1);
  EXPECT_FALSE(analyse_effects(plan, sequential_effects_cells_of(kSureThenNot)).front().loss.decided_at_look);
}

TEST(SequentialEffects, LaterLooksAreNotLookedAt) {
  results::SequentialLook second = kFourLooks;
  second.look = 2;
  const Values late = {-0.1, 0.2, -0.3, 0.1};
  const EffectResult effect =
      analyse_effects(sequential_effects_plan_of(second, seeds_up_to(4)), sequential_effects_cells_of(late)).front();
  EXPECT_FALSE(effect.loss.decided_at_look);
  EXPECT_EQ(effect.loss.verdict, Verdict::kInconclusive);
}

TEST(SequentialEffects, TheFirstDecisionIsTheOneThatStands) {
  // Better at three seeds; of six the mean is worse by far.
  const Values effects = {-0.1000, -0.1001, -0.0999, 0.5, 0.5001, 0.4999};
  const results::SequentialLook looks = {.first = 3, .most = 6, .step = 3, .look = 2};
  const EffectResult effect =
      analyse_effects(sequential_effects_plan_of(looks, seeds_up_to(6)), sequential_effects_cells_of(effects)).front();
  EXPECT_EQ(effect.loss.verdict, Verdict::kImproved);
  EXPECT_EQ(effect.loss.decided_at_look, 1);
  EXPECT_GT(*effect.loss.value, 0.0) << "the value says what all seeds say";
}

TEST(SequentialEffects, TheReportSaysAtWhichLook) {
  const std::vector<CellMeasures> cells = sequential_effects_cells_of(kSureThenNot);
  const results::PlanRecord plan = sequential_effects_plan_of(kFourLooks, seeds_up_to(6));
  const Document document = comparison_report(plan, cells, compare(plan, cells, {}));
  const core::Json row = core::Json::parse(render_json(document)).at("tables").at("effects").at(0);
  EXPECT_EQ(row.at("loss").at("decided_at_look"), 1);
  EXPECT_EQ(row.at("loss").at("verdict"), "improved");
}

EffectRules sharp_rules() {
  EffectRules rules;
  rules.loss_margin = 1e-9;  // never "unchanged"
  return rules;
}

/// Shares of experiments that are decided by the last look, and at the last look alone.
struct Shares {
  double sticky = 0.0;
  double last_alone = 0.0;
};

Shares decided(double effect, double sd, const results::SequentialLook& looks, int repetitions, std::uint64_t seed) {
  NormalDraws draws(seed);
  const results::PlanRecord plan = sequential_effects_plan_of(looks, seeds_up_to(static_cast<std::size_t>(looks.most)));
  const double nominal_p = looks_of(looks).back().nominal_p;
  int sticky = 0, alone = 0;
  for (int i = 0; i < repetitions; ++i) {
    const EffectResult result =
        analyse_effects(plan, sequential_effects_cells_of(draws.sample(looks.most, effect, sd)), sharp_rules()).front();
    sticky += result.loss.decided_at_look ? 1 : 0;
    alone += *result.loss.p < nominal_p ? 1 : 0;
  }
  return {static_cast<double>(sticky) / repetitions, static_cast<double>(alone) / repetitions};
}

constexpr results::SequentialLook kLooks = {.first = 2, .most = 8, .step = 3, .look = 3};

TEST(SequentialEffectsSimulation, FalseDecisionsStayAtAlpha) {
  constexpr int kRepetitions = 800;
  const Shares shares = decided(0.0, 0.002, kLooks, kRepetitions, 11);
  EXPECT_LE(shares.sticky, 0.05 + slack(0.05, kRepetitions));
  EXPECT_GE(shares.sticky, shares.last_alone);
}

TEST(SequentialEffectsSimulation, PowerIsAtLeastThatOfTheLastLook) {
  constexpr int kRepetitions = 400;
  const double sd = 0.002;
  const double nominal_p = looks_of(kLooks).back().nominal_p;
  const double effect = minimum_detectable_effect(planned_error(sd, kLooks.most), 0.8, {.alpha = nominal_p});
  const Shares shares = decided(effect, sd, kLooks, kRepetitions, 12);
  EXPECT_GE(shares.sticky, 0.8 - slack(0.8, kRepetitions));
  EXPECT_GE(shares.sticky, shares.last_alone);
}

/// Runs that can be turned into seconds: a curve that falls straight to its end, and times with a spread.
std::vector<CellMeasures> cells_with_curves(const Values& effects, NormalDraws& draws) {
  constexpr std::int64_t kSteps = 1000;
  std::vector<CellMeasures> cells = sequential_effects_cells_of(effects);
  for (CellMeasures& cell : cells) {
    for (RunMeasure& run : cell.runs) {
      run.run.result->steps = kSteps;
      set_step_ms(run, draws.next(100.0, 0.2));
      for (std::int64_t step = 0; step <= kSteps; step += 50) {
        const double loss = *run.val_loss + 0.0005 * static_cast<double>(kSteps - step) + draws.next(0.0, 1e-5);
        run.curve.push_back({.clock_s = std::nullopt, .loss = loss, .step = step});
      }
    }
  }
  return cells;
}

TEST(SequentialEffectsSimulation, NothingIsKeptOrDroppedMoreOftenThanAlpha) {
  constexpr int kRepetitions = 300;
  NormalDraws draws(13);
  const results::PlanRecord plan =
      sequential_effects_plan_of(kLooks, seeds_up_to(static_cast<std::size_t>(kLooks.most)));
  EffectRules rules = sharp_rules();
  rules.time_margin = 1e-9;
  const double alarms = share_of(kRepetitions, [&] {
    const std::vector<CellMeasures> cells = cells_with_curves(draws.sample(kLooks.most, 0.0, 0.002), draws);
    return analyse_effects(plan, cells, rules).front().decided_at_look.has_value();
  });
  EXPECT_LE(alarms, 0.05 + slack(0.05, kRepetitions));
  EXPECT_GT(alarms, 0.0) << "a test that never alarms holds nothing";
}

}  // namespace
}  // namespace nanobench::reports
