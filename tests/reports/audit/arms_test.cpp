#include "reports/audit/arms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"

namespace nanobench::reports {
namespace {

constexpr const char* kMachine = "8x NVIDIA H100 80GB HBM3";

/// The ablations that the README of record 70 prints, in seconds.
std::vector<LogArm> arms_of_record_70() {
  std::vector<LogArm> arms = {
      {"H0", kMachine, {3.2796, 3.2800, 3.2786, 3.2782, 3.2801}, {95.654, 95.622, 95.662, 95.639, 95.522}, {}},
      {"H1", kMachine, {3.2774, 3.2790, 3.2777, 3.2764, 3.2813}, {95.572, 95.510, 95.589, 95.575, 95.639}, {}},
      {"H2", kMachine, {3.2771, 3.2764, 3.2797, 3.2787, 3.2769}, {95.670, 95.744, 95.764, 95.722, 95.685}, {}},
      {"H3", kMachine, {3.2781, 3.2778, 3.2807, 3.2818, 3.2798}, {97.395, 97.418, 97.431, 97.363, 97.330}, {}},
      {"H4", kMachine, {3.2764, 3.2777, 3.2771, 3.2772, 3.2796}, {95.670, 95.669, 95.657, 95.687, 95.522}, {}},
      {"H5", kMachine, {3.2790, 3.2779, 3.2782, 3.2775, 3.2764}, {95.646, 95.646, 95.734, 95.713, 95.690}, {}},
      {"H6", kMachine, {3.2979, 3.2976, 3.3029, 3.2954, 3.2992}, {95.609, 95.735, 95.669, 95.638, 95.667}, {}}};
  for (LogArm& arm : arms) {
    for (double& value : arm.train_ms) value *= 1000;
  }
  return arms;
}

// p-values: computed elsewhere from the incomplete beta function.
TEST(LogArms, Record70KeptThreeHypothesesWithoutEnoughEvidence) {
  const ArmComparison comparison = compare_arms(arms_of_record_70(), 0, {});
  ASSERT_EQ(comparison.loss.size(), 6U);
  const std::vector<double> p = {0.352365024, 0.0741422456, 0.703645186, 0.0363914159, 0.0312123239, 3.55171504e-5};
  const std::vector<double> holm_p = {0.704730048, 0.222426737, 0.704730048, 0.156061619, 0.156061619, 2.13102902e-4};
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_NEAR(*comparison.loss[i].p / p[i], 1, 1e-7) << i;
    EXPECT_NEAR(*comparison.loss[i].adjusted_p / holm_p[i], 1, 1e-7) << i;
    EXPECT_EQ(comparison.loss[i].verdict, i == 5 ? Verdict::kRegressed : Verdict::kInconclusive) << i;
  }
  EXPECT_NEAR(*comparison.loss[3].difference, -0.0017, 1e-12);
  // H4 meets the rule against 3.28, and is not proved better than the control.
  EXPECT_NEAR(comparison.t[4]->p, 0.00569416583, 1e-10);
  EXPECT_TRUE(comparison.loss[3].interval->contains(0));
  EXPECT_FALSE(comparison.loss[5].interval->contains(0));
}

// Computed elsewhere, by integrating the non-central t distribution at alpha 0.05 / 6.
TEST(LogArms, Record70SaysHowManyRunsWouldSettleEachArm) {
  const ArmComparison comparison = compare_arms(arms_of_record_70(), 0, {});
  const std::vector<std::optional<int>> runs = {62, 16, 382, 12, 11, std::nullopt};
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(comparison.loss[i].settling_runs, runs[i]) << i;
  EXPECT_FALSE(comparison.time[2].settling_runs) << "it has a verdict";
  EXPECT_TRUE(comparison.time[1].settling_runs);
  const core::OrderedJson json = to_json(arms_report(comparison));
  EXPECT_EQ(json["tables"]["effects"][2]["settling_runs"], 16);
  EXPECT_EQ(json["tables"]["effects"][0]["settling_runs"], nullptr);
}

/// Two validations: the target lies between them.
LogArm arm_with_curves(const std::string& name, const std::vector<double>& end_s) {
  LogArm arm{.name = name, .hardware = kMachine};
  for (const double end : end_s) {
    arm.losses.push_back(3.27);
    arm.curves.push_back({name, {{0.0, 4.0, 0}, {10.0, 3.29, 9}, {end, 3.27, 10}}});
  }
  return arm;
}

TEST(LogArms, TheTimeToTheTargetIsReadFromTheCurves) {
  std::vector<LogArm> arms = {arm_with_curves("a", {12.0, 12.2, 12.4}), arm_with_curves("b", {14.0, 14.2, 14.4}),
                              arm_with_curves("c", {14.0, 14.2, 14.4})};
  arms[2].curves[1].points.back().loss = 3.285;
  const ArmComparison comparison = compare_arms(arms, 0, {});
  ASSERT_EQ(comparison.arms[0].target_ms.size(), 3U);
  EXPECT_NEAR(comparison.arms[0].target_ms[1], 11'100, 1e-6);
  EXPECT_NEAR(*comparison.target_time[0].difference, 1000, 1e-6);
  EXPECT_EQ(comparison.target_time[0].verdict, Verdict::kRegressed);
  EXPECT_EQ(comparison.target_time[0].adjusted_p, comparison.target_time[0].p) << "a family of one";
  EXPECT_EQ(comparison.arms[2].target_ms.size(), 2U);
  EXPECT_FALSE(comparison.target_time[1].difference);
  EXPECT_EQ(comparison.target_time[1].verdict, Verdict::kMissing);
  EXPECT_EQ(comparison.target_time[1].reason, ArmReason::kTargetMissed);
  const core::OrderedJson table = to_json(arms_report(comparison))["tables"]["target_times"];
  EXPECT_EQ(table[2]["n"], 2);
  for (LogArm& arm : arms) {
    for (LogCurve& curve : arm.curves) curve.points = {curve.points.back()};
  }
  EXPECT_TRUE(compare_arms(arms, 0, {}).arms[0].target_ms.empty()) << "one validation shows no crossing";
}

TEST(LogArms, StepTimesAreComparedOnEqualHardware) {
  std::vector<LogArm> arms = arms_of_record_70();
  arms.resize(2);
  arms[0].step_ms = {61.51, 61.49, 61.52};
  arms[1].step_ms = {60.51, 60.49, 60.52};
  const ArmEffect effect = compare_arms(arms, 0, {}).step_time.front();
  EXPECT_NEAR(*effect.difference, -1.0, 1e-12);
  EXPECT_EQ(effect.verdict, Verdict::kImproved);
  arms[1].hardware = "8x NVIDIA H200";
  const ArmComparison other = compare_arms(arms, 0, {});
  EXPECT_EQ(other.step_time.front().verdict, Verdict::kMissing);
  EXPECT_EQ(arms_report(other).warnings.size(), 1U) << "the arms differ in hardware";
  arms[1].software = {"PyTorch 2.9"};
  EXPECT_EQ(arms_report(compare_arms(arms, 0, {})).warnings.size(), 2U) << "and in software";
}

TEST(LogArms, ThePageHasTheLossesAndTheCurves) {
  std::vector<LogArm> arms = {arm_with_curves("a", {12.0, 12.2, 12.4}), arm_with_curves("b", {14.0, 14.2, 14.4})};
  const Document document = arms_report(compare_arms(arms, 0, {}), true);
  const std::vector<Chart>& charts = document.sections.back().charts;
  ASSERT_EQ(charts.size(), 2U);
  EXPECT_EQ(charts[0].data.rows.size(), 8U) << "three runs and a mean for each arm";
  EXPECT_EQ(charts[0].data.rows[3].back().value, "control");
  EXPECT_EQ(charts[0].data.rows[7].back().value, "inconclusive") << "equal losses";
  EXPECT_EQ(charts[1].data.rows.size(), 6U) << "three validations for each arm";
  EXPECT_EQ(charts[1].full.blocks.size(), 6U) << "every run";
  EXPECT_TRUE(arms_report(compare_arms(arms, 0, {})).sections.back().charts.empty());
  for (LogArm& arm : arms) {
    for (LogCurve& curve : arm.curves) curve.points = {curve.points.back()};
  }
  EXPECT_EQ(arms_report(compare_arms(arms, 0, {}), true).sections.back().charts.size(), 1U) << "points are no curve";
}

TEST(LogArms, TimesAreAFamilyOfTheirOwn) {
  const ArmComparison comparison = compare_arms(arms_of_record_70(), 0, {});
  const std::vector<double> holm_p = {0.663605904, 0.0793149521, 4.00140980e-10, 0.663605904, 0.278105320, 0.663605904};
  for (std::size_t i = 0; i < holm_p.size(); ++i) {
    EXPECT_NEAR(*comparison.time[i].adjusted_p / holm_p[i], 1, 1e-6) << i;
    EXPECT_EQ(comparison.time[i].verdict, i == 2 ? Verdict::kRegressed : Verdict::kInconclusive) << i;
  }
  EXPECT_NEAR(*comparison.time[2].difference, 1767.6, 1e-6);
}

TEST(LogArms, WithoutAnySpreadTheErrorIsThatOfRounding) {
  const std::vector<LogArm> arms = {{"a", kMachine, {3.2790, 3.2790, 3.2790}, {100, 100, 100}, {}},
                                    {"b", kMachine, {3.2785, 3.2785, 3.2785}, {100, 100, 100}, {}}};
  const ArmComparison comparison = compare_arms(arms, 0, {});
  const ArmEffect& loss = comparison.loss.front();
  EXPECT_TRUE(loss.is_from_rounding);
  EXPECT_NEAR(loss.estimate->se, 1e-4 * std::sqrt(2.0 / 36.0), 1e-15);
  EXPECT_EQ(loss.estimate->df, kInfinity);
  EXPECT_EQ(loss.verdict, Verdict::kImproved);
  const ArmEffect& time = comparison.time.front();
  EXPECT_NEAR(time.estimate->se, std::sqrt(2.0 / 36.0), 1e-12);
  EXPECT_EQ(time.p, 1.0);
  EXPECT_EQ(time.verdict, Verdict::kInconclusive);
}

TEST(LogArms, OneRunHasNoPButItsQuestionCounts) {
  const std::vector<LogArm> arms = {{"a", kMachine, {3.279, 3.280, 3.281}, {}, {}},
                                    {"b", kMachine, {3.275, 3.276, 3.278}, {}, {}},
                                    {"c", kMachine, {3.270}, {}, {}}};
  const ArmComparison comparison = compare_arms(arms, 0, {});
  EXPECT_NEAR(*comparison.loss[0].adjusted_p, 2 * *comparison.loss[0].p, 1e-15);
  EXPECT_FALSE(comparison.loss[1].p);
  EXPECT_EQ(comparison.loss[1].verdict, Verdict::kInconclusive);
  EXPECT_EQ(comparison.loss[1].reason, ArmReason::kOneRun);
  EXPECT_EQ(comparison.time[0].verdict, Verdict::kMissing) << "no times";
}

TEST(LogArms, TwoRunsGiveNoVerdictHoweverSmallTheirP) {
  const std::vector<LogArm> arms = {{"a", kMachine, {3.2790, 3.2791}, {}, {}},
                                    {"b", kMachine, {3.1000, 3.1001}, {}, {}}};
  const ArmEffect effect = compare_arms(arms, 0, {}).loss.front();
  EXPECT_LT(*effect.adjusted_p, 1e-3);
  EXPECT_EQ(effect.verdict, Verdict::kInconclusive);
  EXPECT_EQ(effect.reason, ArmReason::kFewRuns);
}

TEST(LogArms, TimesOfOtherHardwareAreNoQuestion) {
  std::vector<LogArm> arms = arms_of_record_70();
  arms.resize(3);
  arms[1].hardware = "1x NVIDIA A100";
  const ArmComparison comparison = compare_arms(arms, 0, {});
  EXPECT_FALSE(comparison.time[0].difference);
  EXPECT_EQ(comparison.time[0].verdict, Verdict::kMissing);
  EXPECT_EQ(comparison.time[0].reason, ArmReason::kOtherHardware);
  EXPECT_EQ(comparison.time[1].adjusted_p, comparison.time[1].p) << "a family of one";
  EXPECT_TRUE(comparison.loss[0].p) << "losses do not depend on the machine";
}

TEST(LogArms, PairsAndSettingsAreChecked) {
  EXPECT_EQ(all_pairs(4).size(), 6U);
  ASSERT_EQ(pairs_with(1, 3).size(), 2U);
  EXPECT_EQ(pairs_with(1, 3)[1].candidate, 2U);
  EXPECT_THROW(compare_arms({{"a", "", {1}, {}, {}}}, 0, {}), core::Error);
  EXPECT_THROW(compare_arms(arms_of_record_70(), 7, {}), core::Error);
}

TEST(LogArms, TheReportHoldsTheFamiliesAndTheRule) {
  const Document document = arms_report(compare_arms(arms_of_record_70(), 0, {}));
  const core::OrderedJson json = to_json(document);
  const core::OrderedJson& effects = json["tables"]["effects"];
  ASSERT_EQ(effects.size(), 7U);
  EXPECT_EQ(effects[0]["verdict"], "control");
  EXPECT_EQ(effects[0]["difference"], nullptr);
  EXPECT_EQ(effects[4]["verdict"], "inconclusive");
  EXPECT_EQ(effects[4]["meets"], true);
  EXPECT_EQ(effects[1]["meets"], false);
  EXPECT_EQ(effects[6]["verdict"], "regressed");
  EXPECT_TRUE(document.warnings.empty());
  std::vector<LogArm> shorter = arms_of_record_70();
  shorter[2].steps = {1547};
  EXPECT_EQ(arms_report(compare_arms(shorter, 0, {})).warnings.size(), 1U) << "the arms differ in steps";
  EXPECT_NEAR(json["tables"]["times"][3]["difference"].get<double>(), 1.7676, 1e-9) << "seconds";
  EXPECT_NE(render_html(document).find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace nanobench::reports
