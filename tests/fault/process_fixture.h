/// Runners as processes, to be killed and interrupted. The engine is a link in the test's own folder, so that its
/// processes can be told from those of other tests.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "runner_fixture.h"

namespace nanobench::suites {

class ProcessTest : public RunnerTest {
 protected:
  ProcessTest() : engine_(folder_ / "engine") { std::filesystem::create_symlink(engine(), engine_); }
  ~ProcessTest() override {
    for (const pid_t pid : engine_processes()) kill(pid, SIGKILL);
  }

  /// Starts the mock runner on the test's store; `prepare` is called in the new process before exec.
  pid_t start(const core::Json& mock, const core::Json& extra, const std::function<void()>& prepare = {}) const {
    const std::string log = (folder_ / "log").string();
    const pid_t pid = fork();
    if (pid != 0) return pid;
    if (freopen(log.c_str(), "a", stdout) == nullptr || freopen(log.c_str(), "a", stderr) == nullptr) _exit(99);
    if (prepare) prepare();
    execl(runner().c_str(), runner().c_str(), file().c_str(), engine_.c_str(), extra.dump().c_str(),
          mock.dump().c_str(), static_cast<char*>(nullptr));
    _exit(99);
  }

  /// Exit code, or the negative signal.
  static int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  std::string log() const {
    std::ifstream in(folder_ / "log");
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  std::vector<pid_t> engine_processes() const {
    std::vector<pid_t> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      std::ifstream in(entry.path() / "cmdline", std::ios::binary);
      std::string command;
      std::getline(in, command, '\0');
      if (command == engine_.string()) found.push_back(pid);
    }
    return found;
  }

  /// Until `condition` holds; false after half a minute.
  static bool wait_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  static void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

  std::vector<results::RunRecord> stored_runs(const results::RunFilter& filter = {}) const {
    return results::Store(file()).runs(filter);
  }

  /// Every planned run completed exactly once, with all its samples; nothing is running.
  void expect_each_run_once(std::size_t runs, std::size_t steps) const {
    const results::Store store(file());
    const auto completed = store.runs({.outcome = core::RunOutcome::kCompleted});
    EXPECT_EQ(completed.size(), runs);
    std::set<std::string> digests;
    for (const results::RunRecord& run : completed) {
      EXPECT_TRUE(digests.insert(run.digest).second) << "twice: " << run.cell << " seed " << run.seed;
      EXPECT_EQ(store.samples(run.id, "train/loss").size(), steps);
      EXPECT_TRUE(run.result->final_val_loss.has_value());
    }
    EXPECT_TRUE(store.runs({.is_running = true}).empty());
    const auto plan = store.newest_plan();
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(store.plans().size(), 1u);
    for (const results::PlanLine& line : plan->lines) {
      ASSERT_TRUE(line.run_id.has_value());
      EXPECT_TRUE(store.run(*line.run_id).is_completed());
    }
  }

  std::filesystem::path engine_;
};

}  // namespace nanobench::suites
