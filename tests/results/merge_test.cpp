#include "results/merge.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "big_store.h"
#include "results/check.h"
#include "results/identity.h"
#include "results/sqlite.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

using core::ErrorCode;

constexpr BigStore kSmall = {.cells = 3, .seeds = 2, .steps = 20, .val_every = 5, .untimed_steps = 2};

class MergeTest : public StoreTest {
 protected:
  std::filesystem::path into() const { return folder_ / "into.db"; }
  std::filesystem::path from() const { return folder_ / "from.db"; }

  static void execute(const std::filesystem::path& file, const std::string& sql) {
    Database(file, file.string(), SQLITE_OPEN_READWRITE).execute(sql.c_str());
  }
  static std::int64_t count(const std::filesystem::path& file, const std::string& sql) {
    return Database(file, file.string(), SQLITE_OPEN_READONLY).integer_of(sql.c_str());
  }

  /// What a merge leaves that is killed when wait() returns is whole.
  void kill_merge_after(const std::function<void()>& wait) const {
    const pid_t pid = fork();
    if (pid == 0) {
      merge_store(into(), from());
      _exit(0);
    }
    wait();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    if (!std::filesystem::exists(into())) return;
    Store(into()).runs();
    const StoreCheck check = check_store(into());
    EXPECT_TRUE(check.is_fine()) << (check.problems.empty() ? "" : check.problems[0].rule);
  }

  /// Returns when a merge has stored so many runs.
  void wait_for_runs(std::int64_t runs) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < end) {
      try {
        if (count(into(), "SELECT count(*) FROM runs") >= runs) return;
      } catch (const core::Error&) {  // there is no file or no table yet
        std::this_thread::yield();
      }
    }
    ADD_FAILURE() << "it never had " << runs << " runs";
  }

  /// Everything of a run but its numbers.
  static void expect_same_run(const Store& a, std::int64_t in_a, const Store& b, std::int64_t in_b) {
    const RunRecord one = a.run(in_a);
    const RunRecord two = b.run(in_b);
    EXPECT_EQ(one.digest, two.digest);
    EXPECT_EQ(one.config, two.config);
    EXPECT_EQ(one.started_at, two.started_at);
    EXPECT_EQ(one.finished_at, two.finished_at);
    EXPECT_EQ(one.owner.pid, two.owner.pid);
    ASSERT_EQ(a.metrics(in_a), b.metrics(in_b));
    for (const std::string& metric : a.metrics(in_a)) {
      const std::vector<Sample> there = a.samples(in_a, metric);
      const std::vector<Sample> here = b.samples(in_b, metric);
      ASSERT_EQ(there.size(), here.size());
      for (std::size_t i = 0; i < there.size(); ++i) EXPECT_EQ(there[i].value, here[i].value);
    }
    EXPECT_EQ(a.run_facts(in_a), b.run_facts(in_b));
    EXPECT_EQ(a.messages(in_a).size(), b.messages(in_b).size());
    EXPECT_EQ(a.summary(in_a).median_step_ms, b.summary(in_b).median_step_ms);
  }
};

/// A run of another suite first, so that numbers differ; then the small store with messages and an environment.
void fill(const std::filesystem::path& file, bool has_own_run, const std::string& host = "") {
  Store store(file);
  Owner owner = this_process();
  if (!host.empty()) owner.host = host;
  if (has_own_run) {
    NewPlan plan;
    plan.suite = "own";
    plan.digest = plan_digest(plan);
    store.set_baseline("main", store.ensure_plan(plan));
    const std::int64_t id = std::get<Claimed>(store.claim_run(big_store_run(8, 8), this_process())).run_id;
    store.set_environment(id, {{"cpu", "ours"}});
    store.finish_run(id, {.outcome = core::RunOutcome::kCrashed, .message = "x"});
    return;
  }
  const std::int64_t plan_id = fill_big_store(store, kSmall, "theirs", owner);
  store.set_baseline("main", plan_id);
}

