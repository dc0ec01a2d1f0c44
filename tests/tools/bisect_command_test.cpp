// `nanobench bisect`: a trainer's repository of a dozen commits, one of which makes it worse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

#include "results/store.h"
#include "tests/tools/refusals.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

/// Its loss has a part of the seed, and a part of the seed and the commit: other code, other rounding. `harm`, `slow`
/// and `noise` are lines of the script, which commits change.
constexpr const char* kBisectedTrainer =
    "harm=0\nslow=0\nnoise=40\n"
    "seed=$1\n"
    "name=$(cksum <train.sh | cut -d' ' -f1)\n"
    "own=$(( (seed * 7919 + name % 1000003 * 31) % 1009 % (2 * noise + 1) - noise ))\n"
    "loss=$(( 10000 + seed * seed % 13 * 300 + own + harm ))\n"
    "time=$(( 4000 + own / 8 + slow ))\n"
    "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:4/4 val_loss:3.$loss train_time:${time}ms step_avg:$((time / 4)).00ms\"\n";

constexpr const char* kBisectedSuite =
    R"({"name": "toy", "design": "cells", "cells": [{"label": "it"}], "seeds": [1, 2, 3],
        "engine": {"command": ["sh", "train.sh", "{seed}"]}})";

/// A repository with the tags c0 (good) to c12; those that are named change more than a comment.
class BisectedRepository {
 public:
  explicit BisectedRepository(const CommandLine& shell) : shell_(shell), script_(kBisectedTrainer) {
    std::filesystem::create_directories(shell.work() / "toy");
    git("init -q -b main . && git config user.name Tester && git config user.email tester@example.org");
    commit();
  }

