// What the store's queries cost on a large file: each must find its rows by an index.
#include <sqlite3.h>

#include <cmath>
#include <map>
#include <set>

#include "big_store.h"
#include "results/sqlite.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

/// The statements that any connection of this process runs while it lives.
class StatementWatch {
 public:
  StatementWatch() {
    texts().clear();
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(attach));
  }
  ~StatementWatch() { sqlite3_reset_auto_extension(); }
  StatementWatch(const StatementWatch&) = delete;
  StatementWatch& operator=(const StatementWatch&) = delete;

  static std::set<std::string>& texts() {
    static std::set<std::string> set;
    return set;
  }

 private:
  static int attach(sqlite3* database, char**, const void*) {
    return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, note, nullptr);
  }
  static int note(unsigned, void*, void* statement, void*) {
    texts().insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
    return 0;
  }
};

std::string plan_of(Database& database, const std::string& sql) {
  Statement statement(database, "EXPLAIN QUERY PLAN " + sql);
  std::string plan;
  while (statement.step()) plan += statement.text(3) + "\n";
  return plan;
}

bool is_about_rows(const std::string& sql) {
  return sql.starts_with("SELECT") || sql.starts_with("UPDATE") || sql.starts_with("INSERT");
}

/// Every method of Store once, on a store with rows of every kind.
void use_everything(const std::filesystem::path& file) {
  Store store(file);
  const std::int64_t plan_id = fill_big_store(store, {.cells = 3, .seeds = 2, .steps = 20, .val_every = 5});
  const std::int64_t running = std::get<Claimed>(store.claim_run(big_store_run(9, 9), this_process(), true)).run_id;
  store.claim_run(big_store_run(9, 9), this_process(), false, true);
  store.claim_run(big_store_run(0, 0), this_process());
  store.release_dead_runs();
  store.add_batch(running, big_store_batch({.steps = 60}, 9, 9));
  store.add_batch(running, {{}, {{RunMessageKind::kNote, "x"}}, {{"a", "b"}}});
  store.set_environment(running, {{"a", "b"}});
  store.complete_summaries();
  store.set_baseline("main", plan_id);
  store.find_baseline("main");
  store.find_plan("big");
  store.newest_plan();
  store.newest_plan("big");
  store.plan(plan_id);
  store.find_evidence("big/cell0/0");
  store.run(1);
  store.runs({.ids = {1, 2}});
  store.runs({.suite = "big"});
  store.runs({.suite = "big", .cell = "cell1", .limit = 3});
  store.runs({.digest = "x"});
  store.runs({.plan_id = plan_id});
  store.runs({.is_running = true});
  store.samples(1, kTrainLoss);
  store.metrics(1);
  store.summary(1);
  store.messages(1);
  store.environment(1);
  store.run_facts(1);
  store.running();
  store.newest_plan_id();
  store.newest_plan_id("big");
  store.answers(plan_id);
  store.glance(1);
  store.samples_after(1, kTrainLoss, 5);
  store.newest_plan_names(5);
  store.newest_run_names(5);
}

TEST_F(StoreTest, EveryQueryFindsItsRowsByAnIndex) {
  std::set<std::string> texts;
  {
    const StatementWatch watch;
    use_everything(file());
    texts = StatementWatch::texts();
  }
  Database database(file(), file().string(), SQLITE_OPEN_READONLY);
  // Which runs are running is asked of an index that holds these alone; summaries are completed run by run, once.
  const std::set<std::string> allowed = {"SCAN runs USING INDEX runs_running"};
  int seen = 0;
  for (const std::string& sql : texts) {
    if (!is_about_rows(sql) || sql.find("sqlite_master") != std::string::npos) continue;
    ++seen;
    const std::string plan = plan_of(database, sql);
    for (const char* table : {"runs", "samples", "plan_lines", "messages", "run_facts", "run_summaries", "plans"}) {
      const std::size_t at = plan.find("SCAN " + std::string(table));
      if (at == std::string::npos) continue;
      const std::string line = plan.substr(at, plan.find('\n', at) - at);
      // LIMIT 1: ends at its first row.
      const bool is_ordered_walk = line.starts_with("SCAN plans USING") && line.ends_with("INDEX plans_by_time");
      // The newest rows by their key: ends at the limit.
      const bool is_newest = line == "SCAN " + std::string(table) && sql.ends_with("ORDER BY id DESC LIMIT ?");
      EXPECT_TRUE(allowed.contains(line) || is_ordered_walk || is_newest) << sql << "\n" << plan;
    }
  }
  EXPECT_GE(seen, 25) << "the watch misses statements";
}