TEST_F(MergeTest, TakesEverythingUnderNewNumbers) {
  fill(into(), true);
  fill(from(), false);
  const MergeResult result = merge_store(into(), from());
  EXPECT_EQ(result.runs_added, kSmall.runs());
  EXPECT_EQ(result.runs_known, 0);
  EXPECT_EQ(result.plans_added, 1);
  EXPECT_EQ(result.samples_added, count(from(), "SELECT count(*) FROM samples"));
  const Store ours(into(), OpenMode::kReadOnly);
  const Store theirs(from(), OpenMode::kReadOnly);
  ASSERT_EQ(ours.runs().size(), static_cast<std::size_t>(kSmall.runs()) + 1);
  for (const RunRecord& run : theirs.runs()) {
    const std::vector<RunRecord> found = ours.runs({.digest = run.digest});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_NE(found[0].id, run.id);
    expect_same_run(theirs, run.id, ours, found[0].id);
  }
  const PlanRecord plan = *ours.newest_plan("big");
  ASSERT_EQ(plan.lines.size(), static_cast<std::size_t>(kSmall.runs()));
  for (const PlanLine& line : plan.lines) {
    ASSERT_TRUE(line.run_id.has_value());
    EXPECT_EQ(ours.run(*line.run_id).digest, line.digest);
    EXPECT_EQ(ours.run(*line.run_id).plan_id, plan.id);
  }
  const auto environment = ours.run(ours.runs({.digest = theirs.run(1).digest})[0].id).environment_id;
  ASSERT_TRUE(environment.has_value());
  EXPECT_EQ(ours.environment(*environment)->facts.at("cpu"), "theirs");
  EXPECT_TRUE(check_store(into()).is_fine());
}

TEST_F(MergeTest, ExpectationsComeAlongWithTheirPlan) {
  fill(into(), true);
  fill(from(), false);
  const std::map<std::string, double> seconds = {{"cell0", 2.5}, {"cell1", 3.0}};
  std::string digest;
  {
    Store theirs(from());
    const PlanRecord plan = *theirs.newest_plan();
    theirs.set_expected_seconds(plan.id, {{"cell0", 1.0}});
    theirs.set_expected_seconds(plan.id, seconds);
    EXPECT_EQ(theirs.expected_seconds(plan.id), seconds) << "the later one counts";
    digest = plan.digest;
  }
  merge_store(into(), from());
  const Store ours(into(), OpenMode::kReadOnly);
  EXPECT_EQ(ours.expected_seconds(ours.find_plan(digest)->id), seconds);
}

TEST_F(MergeTest, TwiceAddsNothing) {
  fill(into(), true);
  fill(from(), false);
  merge_store(into(), from());
  const std::vector<std::string> tables = {"runs",     "samples",   "plans",     "plan_lines",
                                           "messages", "run_facts", "baselines", "environments"};
  std::vector<std::int64_t> before;
  for (const std::string& table : tables) before.push_back(count(into(), "SELECT count(*) FROM " + table));
  const MergeResult again = merge_store(into(), from());
  EXPECT_EQ(again.runs_added + again.plans_added + again.samples_added + again.baselines_added, 0);
  EXPECT_EQ(again.runs_known, kSmall.runs());
  for (std::size_t i = 0; i < tables.size(); ++i)
    EXPECT_EQ(count(into(), "SELECT count(*) FROM " + tables[i]), before[i]) << tables[i];
}

TEST_F(MergeTest, ABaselineOfATakenNameIsKeptUnderTheOtherMachines) {
  fill(into(), true);
  fill(from(), false, "box");
  const MergeResult result = merge_store(into(), from());
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_NE(result.messages[0].find("main@box"), std::string::npos) << result.messages[0];
  const Store ours(into(), OpenMode::kReadOnly);
  EXPECT_EQ(ours.find_baseline("main")->suite, "own");
  ASSERT_TRUE(ours.find_baseline("main@box").has_value());
  EXPECT_EQ(ours.plan(ours.find_baseline("main@box")->plan_id).suite, "big");
}

