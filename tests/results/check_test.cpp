#include "results/check.h"

#include <fstream>

#include "big_store.h"
#include "results/sqlite.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

using core::ErrorCode;

class CheckTest : public StoreTest {
 protected:
  CheckTest() {
    Store store(file());
    fill_big_store(store, {.cells = 2, .seeds = 2, .steps = 20, .val_every = 5, .untimed_steps = 2});
    store.set_environment(1, {{"cpu", "x"}});
    store.set_baseline("main", 1);
  }

  /// The rules that are broken after this SQL.
  std::vector<std::string> broken_by(const std::string& sql) {
    Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute(sql.c_str());
    std::vector<std::string> rules;
    for (const StoreProblem& problem : check_store(file()).problems) {
      rules.push_back(problem.rule);
      EXPECT_GT(problem.count, 0);
      EXPECT_FALSE(problem.where.empty());
    }
    return rules;
  }
  using Rules = std::vector<std::string>;
};

TEST_F(CheckTest, AWholeStoreIsFine) {
  const StoreCheck check = check_store(file());
  EXPECT_TRUE(check.is_fine());
  EXPECT_EQ(check.runs, 4);
  EXPECT_EQ(check.plans, 1);
  EXPECT_GT(check.samples, 4 * 60);
  EXPECT_EQ(check.schema, kSchemaVersion);
}

TEST_F(CheckTest, SeesACompletedRunWithoutLoss) {
  EXPECT_EQ(broken_by("UPDATE runs SET final_val_loss = NULL WHERE id = 2"), (Rules{"final_loss", "last_validation"}));
}

TEST_F(CheckTest, SeesMissingSteps) {
  EXPECT_EQ(broken_by("DELETE FROM samples WHERE run_id = 3 AND metric = 'train/loss' AND step = 7"),
            Rules{"complete_steps"});
  EXPECT_EQ(check_store(file()).problems[0].where[0], "run 3: 19 of 20");
}

TEST_F(CheckTest, SeesAMissingClock) {
  EXPECT_EQ(broken_by("DELETE FROM samples WHERE run_id = 3 AND metric = 'train/clock_ms' AND step = 7"),
            Rules{"timed_steps"});
}

TEST_F(CheckTest, LeavesEnginesOfOtherMakersTheirSteps) {
  EXPECT_EQ(broken_by("UPDATE runs SET engine = 'other'; DELETE FROM samples WHERE step = 7"), Rules{});
}

TEST_F(CheckTest, SeesALineAnsweredByAnotherRun) {
  EXPECT_EQ(broken_by("UPDATE plan_lines SET run_id = 2 WHERE position = 0"), Rules{"plan_lines"});
}

TEST_F(CheckTest, SeesRowsThatPointToNothing) {
  EXPECT_EQ(broken_by("PRAGMA foreign_keys = OFF; INSERT INTO messages (run_id, kind, text) VALUES (99, 'note', 'x')"),
            Rules{"foreign_keys"});
}

TEST_F(CheckTest, SeesJsonThatCannotBeRead) {
  EXPECT_EQ(broken_by("UPDATE runs SET config = '{' WHERE id = 1"), Rules{"run_json"});
  EXPECT_EQ(broken_by("UPDATE environments SET facts = '{\"a\": 1}'"), (Rules{"run_json", "environment_json"}));
  EXPECT_EQ(broken_by("UPDATE plans SET cells = '{}'"), (Rules{"run_json", "environment_json", "plan_json"}));
}

TEST_F(CheckTest, SeesForeignTimesAndSuites) {
  EXPECT_EQ(broken_by("UPDATE runs SET started_at = 'yesterday' WHERE id = 1"), Rules{"times"});
  EXPECT_EQ(broken_by("UPDATE baselines SET suite = 'other'"), (Rules{"baseline_suite", "times"}));
}

TEST_F(CheckTest, SeesDamagedPages) {
  Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute("PRAGMA wal_checkpoint(TRUNCATE)");
  {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file()) / 2));
    out << std::string(9000, '\x5a');
  }
  const StoreCheck check = check_store(file());
  ASSERT_EQ(check.problems.size(), 1u);
  EXPECT_EQ(check.problems[0].rule, "integrity");
}

TEST_F(CheckTest, RefusesWhatIsNotOurs) {
  message_of(ErrorCode::kNotFound, [&] { check_store(folder_ / "none.db"); });
  Database(folder_ / "foreign.db", (folder_ / "foreign.db").string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      .execute("CREATE TABLE recipes (name TEXT)");
  message_of(ErrorCode::kConflict, [&] { check_store(folder_ / "foreign.db"); });
}

TEST_F(CheckTest, VacuumGivesSpaceBackAndLosesNothing) {
  Database(file(), file().string(), SQLITE_OPEN_READWRITE)
      .execute(
          "CREATE TABLE ballast (x TEXT); INSERT INTO ballast VALUES (hex(zeroblob(1000000))); DROP TABLE ballast; "
          "DELETE FROM run_summaries");
  Store store(file());
  const std::vector<RunRecord> before = store.runs();
  const VacuumResult result = store.vacuum();
  EXPECT_LT(result.bytes_after + 1'500'000, result.bytes_before);
  EXPECT_EQ(result.summaries_made, 4);
  EXPECT_EQ(store.runs().size(), before.size());
  EXPECT_TRUE(check_store(file()).is_fine());
}

TEST_F(CheckTest, VacuumRefusesBesideALivingRunner) {
  Store store(file());
  claim(store, new_run());
  const std::string message = message_of(ErrorCode::kConflict, [&] { store.vacuum(); });
  EXPECT_NE(message.find("is running record12 (seed 1)"), std::string::npos) << message;
}

}  // namespace
}  // namespace nanobench::results
