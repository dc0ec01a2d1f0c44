#include "reports/watch/plan_watcher.h"

#include <algorithm>

#include "core/base/error.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "reports/watch/watch_state.h"
#include "results/metric.h"
#include "results/sqlite.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

using core::ErrorCode;
using core::RunOutcome;
using results::NewPlan;
using results::NewRun;
using results::Owner;
using results::Store;

/// A plan of two cells with two seeds, and runs as a runner would make them.
class PlanWatcherTest : public results::StoreTest {
 protected:
  static NewPlan plan_of(const std::string& digest, const std::string& suite = "history") {
    NewPlan plan;
    plan.digest = digest;
    plan.suite = suite;
    plan.scale = "nano";
    plan.data_name = "synthetic";
    plan.argv = {"nanobench", "run", "my suite.json"};
    for (const char* cell : {"record12", "record13"}) plan.cells.push_back({.label = cell});
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::string cell = i % 2 == 0 ? "record12" : "record13";
      plan.lines.push_back({i, cell, static_cast<std::uint64_t>(i / 2 + 1), line_digest(digest, i), std::nullopt});
    }
    return plan;
  }

  static std::string line_digest(const std::string& plan, std::int64_t position) {
    return plan + "/" + std::to_string(position);
  }

  /// The running row of a line.
  static std::int64_t begin(Store& store, std::int64_t plan_id, std::int64_t position,
                            const Owner& owner = results::this_process()) {
    const results::PlanRecord plan = store.plan(plan_id);
    const results::PlanLine& line = plan.lines[static_cast<std::size_t>(position)];
    NewRun run = new_run(line.digest, line.cell, line.seed);
    run.suite = plan.suite;
    run.config = R"({"run": {"stop_after": 10}})";
    run.plan_id = plan_id;
    run.position = position;
    return std::get<results::Claimed>(store.claim_run(run, owner)).run_id;
  }

  static void end(Store& store, std::int64_t run_id, RunOutcome outcome = RunOutcome::kCompleted, double loss = 3.25) {
    results::RunResult result = completed(loss);
    result.outcome = outcome;
    if (outcome != RunOutcome::kCompleted) result.message = "why";
    store.finish_run(run_id, result);
  }

  static Owner dead_process() {
    Owner owner = results::this_process();
    owner.pid_started += 1;  // the number was given to another process since
    return owner;
  }

  static Owner remote_process() {
    Owner owner = results::this_process();
    owner.host = "far away";
    owner.boot_id = "another boot";
    return owner;
  }

  WatchState look(const WatchSelection& selection = {}, double later_s = 0) const {
    PlanWatcher watcher(file(), selection);
    return watcher.read(now_s() + later_s);
  }

  static double now_s() { return *results::seconds_since_epoch(results::utc_now()); }
};

TEST_F(PlanWatcherTest, NoStoreAndNoPlanAreNotFound) {
  const std::string no_store = message_of(ErrorCode::kNotFound, [&] { look(); });
  EXPECT_NE(no_store.find(file().string()), std::string::npos) << no_store;
  EXPECT_FALSE(std::filesystem::exists(file())) << "a reader makes nothing";
  Store store(file());
  const std::string no_plan = message_of(ErrorCode::kNotFound, [&] { look(); });
  EXPECT_NE(no_plan.find(file().string()), std::string::npos) << no_plan;
  EXPECT_NE(no_plan, no_store) << "each has its own reason";
  const std::int64_t id = store.ensure_plan(plan_of("p"));
  EXPECT_NE(message_of(ErrorCode::kNotFound, [&] { look({.suite = "other"}); }).find("other"), std::string::npos);
  EXPECT_NE(message_of(ErrorCode::kNotFound, [&] { look({.plan_id = 99}); }).find("99"), std::string::npos);
  EXPECT_NE(message_of(ErrorCode::kInvalidArgument, [&] { look({.suite = "other", .plan_id = id}); }).find("history"),
            std::string::npos);
  EXPECT_EQ(look().runner.state, RunnerState::kNotBegun);
}

/// Two runs of ten steps are in progress, two are to come; 10 s and 30 s are expected of them.
TEST_F(PlanWatcherTest, TurnsAddUpAndRunsAtOnceShareTheRest) {
  Store store(file());
  const std::int64_t plan = store.ensure_plan(plan_of("p"));
  store.set_expected_seconds(plan, {{"record12", 10.0}, {"record13", 30.0}});
  const std::int64_t first = begin(store, plan, 0), second = begin(store, plan, 1);
  EXPECT_NEAR(*look().remaining_s, 80.0, 0.1);
  for (const std::int64_t id : {first, second}) {
    std::vector<results::NewSample> half;
    for (std::int64_t step = 0; step < 5; ++step) half.push_back({results::kTrainLoss, step, 5.0});
    store.add_samples(id, half);
  }
  const WatchState state = look();
  EXPECT_DOUBLE_EQ(*state.remaining_s, 0.5 * (10.0 + 30.0) + 40.0) << "half of both, and the others";
  for (const std::int64_t id : {first, second}) store.add_batch(id, {.facts = {{results::kJobProcessors, "0"}}});
  EXPECT_DOUBLE_EQ(*look().remaining_s, 30.0) << "two at a time";
}

