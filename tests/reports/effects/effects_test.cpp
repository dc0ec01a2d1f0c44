#include "reports/effects/effects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reports/effects/effect_text.h"
#include "tests/reports/made_cells.h"

namespace nanobench::reports {
namespace {

constexpr double kSlope = -0.0005;  // loss a step at the end
constexpr std::int64_t kSteps = 1000;
constexpr double kStepMs = 100.0;

struct Truth {
  double loss = 3.0, step_ms = kStepMs;
  std::int64_t steps = kSteps;
  double loss_sd = 0.0005, time_cv = 0.0005;
};

class Cells {
 public:
  explicit Cells(std::uint64_t seed = 1) : random_(seed) {}

  /// Runs with seeds 1 to n; what a seed has in common with the other cells cancels.
  void add(const std::string& label, const Truth& truth, int n) {
    CellMeasures& cell = cells.emplace_back();
    cell.cell.label = label;
    cell.planned = n;
    for (int i = 0; i < n; ++i) cell.runs.push_back(run(static_cast<std::uint64_t>(i + 1), truth));
  }

  std::vector<CellMeasures> cells;

 private:
  RunMeasure run(std::uint64_t seed, const Truth& truth) {
    RunMeasure measure;
    measure.run.seed = seed;
    measure.run.hardware = "machine";
    measure.run.owner.host = "host";
    measure.run.result = results::RunResult{.outcome = core::RunOutcome::kCompleted, .steps = truth.steps};
    const double common = 0.01 * static_cast<double>(seed % 7);
    measure.val_loss = truth.loss + common + truth.loss_sd * normal_(random_);
    set_step_ms(measure, truth.step_ms * std::exp(truth.time_cv * normal_(random_)));
    for (std::int64_t step = 0; step <= truth.steps; step += truth.steps / 20) {
      measure.curve.push_back(
          {.clock_s = std::nullopt,
           .loss = *measure.val_loss + kSlope * static_cast<double>(step - truth.steps) + 1e-5 * normal_(random_),
           .step = step});
    }
    return measure;
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

results::PlanContrast contrast(const std::string& effect, const std::string& on, const std::string& off) {
  return {.effect = effect,
          .kind = results::ContrastKind::kSimple,
          .meaning = "",
          .coefficients = {{on, 1.0}, {off, -1.0}},
          .aliases = {}};
}

TEST(Effects, EachFeatureGetsTheVerdictThatWasPlanted) {
  Cells cells;
  cells.add("base", {}, 8);
  cells.add("without keep", {.loss = 3.004}, 8);    // 8 more steps, 0.8 s
  cells.add("without drop", {.step_ms = 98.0}, 8);  // 2 s faster without it
  cells.add("without barnacle", {}, 8);
  cells.add("without noisy", {.loss_sd = 0.02}, 8);
  results::PlanRecord plan;
  for (const char* name : {"keep", "drop", "barnacle", "noisy"})
    plan.contrasts.push_back(contrast(name, "base", std::string("without ") + name));
  EffectRules rules;
  rules.time_margin = 0.004;
  const std::vector<EffectResult> results = analyse_effects(plan, cells.cells, rules);
  ASSERT_EQ(results.size(), 4U);
  const FeatureVerdict verdicts[] = {FeatureVerdict::kKeep, FeatureVerdict::kDrop, FeatureVerdict::kBarnacle,
                                     FeatureVerdict::kInconclusive};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(results[i].verdict, verdicts[i]) << results[i].contrast.effect << ": " << reason_text(results[i]);
  // Having "keep" saves 0.004 nats, so 8 steps of 100 ms.
  EXPECT_NEAR(results[0].seconds.equal_loss.seconds, -0.8, 0.15);
  EXPECT_NEAR(results[1].seconds.equal_loss.seconds, 2.0, 0.15);
  EXPECT_NEAR(*results[0].loss.value, -0.004, 0.001);
  EXPECT_EQ(results[0].loss.verdict, Verdict::kImproved);
  EXPECT_EQ(results[1].log_time.verdict, Verdict::kRegressed);
  EXPECT_EQ(results[0].loss.source, ErrorSource::kPlan) << "the noisy cell does not count in it";
  EXPECT_TRUE(results[3].loss.is_outlying);
  EXPECT_FALSE(results[0].loss.is_outlying);
  EXPECT_EQ(results[0].loss.n, 8);
  EXPECT_GE(*results[0].loss.adjusted_p, *results[0].loss.p);
}

TEST(Effects, MemoryIsJudgedByWhatTheTrainingTakes) {
  Cells cells;
  for (const auto& [label, mib] :
       {std::pair("base", 50.0), std::pair("without larger", 40.0), std::pair("without same", 50.1)}) {
    cells.add(label, {}, 5);
    for (RunMeasure& run : cells.cells.back().runs)
      run.training_bytes = mib * 1e6 * (1.0 + 1e-4 * static_cast<double>(run.run.seed * run.run.seed % 5));
  }
  results::PlanRecord plan;
  for (const char* name : {"larger", "same"})
    plan.contrasts.push_back(contrast(name, "base", std::string("without ") + name));
  const std::vector<EffectResult> results = analyse_effects(plan, cells.cells);
  EXPECT_NEAR(std::exp(*results[0].log_memory.value), 1.25, 1e-3);
  EXPECT_EQ(results[0].log_memory.verdict, Verdict::kRegressed);
  EXPECT_EQ(results[1].log_memory.verdict, Verdict::kUnchanged);
  for (CellMeasures& cell : cells.cells) {
    for (RunMeasure& run : cell.runs) run.training_bytes.reset();
  }
  EXPECT_FALSE(analyse_effects(plan, cells.cells)[0].log_memory.value);
}

TEST(Effects, OneRunHasNoErrorAndNoVerdict) {
  Cells cells;
  cells.add("base", {}, 1);
  cells.add("without x", {.loss = 4.0, .step_ms = 50.0}, 1);
  results::PlanRecord plan;
  plan.contrasts.push_back(contrast("x", "base", "without x"));
  const EffectResult result = analyse_effects(plan, cells.cells).front();
  EXPECT_TRUE(result.loss.value);
  EXPECT_FALSE(result.loss.estimate || result.loss.interval || result.loss.p);
  EXPECT_EQ(result.loss.verdict, Verdict::kInconclusive);
  EXPECT_EQ(result.verdict, FeatureVerdict::kInconclusive);
  EXPECT_EQ(result.no_verdict, NoVerdict::kOneSeed);
}

TEST(Effects, TimesOfTwoMachinesAreNotSubtracted) {
  Cells cells;
  cells.add("base", {}, 5);
  cells.add("without x", {.step_ms = 50.0}, 5);
  for (RunMeasure& run : cells.cells.back().runs) run.run.owner.host = "another";
  results::PlanRecord plan;
  plan.contrasts.push_back(contrast("x", "base", "without x"));
  const EffectResult result = analyse_effects(plan, cells.cells).front();
  EXPECT_TRUE(result.loss.value);
  EXPECT_FALSE(result.log_time.value);
  EXPECT_EQ(result.log_time.verdict, Verdict::kMissing);
  EXPECT_EQ(result.verdict, FeatureVerdict::kInconclusive);
  EXPECT_EQ(result.no_verdict, NoVerdict::kOtherPlaces);
}

/// Large and clear, and still not the change's: on one side alone the engine had a kernel.
TEST(Effects, TimesOfDifferentCodeGiveNoVerdict) {
  Cells cells;
  cells.add("base", {}, 8);
  cells.add("without x", {.step_ms = 250.0}, 8);
  cells.add("without keep", {.loss = 3.004}, 8);
  for (CellMeasures& cell : cells.cells) {
    for (RunMeasure& run : cell.runs)
      run.run.no_kernel_for = cell.cell.label == "without x" ? core::StepParts{"blocks"} : core::StepParts{};
  }
  results::PlanRecord plan;
  for (const char* name : {"x", "keep"})
    plan.contrasts.push_back(contrast(name, "base", std::string("without ") + name));
  const std::vector<EffectResult> results = analyse_effects(plan, cells.cells);
  EXPECT_EQ(results[0].other_code, core::StepParts{"blocks"});
  EXPECT_EQ(results[0].verdict, FeatureVerdict::kInconclusive);
  EXPECT_EQ(results[0].log_time.verdict, Verdict::kInconclusive);
  EXPECT_EQ(results[0].loss.verdict, Verdict::kUnchanged) << "losses may be compared";
  EXPECT_EQ(results[0].no_verdict, NoVerdict::kOtherCode);
  EXPECT_FALSE(results[0].adjusted_p);
  EXPECT_EQ(results[1].verdict, FeatureVerdict::kKeep) << reason_text(results[1]);
  const auto needed = seeds_needed(results, {});
  ASSERT_TRUE(needed[0]);
  EXPECT_EQ(needed[0]->status, SeedsForVerdict::Status::kUnknown) << "more seeds do not mend it";
}

TEST(Effects, ACellThatEveryMachineHasMeasuredIsTheControl) {
  Cells cells;
  cells.add("base", {}, 6);
  cells.add("without x", {.step_ms = 110.0}, 6);
  for (CellMeasures& cell : cells.cells) {
    for (std::size_t i = 3; i < 6; ++i) {  // the second machine is twice as slow
      cell.runs[i].run.owner.host = "another";
      set_step_ms(cell.runs[i], *cell.runs[i].step_ms * 2.0);
    }
  }
  results::PlanRecord plan;
  plan.contrasts.push_back(contrast("x", "base", "without x"));
  const EffectResult result = analyse_effects(plan, cells.cells).front();
  EXPECT_EQ(result.log_time.n, 6);
  EXPECT_NEAR(std::exp(*result.log_time.value), 1.0 / 1.1, 0.002);
}

TEST(Effects, EqualLossesToTheLastBitLeaveTheTime) {
  Cells cells;
  cells.add("base", {.loss_sd = 0.0}, 5);
  cells.add("without x", {.step_ms = 110.0, .loss_sd = 0.0}, 5);
  results::PlanRecord plan;
  plan.contrasts.push_back(contrast("x", "base", "without x"));
  const EffectResult result = analyse_effects(plan, cells.cells).front();
  EXPECT_EQ(*result.loss.value, 0.0);
  EXPECT_EQ(result.loss.verdict, Verdict::kUnchanged);
  EXPECT_EQ(result.verdict, FeatureVerdict::kKeep) << reason_text(result);
  EXPECT_NEAR(result.seconds.equal_loss.seconds, -10.0, 0.2);
}

TEST(Effects, MoreStepsAreTime) {
  Cells cells;
  cells.add("base", {.loss = 3.0, .steps = 900}, 6);  // 100 steps fewer, 0.03 nats worse: 60 steps' worth
  cells.add("without x", {.loss = 2.97, .steps = 1000}, 6);
  results::PlanRecord plan;
  plan.contrasts.push_back(contrast("x", "base", "without x"));
  const EffectResult result = analyse_effects(plan, cells.cells).front();
  EXPECT_NEAR(result.seconds.equal_loss.seconds, -4.0, 0.3) << "of 10 s less, 6 s are owed";
  EXPECT_NEAR(*result.seconds.reference_s, 100.0, 0.5);
}

TEST(Effects, AFactorialThatRanOnceIsJudgedByItsSmallEffects) {
  Cells cells;
  results::PlanRecord plan;
  const std::vector<std::string> names = {"a", "b", "c"};
  for (int cell = 0; cell < 8; ++cell)
    cells.add(std::to_string(cell), {.loss = 3.0 + (cell & 1 ? 0.1 : 0.0), .time_cv = 0.001}, 1);
  for (int mask = 1; mask < 8; ++mask) {
    results::PlanContrast one{.effect = std::to_string(mask),
                              .kind = mask == 1 || mask == 2 || mask == 4 ? results::ContrastKind::kMain
                                                                          : results::ContrastKind::kInteraction,
                              .meaning = "",
                              .coefficients = {},
                              .aliases = {}};
    for (int cell = 0; cell < 8; ++cell)
      one.coefficients[std::to_string(cell)] =
          (__builtin_popcount(static_cast<unsigned>(~cell & mask)) % 2 == 0 ? 0.25 : -0.25);
    plan.contrasts.push_back(one);
  }
  const std::vector<EffectResult> results = analyse_effects(plan, cells.cells);
  EXPECT_EQ(results[0].loss.source, ErrorSource::kLenth);
  EXPECT_NEAR(*results[0].loss.value, 0.1, 0.002);
  EXPECT_EQ(results[0].loss.verdict, Verdict::kRegressed);
  for (std::size_t i = 1; i < 7; ++i) EXPECT_NE(results[i].loss.verdict, Verdict::kRegressed) << i;
}

/// The whole family of effects is tested together: with nothing there, one of 50 is seldom called out.
TEST(EffectsSimulation, HolmHoldsOverAllFeatures) {
  constexpr int kRepetitions = 300;
  int alarms = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    Cells cells(static_cast<std::uint64_t>(i + 1));
    results::PlanRecord plan;
    for (int feature = 0; feature < 10; ++feature) {
      const std::string name = std::to_string(feature);
      cells.add("on " + name, {}, 4);
      cells.add("off " + name, {}, 4);
      plan.contrasts.push_back(contrast(name, "on " + name, "off " + name));
    }
    bool has_alarm = false;
    for (const EffectResult& result : analyse_effects(plan, cells.cells, {.loss_margin = 1e-9, .time_margin = 1e-9}))
      has_alarm = has_alarm || result.verdict == FeatureVerdict::kKeep || result.verdict == FeatureVerdict::kDrop;
    alarms += has_alarm ? 1 : 0;
  }
  EXPECT_LE(alarms, kRepetitions * (0.05 + 4.0 * std::sqrt(0.05 * 0.95 / kRepetitions)));
}

}  // namespace
}  // namespace nanobench::reports