  /// Replaces a line of the script from this commit on.
  BisectedRepository& change(const std::string& line, const std::string& by) {
    const std::size_t at = script_.find(line + "\n");
    EXPECT_NE(at, std::string::npos) << line;
    script_.replace(at, line.size(), by);
    return *this;
  }
  void commit() {
    shell_.write("toy/train.sh", script_ + "# " + std::to_string(commits_) + "\n");
    shell_.write("toy/suite.json", kBisectedSuite);
    const std::string tag = "c" + std::to_string(commits_++);
    git("add -A && git commit -q --allow-empty -m 'commit " + tag + "' && git tag " + tag);
  }
  void commit_until(int last) {
    while (commits_ <= last) commit();
  }
  void git(const std::string& words) const {
    const std::string command = "cd " + quoted((shell_.work() / "toy").string()) + " && git " + words;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

 private:
  const CommandLine& shell_;
  std::string script_;
  int commits_ = 0;
};

std::vector<std::string> bisect_words(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"bisect", "toy/suite.json", "--only", "loss", "--margin", "loss=0.003", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string first_bad(const core::Json& report) {
  return report.at("facts").at("answer") == "found"
             ? report.at("facts").at("first_bad").at("subject").get<std::string>()
             : report.at("facts").at("answer").get<std::string>();
}

std::set<std::string> subjects_with(const core::Json& report, const std::string& verdict) {
  std::set<std::string> subjects;
  for (const core::Json& step : report.at("tables").at("steps")) {
    if (step.at("verdict") == verdict) subjects.insert(step.at("subject").get<std::string>());
  }
  return subjects;
}

std::size_t completed_runs(const CommandLine& shell) {
  return results::Store(shell.database(), results::OpenMode::kReadOnly)
      .runs({.outcome = core::RunOutcome::kCompleted})
      .size();
}

TEST(Bisect, NamesTheCommitThatMadeTheLossWorse) {
  const CommandLine shell("bisect_loss");
  BisectedRepository repository(shell);
  repository.commit_until(7);
  repository.change("harm=0", "harm=900").commit();
  repository.commit_until(12);
  const std::string before = read_text(shell.work() / "toy" / "train.sh");
  const ProgramResult result = shell.run(bisect_words({"--good", "c0", "--bad", "main"}));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json report = json_of(result);
  EXPECT_EQ(first_bad(report), "commit c8");
  const core::Json& effect = report.at("facts").at("effect");
  EXPECT_NEAR(effect.at("value").get<double>(), 0.009, 0.0008);
  EXPECT_LT(effect.at("low").get<double>(), 0.009);
  EXPECT_GT(effect.at("high").get<double>(), 0.009);
  EXPECT_EQ(report.at("facts").at("commits"), 12);
  EXPECT_DOUBLE_EQ(report.at("facts").at("alpha_of_test").get<double>(), 0.01) << "five tests share 0.05";
  EXPECT_LE(report.at("facts").at("wrong_answer").get<double>(), 0.05 + 1e-12);
  EXPECT_LE(report.at("tables").at("steps").size(), 5U);
  EXPECT_NE(result.err.find("at most 5 tests left"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" left, about "), std::string::npos) << "and how long they take";
  EXPECT_EQ(read_text(shell.work() / "toy" / "train.sh"), before) << "the checkout is only read";

  const std::size_t runs = completed_runs(shell);
  const ProgramResult again = shell.run(bisect_words({"--good", "c0", "--bad", "main", "--quiet"}));
  EXPECT_EQ(again.out, result.out);
  EXPECT_EQ(completed_runs(shell), runs) << "nothing is run twice";
  EXPECT_EQ(first_bad(json_of(shell.run(bisect_words({"--good", "c2", "--bad", "c12", "--quiet"})))), "commit c8");
}

TEST(Bisect, TimesAreMeasuredInTurnWithEachCommit) {
  const CommandLine shell("bisect_time");
  BisectedRepository repository(shell);
  repository.commit_until(2);
  repository.change("slow=0", "slow=400").commit();
  repository.commit_until(6);
  const ProgramResult result = shell.run({"bisect", "toy/suite.json", "--only", "time", "--margin", "time=0.03",
                                          "--good", "c0", "--bad", "c6", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json report = json_of(result);
  EXPECT_EQ(first_bad(report), "commit c3");
  EXPECT_EQ(report.at("tables").at("steps").at(0).at("metric"), "training clock of it");
  std::size_t seeds = 0;
  for (const core::Json& step : report.at("tables").at("steps")) seeds += step.at("seeds").get<std::size_t>();
  EXPECT_EQ(completed_runs(shell), 2 * seeds) << "the good revision runs beside each commit";
}

TEST(Bisect, ACommitThatDoesNotRunIsSkipped) {
  const CommandLine shell("bisect_skip");
  BisectedRepository repository(shell);
  repository.commit_until(3);
  repository.change("seed=$1", "exit 3").commit();  // c4, the first to be tested
  repository.change("exit 3", "seed=$1").commit();
  repository.change("harm=0", "harm=900").commit();
  repository.commit_until(8);
  const ProgramResult result = shell.run(bisect_words({"--good", "c0", "--bad", "c8", "--quiet"}));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(first_bad(json_of(result)), "commit c6");
  EXPECT_EQ(subjects_with(json_of(result), "skipped"), std::set<std::string>{"commit c4"});
  const ProgramResult bad = shell.run(bisect_words({"--good", "c0", "--bad", "c4", "--quiet"}));
  EXPECT_EQ(bad.exit_code, 4) << "the bad revision must run";
  EXPECT_EQ(json_of(bad).at("facts").at("answer"), "incomplete");
}

TEST(Bisect, SkippedOnesBesideTheCulpritStaySuspects) {
  const CommandLine shell("bisect_suspects");
  BisectedRepository repository(shell);
  repository.commit_until(2);
  repository.change("seed=$1", "exit 3").commit();
  repository.change("exit 3", "seed=$1").change("harm=0", "harm=900").commit();
  repository.commit_until(6);
  const ProgramResult result = shell.run(bisect_words({"--good", "c0", "--bad", "c6", "--quiet"}));
  EXPECT_EQ(result.exit_code, 3) << result.err << result.out;
  const core::Json suspects = json_of(result).at("tables").at("suspects");
  ASSERT_EQ(suspects.size(), 2U);
  EXPECT_EQ(suspects.at(0).at("subject"), "commit c3");
  EXPECT_EQ(suspects.at(0).at("verdict"), "skipped");
  EXPECT_EQ(suspects.at(1).at("subject"), "commit c4");
}

TEST(Bisect, NoDifferenceAndTooMuchNoiseAreNoCulprit) {
  const CommandLine shell("bisect_none");
  BisectedRepository repository(shell);
  repository.commit_until(3);
  const ProgramResult none = shell.run(bisect_words({"--good", "c0", "--bad", "c3", "--quiet"}));
  EXPECT_EQ(none.exit_code, 1) << none.err << none.out;
  EXPECT_EQ(json_of(none).at("facts").at("answer"), "no difference");
  repository.change("noise=40", "noise=400").change("harm=0", "harm=200").commit();
  const ProgramResult noisy = shell.run(bisect_words({"--good", "c0", "--bad", "c4", "--quiet", "--max-seeds", "4"}));
  EXPECT_EQ(noisy.exit_code, 3) << noisy.err << noisy.out;
  EXPECT_EQ(json_of(noisy).at("facts").at("answer"), "undecided");
  EXPECT_EQ(json_of(noisy).at("tables").at("steps").at(0).at("seeds"), 4);
}

TEST(Bisect, AKilledOneContinues) {
  const CommandLine shell("bisect_killed");
  BisectedRepository repository(shell);
  repository.change("seed=$1", "seed=$1; [ -e " + quoted((shell.work() / "fast").string()) + " ] || sleep 0.2")
      .commit();
  repository.commit_until(3);
  repository.change("harm=0", "harm=900").commit();
  repository.commit_until(6);
  const std::vector<std::string> words = bisect_words({"--good", "c1", "--bad", "c6", "--quiet"});
  for (int i = 0; i < 30 && (i < 2 || completed_runs(shell) < 4); ++i) shell.run(words, killed_after(1 + 0.2 * i));
  EXPECT_GE(completed_runs(shell), 4U);
  shell.write("fast", "");
  const ProgramResult result = shell.run(words);
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(first_bad(json_of(result)), "commit c4");
  std::set<std::string> digests;
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  for (const results::RunRecord& run : store.runs({.outcome = core::RunOutcome::kCompleted}))
    digests.insert(run.digest);
  EXPECT_EQ(digests.size(), completed_runs(shell)) << "a run was made twice";
  EXPECT_TRUE(store.runs({.is_running = true}).empty());
}

TEST(Bisect, BuildsFirstAndLinksWhatGitDoesNotTrack) {
  const CommandLine shell("bisect_build");
  BisectedRepository repository(shell);
  repository.change("seed=$1", "seed=$1; cat built data/set >/dev/null || exit 5").commit();
  repository.commit_until(3);
  repository.change("harm=0", "harm=900").commit();
  repository.commit_until(5);
  std::filesystem::create_directories(shell.work() / "toy" / "data");
  shell.write("toy/data/set", "1");
  const ProgramResult result =
      shell.run(bisect_words({"--good", "c1", "--bad", "c5", "--quiet", "--link", "data", "--build",
                              "echo 'step:4/4 val_loss:1.0'; [ \"$(cat data/set)\" = 1 ] && echo {x} >built"}));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(first_bad(json_of(result)), "commit c4");
  EXPECT_EQ(shell.run(bisect_words({"--good", "c1", "--bad", "c5", "--quiet", "--link", "data", "--build", "false"}))
                .exit_code,
            4);
}

TEST(Bisect, CommitsOfOtherFoldersAreNoSuspects) {
  const CommandLine shell("bisect_folder");
  BisectedRepository repository(shell);
  repository.commit_until(1);
  repository.git("commit -q --allow-empty -m empty");
  repository.change("harm=0", "harm=900").commit();
  repository.git("commit -q --allow-empty -m last");
  const ProgramResult result = shell.run(bisect_words({"--good", "c0", "--bad", "main"}));
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(first_bad(json_of(result)), "commit c2");
  EXPECT_EQ(json_of(result).at("facts").at("commits"), 4);
  EXPECT_NE(result.err.find("of which 2 change the source"), std::string::npos) << result.err;
}

constexpr const char* kSuiteOfOurEngine =
    R"({"name": "ours", "design": "history", "records": ["record12"], "scale": "smoke", "seeds": [1, 2, 3],
        "threads": 1})";

/// A repository whose commits build an engine: the mock engine, with the loss that the commit gives it.
class EngineRepository {
 public:
  explicit EngineRepository(const CommandLine& shell) : shell_(shell) {
    std::filesystem::create_directories(shell.work() / "engine");
    git("init -q -b main . && git config user.name Tester && git config user.email tester@example.org");
  }

  /// Tags c0, c1, ... `effect` is added to the loss; an empty one is an engine that does not build.
  void commit(const std::string& effect) {
    const std::string number = std::to_string(commits_++), work = shell_.work().string();
    shell_.write("engine/nanobench", "#!/bin/sh\n[ \"$1\" = setup ] || exit 2\necho " + number + " >>" + work +
                                         "/builds\n[ -n \"" + effect +
                                         "\" ] || { echo 'no rule for it' >&2; exit 1; }\nmkdir -p build/release/bin\n"
                                         "cp engine.sh build/release/bin/nanobench-train\n"
                                         "chmod +x build/release/bin/nanobench-train\n");
    shell_.write("engine/engine.sh", "#!/bin/sh\nsed '1s/{/{\"mock\": {\"effect\": " + effect +
                                         ", \"loss_sigma\": 0.0003, \"arm\": " + number + "}, /' \"$2\" >" + work +
                                         "/spec.$$\nexec " + NANOBENCH_BIN_DIR + "/nanobench_mock_engine \"$1\" " +
                                         work + "/spec.$$ \"$3\" \"$4\"\n");
    const std::string tag = "c" + number;
    git("add -A && git update-index --chmod=+x nanobench && git commit -q --allow-empty -m 'commit " + tag +
        "' && git tag " + tag);
  }
  void git(const std::string& words) const {
    const std::string command = "cd " + quoted((shell_.work() / "engine").string()) + " && git " + words;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  /// Numbers of the commits that were built, in order.
  std::vector<int> builds() const {
    std::istringstream text(read_text(shell_.work() / "builds"));
    return {std::istream_iterator<int>(text), {}};
  }

 private:
  const CommandLine& shell_;
  int commits_ = 0;
};

TEST(BisectOfOurEngine, BuildsTheCommitsThatItTests) {
  const CommandLine shell("bisect_engine");
  shell.write("ours.json", kSuiteOfOurEngine);
  EngineRepository repository(shell);
  for (const char* effect : {"0", "0", "0", "", "0.02", "0.02", "0.02"}) repository.commit(effect);
  const auto bisected = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"bisect",   "ours.json",  "--repository", "engine",      "--good",
                                      "c0",       "--bad",      "main",         "--only",      "loss",
                                      "--margin", "loss=0.005", "--json",       "--max-seeds", "6"};
    words.insert(words.end(), more.begin(), more.end());
    return shell.run(words);
  };
  const ProgramResult result = bisected({});
  ASSERT_EQ(result.exit_code, 3) << result.err << result.out;
  const core::Json report = json_of(result);
  EXPECT_EQ(subjects_with(report, "bad"), (std::set<std::string>{"commit c4", "commit c6"}));
  EXPECT_EQ(subjects_with(report, "good"), std::set<std::string>{"commit c2"});
  EXPECT_EQ(subjects_with(report, "skipped"), std::set<std::string>{"commit c3"});
  const std::string why = report.at("tables").at("steps").at(1).at("reason").get<std::string>();
  EXPECT_NE(why.find("no rule for it"), std::string::npos) << "the build's last words: " << why;
  EXPECT_EQ(read_text(why.substr(why.rfind(' ') + 1)), "no rule for it\n") << "and its log: " << why;
  std::vector<int> builds = repository.builds();
  EXPECT_EQ(builds.front(), 0) << "the good revision first";
  std::sort(builds.begin(), builds.end());
  EXPECT_EQ(builds, (std::vector<int>{0, 2, 3, 4, 6})) << "each commit once, and none that is not tested";
  EXPECT_FALSE(std::filesystem::exists(shell.work() / "engine" / "build")) << "the checkout is only read";

  const std::size_t runs = completed_runs(shell);
  const ProgramResult again = bisected({"--quiet"});
  EXPECT_EQ(again.out, result.out);
  EXPECT_EQ(completed_runs(shell), runs) << "the same engines, so nothing is run twice";
}

TEST(BisectOfOurEngine, MayBuildInAnotherWay) {
  const CommandLine shell("bisect_engine_build");
  shell.write("ours.json", kSuiteOfOurEngine);
  EngineRepository repository(shell);
  for (const char* effect : {"0", "0.02"}) repository.commit(effect);
  const std::vector<std::string> words = {
      "bisect",   "ours.json", "--repository", "engine", "--good",  "c0",      "--bad",
      "c1",       "--only",    "loss",         "--json", "--quiet", "--build", "cp engine.sh train; chmod +x train",
      "--program"};
  const auto made = [&](const std::string& program) {
    std::vector<std::string> all = words;
    all.push_back(program);
    return shell.run(all);
  };
  const ProgramResult result = made("train");
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(first_bad(json_of(result)), "commit c1");
  EXPECT_TRUE(repository.builds().empty()) << "./nanobench setup is not asked";
  const ProgramResult nothing = made("other");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.err.find("makes no other"), std::string::npos) << nothing.err;
}