TEST_F(PlanWatcherTest, ARunningRunIsFollowed) {
  Store store(file());
  const std::int64_t plan = store.ensure_plan(plan_of("p"));
  end(store, begin(store, plan, 0), RunOutcome::kCompleted, 3.5);
  const std::int64_t id = begin(store, plan, 1);
  PlanWatcher watcher(file(), {});
  const WatchState before = watcher.read(now_s());
  EXPECT_EQ(before.run->step, 0);
  EXPECT_EQ(before.run->remaining_s, std::nullopt) << "no pace without steps";
  store.add_samples(id, {{results::kTrainLoss, 0, 5.0},
                         {results::kTrainLoss, 1, 4.0},
                         {results::kValLoss, 0, 5.5},
                         {results::kStepMs, 0, 10.0},
                         {results::kStepMs, 1, 20.0}});
  const WatchState state = watcher.read(now_s() + 1);
  EXPECT_EQ(state.runner.state, RunnerState::kRunning);
  EXPECT_EQ(state.run->id, id);
  EXPECT_EQ(state.run->cell, "record13");
  EXPECT_EQ(state.run->step, 2);
  EXPECT_EQ(state.run->total_steps, 10);
  EXPECT_EQ(state.run->step_ms, 15.0);
  ASSERT_EQ(state.run->train_losses.size(), 2u);
  EXPECT_EQ(state.run->val_losses.size(), 1u);
  EXPECT_EQ(state.lines.trained, 1);
  EXPECT_EQ(state.lines.running, 1);
  EXPECT_EQ(state.lines.to_do, 2);
  EXPECT_EQ(state.cells[0].val_loss.mean, 3.5);
  EXPECT_EQ(state.cells[1].state, CellState::kRunning);
  EXPECT_TRUE(state.remaining_s.has_value());
  EXPECT_TRUE(state.machine.has_value());
  store.add_samples(id, {{results::kTrainLoss, 2, 3.0}, {results::kStepMs, 2, 30.0}});
  const WatchState next = watcher.read(now_s() + 2);
  EXPECT_EQ(next.run->step, 3);
  ASSERT_EQ(next.run->train_losses.size(), 3u) << "what was read is kept, what is new is added";
  EXPECT_EQ(next.run->train_losses.back().value, 3.0);
}

TEST_F(PlanWatcherTest, AProcessThatIsGoneIsSaidAndHowToContinue) {
  Store store(file());
  const std::int64_t plan = store.ensure_plan(plan_of("p"));
  end(store, begin(store, plan, 0));
  begin(store, plan, 1, dead_process());
  const WatchState state = look({}, 180);
  EXPECT_EQ(state.runner.state, RunnerState::kGone);
  EXPECT_EQ(state.lines.running, 0);
  EXPECT_EQ(state.lines.to_do, 3);
  EXPECT_EQ(state.remaining_s, std::nullopt) << "nobody works on it";
  EXPECT_FALSE(state.machine) << "the machine is not the runner's any more";
  EXPECT_NEAR(*state.runner.silent_s, 180.0, 2.0) << "since it was last seen";
  EXPECT_EQ(state.runner.command, "nanobench run 'my suite.json'") << "continues it";
}

TEST_F(PlanWatcherTest, AProcessOutOfSightIsJudgedByItsHeartbeat) {
  Store store(file());
  const std::int64_t plan = store.ensure_plan(plan_of("p"));
  begin(store, plan, 0, remote_process());
  const WatchState state = look();
  EXPECT_EQ(state.runner.state, RunnerState::kRunning);
  EXPECT_FALSE(state.machine) << "another machine's load is not known here";
  results::Database(file(), file().string(), SQLITE_OPEN_READWRITE)
      .execute("UPDATE runs SET heartbeat_at = '2020-01-01T00:00:00.000Z'");
  EXPECT_EQ(look().runner.state, RunnerState::kSilent);
  EXPECT_EQ(look().runner.owner->host, "far away");
}

TEST_F(PlanWatcherTest, EndedStoppedAndBetweenAreToldApart) {
  Store store(file());
  const std::int64_t plan = store.ensure_plan(plan_of("p"));
  end(store, begin(store, plan, 0));
  EXPECT_EQ(look().runner.state, RunnerState::kBetween) << "its process, this one, lives";
  end(store, begin(store, plan, 1, dead_process()), RunOutcome::kInterrupted);
  EXPECT_EQ(look().runner.state, RunnerState::kStopped);
  for (std::int64_t position = 1; position < 4; ++position)
    end(store, begin(store, plan, position), position == 3 ? RunOutcome::kCrashed : RunOutcome::kCompleted);
  const WatchState state = look();
  EXPECT_TRUE(state.has_ended());
  EXPECT_EQ(state.lines.failed, 1);
  EXPECT_EQ(state.lines.trained, 3);
  ASSERT_EQ(state.warnings.size(), 1u);
  EXPECT_EQ(state.warnings[0], (WatchWarning{.kind = WatchWarning::Kind::kEnded,
                                             .run_id = state.warnings[0].run_id,
                                             .cell = "record13",
                                             .seed = 2,
                                             .outcome = RunOutcome::kCrashed,
                                             .message = "why"}));
  EXPECT_NE(state.warnings[0].run_id, 0);
}