TEST_F(MergeTest, RunningRowsStayBehindAndAreSaid) {
  fill(from(), false);
  {
    Store store(from());
    store.claim_run(big_store_run(9, 9), this_process());
  }
  const MergeResult result = merge_store(into(), from());
  EXPECT_EQ(result.runs_running, 1);
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.messages[0].rfind("1 ", 0), 0U) << result.messages[0];
  EXPECT_NE(result.messages[0].find(from().string()), std::string::npos) << result.messages[0];
  EXPECT_EQ(count(into(), "SELECT count(*) FROM runs WHERE outcome IS NULL"), 0);
}

TEST_F(MergeTest, APlanThatIsAnsweredLaterIsCompletedByTheNextMerge) {
  {
    Store store(from());
    store.ensure_plan(big_store_plan(kSmall));
  }
  EXPECT_EQ(merge_store(into(), from()).plans_added, 1);
  fill(from(), false);
  const MergeResult result = merge_store(into(), from());
  EXPECT_EQ(result.plans_known, 1);
  EXPECT_EQ(count(into(), "SELECT count(*) FROM plans"), 1);
  EXPECT_EQ(count(into(), "SELECT count(*) FROM plan_lines WHERE run_id IS NULL"), 0);
}

TEST_F(MergeTest, ALineWhoseRunHadFailedIsAnsweredByTheRunThatTookItsPlace) {
  const auto run_first_line = [&](core::RunOutcome outcome) {
    Store store(from());
    NewRun run = big_store_run(0, 0);
    run.plan_id = store.ensure_plan(big_store_plan(kSmall));
    run.position = 0;
    const std::int64_t id = std::get<Claimed>(store.claim_run(run, this_process())).run_id;
    store.finish_run(id, {.outcome = outcome, .message = "x"});
  };
  const auto outcome_of_line = [&] {
    merge_store(into(), from());
    return Database(into(), into().string(), SQLITE_OPEN_READONLY)
        .text_of(
            "SELECT runs.outcome FROM plan_lines JOIN runs ON runs.id = plan_lines.run_id WHERE plan_lines.position = "
            "0");
  };
  run_first_line(core::RunOutcome::kCrashed);
  EXPECT_EQ(outcome_of_line(), "crashed");
  const std::filesystem::path older = folder_ / "older.db";
  std::filesystem::copy_file(from(), older);
  run_first_line(core::RunOutcome::kInterrupted);
  EXPECT_EQ(outcome_of_line(), "interrupted") << "the newer of two that are no evidence";
  run_first_line(core::RunOutcome::kCompleted);
  EXPECT_EQ(outcome_of_line(), "completed");
  merge_store(into(), older);
  EXPECT_EQ(outcome_of_line(), "completed") << "a source that stayed behind takes no evidence away";
}

TEST_F(MergeTest, GivesTheRunsOfAnOlderFileTheIdentitiesOfToday) {
  make_store_of_schema_2(from());
  EXPECT_EQ(merge_store(into(), from()).runs_added, 7);
  EXPECT_EQ(count(from(), "PRAGMA user_version"), 2) << "the other file is only read";
  const Store store(into());
  for (const RunRecord& run : store.runs()) {
    if (run.engine == "mock") continue;
    EXPECT_EQ(run.digest, run_digest(run)) << run.id;
  }
  EXPECT_EQ(merge_store(into(), from()).runs_added, 0) << "the same runs again";
}

