#include "reports/audit/audit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/base/error.h"
#include "core/base/json.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "tests/golden/golden_data.h"
#include "tests/results/import/log_texts.h"

namespace nanobench::reports {
namespace {

results::LogFile file_in(const std::string& folder, const std::string& name, const std::string& subdir = "") {
  return {.path = folder + "/" + name, .folder = folder, .subdir = subdir, .name = name};
}

/// The text of a run of `plan` steps that ends at `last`; its curve is its own.
std::string run_of(int curve, std::int64_t last, std::int64_t plan, const std::string& fields) {
  const std::string of = "/" + std::to_string(plan);
  return "step:0" + of + " val_loss:10." + std::to_string(1000 + curve) + " train_time:0ms step_avg:nanms\n" +
         "step:5" + of + " val_loss:4.5 train_time:500ms step_avg:1.00ms\n" + "step:" + std::to_string(last) + of +
         " " + fields + " train_time:1000ms step_avg:1.00ms\n";
}

class AuditTest : public testing::Test {
 protected:
  void add(const std::string& text, const std::string& folder = "logs", const std::string& subdir = "") {
    auditor_.add(file_in(folder, "run" + std::to_string(++count_) + ".txt", subdir), results::read_speedrun_log(text));
  }
  /// A run whose curve is its own.
  void add_run(double loss, double ms = 1000, const std::string& folder = "logs", const std::string& script = "one") {
    std::string steps = "step:0/3 val_loss:10." + std::to_string(1000 + count_) +
                        " train_time:0ms step_avg:nanms\n"
                        "step:2/3 val_loss:4.5 train_time:500ms step_avg:1.00ms\n";
    steps += "step:3/3 val_loss:" + std::to_string(loss) + " train_time:" + std::to_string(ms) + "ms step_avg:1.00ms\n";
    add(results::log_text(steps, script), folder);
  }
  static bool has_flag(const AuditGroup& group, const AuditFlag& flag) {
    return std::find(group.flags.begin(), group.flags.end(), flag) != group.flags.end();
  }
  static bool has_kind(const AuditGroup& group, FlagKind kind) {
    return std::any_of(group.flags.begin(), group.flags.end(),
                       [&](const AuditFlag& flag) { return flag.kind == kind; });
  }
  /// What reading the log says of its last run, or of the file.
  static AuditFlag problem_of(const std::string& log, const std::string& file) {
    const results::SpeedrunLog read = results::read_speedrun_log(log);
    return {.kind = FlagKind::kLogProblem,
            .files = {file},
            .problem = read.runs.empty() ? read.problems.front() : read.runs.back().problems.front(),
            .counts = false};
  }
  Auditor auditor_{AuditOptions{}};
  int count_ = 0;
};

TEST_F(AuditTest, TestsTheMeanAgainstTheTarget) {
  for (const double loss : {3.2771, 3.2780, 3.2776, 3.2779}) add_run(loss);
  const Audit audit = auditor_.finish();
  ASSERT_EQ(audit.groups.size(), 1U);
  const AuditGroup& group = audit.groups.front();
  EXPECT_EQ(group.n, 4);
  // mean 3.27765, s = 4.041452e-4, t = -0.00235 / (s / 2)
  EXPECT_NEAR(*group.loss.mean, 3.27765, 1e-12);
  EXPECT_NEAR(group.t->t, -11.629484, 1e-5);
  EXPECT_NEAR(group.z->statistic, 0.0047, 1e-12);
  EXPECT_TRUE(group.z->passes);
  EXPECT_EQ(group.verdict, AuditVerdict::kMeets);
  EXPECT_EQ(audit.verdict(), AuditVerdict::kMeets);
  EXPECT_EQ(group.flags, std::vector<AuditFlag>());
}

TEST_F(AuditTest, AMeanBelowTheTargetIsNotEnough) {
  for (const double loss : {3.2700, 3.2890, 3.2790}) add_run(loss);
  const Audit audit = auditor_.finish();
  EXPECT_LT(*audit.groups.front().loss.mean, 3.28);
  EXPECT_EQ(audit.verdict(), AuditVerdict::kDoesNotMeet);
}

TEST_F(AuditTest, OneRunOrNoSpreadProvesNothing) {
  add_run(3.2, 1000, "one");
  add_run(3.2, 1000, "same");
  add_run(3.2, 1001, "same");
  const Audit audit = auditor_.finish();
  ASSERT_EQ(audit.groups.size(), 2U);
  for (const AuditGroup& group : audit.groups) EXPECT_EQ(group.verdict, AuditVerdict::kInconclusive);
  EXPECT_TRUE(has_flag(audit.groups[0], {.kind = FlagKind::kOneRun}));
  EXPECT_FALSE(audit.groups[0].loss.sd);
  EXPECT_EQ(audit.verdict(), AuditVerdict::kInconclusive);
  EXPECT_EQ(Auditor({}).finish().verdict(), AuditVerdict::kInconclusive) << "no log at all";
}

TEST_F(AuditTest, TheZRuleJudgesOneRun) {
  for (const auto& [loss, verdict] :
       {std::pair(3.2760, AuditVerdict::kMeets), std::pair(3.2761, AuditVerdict::kDoesNotMeet)}) {
    Auditor auditor({.rule = AuditRule::kZ});
    auditor.add(file_in("logs", "a.txt"), results::read_speedrun_log(results::steps_text(std::to_string(loss))));
    EXPECT_EQ(auditor.finish().verdict(), verdict) << loss;
  }
}

TEST_F(AuditTest, ScriptsStepsAndHardwareAreGroupsOfTheirOwn) {
  add_run(3.277);
  add_run(3.278, 1000, "logs", "two");
  add(results::script_text() + results::separator() + results::machine_text(4) + results::separator() +
      results::steps_text());
  const Audit audit = auditor_.finish();
  ASSERT_EQ(audit.groups.size(), 3U);
  for (const AuditGroup& group : audit.groups) {
    EXPECT_TRUE(has_flag(
        group, {.kind = FlagKind::kFolderHardware, .names = {"4x NVIDIA H100 80GB HBM3", "8x NVIDIA H100 80GB HBM3"}}));
    EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kFolderScripts, .count = 2}));
  }
  ASSERT_EQ(audit.pooled.size(), 1U) << "the two scripts on eight GPUs";
  EXPECT_EQ(audit.pooled.front().n, 2);
  EXPECT_EQ(audit.verdict(), AuditVerdict::kInconclusive) << "pooled groups never decide";
}

