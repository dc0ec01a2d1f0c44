// kill -9 of runner and engine at any moment, interruptions, two runners, a full disk: nothing twice, nothing lost.
#include <cerrno>
#include <random>

#include "process_fixture.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::RunOutcome;
using results::RunRecord;

const Json kSeeds = {{"seeds", {1, 2}}};  // times three cells
constexpr std::size_t kRuns = 6;
constexpr std::size_t kKillSteps = 12;

Json steady(double sleep_ms = 5) {
  return {{"steps", kKillSteps}, {"sleep_ms", sleep_ms}};
}

TEST_F(ProcessTest, RunnerKilledAgainAndAgain) {
  std::mt19937 random(20240520);
  int kills = 0;
  for (int round = 0; kills < 25 && round < 200; ++round) {
    const pid_t pid = start(steady(), kSeeds);
    pause_ms(static_cast<int>(random() % 150));
    kill(pid, SIGKILL);
    kills += wait_for(pid) == -SIGKILL ? 1 : 0;
    EXPECT_TRUE(wait_until([&] { return engine_processes().empty(); })) << "an engine outlived its runner";
    if (std::filesystem::exists(file()) && round % 30 == 29) {
      // The suite is complete by now: begin a new one, so that kills keep hitting runs.
      ASSERT_EQ(wait_for(start(steady(), kSeeds)), 0) << log();
      expect_each_run_once(kRuns, kKillSteps);
      for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file().string() + suffix);
    }
  }
  EXPECT_GE(kills, 20);
  ASSERT_EQ(wait_for(start(steady(), kSeeds)), 0) << log();
  expect_each_run_once(kRuns, kKillSteps);
  for (const RunRecord& run : stored_runs()) {
    EXPECT_TRUE(run.is_completed() || run.result->outcome == RunOutcome::kInterrupted) << run.result->message;
  }
}

TEST_F(ProcessTest, AnEngineNeverOutlivesItsRunner) {
  // This one would not notice by itself: it never writes.
  const pid_t pid = start({{"steps", kKillSteps}, {"fault", {{"kind", "hang"}, {"step", 0}}}}, kSeeds);
  ASSERT_TRUE(wait_until([&] { return !engine_processes().empty(); }));
  kill(pid, SIGKILL);
  wait_for(pid);
  EXPECT_TRUE(wait_until([&] { return engine_processes().empty(); }));
}

TEST_F(ProcessTest, EngineKilledAgainAndAgain) {
  std::mt19937 random(7);
  int kills = 0;
  pid_t pid = start(steady(), kSeeds);
  for (int i = 0; i < 400 && kills < 20; ++i) {
    pause_ms(static_cast<int>(random() % 40));
    for (const pid_t engine_pid : engine_processes()) kills += kill(engine_pid, SIGKILL) == 0 ? 1 : 0;
    if (waitpid(pid, nullptr, WNOHANG) == pid) pid = start(steady(), kSeeds);
  }
  EXPECT_GE(kills, 20);
  wait_for(pid);
  ASSERT_EQ(wait_for(start(steady(), kSeeds)), 0) << log();
  expect_each_run_once(kRuns, kKillSteps);
  for (const RunRecord& run : stored_runs()) {
    const bool is_expected = run.is_completed() || run.result->outcome == RunOutcome::kCrashed;
    EXPECT_TRUE(is_expected) << enum_name(run.result->outcome) << ": " << run.result->message;
  }
}

TEST_F(ProcessTest, AnInterruptLetsTheStepFinishAndTheSameCommandContinues) {
  const pid_t pid = start(steady(50), kSeeds);
  ASSERT_TRUE(wait_until([&] { return !engine_processes().empty(); }));
  pause_ms(150);
  kill(pid, SIGINT);
  EXPECT_EQ(wait_for(pid), 130) << log();
  const std::vector<RunRecord> runs = stored_runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].result->outcome, RunOutcome::kInterrupted);
  EXPECT_EQ(runs[0].result->exit_code, 130) << "the engine ended by itself";
  EXPECT_EQ(wait_for(start(steady(50), kSeeds)), 0) << log();
  expect_each_run_once(kRuns, kKillSteps);
}

