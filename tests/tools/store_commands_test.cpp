// `nanobench db` and `nanobench export` from the outside: what they print, their exit codes, what they leave behind.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/json.h"
#include "results/sqlite.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

constexpr const char* kStoreCommandsSuite = R"({"name": "tiny", "title": "A tiny history", "design": "history",
  "records": ["record12", "record13"], "scale": "smoke", "seeds": [1, 2],
  "engine": {"mock": {"loss_sigma": 0.01}}})";

void fill(const CommandLine& shell) {
  shell.write("tiny.json", kStoreCommandsSuite);
  ASSERT_EQ(shell.run({"run", "tiny.json", "--quiet"}).exit_code, 0);
}

TEST(DbCommand, MergeAddsOnce) {
  const CommandLine shell("db_merge");
  fill(shell);
  const std::string from = shell.database().string();
  const ProgramResult first = shell.run({"db", "merge", "all.db", from, "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const core::Json row = json_of(first).at("tables").at("files").at(0);
  EXPECT_EQ(row.at("runs_added"), 4);
  const core::Json again = json_of(shell.run({"db", "merge", "all.db", from, "--json"})).at("tables").at("files").at(0);
  EXPECT_EQ(again.at("runs_added"), 0);
  EXPECT_EQ(again.at("runs_known"), 4);
  EXPECT_EQ(again.at("samples_added"), 0);
  EXPECT_EQ(shell.run({"report", "--db", "all.db", "--format", "md"}).out, shell.run({"report", "--format", "md"}).out);
  EXPECT_EQ(shell.run({"db", "check", "all.db"}).exit_code, 0);
}

TEST(DbCommand, MergeRefusesInOneSentence) {
  const CommandLine shell("db_merge_bad");
  shell.write("text.db", "Dear diary, this is no database.\n");
  for (const char* from : {"text.db", "none.db"}) {
    const ProgramResult result = shell.run({"db", "merge", "all.db", from});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find(from), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(shell.work() / "all.db")) << "nothing is made for nothing";
  }
}

TEST(DbCommand, MergingIntoAChangedStoreSaysSo) {
  const CommandLine shell("db_merge_changed");
  fill(shell);
  const std::string from = shell.database().string();
  ASSERT_EQ(shell.run({"db", "merge", "all.db", from}).err.find("warning"), std::string::npos);
  results::Database(shell.work() / "all.db", (shell.work() / "all.db").string(), SQLITE_OPEN_READWRITE)
      .execute("UPDATE runs SET final_val_loss = 1.0 WHERE id = 2");
  const ProgramResult again = shell.run({"db", "merge", "all.db", from});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_NE(again.err.find("warning: database all.db was changed after it was written (run 2)"), std::string::npos)
      << again.err;
}

TEST(DbCommand, CheckHasThreeExitCodes) {
  const CommandLine shell("db_check");
  EXPECT_EQ(shell.run({"db", "check"}).exit_code, 2) << "there is none yet";
  fill(shell);
  const ProgramResult fine = shell.run({"db", "check", "--json"});
  EXPECT_EQ(fine.exit_code, 0) << fine.out;
  EXPECT_EQ(json_of(fine).at("facts").at("is_fine"), true);
  EXPECT_EQ(json_of(fine).at("facts").at("runs"), 4);
  std::fstream out(shell.database(), std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(std::filesystem::file_size(shell.database()) / 2));
  out << std::string(9000, '\x5a');
  out.close();
  const ProgramResult damaged = shell.run({"db", "check", "--json"});
  EXPECT_EQ(damaged.exit_code, 1) << damaged.err;
  EXPECT_EQ(json_of(damaged).at("tables").at("problems").at(0).at("rule"), "integrity");
}

TEST(DbCommand, VacuumSaysBothSizes) {
  const CommandLine shell("db_vacuum");
  EXPECT_EQ(shell.run({"db", "vacuum"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(shell.database())) << "an absent one is not made";
  fill(shell);
  const ProgramResult result = shell.run({"db", "vacuum", shell.database().string(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(json_of(result).at("facts").at("bytes_before"), 0);
  EXPECT_EQ(json_of(result).at("facts").at("bytes_after"), std::filesystem::file_size(shell.database()));
}

TEST(ExportCommand, FormatsAndSelections) {
  const CommandLine shell("export");
  fill(shell);
  const ProgramResult csv = shell.run({"export"});
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  EXPECT_EQ(csv.out.rfind("run,suite,cell,", 0), 0U);
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 5);
  EXPECT_EQ(json_of(shell.run({"export", "--format", "json"})).at("runs").size(), 4U);
  EXPECT_EQ(json_of(shell.run({"export", "--format", "json", "--run", "2", "3"})).at("runs").at(0).at("run"), 2);
  EXPECT_EQ(json_of(shell.run({"export", "--format", "json", "--plan", "1"})).at("runs").size(), 4U);
  EXPECT_EQ(json_of(shell.run({"export", "--format", "google-benchmark", "--suite", "tiny"})).at("benchmarks").size(),
            4U);
  ASSERT_EQ(shell.run({"export", "--samples", "--run", "1", "--out", "s.csv"}).exit_code, 0);
  EXPECT_EQ(read_text(shell.work() / "s.csv").rfind("run,suite,cell,seed,metric,step,value\r\n", 0), 0U);
  ASSERT_EQ(shell.run({"export", "--format", "tensorboard", "--out", "events"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_directory(shell.work() / "events"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(shell.work() / "events"), {}), 4);
}

TEST(ExportCommand, RefusesInOneSentence) {
  const CommandLine shell("export_bad");
  fill(shell);
  const auto error_of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "export");
    const ProgramResult result = shell.run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_NE(error_of({"--format", "jsn"}).find("did you mean \"json\"?"), std::string::npos);
  EXPECT_NE(error_of({"--samples", "--format", "json"}).find("--samples needs --format csv"), std::string::npos);
  EXPECT_NE(error_of({"--format", "tensorboard"}).find("--out DIR"), std::string::npos);
  EXPECT_NE(error_of({"--run", "99"}).find("no run 99"), std::string::npos);
  EXPECT_NE(error_of({"--plan", "99"}).find("no plan 99"), std::string::npos);
  EXPECT_NE(error_of({"--suite", "none"}).find("no runs of the suite none"), std::string::npos);
  error_of({"--suite", "tiny", "--run", "1"});
  error_of({"--out", "nowhere/x.csv"});
  shell.write("taken", "x");
  error_of({"--format", "tensorboard", "--out", "taken"});
}

}  // namespace
}  // namespace nanobench::tools