TEST_F(AuditTest, RepeatedRunsCountOnce) {
  add_run(3.2771);
  add_run(3.2780);
  const std::string copy = results::log_text(
      "step:0/3 val_loss:10.9 train_time:0ms step_avg:nanms\nstep:2/3 val_loss:4.5 train_time:500ms step_avg:1.0ms\n"
      "step:3/3 val_loss:3.2765 train_time:900ms step_avg:1.0ms\n");
  std::string other_bytes = copy;
  other_bytes.replace(other_bytes.find("38C"), 3, "39C");
  std::string other_time = copy;
  other_time.replace(other_time.find("900ms"), 5, "901ms");
  for (const std::string& text : {copy, copy, other_bytes, other_time}) add(text);
  add(copy, "elsewhere");
  const Audit audit = auditor_.finish();
  const AuditGroup& group = audit.groups.back();
  EXPECT_EQ(group.runs.size(), 6U);
  EXPECT_EQ(group.n, 3);
  EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kSameBytes, .files = {"run4.txt"}, .what = "run3.txt"}));
  EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kSameNumbers, .files = {"run5.txt"}, .what = "run3.txt"}));
  EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kSameCurve, .files = {"run6.txt"}, .what = "run3.txt"}));
  EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kAlsoElsewhere,
                               .files = {"run3.txt", "run4.txt", "run5.txt", "run6.txt"},
                               .what = "elsewhere"}));
}

