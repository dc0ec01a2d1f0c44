// `run --keep-weights` and `train --save` from the outside: kill -9 of runner and engine, and what comes after.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "core/data/checkpoint_header.h"
#include "results/check.h"
#include "results/store.h"
#include "results/weights.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

std::string suite_of(const std::string& record, const std::string& run = "") {
  return R"({"name": "weights", "design": "history", "records": [")" + record +
         R"("], "scale": "smoke", "seeds": [1], "threads": 2, "metrics": ["health", "loss_at_position"])" +
         (run.empty() ? "" : ", \"run\": " + run) + "}";
}

/// Everything of a run but its times: losses by step, and the counters of its work.
std::map<std::string, std::vector<std::pair<std::int64_t, double>>> samples_of(const results::Store& store,
                                                                               std::int64_t run) {
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> all;
  for (const std::string& metric : store.metrics(run)) {
    const bool is_kept = metric == "train/loss" || metric == "val/loss" || metric.starts_with("counter/cost/") ||
                         metric == "train/window_tokens" || metric == "train/learning_rate_factor" ||
                         metric.starts_with("health/") || metric.starts_with("val/loss_at");
    if (!is_kept) continue;
    for (const results::Sample& sample : store.samples(run, metric))
      all[metric].emplace_back(sample.step, sample.value);
  }
  return all;
}

