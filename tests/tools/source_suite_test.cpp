// A trainer's script without switches, from the outside: patches as features, with and without a suite file.
#include <gtest/gtest.h>

#include <map>

#include "core/base/json.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSourceTrainer =
    "muon=1\n#\n#\n#\nwarm=1\n#\n#\n#\n"
    "loss=$((320 - 10 * muon - 5 * warm))\n"
    "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:4/4 val_loss:${loss}.$1 train_time:2000ms step_avg:500.00ms\"\n"
    "echo noise >>written_by_the_trainer.txt\n";

class SourceSuite : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(shell_.work() / "toy");
    fs::create_directories(shell_.work() / "patches");
    shell_.write("toy/train.sh", kSourceTrainer);
    write_patch("muon", "muon=1");
    write_patch("warm", "warm=1");
  }
  /// As `diff -u` writes it.
  void write_patch(const std::string& name, const std::string& line) const {
    shell_.write("patches/" + name + ".patch", "--- train.sh\n+++ train.sh\n@@ -" +
                                                   std::string(name == "muon" ? "1" : "5") + ",2 +" +
                                                   (name == "muon" ? "1" : "5") + ",2 @@\n-" + line + "\n+" +
                                                   line.substr(0, line.size() - 1) + "0\n #\n");
  }
  std::vector<std::string> ablate(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"ablate",    "--trainer",          "toy",     "--patches", "patches",
                                      "--command", "sh train.sh {seed}", "--seeds", "2",         "--design"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::map<std::string, double> losses(const core::Json& report) {
    std::map<std::string, double> all;
    for (const core::Json& row : report.at("tables").at("rows"))
      all[row.at("row").get<std::string>()] = row.at("val_loss").at("mean").get<double>();
    return all;
  }
  std::size_t run_count() const {
    return json_of(shell_.run({"list", "runs", "--json"})).at("tables").at("runs").size();
  }
  bool has_trees() const {
    const fs::path trees = shell_.work().parent_path() / "cache" / "nanobench" / "sources" / "trees";
    return fs::exists(trees) && !fs::is_empty(trees);
  }
  const CommandLine shell_{"source"};
};

TEST_F(SourceSuite, AFolderOfPatchesIsEnough) {
  const ProgramResult result = shell_.run(ablate({"leave_one_out", "--json", "--quiet"}));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(losses(json_of(result)),
            (std::map<std::string, double>{{"base", 305.15}, {"without muon", 315.15}, {"without warm", 310.15}}));
  EXPECT_EQ(read_text(shell_.work() / "toy" / "train.sh"), kSourceTrainer);
  EXPECT_FALSE(fs::exists(shell_.work() / "toy" / "written_by_the_trainer.txt"));
  EXPECT_FALSE(has_trees());
  EXPECT_EQ(shell_.run(ablate({"leave_one_out", "--quiet"})).exit_code, 0);
  EXPECT_EQ(run_count(), 6U) << "the same sources are not run again";
  shell_.write("toy/train.sh", std::string(kSourceTrainer) + "# edited\n");
  EXPECT_EQ(shell_.run(ablate({"leave_one_out", "--quiet"})).exit_code, 0);
  EXPECT_EQ(run_count(), 12U) << "other sources are";
}

TEST_F(SourceSuite, AddedPatchesStartFromTheSourceAsItIs) {
  const ProgramResult result = shell_.run(ablate({"factorial", "--json", "--quiet"}));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(losses(json_of(result)).size(), 4U);
  EXPECT_EQ(losses(json_of(result)).at("none"), 305.15);
  EXPECT_EQ(losses(json_of(result)).at("muon + warm"), 320.15);
}

TEST_F(SourceSuite, InitWritesTheSuiteThatAblateRuns) {
  const std::vector<std::string> init = {"suite",   "init",      "--trainer",          "toy",   "--patches",
                                         "patches", "--command", "sh train.sh {seed}", "--out", "mine.json"};
  const ProgramResult result = shell_.run(init);
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(shell_.run(init).exit_code, 2) << "not over a file that exists";
  EXPECT_EQ(shell_.run({"run", "mine.json", "--quiet", "--seeds", "2"}).exit_code, 0);
  EXPECT_EQ(shell_.run(ablate({"leave_one_out", "--quiet"})).exit_code, 0);
  EXPECT_EQ(run_count(), 6U) << "both are the same runs";
}

TEST_F(SourceSuite, MistakesAreRefusedBeforeAnythingRuns) {
  shell_.write("patches/old.patch", "--- train.sh\n+++ train.sh\n@@ -1,2 +1,2 @@\n-adam=1\n+adam=0\n #\n");
  const ProgramResult old = shell_.run(ablate({"leave_one_out", "--quiet"}));
  EXPECT_EQ(old.exit_code, 2);
  EXPECT_NE(old.err.find("patches/old.patch"), std::string::npos) << old.err;
  EXPECT_EQ(shell_.run(ablate({"leave_one_out", "--base", "record:17"})).exit_code, 2);
  EXPECT_EQ(shell_.run(ablate({"leave_one_out", "--scale", "nano"})).exit_code, 2);
  EXPECT_EQ(shell_.run({"ablate", "--trainer", "toy", "--patches", "patches", "--design", "leave_one_out"}).exit_code,
            2)
      << "no train.py, so how is it started?";
  EXPECT_EQ(
      shell_.run({"ablate", "--trainer", "nowhere", "--patches", "patches", "--design", "leave_one_out"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(shell_.database()));
}

TEST_F(SourceSuite, TreesOfFailedRunsStay) {
  shell_.write("toy/train.sh", "muon=1\n#\n#\n#\nwarm=1\n#\nexit 3\n");
  EXPECT_EQ(shell_.run(ablate({"leave_one_out", "--quiet"})).exit_code, 4);
  EXPECT_TRUE(has_trees());
}

}  // namespace
}  // namespace nanobench::tools