TEST_F(MergeTest, TheLaterUseOfAPlanCounts) {
  const auto ask = [](const std::filesystem::path& file, const char* digest) {
    NewPlan plan;
    plan.digest = digest;
    plan.suite = "history";
    Store(file).ensure_plan(plan);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  for (const char* digest : {"a", "b"}) ask(from(), digest);
  merge_store(into(), from());
  EXPECT_EQ(Store(into()).newest_plan()->digest, "b");
  ask(from(), "a");
  merge_store(into(), from());
  EXPECT_EQ(Store(into()).newest_plan()->digest, "a");
  ask(into(), "b");
  merge_store(into(), from());
  EXPECT_EQ(Store(into()).newest_plan()->digest, "b") << "that the other store used a is older";
  EXPECT_EQ(count(into(), "SELECT count(*) FROM plans"), 2);
}

TEST_F(MergeTest, RefusesWhatItCannotTakeWhole) {
  fill(into(), true);
  EXPECT_REFUSED(refused_as(ErrorCode::kNotFound, [&] { merge_store(into(), from()); }), core::Reason::kMissingFile,
                 from().string());
  EXPECT_REFUSED(refused_as(ErrorCode::kInvalidArgument, [&] { merge_store(into(), into()); }), core::Reason::kSameFile,
                 into().string());
  std::ofstream(folder_ / "text.db") << "This is a letter, and not a database at all.\n";
  EXPECT_REFUSED(refused_as(ErrorCode::kDataLoss, [&] { merge_store(into(), folder_ / "text.db"); }),
                 core::Reason::kOtherFormat, (folder_ / "text.db").string());
  Database(folder_ / "foreign.db", (folder_ / "foreign.db").string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      .execute("CREATE TABLE recipes (name TEXT)");
  EXPECT_REFUSED(refused_as(ErrorCode::kConflict, [&] { merge_store(into(), folder_ / "foreign.db"); }),
                 core::Reason::kForeignOwner, (folder_ / "foreign.db").string());
  fill(from(), false);
  execute(from(), "PRAGMA user_version = 99");
  EXPECT_REFUSED(refused_as(ErrorCode::kUnavailable, [&] { merge_store(into(), from()); }), core::Reason::kNewerVersion,
                 from().string());
  execute(from(), "PRAGMA user_version = " + std::to_string(kSchemaVersion));
  execute(from(), "PRAGMA foreign_keys = OFF; INSERT INTO messages (run_id, kind, text) VALUES (999, 'note', 'x')");
  EXPECT_REFUSED(refused_as(ErrorCode::kDataLoss, [&] { merge_store(into(), from()); }), core::Reason::kDangling,
                 from().string());
  EXPECT_EQ(count(into(), "SELECT count(*) FROM runs"), 1);
  EXPECT_EQ(count(into(), "SELECT count(*) FROM plans"), 1);
}

TEST_F(MergeTest, RefusesADamagedFileAndNamesIt) {
  fill(into(), true);
  fill(from(), false);
  execute(from(), "PRAGMA wal_checkpoint(TRUNCATE)");
  {
    std::fstream out(from(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(std::filesystem::file_size(from()) / 2));
    out << std::string(9000, '\x5a');
  }
  const core::Refused refused = refused_as(ErrorCode::kDataLoss, [&] { merge_store(into(), from()); });
  EXPECT_REFUSED(refused, core::Reason::kDamaged, from().string());
  EXPECT_TRUE(refused.names(from().string())) << refused.message;
  EXPECT_EQ(count(into(), "SELECT count(*) FROM runs"), 1);
}

TEST_F(MergeTest, KilledAtAnyMomentItLeavesAWholeFileAndContinues) {
  {
    Store store(from());
    fill_big_store(store, {.cells = 10, .seeds = 10, .steps = 60, .val_every = 20});
  }
  for (int round = 0; round < 5; ++round) {
    kill_merge_after([&] { std::this_thread::sleep_for(std::chrono::milliseconds(4 + 9 * round)); });
  }
  merge_store(into(), from());
  EXPECT_EQ(count(into(), "SELECT count(*) FROM runs"), 100);
  EXPECT_EQ(count(into(), "SELECT count(*) FROM samples"), count(from(), "SELECT count(*) FROM samples"));
  EXPECT_EQ(count(into(), "SELECT count(*) FROM plan_lines WHERE run_id IS NULL"), 0);
}

TEST_F(MergeTest, KilledBetweenTwoTransactionsItLeavesNoRunWithoutItsLine) {
  {
    Store store(from());
    fill_big_store(store, {.cells = 20, .seeds = 10, .steps = 60, .val_every = 20});
  }
  int parts = 0;
  for (int round = 0; round < 8; ++round) {
    for (const char* const suffix : {"", "-wal", "-shm"}) std::filesystem::remove(into().string() + suffix);
    kill_merge_after([&] { wait_for_runs(1 + 32 * (round % 4)); });
    parts += count(into(), "SELECT count(*) FROM runs") < 200;
  }
  EXPECT_GT(parts, 0) << "it was killed half-way";
}

}  // namespace
}  // namespace nanobench::results