TEST_F(AuditTest, AFileIsNamedOnceHoweverManyGroupsHoldItsRun) {
  const std::string steps = run_of(1, 9, 9, "val_loss:3.27");
  add(results::log_text(steps), "here");
  add(results::log_text(steps, "one"), "there");
  add(results::log_text(steps, "two"), "there");
  const Audit audit = auditor_.finish();
  ASSERT_EQ(audit.groups.size(), 3U) << "two groups of one folder hold the run";
  EXPECT_TRUE(has_flag(audit.groups[0], {.kind = FlagKind::kAlsoElsewhere, .files = {"run1.txt"}, .what = "there"}));
  EXPECT_TRUE(
      has_flag(audit.groups[1],
               {.kind = FlagKind::kAlsoElsewhere, .files = {audit.groups[1].runs.front().file.name}, .what = "here"}));
  EXPECT_TRUE(has_kind(audit.groups[1], FlagKind::kAlsoInThisFolder));
}

TEST_F(AuditTest, CutAndStrangeLogsAreFlaggedAndNotCounted) {
  add_run(3.277);
  add_run(3.278);
  const std::string text = results::log_text();
  const std::string cut = text.substr(0, text.find("step:3/3 val_loss"));
  const std::string odd = results::log_text(results::steps_text("nan"));
  const std::string script = text.substr(0, text.find("step:0/3"));
  for (const std::string& log : {cut, odd, script}) add(log);
  add("nothing of a trainer");
  const Audit audit = auditor_.finish();
  EXPECT_EQ(audit.other_files, 1U);
  ASSERT_EQ(audit.groups.size(), 2U);
  EXPECT_EQ(audit.groups[0].n, 0);
  EXPECT_TRUE(has_flag(audit.groups[0], problem_of(script, "run5.txt")));
  EXPECT_EQ(audit.groups[1].n, 2);
  const results::SpeedrunRun read = results::read_speedrun_log(cut).runs.front();
  EXPECT_EQ(read.validations.back().step, 0);
  EXPECT_TRUE(has_flag(audit.groups[1],
                       {.kind = FlagKind::kCutShort, .files = {"run3.txt"}, .end = read.early_end(), .counts = false}));
  EXPECT_TRUE(has_flag(audit.groups[1], problem_of(odd, "run4.txt")));
}

