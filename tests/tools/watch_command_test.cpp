// `nanobench watch` from the outside: beside a suite that runs, after kill -9 of its runner, and without anything.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "core/base/json.h"
#include "results/store.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

/// Two cells with two seeds; each step really takes a while.
std::string watch_command_suite_of(double sleep_ms) {
  return R"({"name": "tiny", "design": "history", "records": ["record12", "record13"], "scale": "smoke", "seeds": [1, 2],
    "threads": 1, "engine": {"mock": {"loss_sigma": 0.01, "sleep_ms": )" +
         std::to_string(sleep_ms) + "}}}";
}

/// `nanobench run tiny.json` in the background; killed at the end if it still lives.
class BackgroundRun {
 public:
  explicit BackgroundRun(const CommandLine& shell) {
    pid_ = fork();
    if (pid_ != 0) return;
    const std::filesystem::path cache = shell.database().parent_path() / "cache";
    setenv("NANOBENCH_DB", shell.database().c_str(), 1);
    setenv("NANOBENCH_ROOT", NANOBENCH_SOURCE_DIR, 1);
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    const std::string log = (shell.work() / "log").string();
    const bool is_ready = chdir(shell.work().c_str()) == 0 && freopen(log.c_str(), "a", stdout) != nullptr &&
                          freopen(log.c_str(), "a", stderr) != nullptr;
    const std::string program = std::string(NANOBENCH_BIN_DIR) + "/nanobench";
    if (is_ready) execl(program.c_str(), "nanobench", "run", "tiny.json", "--quiet", static_cast<char*>(nullptr));
    _exit(99);
  }
  ~BackgroundRun() { kill_now(); }
  BackgroundRun(const BackgroundRun&) = delete;
  BackgroundRun& operator=(const BackgroundRun&) = delete;

  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

/// The facts of `watch --json`, asked until `key` is there and not null; for half a minute at most.
core::Json facts_with(const CommandLine& shell, const std::string& key) {
  for (int i = 0; i < 300; ++i) {
    const ProgramResult result = shell.run({"watch", "--json", "--wait", "--interval", "0.1"});
    if (result.exit_code == 0) {
      core::Json facts = json_of(result).at("facts");
      if (facts.contains(key) && !facts.at(key).is_null()) return facts;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return nullptr;
}

TEST(WatchCommand, ShowsASuiteThatRunsAndThenThatItsProcessIsGone) {
  const CommandLine shell("watch_run");
  shell.write("tiny.json", watch_command_suite_of(100));
  BackgroundRun run(shell);
  const core::Json facts = facts_with(shell, "run_train_loss");
  ASSERT_TRUE(facts.is_object());
  EXPECT_EQ(facts.at("state"), "running");
  EXPECT_EQ(facts.at("suite"), "tiny");
  EXPECT_EQ(facts.at("runs"), 4);
  EXPECT_EQ(facts.at("running"), 1);
  EXPECT_GT(facts.at("run_step"), 0);
  const ProgramResult plain = shell.run({"watch", "tiny"});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_NE(plain.out.find("running: process "), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("loss "), std::string::npos) << plain.out;
  EXPECT_EQ(plain.out.find('\x1b'), std::string::npos) << "a pipe gets plain lines";
  EXPECT_EQ(shell.run({"watch", "tiny.json", "--once"}).exit_code, 0) << "a suite's file stands for its name";
  run.kill_now();
  const ProgramResult gone = shell.run({"watch", "--once"});
  EXPECT_EQ(gone.exit_code, 0) << gone.err;
  EXPECT_NE(gone.out.find(" is gone, last seen "), std::string::npos) << gone.out;
  EXPECT_NE(gone.out.find("run tiny.json --quiet` continues it"), std::string::npos) << gone.out;
  EXPECT_EQ(json_of(shell.run({"watch", "--json"})).at("facts").at("to_do"), 4);
}

TEST(WatchCommand, ShowsAFinishedSuiteAndItsFailures) {
  const CommandLine shell("watch_done");
  shell.write("tiny.json", watch_command_suite_of(0));
  BackgroundRun run(shell);
  ASSERT_EQ(run.wait(), 0) << read_text(shell.work() / "log");
  const ProgramResult done = shell.run({"watch"}, "LC_ALL=C");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("4 of 4 runs"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("ended "), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("+-"), std::string::npos) << "no UTF-8 in such a locale: " << done.out;
  shell.write("bad.json", R"({"name": "bad", "design": "history", "records": ["record12"], "scale": "smoke",
    "seeds": [1], "threads": 1, "engine": {"mock": {"fault": {"kind": "exit", "step": 1}}}})");
  ASSERT_EQ(shell.run({"run", "bad.json", "--quiet"}).exit_code, 4);
  const ProgramResult failed = shell.run({"watch", "bad"}, "LC_ALL=C.UTF-8");
  EXPECT_NE(failed.out.find("0 trained"), 0u);
  EXPECT_NE(failed.out.find("seed 1 crashed: "), std::string::npos) << failed.out;
  EXPECT_NE(failed.out.find("repeats the failed runs"), std::string::npos) << failed.out;
  EXPECT_EQ(json_of(shell.run({"watch", "--plan", "1", "--json"})).at("facts").at("suite"), "tiny");
}

TEST(WatchCommand, NothingToWatchIsOneSentence) {
  const CommandLine shell("watch_none");
  const ProgramResult none = shell.run({"watch"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("does not exist; run a suite first"), std::string::npos) << none.err;
  EXPECT_FALSE(std::filesystem::exists(shell.database())) << "a reader makes nothing";
  { const results::Store store(shell.database()); }
  const ProgramResult empty = shell.run({"watch", "--json"});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_EQ(empty.out, "");
  EXPECT_NE(empty.err.find("holds no plan"), std::string::npos) << empty.err;
  EXPECT_EQ(shell.run({"watch", "--plan", "3"}).exit_code, 2);
  EXPECT_EQ(shell.run({"watch", "--interval", "0"}).exit_code, 2);
  shell.write("text.db", "Dear diary\n");
  EXPECT_EQ(shell.run({"watch", "--wait", "--db", "text.db"}).exit_code, 2) << "waiting would not help";
}

}  // namespace
}  // namespace nanobench::tools
