// What a plan promises, by simulation through the whole analysis: false verdicts, wrong intervals, power.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "reports/effects/effects.h"
#include "tests/reports/made_cells.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

constexpr int kPlans = 2000;
constexpr std::int64_t kRunSteps = 1000;
constexpr double kRunStepMs = 100.0;
constexpr double kGainPerStep = 5e-4;  // nats, near the end
constexpr double kLossSd = 0.002, kTimeSd = 0.005;

/// One configuration: what it changes against the first cell's.
struct DrawnCell {
  double loss = 0.0;      ///< nats
  double log_time = 0.0;  ///< of the training clock
};

class DrawnPlan {
 public:
  explicit DrawnPlan(std::uint64_t seed) : draws_(seed) {}

  /// Seeds have much in common, and every curve has its own slope.
  std::vector<CellMeasures> cells(const std::vector<DrawnCell>& truth, int n) {
    std::vector<double> common = draws_.sample(n, 0.0, 0.02);
    std::vector<CellMeasures> cells;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      std::vector<double> losses;
      for (const double seed : common) losses.push_back(3.0 + truth[i].loss + seed + draws_.next(0.0, kLossSd));
      CellMeasures cell = made_cell("cell" + std::to_string(i), losses);
      for (RunMeasure& run : cell.runs) {
        run.run.result->steps = kRunSteps;
        set_step_ms(run, kRunStepMs * std::exp(truth[i].log_time + draws_.next(0.0, kTimeSd)));
        const double slope = -kGainPerStep * std::exp(draws_.next(0.0, 0.1));
        for (std::int64_t step = 0; step <= kRunSteps; step += 100)
          run.curve.push_back({.clock_s = std::nullopt,
                               .loss = *run.val_loss + slope * static_cast<double>(step - kRunSteps),
                               .step = step});
      }
      cells.push_back(std::move(cell));
    }
    return cells;
  }

 private:
  NormalDraws draws_;
};

/// Each cell against the one before it.
results::PlanRecord history_plan(std::size_t cells) {
  results::PlanRecord plan;
  for (std::size_t i = 1; i < cells; ++i)
    plan.contrasts.push_back(
        simple_contrast("change" + std::to_string(i), "cell" + std::to_string(i), "cell" + std::to_string(i - 1)));
  return plan;
}

bool is_verdict(const EffectResult& effect) {
  return effect.verdict == FeatureVerdict::kKeep || effect.verdict == FeatureVerdict::kDrop;
}

/// Shares of 2,000 plans of seven equal cells that say something false.
TEST(PlanEffectsSimulation, SevenEqualCellsSayNothingFalse) {
  for (const int n : {3, 5}) {
    DrawnPlan drawn(static_cast<std::uint64_t>(40 + n));
    const results::PlanRecord plan = history_plan(7);
    int verdicts = 0, losses = 0, times = 0, wrong = 0, converted = 0, barnacles = 0;
    for (int i = 0; i < kPlans; ++i) {
      bool has_verdict = false, has_loss = false, has_time = false, is_wrong = false;
      for (const EffectResult& effect : analyse_effects(plan, drawn.cells(std::vector<DrawnCell>(7), n))) {
        has_verdict = has_verdict || is_verdict(effect);
        has_loss = has_loss || effect.loss.verdict == Verdict::kImproved || effect.loss.verdict == Verdict::kRegressed;
        has_time =
            has_time || effect.log_time.verdict == Verdict::kImproved || effect.log_time.verdict == Verdict::kRegressed;
        is_wrong = is_wrong || !effect.seconds.equal_loss.interval.contains(0.0);
        converted += effect.seconds.equal_loss.is_converted() ? 1 : 0;
        barnacles += effect.verdict == FeatureVerdict::kBarnacle ? 1 : 0;
      }
      verdicts += has_verdict ? 1 : 0;
      losses += has_loss ? 1 : 0;
      times += has_time ? 1 : 0;
      wrong += is_wrong ? 1 : 0;
    }
    std::cout << "n = " << n << ": plans with a false verdict at equal loss " << verdicts << ", on loss " << losses
              << ", on time " << times << ", with a wrong interval " << wrong << " of " << kPlans << "; barnacles "
              << barnacles << " of " << kPlans * 6 << "\n";
    for (const int count : {verdicts, losses, times, wrong})
      EXPECT_LT(count, kPlans * (0.05 + slack(0.05, kPlans))) << n;
    EXPECT_EQ(converted, kPlans * 6) << "every change has a number";
  }
}

/// The true seconds at equal loss of a change, in the scale of the report.
double true_seconds(const DrawnCell& after, const DrawnCell& before) {
  const double reference = kRunSteps * kRunStepMs / 1000.0 * std::exp(before.log_time);
  const double mean_gain = kGainPerStep * std::exp(0.005);  // of a log-normal slope
  return reference *
         std::expm1((after.loss - before.loss) / (mean_gain * kRunSteps) + after.log_time - before.log_time);
}