TEST_F(AuditTest, ComparesTheTimeWithTheRecordBefore) {
  add_run(3.277, 150'000, "2025-09-21_DropAttn");
  add_run(3.278, 153'000, "2025-09-21_DropAttn");
  add_run(3.278, 190'000, "2025-09-18_Smear");
  const Audit audit = auditor_.finish();
  const AuditGroup& slow = audit.groups[0];
  const AuditGroup& fast = audit.groups[1];
  ASSERT_NE(fast.before, nullptr);
  EXPECT_EQ(fast.before->id, "34");
  EXPECT_NEAR(*fast.time_over_before, 151.5 / (2.547 * 60), 1e-9);
  EXPECT_FALSE(has_kind(fast, FlagKind::kNoGain));
  ASSERT_EQ(slow.before->id, "33");
  EXPECT_TRUE(has_flag(slow, {.kind = FlagKind::kNoGain, .what = "33", .value = slow.before->minutes}));
}

TEST_F(AuditTest, TheReportHoldsEveryNumberAndNoNan) {
  for (const double loss : {3.2771, 3.2780}) add_run(loss);
  add(results::log_text(results::steps_text("nan")));
  add_run(3.27, 1000, "<b>|evil|</b>");
  const Document document = audit_report(auditor_.finish(), true);
  const core::OrderedJson json = to_json(document);
  EXPECT_EQ(json["kind"], "audit");
  EXPECT_EQ(
      json["headline"],
      "0 of 2 groups of runs meet the rule, mean <= 3.2800 with p < 0.01 (one-sided t test); 1 does not; 1 cannot "
      "be tested.")
      << "the only test of this sentence";
  ASSERT_EQ(json["tables"]["groups"].size(), 2U);
  EXPECT_NEAR(json["tables"]["groups"][1]["val_loss"]["mean"].get<double>(), 3.27755, 1e-12);
  EXPECT_EQ(json["tables"]["groups"][1]["n"]["found"], 3);
  EXPECT_EQ(json["tables"]["runs"].size(), 4U);
  EXPECT_EQ(json["tables"]["groups"][0]["p"], nullptr);
  for (const std::string& text : {render_terminal(document, {.width = 200}), render_markdown(document),
                                  render_csv(document), render_json(document), render_html(document)}) {
    EXPECT_EQ(text.find("nan,"), std::string::npos);
    EXPECT_EQ(text.find(" nan "), std::string::npos);
  }
  EXPECT_EQ(render_html(document).find("<b>|evil"), std::string::npos);
  EXPECT_EQ(render_markdown(document).find("invalid"), std::string::npos);
}

TEST_F(AuditTest, ScriptsThatDifferInRunNamesAndSeedsAreOne) {
  const double losses[] = {3.2771, 3.2780, 3.2776};
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    add("import os\nrun_id = \"try_" + number + "\"\nSEED = " + number + "\n" + results::separator() +
        run_of(i, 9, 9, "val_loss:" + std::to_string(losses[i])));
  }
  const Audit audit = auditor_.finish();
  ASSERT_EQ(audit.groups.size(), 1U);
  const AuditGroup& group = audit.groups.front();
  EXPECT_EQ(group.n, 3);
  EXPECT_EQ(group.texts, 3U);
  EXPECT_EQ(group.differing, (std::vector{results::ScriptPart::kRunNames, results::ScriptPart::kSeeds}));
  EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kOneScript, .count = 3, .parts = group.differing}));
  EXPECT_TRUE(audit.pooled.empty());
}

TEST_F(AuditTest, ThePathNamesTheTrackAndOptionsGoBeforeIt) {
  const auto rule_in = [](const std::string& path, const AuditOptions& options) {
    Auditor auditor(options);
    auditor.add({.path = path, .folder = "a", .subdir = "", .name = "a.txt"},
                results::read_speedrun_log(results::log_text()));
    return auditor.finish().groups.front().rule;
  };
  EXPECT_EQ(rule_in("/r/track_2_medium/a/a.txt", {}), rule_of_track(2));
  EXPECT_EQ(rule_in("/r/track_3_optimization/a/a.txt", {}), rule_of_track(3));
  EXPECT_EQ(rule_in("/r/a/a.txt", {}), rule_of_track(1));
  EXPECT_EQ(rule_in("/r/track_2_medium/a/a.txt", {.track = 3}), rule_of_track(3));
  EXPECT_EQ(rule_in("/r/track_2_medium/a/a.txt", {.target = 3.0}).target, 3.0);
  EXPECT_EQ(rule_in("/r/track_2_medium/a/a.txt", {.rule = AuditRule::kZ}).rule, AuditRule::kZ);
  EXPECT_THROW(Auditor({.track = 4}), core::Error);
}

TEST_F(AuditTest, TheStepThatAReadmeNamesCounts) {
  auditor_.set_named_steps({{.step = 5, .linked = std::filesystem::absolute("logs/run1.txt"), .readme = "README.md"}});
  add(run_of(1, 9, 9, "val_loss:3.2"));
  add(run_of(2, 7, 9, "val_loss:3.3"));
  add(run_of(3, 4, 9, "val_loss:3.4").substr(0, 60));
  const Audit audit = auditor_.finish();
  const AuditGroup& group = audit.groups.front();
  EXPECT_EQ(group.judged_at, JudgedAt::kNamed);
  EXPECT_EQ(group.judged_step, 5);
  EXPECT_EQ(group.n, 2);
  EXPECT_EQ(group.loss.mean, 4.5);
  EXPECT_EQ(group.train_ms.mean, 500.0);
  EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kEndsBeforeStep, .files = {"run3.txt"}, .step = 5, .counts = false}));
  EXPECT_TRUE(has_flag(group, {.kind = FlagKind::kNamedStep, .step = 5}));
}

