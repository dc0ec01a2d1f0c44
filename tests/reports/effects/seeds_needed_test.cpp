#include "reports/effects/effects.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/stats/t_tests.h"
#include "tests/reports/made_cells.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

using Status = SeedsForVerdict::Status;

constexpr double kReferenceS = 100.0;
constexpr double kTimeMargin = 0.005;  // half a second

/// An undecided change whose seconds were measured with `n` seeds.
EffectResult undecided(double seconds, double sd, int n) {
  EffectResult effect;
  effect.contrast = simple_contrast("x", "on", "off");
  effect.loss.n = effect.log_time.n = n;
  effect.verdict = FeatureVerdict::kInconclusive;
  if (n < 2) return effect;
  effect.seconds.reference_s = kReferenceS;
  effect.seconds.equal_loss.status = EqualLoss::Status::kConverted;
  effect.seconds.equal_loss.estimate = {.value = seconds, .se = sd / std::sqrt(n), .df = n - 1.0};
  effect.adjusted_p = 0.5;
  return effect;
}

EffectRules rules() {
  EffectRules rules;
  rules.time_margin = kTimeMargin;
  return rules;
}

SeedsForVerdict needed_for(const EffectResult& effect) {
  return seeds_needed({effect}, rules()).front().value();
}

/// How often `n` seeds give a verdict when the truth is as measured, with alpha shared by `family` changes.
double share_decided(NormalDraws& draws, double seconds, double sd, int n, int family, int repetitions) {
  const std::vector<double> zeros(static_cast<std::size_t>(n), 0.0);
  return share_of(repetitions, [&] {
    const Estimate estimate = *paired_t(draws.sample(n, seconds, sd), zeros);
    const Evidence evidence{
        .effect = estimate, .n = n, .p = std::min(1.0, family * p_of(estimate)), .p_equivalence = std::nullopt};
    return feature_verdict_of(evidence, kTimeMargin * kReferenceS) != FeatureVerdict::kInconclusive;
  });
}

TEST(SeedsNeeded, GiveAVerdictInFourOfFiveCases) {
  NormalDraws draws(17);
  constexpr int kRepetitions = 4000;
  struct Case {
    double seconds, sd;
    int have;
  };
  // Plain, hardly above noise, nothing at all, at the edge of the margin.
  for (const Case& item : {Case{2.0, 1.5, 5}, Case{-1.0, 2.0, 25}, Case{0.0, 0.8, 15}, Case{0.5, 0.7, 11}}) {
    const SeedsForVerdict needed = needed_for(undecided(item.seconds, item.sd, item.have));
    ASSERT_EQ(needed.status, Status::kKnown) << item.seconds;
    const int seeds = *needed.seeds;
    const double share = share_decided(draws, item.seconds, item.sd, seeds, 1, kRepetitions);
    EXPECT_GT(share, kVerdictPower - slack(kVerdictPower, kRepetitions)) << item.seconds << ", " << seeds << " seeds";
    const double before = share_decided(draws, item.seconds, item.sd, seeds - 1, 1, kRepetitions);
    EXPECT_LT(before, kVerdictPower + slack(kVerdictPower, kRepetitions)) << item.seconds << ", " << seeds - 1;
  }
}

/// Runs of 1000 steps whose loss falls in a line at its end.
CellMeasures drawn_cell(NormalDraws& draws, const std::string& label, double loss, double step_ms, int n) {
  constexpr std::int64_t kSteps = 1000;
  constexpr double kSlope = -0.0005;  // nats a step
  std::vector<double> losses;
  for (int i = 0; i < n; ++i) losses.push_back(draws.next(loss, 0.002));
  CellMeasures cell = made_cell(label, losses);
  for (RunMeasure& run : cell.runs) {
    run.run.result->steps = kSteps;
    set_step_ms(run, step_ms * std::exp(draws.next(0.0, 0.005)));
    for (std::int64_t step = 0; step <= kSteps; step += 50)
      run.curve.push_back({.clock_s = std::nullopt,
                           .loss = *run.val_loss + kSlope * static_cast<double>(step - kSteps) + draws.next(0.0, 1e-5),
                           .step = step});
  }
  return cell;
}

