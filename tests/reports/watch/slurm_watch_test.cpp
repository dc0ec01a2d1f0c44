#include "reports/watch/slurm_watch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/atomic_write.h"
#include "results/provenance.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::reports {
namespace {

namespace fs = std::filesystem;

/// A plan of two runs that were handed over; the clock of who looks on is at 1000 s after this moment.
class SlurmWatchTest : public testing::Test {
 protected:
  SlurmWatchTest() {
    plan_.id = 7;
    plan_.digest = std::string(64, 'd');
    plan_.suite = "history";
    plan_.created_at = "2026-01-01T00:00:00.000Z";
    for (std::int64_t i = 0; i < 2; ++i) {
      plan_.lines.push_back({i, "record12", static_cast<std::uint64_t>(i), "line", std::nullopt});
      lines_.push_back(
          {.position = i, .cell = "record12", .seed = static_cast<std::uint64_t>(i), .run = {}, .disturbance = {}});
    }
    submission_.make();
    suites::SlurmState state{
        .plan_digest = plan_.digest, .plan_made_at = plan_.created_at, .is_fresh = false, .submissions = {}};
    state.submissions = {
        {.number = 1, .name = "nanobench-0a-1", .job_id = "12", .is_abandoned = false, .tasks = {{0}, {1}}}};
    suites::write_whole(submission_.plan().state_file(), suites::to_json(state).dump());
  }

  fs::path database() const { return folder_.path() / "results.db"; }
  static double moment_s() { return *results::seconds_since_epoch("2026-01-01T01:00:00.000Z"); }

  /// The first run begins, by a clock that may be wrong.
  void begin(const std::string& started_at) const {
    suites::write_whole(submission_.started(0), "12 nano1\n");
    suites::write_whole(submission_.progress(0),
                        suites::to_line(suites::ProgressHead{.host = "nano1", .started_at = started_at, .steps = 100}));
  }
  void tell(double at_s, std::int64_t step) const {
    std::ofstream(submission_.progress(0), std::ios::app) << suites::to_line(
        suites::ProgressLine{.at_s = at_s, .step = step, .loss = 4.0, .step_ms = 500, .val_losses = {}});
  }

  const core::TemporaryFolder folder_{"slurm-watch"};
  const suites::SubmissionFolder submission_{suites::exchange_folder(folder_.path() / "results.db") /
                                             suites::plan_folder_name("history", std::string(64, 'd')) / "submit-1"};
  results::PlanRecord plan_;
  std::vector<WatchedLine> lines_;
};

TEST_F(SlurmWatchTest, QueuedThenRunningThenNothing) {
  SlurmWatch watch(database(), plan_);
  const auto queued = watch.look(lines_, moment_s());
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->states, (std::vector<LineState>{LineState::kQueued, LineState::kQueued}));
  EXPECT_EQ(state_of_slurm(*queued, false), RunnerState::kQueued);
  suites::write_whole(submission_.started(0), "12 nano1\n");
  const auto begun = watch.look(lines_, moment_s());
  ASSERT_EQ(begun->runs.size(), 1U) << "a node that has said nothing yet";
  EXPECT_EQ(begun->runs[0].host, "");
  EXPECT_EQ(state_of_slurm(*begun, false), RunnerState::kRunning);
  begin("2026-01-01T01:00:00.000Z");
  tell(10, 20);
  const auto running = watch.look(lines_, moment_s() + 10);
  ASSERT_EQ(running->runs.size(), 1U);
  EXPECT_EQ(running->runs[0].host, "nano1");
  EXPECT_EQ(running->runs[0].step, 20);
  EXPECT_EQ(running->runs[0].step_ms, 500);
  EXPECT_EQ(running->runs[0].total_steps, 100);
  EXPECT_EQ(running->runs[0].remaining_s, 40);
  EXPECT_EQ(running->states, (std::vector<LineState>{LineState::kRunning, LineState::kQueued}));
  fs::remove_all(submission_.plan().path());
  EXPECT_FALSE(watch.look(lines_, moment_s() + 11));
}

TEST_F(SlurmWatchTest, ANodesClockMattersAtTheFirstLookAlone) {
  for (const char* clock :
       {"2026-01-01T00:00:00.000Z", "2026-01-01T02:00:00.000Z", "2200-01-01T00:00:00.000Z", "no time"}) {
    begin(clock);
    tell(10, 20);
    SlurmWatch watch(database(), plan_);
    const WatchedRun first = watch.look(lines_, moment_s() + 10)->runs.at(0);
    EXPECT_GE(first.silent_s.value_or(0), 0.0) << clock;
    EXPECT_EQ(first.elapsed_s, 10) << "by the node's own steady clock";
    tell(12, 24);
    EXPECT_EQ(watch.look(lines_, moment_s() + 12)->runs.at(0).silent_s, 0.0) << clock;
    const WatchedRun later = watch.look(lines_, moment_s() + 15)->runs.at(0);
    EXPECT_EQ(later.silent_s, 3.0) << clock;
    EXPECT_EQ(later.elapsed_s, 15) << clock;
    EXPECT_EQ(watch.look(lines_, moment_s())->runs.at(0).silent_s, 0.0) << "our own clock was set back";
  }
}

TEST_F(SlurmWatchTest, ASilentNodeIsTakenForGone) {
  begin("2026-01-01T01:00:00.000Z");
  tell(10, 20);
  suites::write_whole(submission_.result(1), "no database");
  SlurmWatch watch(database(), plan_);
  watch.look(lines_, moment_s() + 10);
  tell(12, 24);
  EXPECT_EQ(state_of_slurm(*watch.look(lines_, moment_s() + 12), false), RunnerState::kRunning);
  const auto view = watch.look(lines_, moment_s() + 12 + kLongNodeSilence);
  EXPECT_EQ(state_of_slurm(*view, false), RunnerState::kSilent);
  EXPECT_EQ(view->slurm.uncollected, 0) << "a result that cannot be read is its collector's affair";
}

}  // namespace
}  // namespace nanobench::reports