TEST_F(AuditTest, RunsThatAllEndAtOneStepAreNotCutShort) {
  for (int i = 0; i < 2; ++i) add(run_of(i, 8, 9, "val_loss:3.27"));
  add(run_of(2, 8, 9, "val_loss:3.27"), "single");
  for (int i = 3; i < 5; ++i) add(run_of(i, i + 3, 9, "val_loss:3.27"), "various");
  const Audit audit = auditor_.finish();
  ASSERT_EQ(audit.groups.size(), 3U);
  EXPECT_EQ(audit.groups[0].judged_at, JudgedAt::kCommonEnd);
  EXPECT_EQ(audit.groups[0].judged_step, 8);
  EXPECT_EQ(audit.groups[0].n, 2);
  EXPECT_FALSE(has_kind(audit.groups[0], FlagKind::kCutShort) || has_kind(audit.groups[0], FlagKind::kEndsBeforeStep));
  EXPECT_TRUE(has_flag(audit.groups[0], {.kind = FlagKind::kCommonEnd, .step = 8}));
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_EQ(audit.groups[i].n, 0);
    EXPECT_TRUE(has_kind(audit.groups[i], FlagKind::kCutShort)) << i;
  }
}

TEST_F(AuditTest, AStepThatIsAskedForGoesBeforeAllOthers) {
  Auditor auditor({.step = 5});
  auditor.add(file_in("logs", "a.txt"), results::read_speedrun_log(run_of(1, 9, 9, "val_loss:3.2")));
  const Audit audit = auditor.finish();
  EXPECT_EQ(audit.groups.front().judged_at, JudgedAt::kOption);
  EXPECT_EQ(audit.groups.front().loss.mean, 4.5);
}

TEST_F(AuditTest, TheLossOfAveragedWeightsCountsWhereItIsPrinted) {
  add(run_of(1, 9, 9, "val_loss:3.2824 val_ema_loss:3.2783"));
  const Audit audit = auditor_.finish();
  const AuditedRun& run = audit.groups.front().runs.front();
  EXPECT_EQ(run.loss, 3.2783);
  EXPECT_EQ(run.raw_loss, 3.2824);
  EXPECT_TRUE(has_flag(audit.groups.front(), {.kind = FlagKind::kAveragedLoss, .value = 3.2824}));
}

TEST_F(AuditTest, BothFoldersOfADuplicateAreNamed) {
  const std::string text = results::log_text(run_of(1, 9, 9, "val_loss:3.27"));
  add(text, "2025-05-09_A");
  add(text, "2025-09-05_B");
  const Audit audit = auditor_.finish();
  EXPECT_TRUE(
      has_flag(audit.groups[0], {.kind = FlagKind::kAlsoElsewhere, .files = {"run1.txt"}, .what = "2025-09-05_B"}));
  EXPECT_TRUE(
      has_flag(audit.groups[1], {.kind = FlagKind::kAlsoElsewhere, .files = {"run2.txt"}, .what = "2025-05-09_A"}));
}

TEST_F(AuditTest, AFolderWithOnlyAReadmeIsNoEvidence) {
  for (const double loss : {3.2771, 3.2780, 3.2776}) add_run(loss);
  auditor_.add_readme_only("2024-12-31_Target350M");
  const Audit audit = auditor_.finish();
  EXPECT_EQ(audit.groups.front().verdict, AuditVerdict::kMeets);
  EXPECT_EQ(audit.verdict(), AuditVerdict::kInconclusive);
  EXPECT_EQ(audit_report(audit).warnings.size(), 1U);
}

