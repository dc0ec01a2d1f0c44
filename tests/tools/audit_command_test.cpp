// `audit` and `import` from the outside: exit codes, formats, what is left behind.
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "results/store.h"
#include "tests/results/import/log_texts.h"
#include "tests/tools/refusals.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

/// A log of its own curve.
std::string log_of(const std::string& loss, int curve) {
  return results::log_text("step:0/3 val_loss:10." + std::to_string(1000 + curve) +
                           " train_time:0ms step_avg:nanms\n"
                           "step:1/3 val_loss:5.5 train_time:100ms step_avg:100.00ms\n"
                           "step:3/3 val_loss:" +
                           loss + " train_time:300ms step_avg:100.00ms\n");
}

void write_logs(const CommandLine& shell, const std::string& folder, const std::vector<std::string>& losses) {
  std::filesystem::create_directories(shell.work() / folder);
  for (std::size_t i = 0; i < losses.size(); ++i)
    shell.write(folder + "/run" + std::to_string(i) + ".txt", log_of(losses[i], static_cast<int>(i)));
}

TEST(AuditCommand, ExitCodesSayWhatTheEvidenceIs) {
  const CommandLine shell("audit");
  write_logs(shell, "good", {"3.2771", "3.2780", "3.2776", "3.2779"});
  write_logs(shell, "weak", {"3.2700", "3.2890", "3.2790"});
  write_logs(shell, "one", {"3.2700"});
  EXPECT_EQ(shell.run({"audit", "good"}).exit_code, 0);
  EXPECT_EQ(shell.run({"audit", "good", "weak"}).exit_code, 1);
  EXPECT_EQ(shell.run({"audit", "good", "one"}).exit_code, 3);
  EXPECT_EQ(shell.run({"audit", "one", "--rule", "z"}).exit_code, 0);
  EXPECT_EQ(shell.run({"audit", "good", "--target", "3.27"}).exit_code, 1);
  std::filesystem::create_directories(shell.work() / "empty");
  EXPECT_EQ(shell.run({"audit", "empty"}).exit_code, 3);
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"audit"},
                                                                     {"audit", "none"},
                                                                     {"audit", "good", "--rule", "x"},
                                                                     {"audit", "good", "--track", "4"},
                                                                     {"audit", "good", "--step", "-1"},
                                                                     {"audit", "good", "--target", "nan"},
                                                                     {"audit", "good", "--format", "x"}}) {
    const ProgramResult result = shell.run(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments.back();
    EXPECT_EQ(result.err.rfind("nanobench: ", 0), 0U) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(AuditCommand, JsonHoldsTheNumbersAndNothingIsWritten) {
  const CommandLine shell("audit_json");
  write_logs(shell, "good", {"3.2771", "3.2780"});
  const core::Json json = json_of(shell.run({"audit", "good", "--json", "--runs"}));
  EXPECT_EQ(json.at("schema_version"), 2);
  EXPECT_EQ(json.at("tables").at("groups").at(0).at("val_loss").at("n"), 2);
  EXPECT_EQ(json.at("tables").at("runs").size(), 2U);
  EXPECT_FALSE(std::filesystem::exists(shell.database()));
  const ProgramResult page = shell.run({"audit", "good", "--out", "a.html"});
  EXPECT_EQ(page.out, "");
  EXPECT_NE(read_text(shell.work() / "a.html").find("</html>"), std::string::npos);
}

TEST(AuditCommand, GarbageIsNamedAndDoesNoHarm) {
  const CommandLine shell("audit_garbage");
  shell.write("bytes.txt", std::string("\x00\xff\xfe step:1/2 \n\n=====", 20) + std::string(3'000'000, '='));
  shell.write("empty.txt", "");
  const ProgramResult result = shell.run({"audit", "bytes.txt", "empty.txt", "/dev/null"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.out.find("bytes.txt holds no line of a speedrun trainer"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("/dev/null is a device, expected a file"), std::string::npos) << result.out;
}

TEST(ImportCommand, StoresWhatReportAndShowRead) {
  const CommandLine shell("import");
  write_logs(shell, "2025-01-04_SoftCap", {"3.2771", "3.2780"});
  write_logs(shell, "mine", {"3.2600"});
  const core::Json first = json_of(shell.run({"import", "2025-01-04_SoftCap", "mine", "--json"}));
  EXPECT_EQ(first.at("facts").at("added"), 3);
  EXPECT_EQ(first.at("facts").at("cells"), 2);
  const core::Json again = json_of(shell.run({"import", "2025-01-04_SoftCap", "mine", "--json"}));
  EXPECT_EQ(again.at("facts").at("added"), 0);
  EXPECT_EQ(again.at("facts").at("known"), 3);
  const core::Json report = json_of(shell.run({"report", "--suite", "speedrun_logs", "--json"}));
  const core::Json& rows = report.at("tables").at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NEAR(rows.at(0).at("val_loss").at("mean").get<double>(), 3.27755, 1e-9);
  EXPECT_EQ(rows.at(0).at("n").at("completed"), 2);
  EXPECT_NEAR(rows.at(0).at("step_ms").at("mean").get<double>(), 100, 1e-9);
  EXPECT_EQ(shell.run({"show", "1"}).exit_code, 0);
  EXPECT_EQ(shell.run({"import", "none"}).exit_code, 2);
}

TEST(AuditCommand, TheTrackIsThatOfThePathOrTheOption) {
  const CommandLine shell("audit_track");
  write_logs(shell, "track_2_medium/a", {"2.9181", "2.9180", "2.9186", "2.9183"});
  write_logs(shell, "track_3_optimization/b", {"3.2750"});
  EXPECT_EQ(shell.run({"audit", "track_2_medium"}).exit_code, 0);
  EXPECT_EQ(shell.run({"audit", "track_2_medium", "--target", "2.9"}).exit_code, 1);
  EXPECT_EQ(shell.run({"audit", "track_3_optimization"}).exit_code, 0);
  EXPECT_EQ(shell.run({"audit", "track_3_optimization", "--track", "1"}).exit_code, 3) << "one run, rule t";
}

TEST(AuditCommand, AReadmeNamesTheStepAndAFolderWithoutLogsIsNamed) {
  const CommandLine shell("audit_readme");
  write_logs(shell, "track_3/results/20260430_x", {"3.2700"});
  shell.write("track_3/README.md",
              "| # | Steps to 3.28 | Log |\n|-|-|-|\n| 1 | 1 | [log](results/20260430_x/run0.txt) |\n");
  const core::Json json = json_of(shell.run({"audit", "track_3/results", "--json"}));
  EXPECT_EQ(json.at("tables").at("groups").at(0).at("judged_step"), 1);
  EXPECT_EQ(json.at("tables").at("groups").at(0).at("val_loss").at("mean"), 5.5);
  EXPECT_EQ(shell.run({"audit", "track_3/results"}).exit_code, 1);
  EXPECT_EQ(shell.run({"audit", "track_3/results", "--step", "3"}).exit_code, 0);
  std::filesystem::create_directories(shell.work() / "track_3/results/20260501_y");
  shell.write("track_3/results/20260501_y/README.md", "a claim");
  const ProgramResult result = shell.run({"audit", "track_3/results", "--step", "3"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find("20260501_y"), std::string::npos) << result.out;
}

TEST(CompareCommand, FoldersOfLogsAreArms) {
  const CommandLine shell("compare_logs");
  write_logs(shell, "all/base", {"3.2796", "3.2800", "3.2786", "3.2782"});
  write_logs(shell, "all/good", {"3.2696", "3.2700", "3.2686", "3.2682"});
  write_logs(shell, "all/same", {"3.2797", "3.2801", "3.2785", "3.2783"});
  std::filesystem::create_directories(shell.work() / "all/empty");
  const core::Json json = json_of(shell.run({"compare", "all/base", "all/good", "all/same/", "--json"}));
  const core::Json& effects = json.at("tables").at("effects");
  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(effects.at(0).at("verdict"), "control");
  EXPECT_EQ(effects.at(1).at("arm"), "good");
  EXPECT_EQ(effects.at(1).at("verdict"), "improved");
  EXPECT_EQ(effects.at(2).at("verdict"), "inconclusive");
  EXPECT_EQ(json.at("tables").at("times").at(1).at("verdict"), "inconclusive") << "equal to the millisecond";
  const core::Json other = json_of(shell.run({"compare", "all", "--control", "same", "--json"}));
  EXPECT_EQ(other.at("tables").at("effects").at(0).at("arm"), "same");
  EXPECT_EQ(other.at("tables").at("effects").size(), 3U) << "folders without a log are no arms";
  EXPECT_FALSE(std::filesystem::exists(shell.database()));
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"compare", "all"},
                                                                     {"compare", "all/base"},
                                                                     {"compare", "all", "--control", "none"},
                                                                     {"compare", "all/base", "all/empty"},
                                                                     {"compare", "all/base", "cell"},
                                                                     {"compare", "a", "b", "c"},
                                                                     {"compare", "a", "b", "--control", "a"}}) {
    const ProgramResult result = shell.run(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments.back();
    EXPECT_EQ(result.err.rfind("nanobench: ", 0), 0U) << result.err;
  }
  expect_refusals(shell, {{{"compare", "all/base", "all/good", "all/gone"}, "all/gone"}});
}

TEST(CompareCommand, LogsAreArmsOfOneRunAndNothingElseIsBesideThem) {
  const CommandLine shell("compare_files");
  write_logs(shell, "all/base", {"3.2796", "3.2800", "3.2786"});
  shell.write("one.txt", log_of("3.2690", 9));
  shell.write("cell.db", "no log");
  const core::Json json = json_of(shell.run({"compare", "all/base", "one.txt", "--json"}));
  const core::Json& effects = json.at("tables").at("effects");
  EXPECT_EQ(effects.at(1).at("arm"), "one.txt");
  EXPECT_EQ(effects.at(1).at("n"), 1);
  EXPECT_NEAR(effects.at(1).at("difference").get<double>(), -0.0104, 1e-4);
  EXPECT_EQ(effects.at(1).at("low"), nullptr);
  EXPECT_EQ(effects.at(1).at("p"), nullptr);
  EXPECT_EQ(effects.at(1).at("verdict"), "inconclusive");
  EXPECT_NEAR(json.at("tables").at("step_times").at(1).at("mean").at("mean").get<double>(), 100, 1e-9);
  EXPECT_EQ(json.at("tables").at("target_times").at(1).at("n"), 1) << "the time at a loss of 3.28";
  EXPECT_FALSE(std::filesystem::exists(shell.database()));
  expect_refusals(shell, {{{"compare", "one.txt"}, "one log"},
                          {{"compare", "one.txt", "record12"}, "record12 is no folder or log"},
                          {{"compare", "plan:1", "all/base"}, "plan:1 is no folder or log"},
                          {{"compare", "all/base", "cell.db"}, "cell.db is no folder or log"}});
}

TEST(CompareCommand, TheSameLogInTwoFoldersCountsOnce) {
  const CommandLine shell("compare_same");
  write_logs(shell, "base", {"3.2796", "3.2800", "3.2786"});
  write_logs(shell, "other", {"3.2796", "3.2700", "3.2686"});
  const core::Json json = json_of(shell.run({"compare", "base", "other", "--json"}));
  EXPECT_EQ(json.at("tables").at("effects").at(0).at("n"), 3);
  EXPECT_EQ(json.at("tables").at("effects").at(1).at("n"), 2);
  write_logs(shell, "copy", {"3.2796", "3.2800"});
  expect_refusals(shell, {{{"compare", "base", "copy"}, "base holds the same runs"},
                          {{"compare", "base", "base"}, "base holds the same runs"}});
}

TEST(CompareCommand, APageOfFoldersHasCurvesAndOtherFormatsHaveNone) {
  const CommandLine shell("compare_page");
  write_logs(shell, "old", {"3.2796", "3.2800", "3.2786"});
  write_logs(shell, "new", {"3.2696", "3.2700", "3.2686"});
  ASSERT_EQ(shell.run({"compare", "old", "new", "--out", "page.html"}).exit_code, 0);
  EXPECT_NE(read_text(shell.work() / "page.html").find("Final losses of the arms"), std::string::npos);
  EXPECT_FALSE(json_of(shell.run({"compare", "old", "new", "--json"})).contains("charts"));
  EXPECT_FALSE(std::filesystem::exists(shell.database()));
}

TEST(ImportCommand, ArmsGetTheirEffectsInTheReport) {
  const CommandLine shell("import_arms");
  write_logs(shell, "all/base", {"3.2796", "3.2800", "3.2786", "3.2782"});
  write_logs(shell, "all/good", {"3.2696", "3.2700", "3.2686", "3.2682"});
  const core::Json imported = json_of(shell.run({"import", "all", "--control", "base", "--json"}));
  EXPECT_EQ(imported.at("facts").at("cells"), 2);
  const core::Json report = json_of(shell.run({"report", "--suite", "speedrun_logs", "--json"}));
  const core::Json& effects = report.at("tables").at("effects");
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(effects.at(0).at("effect"), "good");
  EXPECT_NEAR(effects.at(0).at("loss").at("value").get<double>(), -0.01, 1e-9);
  EXPECT_EQ(shell.run({"import", "all", "--control", "none"}).exit_code, 2);
}

TEST(ImportCommand, KilledAgainAndAgainItHoldsWholeRunsAndThenAll) {
  const CommandLine shell("import_kill");
  std::vector<std::string> losses;
  for (int i = 0; i < 900; ++i) losses.push_back(std::to_string(3.27 + 1e-4 * (i % 100)));
  write_logs(shell, "logs", losses);
  const auto expect_whole_runs = [&] {
    if (!std::filesystem::exists(shell.database())) return std::size_t{0};
    const results::Store store(shell.database());
    const std::vector<results::RunRecord> runs = store.runs();
    for (const results::RunRecord& run : runs) {
      EXPECT_TRUE(run.is_completed()) << run.id;
      EXPECT_EQ(store.samples(run.id, "val/loss").size(), 3U) << run.id;
    }
    return runs.size();
  };
  for (const char* seconds : {"0.01", "0.02", "0.04", "0.06", "0.08", "0.12", "0.16", "0.2"}) {
    shell.run({"import", "logs"}, std::string("timeout -s KILL ") + seconds);
    expect_whole_runs();
  }
  ASSERT_EQ(shell.run({"import", "logs"}).exit_code, 0);
  EXPECT_EQ(expect_whole_runs(), 900U);
}

}  // namespace
}  // namespace nanobench::tools