TEST(PlanEffectsSimulation, IntervalsHoldTogetherWhereChangesDoMuch) {
  DrawnPlan drawn(50);
  const std::vector<DrawnCell> truth = {{0.0, 0.0},     {-0.02, 0.0},   {-0.02, -0.05}, {-0.01, -0.05},
                                        {-0.01, -0.02}, {-0.05, -0.02}, {-0.05, -0.1}};
  const results::PlanRecord plan = history_plan(truth.size());
  int wrong = 0, found = 0;
  for (int i = 0; i < kPlans; ++i) {
    const std::vector<EffectResult> effects = analyse_effects(plan, drawn.cells(truth, 3));
    bool is_wrong = false, has_all = true;
    for (std::size_t k = 0; k < effects.size(); ++k) {
      is_wrong = is_wrong || !effects[k].seconds.equal_loss.interval.contains(true_seconds(truth[k + 1], truth[k]));
      has_all = has_all && is_verdict(effects[k]);
    }
    wrong += is_wrong ? 1 : 0;
    found += has_all ? 1 : 0;
  }
  std::cout << "plans with a wrong interval " << wrong << ", with all six verdicts " << found << " of " << kPlans
            << "\n";
  EXPECT_LT(wrong, kPlans * (0.05 + slack(0.05, kPlans)));
  EXPECT_GT(found, kPlans * 0.6);
}

/// Looks after 3, 5 and 7 seeds, each with the whole plan's spread: the boundaries hold for all changes and looks.
TEST(PlanEffectsSimulation, LooksAtEqualCellsDecideNothingFalse) {
  DrawnPlan drawn(70);
  results::PlanRecord plan = history_plan(7);
  plan.sequential = results::SequentialLook{.alpha = 0.05, .family = 6, .first = 3, .most = 7, .step = 2, .look = 3};
  for (std::uint64_t seed = 1; seed <= 7; ++seed) plan.lines.push_back({0, "cell0", seed, "", std::nullopt});
  int verdicts = 0;
  for (int i = 0; i < kPlans; ++i) {
    const std::vector<EffectResult> effects = analyse_effects(plan, drawn.cells(std::vector<DrawnCell>(7), 7));
    verdicts += std::any_of(effects.begin(), effects.end(), is_verdict) ? 1 : 0;
  }
  std::cout << "plans of three looks with a false verdict " << verdicts << " of " << kPlans << "\n";
  EXPECT_LT(verdicts, kPlans * (0.05 + slack(0.05, kPlans)));
}

TEST(PlanEffects, TwoSeedsIndicateAndThreeDecide) {
  for (const int n : {2, 3}) {
    DrawnPlan drawn(61);
    std::vector<DrawnCell> truth(7);
    truth[6] = {-0.06, -0.1};
    const EffectResult effect = analyse_effects(history_plan(7), drawn.cells(truth, n)).back();
    ASSERT_LT(*effect.adjusted_p, 0.05);
    EXPECT_EQ(effect.is_indicated, n == 2);
    EXPECT_EQ(effect.verdict, n == 2 ? FeatureVerdict::kInconclusive : FeatureVerdict::kKeep);
    EXPECT_EQ(effect.loss.verdict, n == 2 ? Verdict::kInconclusive : Verdict::kImproved);
    EXPECT_EQ(effect.loss.source, ErrorSource::kPlan);
  }
}

/// The last of three changes, which lowers the loss by 0.06, with the curve of every run as `change` leaves it.
template <class Change>
EffectResult with_other_curves(std::uint64_t seed, const Change& change) {
  std::vector<DrawnCell> truth(4);
  truth[3] = {-0.06, 0.0};
  std::vector<CellMeasures> cells = DrawnPlan(seed).cells(truth, 4);
  for (CellMeasures& cell : cells) std::for_each(cell.runs.begin(), cell.runs.end(), change);
  return analyse_effects(history_plan(4), cells).back();
}

/// A flat curve converts nothing, and a proved loss stays proved.
TEST(PlanEffects, AFlatCurveLeavesTheLossItsVerdict) {
  const EffectResult effect = with_other_curves(62, [](RunMeasure& run) {
    double sign = 1.0;
    for (CurvePoint& point : run.curve)
      point.loss = *run.val_loss + 1e-4 * static_cast<double>(run.run.seed) * (sign = -sign);
  });
  EXPECT_EQ(effect.seconds.equal_loss.status, EqualLoss::Status::kSlopeUncertain);
  EXPECT_EQ(effect.no_verdict, NoVerdict::kUncertainSlope);
  EXPECT_EQ(effect.verdict, FeatureVerdict::kInconclusive);
  EXPECT_EQ(effect.loss.verdict, Verdict::kImproved);
}

/// Runs that were validated before their first step and after their last one only, as short ones may be.
TEST(PlanEffects, TooFewValidationsAreTheReason) {
  const EffectResult effect =
      with_other_curves(63, [](RunMeasure& run) { run.curve.erase(run.curve.begin() + 1, run.curve.end() - 1); });
  EXPECT_EQ(effect.seconds.equal_loss.status, EqualLoss::Status::kNoSlope);
  EXPECT_EQ(effect.no_verdict, NoVerdict::kFewValidations);
  EXPECT_EQ(effect.loss.verdict, Verdict::kImproved);
}

/// Losses with four decimals that differ by the same amount in every seed: their rounding is the error.
TEST(PlanEffects, RoundedLossesHaveAnError) {
  std::vector<CellMeasures> cells = {made_cell("cell0", {3.2801, 3.2822, 3.2815}),
                                     made_cell("cell1", {3.2791, 3.2812, 3.2805})};
  const EffectResult effect = analyse_effects(history_plan(2), cells).front();
  EXPECT_NEAR(*effect.loss.value, -0.001, 1e-12);
  ASSERT_TRUE(effect.loss.estimate);
  EXPECT_NEAR(effect.loss.estimate->se, 1e-4 * std::sqrt(2.0 / 12.0 / 3.0), 1e-12);
  EXPECT_LT(*effect.loss.p, 0.05);
}

}  // namespace
}  // namespace nanobench::reports