TEST_F(StoreTest, NamesAreThoseOfTheNewestRows) {
  Store store(file());
  const std::int64_t plan_id = fill_big_store(store, {.cells = 2, .seeds = 2, .steps = 11, .untimed_steps = 0});
  const std::vector<RunName> runs = store.newest_run_names(3);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].id, 4);
  EXPECT_EQ(runs[2].id, 2);
  const RunRecord newest = store.run(4);
  EXPECT_EQ(runs[0].suite, newest.suite);
  EXPECT_EQ(runs[0].cell, newest.cell);
  EXPECT_EQ(runs[0].seed, newest.seed);
  const std::vector<PlanName> plans = store.newest_plan_names(3);
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].id, plan_id);
  EXPECT_EQ(plans[0].suite, "big");
  EXPECT_EQ(plans[0].created_at, store.plan(plan_id).created_at);
}

TEST_F(StoreTest, AGlanceTellsWhatADisplayNeeds) {
  Store store(file());
  const std::int64_t plan_id = fill_big_store(store, {.cells = 2, .seeds = 1, .steps = 11, .untimed_steps = 0});
  NewRun next = big_store_run(7, 7);
  next.plan_id = plan_id;
  const std::int64_t running = claim(store, next);
  const Store reader(file(), OpenMode::kGlance);
  const std::optional<RunGlance> done = reader.glance(1);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->digest, "big/cell0/0");
  EXPECT_EQ(done->plan_id, plan_id);
  EXPECT_TRUE(done->is_evidence());
  EXPECT_EQ(done->final_val_loss, store.run(1).result->final_val_loss);
  EXPECT_EQ(done->median_step_ms, store.summary(1).median_step_ms);
  EXPECT_EQ(done->mean_step_ms, store.run(1).result->mean_step_ms());
  EXPECT_TRUE(done->mean_step_ms.has_value());
  EXPECT_EQ(reader.glance(running)->outcome, std::nullopt);
  EXPECT_EQ(reader.glance(running)->owner.pid, this_process().pid);
  EXPECT_EQ(reader.glance(999), std::nullopt);
  ASSERT_EQ(reader.running().size(), 1u);
  EXPECT_EQ(reader.running()[0].id, running);
  EXPECT_FALSE(reader.running()[0].is_owner_gone);
  EXPECT_EQ(reader.answers(plan_id).size(), 2u);
  EXPECT_EQ(reader.answers(plan_id)[1].run_id, 2);
  EXPECT_EQ(reader.newest_plan_id(), plan_id);
  EXPECT_EQ(reader.newest_plan_id("other"), std::nullopt);
  const std::vector<Sample> late = reader.samples_after(1, kTrainLoss, 8);
  ASSERT_EQ(late.size(), 2u);
  EXPECT_EQ(late[0].step, 9);
}

TEST_F(StoreTest, TheCheckOfPlansSeesAFullScan) {
  { Store store(file()); }
  Database database(file(), file().string(), SQLITE_OPEN_READONLY);
  EXPECT_NE(plan_of(database, "SELECT id FROM runs WHERE message = 'x'").find("SCAN runs"), std::string::npos);
}

TEST_F(StoreTest, SummariesAreTheMediansOverTimedSteps) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  // Steps 0 and 1 are not timed; of the others 7, 1, 5, 3 the middle is 4. Not finite values do not count.
  RunBatch batch;
  batch.samples[kStepMs] = {{0, 100}, {1, 100}, {2, 7}, {3, 1}, {4, 5}, {5, 3}, {6, std::nan("")}};
  batch.samples[kClockMs] = {{2, 7}, {3, 8}, {4, 13}, {5, 16}, {6, 16}};
  store.finish_run(id, completed(), batch);
  EXPECT_EQ(store.summary(id).median_step_ms, 4.0);
  EXPECT_EQ(store.summary(id).timed_samples, 4);
  const std::int64_t bare = claim(store, new_run("bare"));
  store.finish_run(bare, completed());
  EXPECT_EQ(store.summary(bare).median_step_ms, std::nullopt);
}

TEST_F(StoreTest, SummariesOfOlderVersionsAreMadeWhenAskedFor) {
  {
    Store store(file());
    fill_big_store(store, {.cells = 2, .seeds = 2, .steps = 11, .val_every = 5, .untimed_steps = 0});
  }
  const auto count = [&] {
    return Database(file(), file().string(), SQLITE_OPEN_READONLY).integer_of("SELECT count(*) FROM run_summaries");
  };
  const RunSummary known = Store(file(), OpenMode::kReadOnly).summary(2);
  ASSERT_EQ(known.timed_samples, 11);
  Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute("DELETE FROM run_summaries");
  EXPECT_EQ(Store(file(), OpenMode::kReadOnly).summary(2).median_step_ms, known.median_step_ms);
  EXPECT_EQ(count(), 0) << "a reader writes nothing";
  EXPECT_EQ(Store(file()).summary(2).median_step_ms, known.median_step_ms);
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(Store(file()).complete_summaries(), 3);
  EXPECT_EQ(count(), 4);
}

}  // namespace
}  // namespace nanobench::results