const std::vector<std::string> kRun = {"run", "weights.json", "--quiet", "--json"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Children of a process, and theirs.
std::vector<pid_t> descendants_of(pid_t parent) {
  std::vector<pid_t> all;
  const std::string file = "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children";
  std::ifstream in(file);
  for (pid_t child = 0; in >> child;) {
    all.push_back(child);
    for (const pid_t one : descendants_of(child)) all.push_back(one);
  }
  return all;
}

/// The suite in the background; `kill_when` gets the process and says when it has killed what it was to kill.
template <class KillWhen>
void run_until(const CommandLine& shell, const std::vector<std::string>& arguments, const KillWhen& kill_when) {
  const pid_t pid = fork();
  if (pid == 0) {
    const fs::path cache = shell.database().parent_path() / "cache";
    setenv("NANOBENCH_DB", shell.database().c_str(), 1);
    setenv("NANOBENCH_ROOT", NANOBENCH_SOURCE_DIR, 1);
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    const std::string log = (shell.work() / "log").string();
    if (chdir(shell.work().c_str()) != 0 || freopen(log.c_str(), "a", stdout) == nullptr ||
        freopen(log.c_str(), "a", stderr) == nullptr)
      _exit(99);
    const std::string program = std::string(NANOBENCH_BIN_DIR) + "/nanobench";
    std::vector<char*> words = {const_cast<char*>("nanobench")};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(99);
  }
  for (int i = 0; i < 12'000 && !kill_when(pid); ++i) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  int status = 0;
  waitpid(pid, &status, 0);
}

/// Checkpoints of a step after the first.
std::size_t later_checkpoints(const CommandLine& shell) {
  std::error_code error;
  std::size_t found = 0;
  for (fs::recursive_directory_iterator it(shell.database().string() + ".weights", error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".safetensors" || it->path().filename().string().starts_with(".")) continue;
    found += core::read_checkpoint_header(it->path()).step > 0 ? 1 : 0;
  }
  return found;
}

/// Whether there are as many checkpoints.
bool has_checkpoint(const CommandLine& shell, std::size_t files) {
  std::error_code error;
  std::size_t found = 0;
  for (fs::recursive_directory_iterator it(shell.database().string() + ".weights", error), end; !error && it != end;
       it.increment(error))
    found += it->path().extension() == ".safetensors" && !it->path().filename().string().starts_with(".") ? 1 : 0;
  return found >= files;
}

class KilledRun : public ::testing::TestWithParam<std::string> {
 protected:
  /// The only completed run of the store.
  static results::RunRecord completed_run(const results::Store& store) {
    const std::vector<results::RunRecord> runs = store.runs({.outcome = core::RunOutcome::kCompleted});
    std::vector<results::RunRecord> whole;
    for (const results::RunRecord& run : runs) {
      if (run.plan_id) whole.push_back(run);
    }
    EXPECT_EQ(whole.size(), 1U);
    return whole.front();
  }

  static bool has_completed(const CommandLine& shell) {
    const results::Store store(shell.database(), results::OpenMode::kReadOnly);
    return !store.runs({.outcome = core::RunOutcome::kCompleted}).empty();
  }

  /// The suite, disturbed by `kill_when`, against the suite alone.
  template <class KillWhen>
  void expect_same(const std::string& name, const std::string& keep, const KillWhen& kill_when) {
    const CommandLine alone(name + "_alone");
    alone.write("weights.json", suite_of(GetParam(), "{}"));
    const ProgramResult undisturbed = alone.run(kRun);
    ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
    std::unique_ptr<CommandLine> killed;
    for (int attempt = 0; attempt < 8 && (!killed || has_completed(*killed));
         ++attempt) {  // it may end before the kill
      killed.reset();
      killed = std::make_unique<CommandLine>(name);
      killed->write("weights.json", suite_of(GetParam(), "{\"keep_weights\": \"" + keep + "\"}"));
      run_until(*killed, kRun, [&](pid_t pid) { return later_checkpoints(*killed) > 0 && kill_when(pid); });
    }
    const CommandLine& shell = *killed;
    const ProgramResult continued = shell.run(kRun);
    ASSERT_EQ(continued.exit_code, 0) << continued.err;
    const results::Store before(alone.database(), results::OpenMode::kReadOnly);
    const results::Store after(shell.database(), results::OpenMode::kReadOnly);
    const results::RunRecord run = completed_run(after);
    const auto expected = samples_of(before, completed_run(before).id);
    ASSERT_GE(expected.size(), 4U);
    EXPECT_TRUE(expected.contains("health/gradient_norm"));
    EXPECT_TRUE(expected.contains("val/loss_at_position"));
    EXPECT_TRUE(samples_of(after, run.id) == expected);
    EXPECT_EQ(run.digest, completed_run(before).digest) << "weights are no part of a run's identity";
    const auto facts = after.run_facts(run.id);
    ASSERT_TRUE(facts.contains(results::kResumedStep)) << "the kill came too late: nothing was continued";
    EXPECT_GT(std::stoll(facts.at(results::kResumedStep)), 0);
    EXPECT_EQ(results::kept_files(facts).back().step, run.result->steps);
    EXPECT_TRUE(results::check_store(shell.database()).is_fine());
    EXPECT_FALSE(fs::exists(alone.database().string() + ".weights"));
  }
};

TEST_P(KilledRun, TheRunnerIsKilled) {
  expect_same("weights_runner_" + GetParam(), "last", [](pid_t pid) { return kill(pid, SIGKILL) == 0; });
}

TEST_P(KilledRun, TheEngineIsKilled) {
  expect_same("weights_engine_" + GetParam(), "all", [](pid_t pid) {
    bool has_killed = false;
    for (const pid_t child : descendants_of(pid)) has_killed = kill(child, SIGKILL) == 0 || has_killed;
    return has_killed;
  });
}

INSTANTIATE_TEST_SUITE_P(Records, KilledRun, ::testing::Values("record12", "record21", "record41", "record89"),
                         [](const auto& test) { return test.param; });

TEST(KeepWeights, TheStoreKnowsItsFilesAndTheirState) {
  const CommandLine shell("weights_files");
  shell.write("weights.json", suite_of("record12"));
  ASSERT_EQ(shell.run(with(kRun, {"--keep-weights", "all"})).exit_code, 0);
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  std::optional<results::RunRecord> run;
  for (const results::RunRecord& one : store.runs()) {
    if (one.plan_id) run = one;
  }
  ASSERT_TRUE(run);
  const std::vector<results::KeptFile> files = results::kept_files(store.run_facts(run->id));
  ASSERT_EQ(files.size(), store.samples(run->id, "val/loss").size());
  const core::Json shown = json_of(shell.run({"show", std::to_string(run->id), "--json"}));
  EXPECT_NE(shown.dump().find(files.back().name), std::string::npos);
  const fs::path folder = results::weights_folder(shell.database(), run->id);
  EXPECT_TRUE(results::check_store(shell.database()).is_fine());
  fs::remove(folder / files.front().name);
  fs::resize_file(folder / files.back().name, 100);
  const results::StoreCheck check = results::check_store(shell.database());
  ASSERT_EQ(check.problems.size(), 1U);
  EXPECT_EQ(check.problems.front().rule, "weights");
  EXPECT_EQ(check.problems.front().count, 2);
}

TEST(KeepWeights, AnInterruptionSaysThatTheRunContinuesFromItsCheckpoint) {
  const CommandLine shell("weights_interrupted");
  shell.write("weights.json", suite_of("record12"));
  run_until(shell, {"run", "weights.json", "--quiet", "--keep-weights", "last"},
            [&](pid_t pid) { return has_checkpoint(shell, 1) && kill(pid, SIGINT) == 0; });
  std::ifstream log(shell.work() / "log");
  std::string line;
  ASSERT_TRUE(std::getline(log, line));
  EXPECT_TRUE(line.starts_with("interrupted: 0 of 1 run")) << line;
  EXPECT_TRUE(line.ends_with("continues from its checkpoint")) << line;
}

TEST(KeepWeights, ADamagedCheckpointIsNotUsed) {
  const CommandLine shell("weights_damaged");
  shell.write("weights.json", suite_of("record12"));
  const std::vector<std::string> command = with(kRun, {"--keep-weights", "last"});
  run_until(shell, command, [&](pid_t pid) { return has_checkpoint(shell, 1) && kill(pid, SIGKILL) == 0; });
  for (const auto& entry : fs::recursive_directory_iterator(shell.database().string() + ".weights")) {
    if (entry.is_regular_file()) fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  }
  std::vector<std::string> loud = command;
  std::erase(loud, "--quiet");
  const ProgramResult again = shell.run(loud);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("not a whole safetensors file"), std::string::npos) << again.err;
}

TEST(KeepWeights, ARunThatSampledLessIsNotContinued) {
  const CommandLine shell("weights_metrics");
  std::string suite = suite_of("record12");
  const std::string metrics = R"(, "metrics": ["health", "loss_at_position"])";
  suite.erase(suite.find(metrics), metrics.size());
  shell.write("weights.json", suite);
  const std::vector<std::string> command = with(kRun, {"--keep-weights", "last"});
  run_until(shell, command, [&](pid_t pid) { return later_checkpoints(shell) > 0 && kill(pid, SIGKILL) == 0; });
  shell.write("weights.json", suite_of("record12"));
  std::vector<std::string> loud = command;
  std::erase(loud, "--quiet");
  const ProgramResult again = shell.run(loud);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("without the metrics"), std::string::npos) << again.err;
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  for (const results::RunRecord& run : store.runs({.outcome = core::RunOutcome::kCompleted})) {
    if (run.plan_id) {
      EXPECT_EQ(store.samples(run.id, "health/gradient_norm").front().step, 0);
    }
  }
}

