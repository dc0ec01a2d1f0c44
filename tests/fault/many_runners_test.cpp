// Many runners at once on one database, as processes of their own, some of them killed.
#include "results/metric.h"
#include "tests/fault/process_fixture.h"

namespace nanobench::suites {
namespace {

constexpr int kRunners = 32;
constexpr std::size_t kManyRunnersSteps = 100;

/// A suite of its own for each runner: a run that nobody else has. They share the machine: losses count, times do
/// not.
core::Json suite_of(int runner) {
  return {{"name", "suite" + std::to_string(runner)}, {"records", {"record12"}}, {"seeds", {runner + 1}}};
}

class ManyRunnersTest : public ProcessTest {
 protected:
  pid_t start_runner(int number) const {
    return start({{"steps", kManyRunnersSteps}, {"val_every", 50}, {"sleep_ms", 1}}, suite_of(number),
                 [] { setenv("NANOBENCH_TEST_SHARED_MACHINE", "1", 1); });
  }
};

TEST_F(ManyRunnersTest, ThirtyTwoOfThemLoseNothingThoughTenAreKilled) {
  std::vector<pid_t> runners;
  for (int i = 0; i < kRunners; ++i) runners.push_back(start_runner(i));
  std::vector<int> killed;
  for (int i = 1; i < 30; i += 3) {
    pause_ms(20);  // at different moments of their lives
    kill(runners[static_cast<std::size_t>(i)], SIGKILL);
    killed.push_back(i);
  }
  for (int i = 0; i < kRunners; ++i) {
    const int code = wait_for(runners[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(code == 0 || code == -SIGKILL) << "runner " << i << " ended with " << code << "\n" << log();
  }
  for (const int i : killed) EXPECT_EQ(wait_for(start_runner(i)), 0) << log();
  EXPECT_EQ(log().find("locked"), std::string::npos) << log();

  const results::Store store(file());
  const auto completed = store.runs({.outcome = core::RunOutcome::kCompleted});
  ASSERT_EQ(completed.size(), std::size_t{kRunners}) << log();
  std::set<std::string> digests;
  for (const results::RunRecord& run : completed) {
    EXPECT_TRUE(digests.insert(run.digest).second) << "twice: " << run.suite << " " << run.cell;
    EXPECT_EQ(store.samples(run.id, results::kTrainLoss).size(), kManyRunnersSteps);
    EXPECT_EQ(store.samples(run.id, results::kStepMs).size(), kManyRunnersSteps);
    EXPECT_EQ(store.samples(run.id, results::kValLoss).size(), kManyRunnersSteps / 50 + 1);
  }
  EXPECT_TRUE(store.runs({.is_running = true}).empty());
}

}  // namespace
}  // namespace nanobench::suites