TEST_F(AuditTest, ArmsOfAFolderAreComparedWithEachOther) {
  for (const double loss : {3.2771, 3.2780, 3.2776}) add_run(loss, 1000 + loss, "a", "one");
  for (const double loss : {3.2671, 3.2680, 3.2676}) add_run(loss, 1000 + loss, "a", "two");
  for (const double loss : {3.2773, 3.2781, 3.2775}) add_run(loss, 1000 + loss, "a", "three");
  add_run(3.1, 1000, "a", "four");
  add_run(3.27, 1000, "b", "one");
  const Audit audit = auditor_.finish();
  ASSERT_EQ(audit.arms.size(), 1U) << "b has one arm";
  const FolderArms& arms = audit.arms.front();
  EXPECT_EQ(arms.arms.size(), 3U) << "an arm of one run is left out";
  ASSERT_EQ(arms.pairs.size(), 3U);
  int effects = 0;
  for (std::size_t i = 0; i < arms.pairs.size(); ++i) {
    EXPECT_GE(*arms.loss[i].adjusted_p, *arms.loss[i].p);
    const bool is_two =
        arms.arms[arms.pairs[i].control].losses[0] < 3.27 || arms.arms[arms.pairs[i].candidate].losses[0] < 3.27;
    EXPECT_EQ(arms.loss[i].verdict == Verdict::kInconclusive, !is_two);
    effects += is_two ? 1 : 0;
  }
  EXPECT_EQ(effects, 2);
  const core::OrderedJson json = to_json(audit_report(audit));
  EXPECT_EQ(json["tables"]["arms"].size(), 3U);
}

TEST_F(AuditTest, ACopyOfAnArmIsNoSecondArm) {
  for (const std::string subdir : {"logs", "stdout"}) {
    for (int i = 0; i < 3; ++i) add(run_of(i, 9, 9, "val_loss:3.27" + std::to_string(i)), "a", subdir);
  }
  EXPECT_TRUE(auditor_.finish().arms.empty());
}

/// The logs that were published, and what they must come to: computed elsewhere.
TEST(AuditOfPublicLogs, IsWhatWasComputedIndependently) {
  Auditor auditor({});
  for (const results::LogFile& file : results::find_log_files({golden_data("public_logs")}).files) {
    const results::LogReading reading = results::read_log_file(file.path);
    ASSERT_EQ(reading.problem, std::nullopt);
    auditor.add(file, reading.log);
  }
  const Audit audit = auditor.finish();
  const core::Json known = core::read_json_file(golden_data("val_losses.json")).at("folders");
  std::size_t compared = 0;
  for (const AuditGroup& group : audit.groups) {
    const core::Json& entry = known.at(group.folder).at(0);
    EXPECT_EQ(group.planned_steps, entry.at("steps").get<std::int64_t>()) << group.folder;
    for (const AuditedRun& run : group.runs) {
      const core::Json& files = entry.at("files");
      const auto place = std::find(files.begin(), files.end(), run.file.name);
      ASSERT_TRUE(place != files.end()) << run.file.name;
      const auto index = static_cast<std::size_t>(place - files.begin());
      EXPECT_EQ(run.loss, entry.at("losses").at(index).get<double>()) << run.file.name;
      EXPECT_EQ(run.train_ms, entry.at("train_time_ms").at(index).get<double>()) << run.file.name;
      ++compared;
    }
    if (group.t && group.n == entry.at("computed").at("n").get<int>()) {
      EXPECT_NEAR(group.t->p / entry.at("computed").at("p_less_3p28").get<double>(), 1, 1e-9) << group.folder;
    }
  }
  EXPECT_EQ(compared, 39U);
}

}  // namespace
}  // namespace nanobench::reports
