// `nanobench trend` from the outside, on stores with several revisions.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/json.h"
#include "tests/reports/trend/trend_store.h"
#include "tests/reports/trend/trend_support.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

using reports::fill_trend_store;
using reports::NormalDraws;
using reports::revision_name;
using reports::StoredRun;
using reports::time_at;

/// A run of each seed and cell in each week; the step time of record12 rises by 10 % in week `changed`.
std::vector<StoredRun> weekly_runs(int weeks, int changed, std::uint64_t draw) {
  NormalDraws draws(draw);
  const std::vector<double> losses = draws.sample(2, 3.28, 0.002);
  std::vector<StoredRun> runs;
  for (int week = 0; week < weeks; ++week) {
    for (int seed = 1; seed <= 2; ++seed) {
      for (const char* cell : {"record12", "record13"}) {
        const bool is_slow = week >= changed && std::string(cell) == "record12";
        runs.push_back({.revision = revision_name(week),
                        .at = time_at(7 * week, seed),
                        .cell = cell,
                        .seed = static_cast<std::uint64_t>(seed),
                        .loss = losses[static_cast<std::size_t>(seed - 1)],
                        .step_ms = draws.next(is_slow ? 110.0 : 100.0, 1.0)});
      }
    }
  }
  return runs;
}

TEST(TrendCommand, FindsThePlantedChange) {
  const CommandLine shell("trend");
  fill_trend_store(shell.database(), weekly_runs(10, 6, 1));
  const ProgramResult result = shell.run({"trend", "weekly", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.err.empty()) << result.err;
  const core::Json report = json_of(result);
  EXPECT_EQ(report.at("schema_version"), 2);
  EXPECT_EQ(report.at("kind"), "trend");
  EXPECT_EQ(report.at("facts").at("series"), 6);
  EXPECT_EQ(report.at("facts").at("changed"), 1);
  EXPECT_EQ(report.at("facts").at("newest"), revision_name(9));
  const core::Json& change = report.at("tables").at("changes").at(0);
  EXPECT_EQ(change.at("cell"), "record12");
  EXPECT_EQ(change.at("metric"), "step_time");
  EXPECT_EQ(change.at("last_before"), revision_name(5));
  EXPECT_EQ(change.at("first_after"), revision_name(6));
  EXPECT_NEAR(change.at("change").at("value").get<double>(), 0.1, 0.02);
  EXPECT_EQ(shell.run({"trend", "weekly", "--json"}).out, result.out) << "the same answer each time";

  const ProgramResult table = shell.run({"trend", "weekly"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("step time of record12 rose by "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("5 series are steady."), std::string::npos) << table.out;
}

TEST(TrendCommand, ChoosesCellsMetricsAndRevisions) {
  const CommandLine shell("trend_choice");
  fill_trend_store(shell.database(), weekly_runs(10, 6, 2));
  const core::Json report = json_of(shell.run({"trend", "weekly", "--cell", "record12", "--metric", "step_time",
                                               "--metric", "loss", "--last", "4", "--host", "here", "--json"}));
  EXPECT_EQ(report.at("facts").at("series"), 2);
  EXPECT_EQ(report.at("facts").at("revisions"), 4);
  EXPECT_EQ(report.at("facts").at("oldest"), revision_name(6));
  EXPECT_EQ(report.at("facts").at("changed"), 0) << "all four are of the new level";
}

TEST(TrendCommand, WritesEveryForm) {
  const CommandLine shell("trend_forms");
  fill_trend_store(shell.database(), weekly_runs(10, 6, 3));
  for (const char* file : {"t.md", "t.html", "t.json", "t.csv"}) {
    const ProgramResult result = shell.run({"trend", "weekly", "--out", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.out.empty());
    EXPECT_NE(read_text(shell.work() / file).find("record12"), std::string::npos) << file;
  }
  EXPECT_EQ(read_text(shell.work() / "t.csv").rfind("cell,metric,answer,", 0), 0U);
}

TEST(TrendCommand, TooFewRunsExitWith3) {
  const CommandLine shell("trend_few");
  fill_trend_store(shell.database(), {{.revision = revision_name(0), .at = time_at(0)}});
  const ProgramResult result = shell.run({"trend", "weekly"});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_NE(result.out.find("3 series have too few runs (9 needed)."), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("±"), std::string::npos) << "one run has no spread";
}

TEST(TrendCommand, BadInputIsOneSentence) {
  const CommandLine shell("trend_bad");
  EXPECT_EQ(shell.run({"trend", "weekly"}).exit_code, 2) << "there is no database";
  fill_trend_store(shell.database(), weekly_runs(2, 6, 4));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"trend", "weakly"},
                                             {"trend", "no_such_suite.json"},
                                             {"trend", "weekly", "--cell", "record21"},
                                             {"trend", "weekly", "--metric", "speed"},
                                             {"trend", "weekly", "--host", "elsewhere"},
                                             {"trend", "weekly", "--last", "0"},
                                             {"trend", "weekly", "--alpha", "2"},
                                             {"trend", "weekly", "--format", "pdf"},
                                             {"trend", "weekly", "--out", "t.pdf"}}) {
    const ProgramResult result = shell.run(words);
    EXPECT_EQ(result.exit_code, 2) << words.back() << result.out;
    EXPECT_TRUE(result.out.empty()) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_NE(shell.run({"trend", "weakly"}).err.find("did you mean \"weekly\""), std::string::npos);
}

TEST(TrendCommand, NothingIsDroppedInSilence) {
  const CommandLine shell("trend_dropped");
  std::vector<StoredRun> runs = weekly_runs(8, 9, 5);
  runs.push_back({.revision = revision_name(7), .at = time_at(50), .seed = 3, .outcome = core::RunOutcome::kDiverged});
  runs.push_back({.revision = revision_name(7), .is_dirty = true, .at = time_at(51), .seed = 4, .load = "20"});
  runs.push_back({.revision = revision_name(7), .at = time_at(52), .seed = 5, .config = R"({"other": 1})"});
  runs.push_back({.revision = revision_name(0), .at = time_at(53), .seed = 6});
  fill_trend_store(shell.database(), runs);
  const core::Json report = json_of(shell.run({"trend", "weekly", "--cell", "record12", "--json"}));
  EXPECT_EQ(report.at("facts").at("revisions"), 9) << "the dirty one is one of its own";
  EXPECT_EQ(report.at("facts").at("oldest"), revision_name(0)) << "it was also run last, but first of all too";
  EXPECT_EQ(report.at("facts").at("newest"), revision_name(7) + "+dirty");
  ASSERT_EQ(report.at("tables").at("left_out").size(), 1U);
  EXPECT_EQ(report.at("tables").at("left_out").at(0).at("reason"), "another configuration");
  int completed = 0, failed = 0, disturbed = 0;
  for (const core::Json& row : report.at("tables").at("revisions")) {
    if (row.at("metric") != "step_time") continue;
    completed += row.at("runs").at("completed").get<int>();
    failed += row.at("runs").at("failed").get<int>();
    disturbed += row.at("runs").at("disturbed").get<int>();
  }
  EXPECT_EQ(completed, 18);
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(disturbed, 1);
  EXPECT_GE(report.at("warnings").size(), 2U);
}

TEST(TrendCommand, HostileRevisionNamesAreText) {
  const CommandLine shell("trend_hostile");
  std::vector<StoredRun> runs = weekly_runs(8, 4, 6);
  for (StoredRun& run : runs) {
    if (run.revision == revision_name(4)) run.revision = "\x1b[2J<script>alert(1)</script>\n|x";
  }
  fill_trend_store(shell.database(), runs);
  for (const char* format : {"table", "md", "html", "json", "csv"}) {
    const ProgramResult result = shell.run({"trend", "weekly", "--format", format});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << format;
    if (std::string(format) == "html") {
      EXPECT_EQ(result.out.find("<script>alert"), std::string::npos);
    }
  }
}

/// Each edit of the trainer's script is a revision of it; its configuration stays.
TEST(TrendCommand, FollowsTheEditsOfAnExternalTrainer) {
  const CommandLine shell("trend_external");
  shell.write("mine.json", R"({"name": "mine", "design": "cells", "seeds": [1, 2, 3, 4],
    "engine": {"command": ["sh", "train.sh", "{seed}"], "log": "speedrun"}, "cells": [{"label": "base"}]})");
  for (const std::string step_ms : {"500", "540"}) {
    shell.write("train.sh", "echo \"step:4/4 val_loss:3.2$1 train_time:$((4 * " + step_ms +
                                " + $1))ms step_avg:" + step_ms + ".00ms\"\n");
    ASSERT_EQ(shell.run({"run", "mine.json", "--quiet"}).exit_code, 0);
  }
  const core::Json report = json_of(shell.run({"trend", "mine.json", "--metric", "train_time", "--json"}));
  EXPECT_EQ(report.at("facts").at("revisions"), 2);
  ASSERT_EQ(report.at("facts").at("changed"), 1) << report.dump(1);
  EXPECT_NEAR(report.at("tables").at("changes").at(0).at("change").at("value").get<double>(), 0.08, 0.001);
  EXPECT_EQ(report.at("facts").at("newest").get<std::string>().rfind("program ", 0), 0U);
}

TEST(TrendCommand, MergedDatabasesKeepTheirHostsTimesApart) {
  const CommandLine shell("trend_merged");
  std::vector<StoredRun> there = weekly_runs(10, 6, 7);
  for (StoredRun& run : there) {
    run.host = "there";
    run.step_ms *= 3;
  }
  fill_trend_store(shell.database(), weekly_runs(12, 6, 8));
  fill_trend_store(shell.work() / "there.db", there);
  ASSERT_EQ(shell.run({"db", "merge", shell.database().string(), "there.db"}).exit_code, 0);
  const core::Json report = json_of(shell.run({"trend", "weekly", "--json"}));
  EXPECT_EQ(report.at("facts").at("revisions"), 12);
  EXPECT_EQ(report.at("facts").at("changed"), 1);
  ASSERT_EQ(report.at("tables").at("left_out").size(), 2U) << "of each cell";
  EXPECT_EQ(report.at("tables").at("left_out").at(0).at("reason"), "the host there");
  EXPECT_EQ(report.at("tables").at("left_out").at(0).at("runs"), 20);
  const core::Json other = json_of(shell.run({"trend", "weekly", "--host", "there", "--json"}));
  EXPECT_EQ(other.at("facts").at("revisions"), 10);
  EXPECT_NEAR(other.at("tables").at("changes").at(0).at("mean_after").get<double>(), 330, 5);
}

}  // namespace
}  // namespace nanobench::tools