/// The runs of a hunt's first half are all in progress together.
TEST(KeepWeights, AKilledHuntContinuesTheRunsOfItsFirstHalf) {
  constexpr std::size_t kKilled = 3;
  const CommandLine shell("weights_hunt");
  const std::vector<std::string> command = {
      "hunt",    "record17", "--features",     "rotary,attention_skip,value_mix,window_warmup",
      "--scale", "smoke",    "--runs",         "16",
      "--quiet", "--json",   "--keep-weights", "last"};
  run_until(shell, command, [&](pid_t pid) { return later_checkpoints(shell) >= kKilled && kill(pid, SIGKILL) == 0; });
  const ProgramResult continued = shell.run(command);
  ASSERT_EQ(continued.exit_code, 0) << continued.err;
  EXPECT_EQ(json_of(continued).at("kind"), "hunt");
  const results::Store store(shell.database(), results::OpenMode::kReadOnly);
  std::size_t resumed = 0;
  for (const results::RunRecord& run : store.runs({.outcome = core::RunOutcome::kCompleted}))
    resumed += store.run_facts(run.id).contains(results::kResumedStep) ? 1 : 0;
  EXPECT_GE(resumed, kKilled);
}

TEST(KeepWeights, OtherEnginesKeepNone) {
  const CommandLine shell("weights_mock");
  shell.write("weights.json", R"({"name": "weights", "design": "history", "records": ["record12"], "scale": "smoke",
    "engine": "mock"})");
  const ProgramResult refused = shell.run(with(kRun, {"--keep-weights", "last"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("another engine"), std::string::npos) << refused.err;
  EXPECT_EQ(shell.run(kRun).exit_code, 0);
}

/// The limit is inherited; with it no file can be longer than 64 KiB.
TEST(TrainCheckpoints, ALastCheckpointThatIsNotWrittenIsAnExitCode) {
  const CommandLine shell("train_unsaved");
  shell.write("c.json", shell.run({"show", "record12", "--scale", "smoke", "--config"}).out);
  const std::vector<std::string> command = {"train", "c.json", "--threads", "1", "--quiet", "--save", "w.safetensors"};
  EXPECT_EQ(shell.run(command).exit_code, 0);
  const auto written = fs::last_write_time(shell.work() / "w.safetensors");
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 65536, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const ProgramResult result = shell.run(command);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(result.exit_code, core::kExitIncomplete) << result.err;
  EXPECT_NE(result.err.find("w.safetensors"), std::string::npos) << result.err;
  EXPECT_EQ(fs::last_write_time(shell.work() / "w.safetensors"), written) << "the one before stays";
}

TEST(TrainCheckpoints, ACompleteRunThatIsContinuedIsSavedWhereItIsAskedTo) {
  const CommandLine shell("train_complete");
  shell.write("c.json", shell.run({"show", "record12", "--scale", "smoke", "--config"}).out);
  const auto train = [&](const std::vector<std::string>& more) {
    const ProgramResult result = shell.run(with({"train", "c.json", "--threads", "1", "--quiet", "--json"}, more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  train({"--save", "w.safetensors"});
  train({"--save", "w.safetensors", "--resume", "w.safetensors"});
  train({"--save", "other.safetensors", "--resume", "w.safetensors"});
  train({"--resume", "other.safetensors"});
}

TEST(TrainCheckpoints, SaveResumeAndInit) {
  const CommandLine shell("train_weights");
  const ProgramResult config = shell.run({"show", "record12", "--scale", "smoke", "--config"});
  ASSERT_EQ(config.exit_code, 0) << config.err;
  shell.write("c.json", config.out);
  const auto loss = [&](const std::vector<std::string>& more) {
    const ProgramResult result = shell.run(with({"train", "c.json", "--threads", "1", "--quiet", "--json"}, more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? json_of(result).dump() : "";
  };
  loss({"--save", "step_{step}.safetensors"});
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(shell.work())) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), 3U);
  loss({"--resume", files[1]});
  loss({"--init", files[1]});
  for (const auto& [arguments, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--resume", files[1], "--seed", "9"}, "another run"},
           {{"--resume", "c.json"}, "safetensors"},
           {{"--resume", "none.safetensors"}, "none.safetensors"},
           {{"--resume", files[1], "--init", files[1]}, "--init"},
           {{"--resume", files[1], "--trace", "t.json"}, "trace"}}) {
    const ProgramResult refused = shell.run(with({"train", "c.json", "--threads", "1", "--quiet"}, arguments));
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace nanobench::tools