EffectResult drawn_effect(NormalDraws& draws, double loss_change, double time_ratio, int n) {
  results::PlanRecord plan;
  plan.contrasts = {simple_contrast("x", "on", "off")};
  return analyse_effects(plan,
                         {drawn_cell(draws, "on", 3.0 + loss_change, 100.0 * time_ratio, n),
                          drawn_cell(draws, "off", 3.0, 100.0, n)},
                         rules())
      .front();
}

TEST(SeedsNeeded, HoldForLossesAndTimesTogether) {
  NormalDraws draws(19);
  constexpr int kMany = 400, kRepetitions = 500;
  struct Case {
    double loss_change, time_ratio;
    int have;
  };
  for (const Case& item : {Case{0.004, 1.0, 8}, Case{0.0, 1.0, 22}}) {
    EffectResult effect = drawn_effect(draws, item.loss_change, item.time_ratio, kMany);
    // The truth, and the error that few seeds would have on the average.
    Estimate& estimate = effect.seconds.equal_loss.estimate;
    estimate.se *= std::sqrt(kMany / static_cast<double>(item.have));
    estimate.df *= (item.have - 1.0) / (kMany - 1.0);
    effect.loss.n = effect.log_time.n = item.have;
    effect.verdict = FeatureVerdict::kInconclusive;
    const SeedsForVerdict needed = needed_for(effect);
    ASSERT_EQ(needed.status, Status::kKnown) << item.loss_change;
    const double share = share_of(kRepetitions, [&] {
      return drawn_effect(draws, item.loss_change, item.time_ratio, *needed.seeds).verdict !=
             FeatureVerdict::kInconclusive;
    });
    EXPECT_NEAR(share, kVerdictPower, 0.03 + slack(kVerdictPower, kRepetitions)) << *needed.seeds << " seeds";
  }
}

TEST(SeedsNeeded, OtherUndecidedChangesTakeTheirShareOfAlpha) {
  NormalDraws draws(18);
  constexpr int kRepetitions = 4000;
  const EffectResult one = undecided(2.0, 3.0, 12);
  const std::vector<EffectResult> family(5, one);
  const int alone = *needed_for(one).seeds, together = *seeds_needed(family, rules()).front()->seeds;
  EXPECT_GT(together, alone + 3);
  const double share = share_decided(draws, 2.0, 3.0, together, 5, kRepetitions);
  EXPECT_NEAR(share, kVerdictPower, 0.02 + slack(kVerdictPower, kRepetitions));
  std::vector<EffectResult> decided = family;
  for (std::size_t i = 1; i < decided.size(); ++i) {
    decided[i].adjusted_p = 0.001;
    decided[i].verdict = FeatureVerdict::kKeep;
  }
  const auto needed = seeds_needed(decided, rules());
  EXPECT_EQ(*needed.front()->seeds, alone) << "what is proved asks nothing more";
  EXPECT_FALSE(needed.back()) << "it has its verdict";
}

TEST(SeedsNeeded, SaysWhatCannotBeTold) {
  EXPECT_EQ(needed_for(undecided(0.0, 0.0, 1)).status, Status::kOneSeed);
  EXPECT_EQ(needed_for(undecided(0.0, 0.0, 0)).status, Status::kUnknown);
  const SeedsForVerdict noise = needed_for(undecided(0.45, 20.0, 5));
  EXPECT_EQ(noise.status, Status::kWithinNoise);
  EXPECT_FALSE(noise.seeds || noise.min_seeds || noise.max_seeds);
  const SeedsForVerdict hopeless = needed_for(undecided(1.0, 20.0, 2000));
  EXPECT_EQ(hopeless.status, Status::kTooMany);
  EXPECT_FALSE(hopeless.seeds);
  EXPECT_EQ(hopeless.more(), 0);
  EffectResult flat = undecided(1.0, 1.0, 5);
  flat.seconds.equal_loss.status = EqualLoss::Status::kSlopeUncertain;
  EXPECT_EQ(needed_for(flat).status, Status::kUnknown);
  EffectResult without_reference = undecided(1.0, 1.0, 5);
  without_reference.seconds.reference_s.reset();
  EXPECT_EQ(needed_for(without_reference).status, Status::kUnknown);
}

