#include "reports/audit/audit_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

// The only tests of these sentences: all others compare values.

TEST(AuditText, HasASentenceForEachFinding) {
  const std::vector<AuditFlag> flags = {
      {.kind = FlagKind::kLogProblem, .files = {"a.txt", "b.txt"}, .problem = results::LogProblem::kNoTime},
      {.kind = FlagKind::kCutShort, .files = {"a", "b", "c", "d", "e"}, .end = results::LogEnd{5, 9}, .counts = false},
      {.kind = FlagKind::kEndsBeforeStep, .files = {"a.txt"}, .step = 5, .counts = false},
      {.kind = FlagKind::kLacksStep, .files = {"a.txt"}, .step = 5},
      {.kind = FlagKind::kSameBytes, .files = {"b.txt"}, .what = "a.txt"},
      {.kind = FlagKind::kSameNumbers, .files = {"b.txt"}, .what = "a.txt"},
      {.kind = FlagKind::kSameCurve, .files = {"b.txt"}, .what = "a.txt"},
      {.kind = FlagKind::kSameEnds, .files = {"a.txt", "b.txt"}},
      {.kind = FlagKind::kAlsoInThisFolder, .files = {"a.txt"}},
      {.kind = FlagKind::kAlsoElsewhere, .files = {"a.txt"}, .what = "logs/x"},
      {.kind = FlagKind::kNamedStep, .step = 7},
      {.kind = FlagKind::kCommonEnd, .step = 7},
      {.kind = FlagKind::kAveragedLoss, .value = 3.2824},
      {.kind = FlagKind::kOneRun},
      {.kind = FlagKind::kNoLoss},
      {.kind = FlagKind::kOneScript,
       .count = 3,
       .parts = {results::ScriptPart::kRunNames, results::ScriptPart::kSeeds}},
      {.kind = FlagKind::kOneScript, .count = 2},
      {.kind = FlagKind::kNoGain, .what = "33", .value = 2.547},
      {.kind = FlagKind::kFolderHardware, .names = {"x", "y"}},
      {.kind = FlagKind::kFolderSteps, .names = {"1", "2", "3", "4"}},
      {.kind = FlagKind::kFolderScripts, .count = 2},
      {.kind = FlagKind::kPooledScripts, .count = 2},
      {.kind = FlagKind::kOtherLength, .files = {"a.txt"}, .step = 9, .usual_step = 8, .count = 2},
      {.kind = FlagKind::kOtherLength, .files = {"a.txt", "b.txt"}, .step = 9, .usual_step = 8, .count = 2},
      {.kind = FlagKind::kOtherFiles, .count = 1},
      {.kind = FlagKind::kHeldElsewhere, .files = {"a.txt"}, .what = "base"},
      {.kind = FlagKind::kArmHardware, .names = {"x", "y"}},
      {.kind = FlagKind::kArmScripts, .count = 2},
  };
  EXPECT_EQ(texts_of(flags),
            (std::vector<std::string>{
                results::words_of(results::LogProblem::kNoTime) + " (a.txt, b.txt)",
                "cut short: " + results::words_of(results::LogEnd{5, 9}) + "; it does not count (a, b, c and 2 more)",
                "cut short: no validation at step 5; it does not count (a.txt)",
                "no validation at step 5 (a.txt)",
                "is byte for byte a.txt: counted once (b.txt)",
                "holds the same losses and times as a.txt: counted once (b.txt)",
                "holds the same loss at every validation as a.txt: counted once (b.txt)",
                "the same final loss and training time appear twice (a.txt, b.txt): perhaps one run",
                "the same runs appear in another group of this folder (a.txt)",
                "the same runs appear in logs/x (a.txt)",
                "judged at step 7, which a README names",
                "judged at step 7, where all its runs end",
                "judged by val_ema_loss; the mean of val_loss is 3.28240",
                "n = 1",
                "no run with a final loss",
                "3 texts of one script, which differ in run names and seeds only",
                "2 texts of one script, which differ in layout only",
                "the mean time is not below the published time of record 33 (2.547 min); that time is from another "
                "machine, or this is a baseline",
                "different hardware in this folder: x, y",
                "different numbers of steps in this folder: 1, 2, 3 and 1 more",
                "2 different scripts in this folder",
                "2 different scripts, pooled",
                "1 run of 9 steps is left out, because 2 of 8 steps count here (a.txt)",
                "2 runs of 9 steps are left out, because 2 of 8 steps count here (a.txt, b.txt)",
                "1 file holds no line of a trainer",
                "base holds the same run, which counts only there (a.txt)",
                "its runs are from different hardware, so its times are not compared: x and y",
                "its runs are of 2 different scripts",
            }));
}

TEST(AuditText, SaysWhyAGroupHasItsVerdict) {
  AuditGroup group;
  EXPECT_EQ(verdict_text(group, {}), "no final loss");
  group.n = 1;
  group.z = RuleResult{.threshold = 0.004};
  EXPECT_EQ(verdict_text(group, {}), "one run has no spread, so nothing can be tested");
  group.n = 2;
  EXPECT_EQ(verdict_text(group, {}), "all 2 losses are equal, so there is no spread to test against");
  group.t.emplace();
  group.loss.mean = group.rule.target + 0.1;
  EXPECT_EQ(verdict_text(group, {}), "the mean is above the target");
  group.loss.mean = group.rule.target;
  EXPECT_EQ(verdict_text(group, {}), "the mean is below the target, but p is not below 0.01");
  group.verdict = AuditVerdict::kMeets;
  EXPECT_EQ(verdict_text(group, {}), "p < 0.01");
  group.rule.rule = AuditRule::kZ;
  EXPECT_EQ(verdict_text(group, {}), "(target - mean) * sqrt(n) is below 0.004");
  group.z->passes = true;
  EXPECT_EQ(verdict_text(group, {}), "(target - mean) * sqrt(n) is at least 0.004");
}

TEST(AuditText, SaysWhyTwoArmsHaveNoVerdict) {
  EXPECT_EQ(text_of(ArmReason::kNone), "");
  EXPECT_EQ(text_of(ArmReason::kOtherHardware), "the arms ran on different hardware");
  EXPECT_EQ(text_of(ArmReason::kTargetMissed), "not all runs reach it");
  EXPECT_EQ(text_of(ArmReason::kNoValue), "an arm has no value");
  EXPECT_EQ(text_of(ArmReason::kOneRun), "an arm has one run, which has no spread");
  EXPECT_EQ(text_of(ArmReason::kFewRuns), "a verdict needs 3 runs in each arm");
}

}  // namespace
}  // namespace nanobench::reports
