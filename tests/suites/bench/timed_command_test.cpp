#include "suites/bench/timed_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/core/process/sanitizer.h"

namespace nanobench::suites {
namespace {

TimedCommand shell_command(const std::string& script) {
  return {.words = {"sh", "-c", script}, .input = "", .shows_output = false, .keeps_output = true, .timeout_s = 60.0};
}

TimedResult timed(const TimedCommand& command) {
  InterruptGuard interrupts;
  return run_timed(command, interrupts, [] {});
}

TEST(TimedCommand, ReturnsExitOutputAndUse) {
  const TimedResult result = timed(shell_command("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.exit.exit_code, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_GT(result.wall_ms, 0.0);
  EXPECT_GT(result.exit.max_rss_bytes, 0);
  EXPECT_EQ(result.stop, TimedStop::kNone);
}

TEST(TimedCommand, WallTimeCoversTheWholeRun) {
  const TimedResult result = timed(shell_command("sleep 0.2"));
  EXPECT_GE(result.wall_ms, 200.0);
}

TEST(TimedCommand, CpuTimeIsThatOfItsChildrenToo) {
  const TimedResult idle = timed(shell_command("sleep 0.05"));
  const TimedResult busy = timed(shell_command("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; true"));
  EXPECT_GT(busy.exit.user_us, idle.exit.user_us);
}

TEST(TimedCommand, ItsPeakIsItsOwnEvenIfWeAreLarger) {
  const std::vector<char> large(std::size_t{300} << 20, 'x');
  const TimedResult result = timed(shell_command("sleep 0.1"));
  EXPECT_GT(result.exit.max_rss_bytes, 0);
  EXPECT_LT(result.exit.max_rss_bytes, std::int64_t{50} << 20) << large.back();
}

TEST(TimedCommand, ItsPeakIsThatOfTheLargestProcess) {
  if (core::kHasAddressSanitizer) GTEST_SKIP() << "the copy of us that becomes the program is larger";
  // 50 MB in a child, used for an instant: no look at the program catches it.
  const TimedResult result = timed(shell_command("head -c 60000000 /dev/zero | tail -c 50000000 | wc -c"));
  EXPECT_GT(result.exit.max_rss_bytes, std::int64_t{40} << 20);
}

TEST(TimedCommand, InputIsAFileOrEmpty) {
  EXPECT_EQ(timed(shell_command("cat")).out, "");
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("nanobench_input_" + std::to_string(getpid()));
  std::ofstream(file) << "from a file";
  TimedCommand command = shell_command("cat");
  command.input = file.string();
  EXPECT_EQ(timed(command).out, "from a file");
  std::filesystem::remove(file);
  const TimedResult missing = timed(command);
  EXPECT_NE(missing.start_error, 0);
  EXPECT_NE(failure_of(command, missing).find(file.string()), std::string::npos);
}

TEST(TimedCommand, AnythingMayBePrinted) {
  const TimedResult result = timed(shell_command("head -c 100000000 /dev/zero; printf 'end'; printf '\\377\\000' >&2"));
  EXPECT_TRUE(result.exit.is_success());
  EXPECT_LE(result.out.size(), kMaxKeptOutput);
  EXPECT_TRUE(result.out.ends_with("end"));
  EXPECT_EQ(result.err.size(), 2U);
}

TEST(TimedCommand, EveryFailureHasItsReason) {
  TimedCommand missing = shell_command("");
  missing.words = {"/no/such/program"};
  EXPECT_EQ(timed(missing).start_error, ENOENT);
  EXPECT_NE(failure_of(missing, timed(missing)).find("/no/such/program"), std::string::npos);

  const TimedCommand killed = shell_command("echo last words >&2; kill -SEGV $$");
  const TimedResult by_signal = timed(killed);
  EXPECT_EQ(by_signal.exit.signal, SIGSEGV);
  EXPECT_NE(failure_of(killed, by_signal).find("last words"), std::string::npos);

  TimedCommand hangs = shell_command("sleep 60");
  hangs.timeout_s = 0.1;
  const TimedResult by_time = timed(hangs);
  EXPECT_EQ(by_time.stop, TimedStop::kTimeout);
  EXPECT_FALSE(failure_of(hangs, by_time).empty());

  const TimedCommand good = shell_command("true");
  EXPECT_EQ(failure_of(good, timed(good)), "");
}

TEST(TimedCommand, OneThatIgnoresItsEndIsKilled) {
  TimedCommand stubborn = shell_command("trap '' TERM; while :; do sleep 0.05; done");
  stubborn.timeout_s = 0.1;
  const TimedResult result = timed(stubborn);
  EXPECT_EQ(result.stop, TimedStop::kTimeout);
  EXPECT_EQ(result.exit.signal, SIGKILL);
}

TEST(TimedCommand, ASignalToUsEndsIt) {
  InterruptGuard interrupts;
  const TimedCommand command = shell_command("sleep 60");
  const TimedResult result = run_timed(command, interrupts, [] { std::raise(SIGINT); });
  EXPECT_EQ(result.stop, TimedStop::kInterrupt);
  EXPECT_GE(interrupts.count(), 1);
  const TimedResult later = run_timed(
      shell_command("echo cleaned"), interrupts, [] {}, interrupts.count());
  EXPECT_EQ(later.stop, TimedStop::kNone) << "earlier signals do not count";
  EXPECT_EQ(later.out, "cleaned\n");
}

/// "T" for a paused process, "S" or "R" for one that is not.
std::string state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? "" : text.substr(name_end + 2, 1);
}

bool comes_to(pid_t pid, const std::string& states) {
  for (int i = 0; i < 2000 && states.find(state_of(pid)) == std::string::npos; ++i) usleep(10'000);
  return !state_of(pid).empty() && states.find(state_of(pid)) != std::string::npos;
}

pid_t pid_in(const std::filesystem::path& file) {
  long pid = 0;
  std::ifstream(file) >> pid;
  return static_cast<pid_t>(pid);
}

TEST(TimedRun, APauseHoldsTheWholeGroupAndATurnContinuesIt) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("nanobench_turns_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string at = folder.string();
  const TimedCommand command = shell_command("sleep 60 & echo $$ >" + at + "/parent; echo $! >" + at +
                                             "/child; while [ ! -e " + at + "/go ]; do sleep 0.01; done; echo done");
  InterruptGuard interrupts;
  const core::GroupGuard guard;
  TimedRun run(command, interrupts, &guard);
  pid_t parent = 0, child = 0;
  for (int i = 0; i < 2000 && child == 0; ++i) {
    ASSERT_FALSE(run.run([] {}, std::chrono::milliseconds(20)));
    parent = pid_in(folder / "parent");
    child = pid_in(folder / "child");
  }
  // "D": a shell that waits for its child to have begun another program. The child is stopped, so neither computes.
  EXPECT_TRUE(comes_to(parent, "TD")) << state_of(parent);
  usleep(20'000);
  EXPECT_NE(std::string("TD").find(state_of(parent)), std::string::npos) << "it stays as its turn left it";
  EXPECT_TRUE(comes_to(child, "T"));
  std::ofstream(folder / "go") << "go";
  EXPECT_TRUE(run.run([] {}));
  EXPECT_EQ(run.result().out, "done\n");
  EXPECT_GE(run.result().turns, 2);
  EXPECT_TRUE(state_of(child).empty() || comes_to(child, "ZX")) << "what it left behind is ended";
  std::filesystem::remove_all(folder);
}

TEST(TimedRun, PausesDoNotCountAgainstItsTimeout) {
  const std::filesystem::path go =
      std::filesystem::temp_directory_path() / ("nanobench_go_" + std::to_string(getpid()));
  TimedCommand command = shell_command("while [ ! -e " + go.string() + " ]; do sleep 0.01; done; echo done");
  command.timeout_s = 5.0;
  InterruptGuard interrupts;
  const core::GroupGuard guard;
  TimedRun run(command, interrupts, &guard);
  ASSERT_FALSE(run.run([] {}, std::chrono::milliseconds(1)));
  usleep(6'000'000);
  std::ofstream(go) << "go";
  EXPECT_TRUE(run.run([] {}));
  std::filesystem::remove(go);
  EXPECT_EQ(run.result().stop, TimedStop::kNone);
  EXPECT_EQ(run.result().out, "done\n");
  EXPECT_LT(run.result().wall_ms, 6000.0) << "the pause alone took as long";
}

TEST(TimedRun, OneThatIsPausedIsEndedWithItsGroup) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("nanobench_paused_" + std::to_string(getpid()));
  const TimedCommand command = shell_command("sleep 60 & echo $! >" + file.string() + "; wait");
  pid_t child = 0;
  {
    InterruptGuard interrupts;
    const core::GroupGuard guard;
    TimedRun run(command, interrupts, &guard);
    for (int i = 0; i < 2000 && child == 0; ++i) {
      ASSERT_FALSE(run.run([] {}, std::chrono::milliseconds(20)));
      child = pid_in(file);
    }
  }
  ASSERT_GT(child, 0);
  for (int i = 0; i < 2000 && !state_of(child).empty() && state_of(child) != "Z"; ++i) usleep(10'000);
  EXPECT_TRUE(state_of(child).empty() || state_of(child) == "Z");
  std::filesystem::remove(file);
}

TEST(TimedCommand, WhatItLeftBehindIsEnded) {
  const TimedResult result = timed(shell_command("sleep 60 & echo $!"));
  const pid_t left = static_cast<pid_t>(std::stol(result.out));
  for (int i = 0; i < 100 && kill(left, 0) == 0; ++i) usleep(10'000);
  std::ifstream status("/proc/" + std::to_string(left) + "/stat");
  std::string text;
  std::getline(status, text);
  EXPECT_TRUE(text.empty() || text.find(") Z") != std::string::npos) << text;
}

}  // namespace
}  // namespace nanobench::suites