TEST_F(ProcessTest, ASecondInterruptStopsNow) {
  const Json deaf = {{"steps", 1000}, {"fault", {{"kind", "ignore_signals"}, {"step", 0}, {"value", 50}}}};
  const pid_t pid = start(deaf, kSeeds);
  ASSERT_TRUE(wait_until([&] { return !engine_processes().empty(); }));
  pause_ms(200);
  kill(pid, SIGINT);
  pause_ms(300);
  EXPECT_FALSE(engine_processes().empty()) << "the first interrupt only asks";
  kill(pid, SIGINT);
  EXPECT_EQ(wait_for(pid), 130) << log();
  EXPECT_TRUE(engine_processes().empty());
  ASSERT_EQ(stored_runs().size(), 1u);
  EXPECT_EQ(stored_runs()[0].result->outcome, RunOutcome::kInterrupted);
  EXPECT_EQ(stored_runs()[0].result->exit_code, -9);
}

TEST_F(ProcessTest, TerminationIsAnInterrupt) {
  const pid_t pid = start(steady(50), kSeeds);
  ASSERT_TRUE(wait_until([&] { return !engine_processes().empty(); }));
  pause_ms(100);
  kill(pid, SIGTERM);
  EXPECT_EQ(wait_for(pid), 130) << log();
}

TEST_F(ProcessTest, TwoRunnersShareTheWork) {
  const pid_t first = start(steady(), kSeeds);
  const pid_t second = start(steady(), kSeeds);
  EXPECT_EQ(wait_for(first), 0) << log();
  EXPECT_EQ(wait_for(second), 0) << log();
  expect_each_run_once(kRuns, kKillSteps);
  EXPECT_EQ(stored_runs().size(), kRuns);
  const auto names = [&](pid_t pid) { return log().find(" " + std::to_string(pid) + " ") != std::string::npos; };
  EXPECT_TRUE(names(first) || names(second)) << "one says for whom it waits: " << log();
  // Never two timed runs at once.
  std::vector<RunRecord> runs = stored_runs();
  for (std::size_t i = 1; i < runs.size(); ++i) EXPECT_GE(runs[i].started_at, *runs[i - 1].finished_at);
}

TEST_F(ProcessTest, OneOfTwoRunnersIsKilledAndTheOtherTakesOver) {
  const pid_t first = start(steady(20), kSeeds);
  ASSERT_TRUE(wait_until([&] { return !engine_processes().empty(); }));
  const pid_t second = start(steady(20), kSeeds);
  pause_ms(300);
  kill(first, SIGKILL);
  EXPECT_EQ(wait_for(first), -SIGKILL);
  EXPECT_EQ(wait_for(second), 0) << log();
  expect_each_run_once(kRuns, kKillSteps);
}

/// Every file of the runner ends at so many bytes, as on a full disk.
void limit_file_size(rlim_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(ProcessTest, AFullDiskStopsWithASentenceAndLosesNothing) {
  { results::Store store(file()); }
  const Json flood = {{"steps", kKillSteps}, {"fault", {{"kind", "flood"}, {"step", 4}, {"value", 20000}}}};
  const int code = wait_for(start(flood, kSeeds, [] { limit_file_size(300'000); }));
  EXPECT_EQ(code, 2) << log();
  EXPECT_NE(log().find(file().string()), std::string::npos) << log();
  EXPECT_TRUE(engine_processes().empty());
  EXPECT_EQ(wait_for(start(flood, kSeeds)), 0) << log();
  expect_each_run_once(kRuns, kKillSteps + 20000);
}

}  // namespace
}  // namespace nanobench::suites
