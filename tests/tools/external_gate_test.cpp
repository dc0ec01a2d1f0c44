// The gate, baselines, calibration and plans of suites around somebody else's trainer, and the page that explains them.
#include <fstream>
#include <map>
#include <regex>

#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

/// Prints a loss made from its seed and the file `loss`, which is no word of the command.
constexpr const char* kExternalGateTrainer =
    "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:4/4 val_loss:3.$(($(cat loss) + $1 * 3 + $1 * $1 % 5)) train_time:4000ms step_avg:1000.00ms\"\n";

constexpr const char* kExternalGateSuite =
    R"({"name": "line", "design": "cells", "cells": [{"label": "it"}], "seeds": [1, 2, 3, 4],
    "engine": {"command": ["sh", "train.sh", "{seed}"]}})";

/// A checkout of the trainer in the folder, with this loss in ten thousandths above 3.
void external_gate_write_trainer(const CommandLine& shell, const std::string& folder, const std::string& loss) {
  std::filesystem::create_directories(shell.work() / folder);
  shell.write(folder + "/train.sh", kExternalGateTrainer);
  shell.write(folder + "/loss", loss);
  shell.write(folder + "/suite.json", kExternalGateSuite);
}

std::vector<std::string> gate_of(const std::string& suite, const std::vector<std::string>& words) {
  std::vector<std::string> all = {"gate", suite, "--only", "loss", "--margin", "loss=0.002", "--quiet", "--json"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

TEST(ExternalGate, AnotherCheckoutInTurn) {
  const CommandLine shell("external_gate");
  external_gate_write_trainer(shell, "base", "1000");
  external_gate_write_trainer(shell, "same", "1000");
  external_gate_write_trainer(shell, "worse", "1100");
  const ProgramResult same = shell.run(gate_of("same/suite.json", {"--baseline-folder", "base"}));
  EXPECT_EQ(same.exit_code, 0) << same.err << same.out;
  EXPECT_EQ(results::Store(shell.database()).runs().size(), 8U) << "each side has runs of its own";
  const ProgramResult worse = shell.run(gate_of("worse/suite.json", {"--baseline-folder", "base"}));
  EXPECT_EQ(worse.exit_code, 1) << worse.err << worse.out;
  // Memory alone is measured, of a shell that lives for milliseconds: by chance it may look worse, and it does not
  // gate.
  const auto planted = [](const ProgramResult& result) {
    std::set<std::string> metrics = metrics_with(json_of(result), "regressed");
    metrics.erase("peak memory");
    return metrics;
  };
  EXPECT_EQ(planted(worse), std::set<std::string>{"loss"});
  EXPECT_EQ(planted(same), std::set<std::string>{});
}

TEST(ExternalGate, AKilledOneContinues) {
  const CommandLine shell("external_gate_killed");
  external_gate_write_trainer(shell, "base", "1000");
  external_gate_write_trainer(shell, "work", "1000");
  for (const char* folder : {"base", "work"}) {
    const std::string train = std::string(folder) + "/train.sh";
    shell.write(train, "[ -e ../fast ] || sleep 0.2\n" + read_text(shell.work() / train));
  }
  const std::vector<std::string> gate = gate_of("work/suite.json", {"--baseline-folder", "base"});
  const auto completed = [&] {
    return results::Store(shell.database()).runs({.outcome = core::RunOutcome::kCompleted}).size();
  };
  for (int i = 0; i < 20 && completed() < 2; ++i) shell.run(gate, killed_after(0.7 + 0.1 * i));
  EXPECT_GE(completed(), 2U);
  EXPECT_LT(completed(), 8U);
  shell.write("fast", "");
  const ProgramResult result = shell.run(gate);
  EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
  expect_each_run_once(shell, 2, 8);
}

TEST(ExternalGate, WhatCannotBeAsked) {
  const CommandLine shell("external_gate_bad");
  external_gate_write_trainer(shell, "work", "1000");
  shell.write("mock.json", gate_suite());
  const auto refused = [&](const std::vector<std::string>& words, const std::string& sentence) {
    expect_usage_error(shell.run(words), sentence);
  };
  refused(gate_of("work/suite.json", {"--baseline-folder", "nowhere"}), "there is no such folder");
  refused(gate_of("mock.json", {"--baseline-folder", "work"}), "--baseline-engine");
  refused(gate_of("work/suite.json", {"--baseline-engine", "x"}), "--baseline-folder");
  refused(gate_of("work/suite.json", {"--baseline-folder", "work", "--baseline", "main"}), "--baseline-folder");
  refused(gate_of("work/suite.json", {"--baseline-folder", "work", "--calibrated"}), "nanobench calibrate ");
}

TEST(ExternalCalibration, IsATrainersOwn) {
  const CommandLine shell("external_calibrate");
  external_gate_write_trainer(shell, "work", "1000");
  external_gate_write_trainer(shell, "base", "1000");
  const ProgramResult result = shell.run({"calibrate", "work/suite.json", "--pairs", "6", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_of(result).at("facts").at("pairs"), 6);
  EXPECT_TRUE(results::check_store(shell.database()).is_fine());
  EXPECT_NEAR(json_of(result).at("facts").at("loss_sd").get<double>(), 0.0005, 0.0002) << "over seeds";
  EXPECT_EQ(json_of(result).at("facts").at("reproducible"), true);
  EXPECT_EQ(shell.run({"calibrate", "--stored", "--json"}).out, result.out);
  EXPECT_EQ(shell.run({"calibrate", "work/suite.json", "--stored", "--json"}).out, result.out);
  const ProgramResult gate = shell.run(
      {"gate", "work/suite.json", "--baseline-folder", "base", "--calibrated", "--only", "loss", "--quiet", "--json"});
  EXPECT_EQ(gate.exit_code, 0) << gate.err << gate.out;
  for (const std::string name : {"line", "next"}) {
    shell.write("work/" + name + ".json", R"({"name": ")" + name + R"(", "design": "a_a", "seeds": [1, 2],
                                             "engine": {"command": ["sh", "train.sh", "{seed}"]}})");
  }
  const ProgramResult alien = shell.run(gate_of("work/next.json", {"--baseline-folder", "base", "--calibrated"}));
  expect_usage_error(alien, "no calibration of next");
  const auto planned = [&](const std::string& file) {
    return json_of(shell.run({"plan", "work/" + file, "--json", "--quiet"}));
  };
  const core::Json own = planned("line.json"), other = planned("next.json");
  EXPECT_TRUE(own.at("facts").at("loss_noise").is_object()) << own.dump(1);
  EXPECT_TRUE(other.at("facts").at("loss_noise").is_null()) << "another trainer's noise is not its own";
  EXPECT_EQ(own.at("tables").at("cells").at(0).at("step_ms"), 1000.0);
  EXPECT_TRUE(other.at("tables").at("cells").at(0).at("step_ms").is_null());
}

/// A repository of the trainer in work/trainer; the commands run beside it.
class TrainerRepository {
 public:
  explicit TrainerRepository(const CommandLine& shell) : shell_(shell) {
    external_gate_write_trainer(shell, "trainer", "1000");
    git("init -q -b main .");
    git("config user.name Tester");
    git("config user.email tester@example.org");
  }
  void git(const std::string& words) const {
    const std::string command =
        "cd " + quoted((shell_.work() / "trainer").string()) + " && git " + words + " >git.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command << read_text(shell_.work() / "trainer" / "git.txt");
  }
  void commit(const std::string& message) const {
    git("add train.sh loss suite.json");
    git("commit -q --allow-empty -m " + quoted(message));
  }
  std::string head() const {
    git("rev-parse HEAD");
    return read_text(shell_.work() / "trainer" / "git.txt").substr(0, 40);
  }

 private:
  const CommandLine& shell_;
};

ProgramResult save(const CommandLine& shell, const std::string& name) {
  EXPECT_EQ(shell.run({"run", "trainer/suite.json", "--quiet"}).exit_code, 0);
  return shell.run({"baseline", "save", name});
}

TEST(ExternalBaseline, TheMergeBaseIsOfTheTrainersRepository) {
  const CommandLine shell("external_baseline");
  const TrainerRepository repository(shell);
  repository.commit("one");
  ASSERT_EQ(save(shell, "one").exit_code, 0);
  const std::string one = repository.head();
  repository.git("checkout -q -b change");
  shell.write("trainer/loss", "1100");
  repository.commit("a change of a file that the command does not name");
  repository.git("checkout -q main");
  shell.write("trainer/loss", "1200");
  repository.commit("main goes on");
  ASSERT_EQ(save(shell, "two").exit_code, 0);
  repository.git("checkout -q change");

  const ProgramResult worse = shell.run(gate_of("trainer/suite.json", {}));
  EXPECT_EQ(worse.exit_code, 1) << worse.err << worse.out;
  EXPECT_NE(worse.out.find("baseline one (of the merge base " + one.substr(0, 12)), std::string::npos) << worse.out;
  shell.write("trainer/loss", "1000");
  const ProgramResult same = shell.run(gate_of("trainer/suite.json", {}));
  EXPECT_EQ(same.exit_code, 0) << same.out;
  const core::Json names = json_of(shell.run({"baseline", "list", "--json"})).at("tables").at("baselines");
  EXPECT_EQ(names.at(0).at("revision"), one);
}

TEST(ExternalBaseline, TheRevisionIsThatOfTheBytesThatWereMeasured) {
  const CommandLine shell("external_revision");
  const TrainerRepository repository(shell);
  const auto revision_of = [&](const std::string& name) {
    for (const results::BaselineRecord& record : results::Store(shell.database()).baselines()) {
      if (record.name == name) return record.revision;
    }
    return std::string("none");
  };
  repository.commit("one");
  ASSERT_EQ(save(shell, "one").exit_code, 0);
  shell.write("trainer/loss", "1100");
  ASSERT_EQ(save(shell, "changed").exit_code, 0);
  EXPECT_EQ(revision_of("changed"), repository.head() + " (changed)") << "it never stands for a commit";
  repository.commit("two");
  ASSERT_EQ(save(shell, "two").exit_code, 0);
  EXPECT_EQ(revision_of("two"), repository.head());
  EXPECT_EQ(results::Store(shell.database()).runs().size(), 8U) << "the same bytes as before the commit";
  shell.write("trainer/loss", "1200");
  ASSERT_EQ(shell.run({"baseline", "save", "late"}).exit_code, 0);
  EXPECT_NE(revision_of("late"), repository.head()) << "the folder holds other bytes by now";
  std::string more_seeds = kExternalGateSuite;
  more_seeds.replace(more_seeds.find("[1, 2"), 5, "[5, 1, 2");
  shell.write("trainer/loss", "1100");
  shell.write("trainer/suite.json", more_seeds);
  EXPECT_EQ(shell.run({"run", "trainer/suite.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(results::Store(shell.database()).runs().size(), 9U) << "the suite file is no part of the trainer";
}

TEST(ExternalBaseline, SavingOffTheMainBranchWarns) {
  const CommandLine shell("external_off_main");
  const TrainerRepository repository(shell);
  repository.commit("one");
  EXPECT_EQ(save(shell, "one").err.find("warning"), std::string::npos);
  repository.git("checkout -q -b change");
  EXPECT_EQ(save(shell, "same").err.find("warning"), std::string::npos) << "the commit is main's";
  shell.write("trainer/loss", "1100");
  repository.commit("not merged");
  const ProgramResult off = save(shell, "off");
  EXPECT_EQ(off.exit_code, 0) << "a warning is no refusal";
  EXPECT_NE(off.err.find("warning: the checkout is not on main"), std::string::npos) << off.err;
  repository.git("branch -q -m main trunk");
  repository.git("update-ref refs/remotes/origin/trunk trunk");
  repository.git("symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/trunk");
  EXPECT_NE(save(shell, "other").err.find("not on origin/trunk"), std::string::npos)
      << "what origin calls its main one";
  repository.git("checkout -q trunk");
  repository.git("merge -q change");
  repository.git("update-ref refs/remotes/origin/trunk trunk");
  EXPECT_EQ(save(shell, "merged").err.find("warning"), std::string::npos);
}

TEST(ExternalBaseline, WithoutARepositoryTheNewestAccepted) {
  const CommandLine shell("external_accepted");
  external_gate_write_trainer(shell, "trainer", "1000");
  const std::string nowhere = "GIT_CEILING_DIRECTORIES=/tmp";
  EXPECT_EQ(shell.run(gate_of("trainer/suite.json", {}), nowhere).exit_code, 5);
  EXPECT_EQ(shell.run({"run", "trainer/suite.json", "--quiet"}, nowhere).exit_code, 0);
  ASSERT_EQ(shell.run({"baseline", "accept", "--reason", "first"}, nowhere).exit_code, 0);
  EXPECT_EQ(shell.run(gate_of("trainer/suite.json", {}), nowhere).exit_code, 0);
  shell.write("trainer/train.sh", std::string(kExternalGateTrainer) + "# changed\n");
  shell.write("trainer/loss", "1100");
  EXPECT_EQ(shell.run(gate_of("trainer/suite.json", {}), nowhere).exit_code, 1);
}

// ---- docs/external.md

std::string page() {
  return read_text(std::filesystem::path(NANOBENCH_SOURCE_DIR) / "docs" / "external.md");
}

/// The first block of this language.
std::string block(const std::string& language) {
  const std::string text = page(), begin = "\n```" + language + "\n";
  const std::size_t start = text.find(begin);
  EXPECT_NE(start, std::string::npos) << language;
  return text.substr(start + begin.size(), text.find("\n```", start + begin.size()) + 1 - start - begin.size());
}

TEST(ExternalPage, ItsExampleWorksAsItStands) {
  const CommandLine shell("external_page");
  std::filesystem::create_directories(shell.work() / "base");
  for (const std::string folder : {"", "base/"}) {
    shell.write(folder + "train.py", block("python"));
    shell.write(folder + "suite.json", block("json"));
  }
  const ProgramResult result = shell.run({"run", "suite.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json rows = json_of(result).at("tables").at("rows");
  ASSERT_EQ(rows.size(), 3U);
  const auto loss_of = [&](std::size_t row) { return rows.at(row).at("val_loss").at("mean").get<double>(); };
  EXPECT_LT(loss_of(0), loss_of(1)) << "the learning rate helps";
  EXPECT_LT(loss_of(0), loss_of(2)) << "so does momentum";
  EXPECT_EQ(json_of(result).at("tables").at("effects").size(), 2U);
  shell.write("train.py", std::regex_replace(block("python"), std::regex("3\\.0 \\* x"), "9.0 * x"));
  EXPECT_EQ(shell.run(gate_of("suite.json", {"--baseline-folder", "base"})).exit_code, 1)
      << "a steeper line is not fitted in so few steps";
}

TEST(ExternalPage, NamesEveryKeyOfTheSchema) {
  const core::Json schema =
      core::read_json_file(std::filesystem::path(NANOBENCH_SOURCE_DIR) / "suites" / "suite.schema.json");
  const core::Json& engine = schema.at("properties").at("engine").at("oneOf").at(2).at("properties");
  const std::string text = page();
  for (const auto& [key, unused] : engine.items())
    EXPECT_NE(text.find("| `" + key + "` |"), std::string::npos) << key << " is in the schema and not on the page";
  const CommandLine shell("external_keys");
  core::Json suite = core::Json::parse(block("json"));
  suite["engine"]["log_file"] = "log.txt";
  suite["engine"]["inherit"] = {"PATH"};
  suite["engine"]["folder"] = ".";
  suite["engine"]["warmup"] = 1;
  suite["engine"]["sources"] = {"train.py"};
  suite["engine"]["source"] = ".";
  suite["engine"]["seats"] = {{{"env", {{"A", "1"}}}}};
  for (const auto& [key, unused] : suite["engine"].items())
    EXPECT_TRUE(engine.contains(key)) << key << " is read and not in the schema";
  EXPECT_EQ(engine.size(), suite["engine"].size()) << "this test knows every key";
  suite["engine"].erase("source");  // excludes "sources"
  shell.write("train.py", "");
  shell.write("suite.json", suite.dump());
  EXPECT_EQ(shell.run({"show", "suite.json"}).exit_code, 0);
}

}  // namespace
}  // namespace nanobench::tools
