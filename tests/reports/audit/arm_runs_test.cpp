#include "reports/audit/arm_runs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/results/import/log_texts.h"

namespace nanobench::reports {
namespace {

/// A run of its own curve.
std::string log_of(const std::string& loss, int curve, int steps = 4, const std::string& clock = "400") {
  const std::string of = "/" + std::to_string(steps);
  return results::log_text("step:0" + of + " val_loss:10." + std::to_string(1000 + curve) +
                           " train_time:0ms step_avg:nanms\nstep:2" + of +
                           " val_loss:4.5 train_time:200ms step_avg:100.00ms\nstep:" + std::to_string(steps) + of +
                           " val_loss:" + loss + " train_time:" + clock + "ms step_avg:101.25ms\n");
}

NamedAudit arm_of(const std::string& name, const std::vector<std::string>& logs) {
  Auditor auditor({});
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const std::string file = "run" + std::to_string(i) + ".txt";
    auditor.add({.path = name + "/" + file, .folder = name, .subdir = "", .name = file},
                results::read_speedrun_log(logs[i]));
  }
  return {.name = name, .audit = auditor.finish()};
}

bool has_flag(const LogArm& arm, const AuditFlag& flag) {
  return std::find(arm.flags.begin(), arm.flags.end(), flag) != arm.flags.end();
}

/// What reading the log finds odd about it.
results::LogProblem problem_of(const std::string& log) {
  return results::read_speedrun_log(log).runs.front().problems.front();
}

TEST(ArmRuns, AnArmHoldsItsRunsWithClocksAndCurves) {
  const std::vector<LogArm> arms = arms_of_audits(std::vector{arm_of("a", {log_of("3.2771", 1), log_of("3.2780", 2)})});
  ASSERT_EQ(arms.size(), 1U);
  const LogArm& arm = arms.front();
  EXPECT_EQ(arm.losses, (std::vector{3.2771, 3.2780}));
  EXPECT_EQ(arm.train_ms, (std::vector{400.0, 400.0}));
  EXPECT_EQ(arm.step_ms, (std::vector{101.25, 101.25})) << "as the log prints it";
  EXPECT_EQ(arm.steps, std::vector<std::int64_t>{4});
  EXPECT_EQ(arm.logs, 2U);
  EXPECT_EQ(arm.hardware, "8x NVIDIA H100 80GB HBM3");
  ASSERT_EQ(arm.software.size(), 1U);
  EXPECT_EQ(arm.software.front().rfind("PyTorch 2.7.0.dev20250125", 0), 0U) << arm.software.front();
  ASSERT_EQ(arm.curves.size(), 2U);
  EXPECT_EQ(arm.curves[1].name, "run1.txt");
  ASSERT_EQ(arm.curves[1].points.size(), 3U);
  EXPECT_EQ(arm.curves[1].points[1].clock_s, 0.2);
  EXPECT_EQ(arm.flags, std::vector<AuditFlag>());
}

TEST(ArmRuns, OneLengthCountsAndTheOthersAreNamed) {
  const std::vector<std::string> logs = {log_of("3.2771", 1), log_of("3.2780", 2), log_of("3.1000", 3, 9),
                                         log_of("3.1001", 4, 8), log_of("3.1002", 5, 8)};
  const LogArm arm = arms_of_audits(std::vector{arm_of("a", logs)}).front();
  EXPECT_EQ(arm.steps, std::vector<std::int64_t>{8}) << "of two lengths with two runs each, the longer";
  EXPECT_EQ(arm.losses, (std::vector{3.1001, 3.1002}));
  EXPECT_EQ(arm.logs, 5U);
  EXPECT_TRUE(has_flag(
      arm,
      {.kind = FlagKind::kOtherLength, .files = {"run0.txt", "run1.txt"}, .step = 4, .usual_step = 8, .count = 2}));
  EXPECT_TRUE(
      has_flag(arm, {.kind = FlagKind::kOtherLength, .files = {"run2.txt"}, .step = 9, .usual_step = 8, .count = 2}));
}

TEST(ArmRuns, ARunCountsInTheFirstArmThatHoldsIt) {
  const std::string same = log_of("3.2771", 1);
  std::string other_bytes = log_of("3.2780", 2);
  other_bytes.replace(other_bytes.find("38C"), 3, "39C");
  const std::vector<LogArm> arms = arms_of_audits(std::vector{arm_of("a", {same, log_of("3.2780", 2)}),
                                                              arm_of("b", {same, other_bytes, log_of("3.2760", 7)}),
                                                              arm_of("c", {log_of("3.2780", 2, 4, "350")})});
  EXPECT_EQ(arms[0].losses.size(), 2U);
  EXPECT_EQ(arms[1].losses, std::vector{3.2760});
  EXPECT_TRUE(has_flag(arms[1], {.kind = FlagKind::kHeldElsewhere, .files = {"run0.txt", "run1.txt"}, .what = "a"}));
  EXPECT_EQ(arms[2].losses, std::vector{3.2780}) << "with another time it is another run";
  EXPECT_EQ(arms[0].flags, std::vector<AuditFlag>());
}

TEST(ArmRuns, UnfinishedRunsDoNotCount) {
  const std::string whole = log_of("3.2771", 1);
  const std::string cut = log_of("3.2790", 2);
  const std::string end = cut.substr(0, cut.find("step:4/4")), odd = log_of("nan", 3);
  const LogArm arm = arms_of_audits(std::vector{arm_of("a", {whole, end, odd, "a note"})}).front();
  EXPECT_EQ(arm.losses, std::vector{3.2771});
  EXPECT_EQ(arm.logs, 3U);
  const results::SpeedrunRun read = results::read_speedrun_log(end).runs.front();
  ASSERT_EQ(read.validations.back().step, 2);
  EXPECT_TRUE(
      has_flag(arm, {.kind = FlagKind::kCutShort, .files = {"run1.txt"}, .end = read.early_end(), .counts = false}));
  EXPECT_TRUE(has_flag(
      arm, {.kind = FlagKind::kLogProblem, .files = {"run2.txt"}, .problem = problem_of(odd), .counts = false}));
  EXPECT_TRUE(has_flag(arm, {.kind = FlagKind::kOtherFiles, .count = 1}));
}

TEST(ArmRuns, AnArmOnSeveralMachinesHasNoHardwareToCompareTimesOn) {
  std::string other = log_of("3.2780", 2);
  for (std::size_t at = other.find("H100"); at != std::string::npos; at = other.find("H100", at + 1))
    other.replace(at, 4, "H200");
  const LogArm arm = arms_of_audits(std::vector{arm_of("a", {log_of("3.2771", 1), other})}).front();
  EXPECT_EQ(arm.losses.size(), 2U);
  EXPECT_EQ(arm.hardware, "");
  EXPECT_TRUE(has_flag(
      arm, {.kind = FlagKind::kArmHardware, .names = {"8x NVIDIA H100 80GB HBM3", "8x NVIDIA H200 80GB HBM3"}}));
}

}  // namespace
}  // namespace nanobench::reports
