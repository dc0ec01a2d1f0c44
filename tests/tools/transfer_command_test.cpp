// `nanobench transfer` from the outside, on simulated runs at two scales.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/json.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

/// Record 17 without five of its techniques; each worth `factor` times as much, and the last one in the other direction
/// if `is_turned`.
std::string suite_of(const std::string& scale, double factor, bool is_turned = false) {
  core::Json cells;
  double effect = 0.004;
  for (const char* feature : {"rotary", "attention_skip", "qk_norm", "embedding_norm", "activation"}) {
    cells[std::string("without ") + feature] = {{"effect", factor * effect}};
    effect += 0.004;
  }
  if (is_turned) cells["without activation"]["effect"] = -0.01;
  core::Json suite = {{"name", "loo"},
                      {"design", "leave_one_out"},
                      {"base", {{"record", "record17"}}},
                      {"features", {"rotary", "attention_skip", "qk_norm", "embedding_norm", "activation"}},
                      {"scale", scale},
                      {"seeds", {1, 2, 3, 4}},
                      {"threads", 1}};
  suite["engine"] = {{"mock", {{"steps", 6}, {"loss_sigma", 0.0002}, {"cells", cells}}}};
  return suite.dump();
}

void run_suite(const CommandLine& shell, const std::string& suite, const std::string& environment = "") {
  shell.write("loo.json", suite);
  const ProgramResult result = shell.run({"run", "loo.json", "--quiet"}, environment);
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

TEST(TransferCommand, ComparesTwoScalesOfOneSuite) {
  const CommandLine shell("transfer");
  run_suite(shell, suite_of("smoke", 1.0));
  run_suite(shell, suite_of("nano", 2.0, true));
  const ProgramResult result = shell.run({"transfer", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.err.empty()) << result.err;
  const core::Json report = json_of(result);
  EXPECT_EQ(report.at("kind"), "transfer");
  EXPECT_EQ(report.at("facts").at("scales"), (std::vector<std::string>{"smoke (mock)", "nano (mock)"}));
  EXPECT_EQ(report.at("facts").at("shared"), 5);
  const core::Json& pair = report.at("tables").at("pairs").at(0);
  EXPECT_EQ(pair.at("on"), "loss");
  EXPECT_EQ(pair.at("both_decide").at("of"), 5);
  EXPECT_EQ(pair.at("both_decide").at("agree"), 4);
  EXPECT_EQ(pair.at("opposite"), "activation");
  EXPECT_LT(pair.at("order").at("value").get<double>(), 0.5) << "the strongest at smoke is the weakest at nano";
  EXPECT_GT(pair.at("noise_allows").at("value").get<double>(), 0.9);
  EXPECT_EQ(shell.run({"transfer", "--json"}).out, result.out) << "the same answer each time";

  const ProgramResult table = shell.run({"transfer"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("has the sign of 4 of the 5 effects on the loss"), std::string::npos) << table.out;
}

TEST(TransferCommand, WritesEveryForm) {
  const CommandLine shell("transfer_forms");
  run_suite(shell, suite_of("smoke", 1.0));
  run_suite(shell, suite_of("nano", 2.0));
  for (const char* file : {"t.md", "t.html", "t.json", "t.csv"}) {
    const ProgramResult result = shell.run({"transfer", "--out", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.out.empty());
    EXPECT_NE(read_text(shell.work() / file).find("nano (mock)"), std::string::npos) << file;
  }
  EXPECT_EQ(read_text(shell.work() / "t.csv").rfind("small,large,on,changes,", 0), 0U);
  EXPECT_NE(read_text(shell.work() / "t.html").find("transfer_1"), std::string::npos) << "the scatter plot";
}

TEST(TransferCommand, ReadsOtherDatabasesToo) {
  const CommandLine shell("transfer_with");
  const std::string other = (shell.work() / "other.db").string();
  run_suite(shell, suite_of("smoke", 1.0));
  run_suite(shell, suite_of("nano", 2.0), "NANOBENCH_DB=" + quoted(other));
  EXPECT_EQ(shell.run({"transfer"}).exit_code, 3);
  const ProgramResult result = shell.run({"transfer", "--with", "other.db", "--plan", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_of(result).at("facts").at("shared"), 5);
  EXPECT_EQ(json_of(result).at("tables").at("sources").at(1).at("database"), "other.db");
}

TEST(TransferCommand, OneScaleExitsWith3AndSaysWhatToRun) {
  const CommandLine shell("transfer_one");
  run_suite(shell, suite_of("smoke", 1.0));
  const ProgramResult result = shell.run({"transfer"});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_NE(result.out.find("No change was measured at two scales"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("--scale"), std::string::npos) << result.out;
  EXPECT_EQ(json_of(shell.run({"transfer", "--json"})).at("facts").at("shared"), 0);
}

TEST(TransferCommand, BadInputIsOneSentence) {
  const CommandLine shell("transfer_bad");
  EXPECT_EQ(shell.run({"transfer"}).exit_code, 2) << "there is no database";
  run_suite(shell, suite_of("smoke", 1.0));
  shell.write("text.db", "no database");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"transfer", "--suite", "lo"},
                                             {"transfer", "--plan", "99"},
                                             {"transfer", "--plan", "first"},
                                             {"transfer", "--with", "nowhere.db"},
                                             {"transfer", "--with", "text.db"},
                                             {"transfer", "--with", shell.database().string()},
                                             {"transfer", "--format", "pdf"},
                                             {"transfer", "--out", "t.pdf"},
                                             {"transfer", "loo"}}) {
    const ProgramResult result = shell.run(words);
    EXPECT_EQ(result.exit_code, 2) << words.back() << result.out;
    EXPECT_TRUE(result.out.empty()) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_NE(shell.run({"transfer", "--suite", "lo"}).err.find("did you mean \"loo\""), std::string::npos);
}

}  // namespace
}  // namespace nanobench::tools