TEST(Bisect, WhatCannotBeAskedIsOneSentence) {
  const CommandLine shell("bisect_bad");
  BisectedRepository repository(shell);
  repository.commit_until(2);
  shell.write("mock.json", R"({"name": "m", "design": "history", "records": ["record12"], "scale": "smoke",
                              "engine": {"mock": {}}})");
  shell.write("ours.json", kSuiteOfOurEngine);
  repository.git("checkout -q -b side c1 && git commit -q --allow-empty -m aside && git checkout -q main");
  std::filesystem::create_directories(shell.work() / "loose");
  shell.write("loose/suite.json", kBisectedSuite);
  shell.write("loose/train.sh", kBisectedTrainer);
  const auto asked = [](const std::string& good, const std::string& bad) {
    return bisect_words({"--good", good, "--bad", bad});
  };
  expect_refusals(
      shell, {{asked("nowhere", "c2"), "no such commit"},
              {asked("c2", "c0"), "exchange them"},
              {asked("c1", "c1"), "the same commit"},
              {asked("c2", "side"), "they part at"},
              {bisect_words({"--good", "c0", "--bad", "c2", "--link", "data"}), "--link data"},
              {bisect_words({"--good", "c0", "--bad", "c2", "--max-seeds", "1"}), "--max-seeds"},
              {bisect_words({"--good", "c0", "--bad", "c2", "--repository", "toy"}), "--repository"},
              {{"bisect", "mock.json", "--good", "c0", "--bad", "c2"}, "the mock engine"},
              {{"bisect", "ours.json", "--good", "c0", "--bad", "c2", "--link", "data"}, "--link"},
              {{"bisect", "ours.json", "--good", "nowhere", "--bad", "c2", "--repository", "toy"}, "no such commit"}});
  const ProgramResult loose =
      shell.run({"bisect", "loose/suite.json", "--good", "a", "--bad", "b"}, "GIT_CEILING_DIRECTORIES=/tmp");
  EXPECT_EQ(loose.exit_code, 2);
  EXPECT_NE(loose.err.find("in no repository"), std::string::npos) << loose.err;
  EXPECT_FALSE(std::filesystem::exists(shell.database())) << "nothing has run";
  expect_refusals(shell, {{bisect_words({"--good", "c0", "--bad", "c2", "--calibrated"}), "nanobench calibrate "}});
}

}  // namespace
}  // namespace nanobench::tools