TEST_F(PlanWatcherTest, RunsOfOtherPlansAreReusedBeforeTheRunnerComesToThem) {
  Store store(file());
  const std::int64_t first = store.ensure_plan(plan_of("p"));
  for (std::int64_t position = 0; position < 3; ++position) end(store, begin(store, first, position));
  const std::int64_t second = store.ensure_plan(plan_of("p"), true);
  EXPECT_EQ(look({.plan_id = second}).lines.reused, 3);
  EXPECT_EQ(look({.plan_id = second}).lines.to_do, 1);
  EXPECT_EQ(look({.plan_id = second}).cells[0].val_loss.n, 2) << "their figures are those that the plan will have";
  NewPlan fresh = plan_of("p");
  fresh.argv.push_back("--fresh");
  const std::int64_t third = store.ensure_plan(fresh, true);
  EXPECT_EQ(look({.plan_id = third}).lines.to_do, 4);
}

TEST_F(PlanWatcherTest, TheRunningPlanComesBeforeTheNewest) {
  Store store(file());
  const std::int64_t old = store.ensure_plan(plan_of("old"));
  const std::int64_t newest = store.ensure_plan(plan_of("new", "sweep"));
  PlanWatcher watcher(file(), {});
  EXPECT_EQ(watcher.read(now_s()).plan_id, newest);
  const std::int64_t run = begin(store, old, 0);
  EXPECT_EQ(watcher.read(now_s()).plan_id, old);
  EXPECT_EQ(look({.suite = "sweep"}).plan_id, newest);
  EXPECT_EQ(look({.suite = "sweep"}).runner.other_plan, old);
  end(store, run);
  EXPECT_EQ(watcher.read(now_s()).plan_id, old) << "the process lives, between two of its runs";
  begin(store, newest, 0);
  EXPECT_EQ(watcher.read(now_s()).plan_id, old) << "plans that run in turn do not take turns here";
  EXPECT_EQ(watcher.read(now_s()).runner.other_plan, newest);
}

TEST_F(PlanWatcherTest, AReplacedFileIsReadAnew) {
  {
    Store store(file());
    end(store, begin(store, store.ensure_plan(plan_of("p")), 0), RunOutcome::kCompleted, 3.0);
  }
  PlanWatcher watcher(file(), {});
  EXPECT_EQ(watcher.read(now_s()).cells[0].val_loss.mean, 3.0);
  const std::filesystem::path other = folder_ / "other.db";
  {
    Store store(other);
    end(store, begin(store, store.ensure_plan(plan_of("p")), 0), RunOutcome::kCompleted, 4.0);
  }
  std::filesystem::rename(other, file());
  EXPECT_EQ(watcher.read(now_s()).cells[0].val_loss.mean, 4.0) << "the same numbers, other runs";
}

TEST_F(PlanWatcherTest, AWriterIsNotInTheWayNorDelayed) {
  Store store(file());
  const std::int64_t id = begin(store, store.ensure_plan(plan_of("p")), 0);
  results::Database writer(file(), file().string(), SQLITE_OPEN_READWRITE);
  results::Transaction transaction(writer);  // holds the write lock
  writer.execute("UPDATE runs SET message = 'half'");
  EXPECT_EQ(look().run->id, id);
  EXPECT_NO_THROW(transaction.commit());
}

TEST_F(PlanWatcherTest, TheDocumentHasWhatMachinesNeed) {
  Store store(file());
  const std::int64_t plan = store.ensure_plan(plan_of("p"));
  end(store, begin(store, plan, 0), RunOutcome::kCompleted, 3.5);
  begin(store, plan, 1);
  const core::OrderedJson json = to_json(watch_report(look()));
  EXPECT_EQ(json.at("kind"), "watch");
  EXPECT_EQ(json.at("facts").at("state"), "running");
  EXPECT_EQ(json.at("facts").at("trained"), 1);
  EXPECT_EQ(json.at("facts").at("run_steps"), 10);
  EXPECT_EQ(json.at("facts").at("run_train_loss"), nullptr) << "not known yet is null, not 0";
  EXPECT_EQ(json.at("tables").at("cells").at(0).at("val_loss").at("mean"), 3.5);
  EXPECT_EQ(json.at("tables").at("cells").at(0).at("val_loss").at("sd"), nullptr);
}

}  // namespace
}  // namespace nanobench::reports