TEST(SeedsNeeded, AreNeverFewerThanAVerdictTakesNorThanThereAre) {
  EXPECT_EQ(*needed_for(undecided(50.0, 0.1, 2)).seeds, rules().min_n);
  EXPECT_EQ(*needed_for(undecided(50.0, 0.1, 7)).seeds, 8) << "chance missed it";
  EXPECT_EQ(needed_for(undecided(50.0, 0.1, 7)).more(), 1);
}

TEST(SeedsNeeded, ALookIsJudgedByItsOwnBoundary) {
  EffectRules strict = rules();
  strict.nominal_p = 0.002;
  const EffectResult effect = undecided(2.0, 3.0, 12);
  EXPECT_GT(*seeds_needed({effect}, strict).front()->seeds, *needed_for(effect).seeds);
}

TEST(SeedsNeeded, AreARangeOverTheEffectsInterval) {
  const SeedsForVerdict needed = needed_for(undecided(2.0, 1.5, 6));  // 0.4 to 3.6 seconds
  EXPECT_LE(*needed.min_seeds, *needed.seeds);
  EXPECT_TRUE(!needed.max_seeds || *needed.max_seeds > *needed.seeds);
  const SeedsForVerdict sure = needed_for(undecided(2.0, 0.8, 6));
  ASSERT_TRUE(sure.max_seeds);
  EXPECT_GE(*sure.max_seeds, *sure.seeds);
}

/// Few seeds are promised to a change that does nothing as seldom as its interval misses nothing.
TEST(SeedsNeeded, PromiseNothingToNullChanges) {
  NormalDraws draws(29);
  constexpr int kRepetitions = 4000;
  const double share = share_of(kRepetitions, [&] {
    const Estimate estimate = *paired_t(draws.sample(3, 0.0, 5.0), std::vector<double>(3, 0.0));
    EffectResult effect = undecided(estimate.value, estimate.se * std::sqrt(3.0), 3);
    const SeedsForVerdict needed = needed_for(effect);
    return needed.status == Status::kKnown && *needed.seeds <= 10;
  });
  EXPECT_LT(share, 0.05 + slack(0.05, kRepetitions));
}

/// Losses alone make the effect's error here, with four degrees of freedom.
TEST(SeedsNeeded, EarlierPlansInformThem) {
  EffectResult effect = undecided(2.0, 1.5, 6);
  effect.seconds.gain = 0.001;
  effect.loss.estimate = Estimate{.value = 0.002, .se = 0.001 * effect.seconds.equal_loss.estimate.se, .df = 5.0};
  effect.loss.plan_sd = 0.001;
  effect.loss.plan_df = 4.0;
  const int alone = *needed_for(effect).seeds;
  const auto with = [&](double sd) {
    EffectRules informed = rules();
    informed.earlier_loss = EarlierSpread{.sd = sd, .df = 400.0};
    return *seeds_needed({effect}, informed).front()->seeds;
  };
  EXPECT_EQ(with(0.001), alone);
  EXPECT_GT(with(0.002), 2 * alone);
  effect.seconds.gain.reset();
  EXPECT_EQ(with(0.002), alone) << "times alone";
}

TEST(Futile, IsWhatTheSeedsLeftCanHardlyDecide) {
  const EffectRules at_end = rules();
  EXPECT_TRUE(is_futile(undecided(0.3, 5.0, 7), at_end, 10)) << "nothing seen, and no margin in reach";
  EXPECT_FALSE(is_futile(undecided(0.3, 5.0, 3), at_end, 10)) << "too early to tell";
  EXPECT_FALSE(is_futile(undecided(3.5, 5.0, 7), at_end, 10)) << "nearly there";
  EXPECT_FALSE(is_futile(undecided(0.0, 0.8, 9), at_end, 12)) << "nearly proved to be nothing";
  EXPECT_FALSE(is_futile(undecided(0.3, 5.0, 10), at_end, 10)) << "no seed is left";
}

}  // namespace
}  // namespace nanobench::reports
