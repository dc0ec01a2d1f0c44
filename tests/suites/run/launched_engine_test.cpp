// The adapter around an engine that a launcher starts: what it starts, what it passes on, and what it says when the
// launcher fails.
#include "suites/run/launched_engine.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"
#include "suites/run/engine_process.h"

namespace nanobench::suites::testing {
namespace {

using core::Error;

TEST(WordsOf, BlanksPartAndQuotesHold) {
  EXPECT_EQ(words_of("mpirun -n  {processes}"), (std::vector<std::string>{"mpirun", "-n", "{processes}"}));
  EXPECT_EQ(words_of("a 'b c' d\"e f\"g ''"), (std::vector<std::string>{"a", "b c", "de fg", ""}));
  EXPECT_TRUE(words_of("  ").empty());
  EXPECT_THROW(words_of("a 'b"), Error);
}

TEST(LaunchedEngine, RefusesLaunchersThatCannotBeMeant) {
  const Engine engine{{"/bin/true"}, "nanobench-train", "abc"};
  EXPECT_THROW(launched_engine(engine, "", {"adapter"}), Error);
  EXPECT_THROW(launched_engine(engine, "mpirun -n 4", {"adapter"}), Error);
  const Engine launched = launched_engine(engine, "/usr/bin/mpirun -n {processes}", {"adapter"});
  EXPECT_EQ(launched.command, (std::vector<std::string>{"adapter", "/usr/bin/mpirun -n {processes}", "/bin/true"}));
  EXPECT_EQ(launched.version, "abc by mpirun") << "another launcher is another engine: times of the two are not mixed";
}

/// A launcher and an engine as shell scripts, run through the program's own adapter.
class LaunchedRun : public ::testing::Test {
 protected:
  LaunchedRun() : folder_(std::filesystem::temp_directory_path() / ("nanobench launched " + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    script("launcher", "n=$1; shift; echo \"starting $n\"; exec \"$@\"");
  }
  ~LaunchedRun() override { std::filesystem::remove_all(folder_); }

  void script(const std::string& name, const std::string& body) const {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << body << "\n";
    chmod((folder_ / name).c_str(), 0755);
  }

  struct Result {
    std::vector<std::string> events;
    std::string output;
    core::ProcessExit exit;
  };

  Result run(int processes, const std::string& launcher) const {
    core::RunSpec spec{.run_id = "launched"};
    spec.config.distributed.processes = processes;
    const std::string program = std::string(NANOBENCH_BIN_DIR) + "/nanobench";
    const Engine engine{{(folder_ / "engine").string()}, "engine", "1"};
    EngineProcess child(launched_engine(engine, launcher, {program, "launched-engine"}).command,
                        core::to_json(spec).dump());
    Result result;
    std::string events;
    std::optional<core::ProcessExit> exit;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!exit && std::chrono::steady_clock::now() < end) {
      exit = child.poll_exit();
      read_into(child.events(), events);
      read_into(child.output(), result.output);
      read_into(child.errors(), result.output);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(exit.has_value()) << "it never ended";
    result.exit = exit.value_or(core::ProcessExit{});
    std::istringstream lines(events);
    for (std::string line; std::getline(lines, line);) result.events.push_back(line);
    return result;
  }

  std::string launcher() const { return "'" + (folder_ / "launcher").string() + "' {processes}"; }

  std::filesystem::path folder_;

 private:
  static void read_into(core::Fd& fd, std::string& text) {
    for (std::string_view bytes; !(bytes = core::read_available(fd)).empty();) text += bytes;
  }
};

constexpr const char* kFinished =
    R"({"event":"finished","steps":1,"timed_steps":1,"train_ms":1.0,"final_val_loss":2.0,"peak_bytes":3})";

TEST_F(LaunchedRun, EventsGoToTheRunnerAndTheRestToTheOutput) {
  script("engine", std::string("echo hello; test -s \"$2\" && echo \"$1 $3 $4\"; echo '") + kFinished +
                       "'; echo '{not an event}'; echo a word >&2");
  const Result result = run(4, launcher());
  EXPECT_EQ(result.exit.exit_code, 0) << result.output;
  ASSERT_EQ(result.events.size(), 1U) << result.output;
  EXPECT_EQ(result.events[0], kFinished);
  for (const char* expected : {"starting 4", "hello", "--spec --events-fd 1", "{not an event}", "a word"})
    EXPECT_NE(result.output.find(expected), std::string::npos) << expected << " in:\n" << result.output;
}

TEST_F(LaunchedRun, TheProcessesGetANewSecretInAFileOfTheirUserAlone) {
  script("engine", R"sh(echo "$5 $(stat -c %a "$6") $(stat -c %a "$(dirname "$6")") secret=$(cat "$6")")sh");
  std::string before;
  for (int i = 0; i < 2; ++i) {
    const Result result = run(2, launcher());
    ASSERT_NE(result.output.find("--secret-file 600 700 secret="), std::string::npos) << result.output;
    const std::string secret = result.output.substr(result.output.find("secret=") + 7, 64);
    EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos) << secret;
    EXPECT_NE(secret, before);
    before = secret;
  }
}

TEST_F(LaunchedRun, OneProcessNeedsNoLauncher) {
  script("engine", "echo \"direct $3\"");
  const Result result = run(1, launcher());
  EXPECT_EQ(result.output.find("starting"), std::string::npos) << "of the launcher: " << result.output;
  EXPECT_NE(result.output.find("direct --events-fd"), std::string::npos) << result.output;
}

TEST_F(LaunchedRun, ALauncherThatFailsIsNamedWithItsLastWords) {
  script("launcher", "echo 'no slots left' >&2; echo 'giving up'; exit 7");
  const Result result = run(2, launcher());
  EXPECT_EQ(result.exit.exit_code, 7);
  ASSERT_EQ(result.events.size(), 1U);
  const auto failure = std::get<core::FailedEvent>(core::parse_event_line(result.events[0]));
  EXPECT_EQ(failure.outcome, core::RunOutcome::kCrashed);
  EXPECT_NE(failure.message.find(result.exit.text()), std::string::npos) << failure.message;
  EXPECT_NE(failure.message.find("giving up"), std::string::npos) << failure.message;
}

TEST_F(LaunchedRun, AFailureThatTheEngineToldIsNotToldTwice) {
  script("engine", R"(echo '{"event":"failed","outcome":"diverged","message":"the loss is not finite"}'; exit 1)");
  const Result result = run(2, launcher());
  EXPECT_EQ(result.exit.exit_code, 1);
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_NE(result.events[0].find("diverged"), std::string::npos);
}

TEST_F(LaunchedRun, ALauncherThatIsNotThereIsUnsupported) {
  script("engine", "true");
  const Result result = run(2, "/nowhere/mpirun -n {processes}");
  ASSERT_EQ(result.events.size(), 1U);
  const auto failure = std::get<core::FailedEvent>(core::parse_event_line(result.events[0]));
  EXPECT_EQ(failure.outcome, core::RunOutcome::kUnsupported);
  EXPECT_NE(failure.message.find("/nowhere/mpirun"), std::string::npos) << failure.message;
}

TEST_F(LaunchedRun, ASignalThatEndsTheLauncherEndsTheAdapter) {
  script("engine", "kill -9 $$");
  EXPECT_EQ(run(2, launcher()).exit.signal, SIGKILL);
}

}  // namespace
}  // namespace nanobench::suites::testing
