#include "results/check.h"

#include <array>
#include <fstream>
#include <random>
#include <set>

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
    fill_big_store(store, {.cells = 2, .seeds = 2, .steps = 20, .val_every = 5, .untimed_steps = 2}, "x");
    store.set_baseline("main", 1);
    store.note_use(1);
    const std::int64_t id = claim(store, new_run());
    store.finish_run(id, {.outcome = core::RunOutcome::kCrashed, .message = "x"},
                     {.messages = {{RunMessageKind::kNote, "one"}, {RunMessageKind::kWarning, "two"}}});
  }

  static std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
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
  EXPECT_EQ(check.runs, 5);
  EXPECT_EQ(check.plans, 1);
  EXPECT_GT(check.samples, 4 * 60);
  EXPECT_EQ(check.schema, kSchemaVersion);
}

TEST_F(CheckTest, SeesACompletedRunWithoutLoss) {
  EXPECT_EQ(broken_by("UPDATE runs SET final_val_loss = NULL WHERE id = 2"),
            (Rules{"final_loss", "last_validation", "run_checksum"}));
}

TEST_F(CheckTest, AMeasuredOperationHasNoLoss) {
  Store store(file());
  NewRun operation = new_run("operation");
  operation.config = R"({"operation": {"name": "attention"}})";
  store.finish_run(claim(store, operation), {.outcome = core::RunOutcome::kCompleted});
  for (const StoreProblem& problem : check_store(file()).problems) EXPECT_NE(problem.rule, "final_loss");
}

TEST_F(CheckTest, SeesMissingSteps) {
  EXPECT_EQ(broken_by("DELETE FROM samples WHERE run_id = 3 AND metric = 'train/loss' AND step = 7"),
            (Rules{"complete_steps", "run_checksum"}));
  EXPECT_EQ(check_store(file()).problems[0].where[0], "run 3: 19 of 20");
}

TEST_F(CheckTest, SeesAMissingClock) {
  EXPECT_EQ(broken_by("DELETE FROM samples WHERE run_id = 3 AND metric = 'train/clock_ms' AND step = 7"),
            (Rules{"timed_steps", "run_checksum", "summaries"}));
}

TEST_F(CheckTest, LeavesEnginesOfOtherMakersTheirSteps) {
  EXPECT_EQ(broken_by("UPDATE runs SET engine = 'other'; DELETE FROM samples WHERE step = 7"),
            (Rules{"run_checksum", "summaries"}));
}

TEST_F(CheckTest, SeesALineAnsweredByAnotherRun) {
  EXPECT_EQ(broken_by("UPDATE plan_lines SET run_id = 2 WHERE position = 0"), (Rules{"plan_lines", "answer_checksum"}));
}

TEST_F(CheckTest, SeesRowsThatPointToNothing) {
  EXPECT_EQ(broken_by("PRAGMA foreign_keys = OFF; INSERT INTO messages (run_id, kind, text) VALUES (99, 'note', 'x')"),
            Rules{"foreign_keys"});
}

TEST_F(CheckTest, SeesJsonThatCannotBeRead) {
  EXPECT_EQ(broken_by("UPDATE runs SET config = '{' WHERE id = 1"), (Rules{"run_json", "run_checksum"}));
  EXPECT_EQ(broken_by("UPDATE environments SET facts = '{\"a\": 1}'"),
            (Rules{"run_json", "environment_json", "run_checksum"}));
  EXPECT_EQ(broken_by("UPDATE plans SET cells = '{}'"),
            (Rules{"run_json", "environment_json", "plan_json", "run_checksum", "plan_checksum", "plan_digest"}));
}

TEST_F(CheckTest, SeesForeignTimesAndSuites) {
  EXPECT_EQ(broken_by("UPDATE baselines SET suite = 'other'"), (Rules{"baseline_suite", "baseline_checksum"}));
  EXPECT_EQ(broken_by("UPDATE runs SET started_at = 'yesterday' WHERE id = 1").at(1), "times");
}

TEST_F(CheckTest, SeesAnImpossibleTimeOfAPlansUse) {
  EXPECT_EQ(broken_by("UPDATE plan_uses SET used_at = 'tomorrow'"), (Rules{"times"}));
}

/// Another value of the same type.
std::string other_value(const std::string& type, const std::string& column) {
  if (type == "TEXT") return "ifnull(" + column + ", '') || 'x'";
  return "ifnull(" + column + ", 1) + 1";
}

TEST_F(CheckTest, SeesAChangeOfAnyValue) {
  const std::set<std::string> derived = {"plan_seconds", "run_summaries"};          // nothing measured
  const std::set<std::string> unread = {"messages.id", "environments.created_at"};  // differ between merged stores
  const std::string whole = bytes_of(file());
  std::vector<std::array<std::string, 3>> columns;
  {
    Database database(file(), file().string(), SQLITE_OPEN_READONLY);
    Statement statement(database,
                        "SELECT tables.name, columns.name, columns.type FROM sqlite_master AS tables, "
                        "pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'");
    while (statement.step()) columns.push_back({statement.text(0), statement.text(1), statement.text(2)});
  }
  EXPECT_GT(columns.size(), 70U);
  for (const auto& [table, column, type] : columns) {
    if (derived.contains(table) || unread.contains(table + "." + column)) continue;
    SCOPED_TRACE(table + "." + column);
    const std::string one = " WHERE " + column + " IS (SELECT max(" + column + ") FROM " + table + ")";
    const std::string value = column == "outcome"   ? "'diverged'"
                              : column == "kernels" ? "'reference'"
                                                    : other_value(type, column);
    EXPECT_FALSE(
        broken_by("PRAGMA foreign_keys = OFF; UPDATE " + table + " SET " + column + " = " + value + one).empty());
    std::ofstream(file(), std::ios::binary) << whole;
  }
}

TEST_F(CheckTest, SeesRowsThatVanished) {
  const std::string whole = bytes_of(file());
  for (const char* sql :
       {"DELETE FROM messages", "DELETE FROM run_facts WHERE run_id = 2", "DELETE FROM samples WHERE run_id = 2",
        "DELETE FROM baselines", "DELETE FROM plan_lines WHERE position = 1", "UPDATE plan_lines SET run_id = NULL",
        "UPDATE plan_lines SET run_id = NULL, checksum = NULL WHERE position = 1",
        "DELETE FROM totals WHERE kind = 'runs'",
        "UPDATE plan_lines SET run_id = NULL, checksum = NULL; DELETE FROM samples; DELETE FROM messages; DELETE FROM "
        "run_facts; DELETE FROM run_summaries; DELETE FROM runs"}) {
    SCOPED_TRACE(sql);
    EXPECT_FALSE(broken_by(sql).empty());
    std::ofstream(file(), std::ios::binary) << whole;
  }
}

/// Changes that were made by hand to a finished store in order to deceive a reader.
TEST_F(CheckTest, SeesWhatAForgerChanges) {
  const std::string whole = bytes_of(file());
  for (const char* sql : {"UPDATE runs SET final_val_loss = 1.0 WHERE id = 1",
                          "UPDATE samples SET value = 0.001 WHERE run_id = 1 AND metric = 'train/loss' AND step = 5",
                          "UPDATE samples SET value = 0.001 WHERE run_id = 1 AND metric = 'train/step_ms'",
                          "UPDATE runs SET train_ms = 1 WHERE id = 1",
                          "DELETE FROM samples WHERE run_id = 1 AND metric = 'train/loss' AND step = 7",
                          "DELETE FROM samples WHERE run_id = 1 AND metric = 'val/loss' AND step = 5",
                          "UPDATE samples SET value = NULL WHERE run_id = 1 AND metric = 'train/loss' AND step = 7",
                          "UPDATE runs SET config = json_set(config, '$.schedule.num_steps', 7) WHERE id = 1",
                          "UPDATE runs SET config_digest = '00' WHERE id = 1",
                          "UPDATE runs SET digest = 'x' WHERE id = 1",
                          "UPDATE runs SET cell = 'cell1' WHERE cell = 'cell0' AND id = 1",
                          "UPDATE runs SET started_at = '2099-01-01T00:00:00.000Z', finished_at = "
                          "'2099-01-02T00:00:00.000Z' WHERE id = 1",
                          "UPDATE runs SET started_at = '9999999-99-99T99:99:99Z' WHERE id = 1",
                          "UPDATE plan_lines SET run_id = 2 WHERE run_id = 1",
                          "UPDATE plans SET cells = replace(hex(zeroblob(100000)), '00', '[')",
                          "UPDATE plans SET contrasts = '[{\"a\":1}]'",
                          "UPDATE plans SET digest = 'zzz'",
                          "UPDATE environments SET facts = json_set(facts, '$.cpu', 'lie')",
                          "UPDATE runs SET steps = 5 WHERE id = 1",
                          "UPDATE runs SET final_val_loss = 9e999 WHERE id = 1",
                          "UPDATE runs SET position = 9223372036854775807",
                          "UPDATE runs SET cell = 'a' || char(0) || 'b' WHERE id = 1",
                          "UPDATE plans SET title = CAST(x'ff41' AS TEXT)",
                          "UPDATE plans SET title = printf('%.*c', 5000000, 'A')",
                          "UPDATE plans SET cells = replace(cells, '\"cell0\"', '1e999')"}) {
    SCOPED_TRACE(sql);
    EXPECT_FALSE(broken_by(sql).empty());
    EXPECT_NE(bytes_of(file()), whole) << "a change that changes nothing";
    std::ofstream(file(), std::ios::binary) << whole;
  }
}

TEST_F(CheckTest, SeesForeignTables) {
  const std::string whole = bytes_of(file());
  for (const char* sql :
       {"ALTER TABLE runs RENAME TO runs2; CREATE VIEW runs AS SELECT * FROM runs2",
        "CREATE VIEW mine AS SELECT * FROM runs", "DROP TABLE baselines", "DROP INDEX runs_by_plan",
        "CREATE TABLE mine (x TEXT)", "CREATE TRIGGER mine AFTER UPDATE ON runs BEGIN DELETE FROM samples; END"}) {
    SCOPED_TRACE(sql);
    EXPECT_EQ(broken_by(sql), Rules{"schema"});
    for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kReadOnly})
      refused_as(ErrorCode::kDataLoss, [&] { Store(file(), mode); });
    std::ofstream(file(), std::ios::binary) << whole;
  }
}

/// By whoever may write to the table of tables: constraints, collations and orders, which no list of SQLite shows.
TEST_F(CheckTest, SeesOtherDefinitions) {
  const std::string whole = bytes_of(file());
  for (const char* change : {"'REAL,', 'REAL CHECK (value < 1e6),'", "'TEXT NOT NULL', 'TEXT NOT NULL COLLATE NOCASE'",
                             "'KEY (run_id', 'KEY (run_id DESC'"}) {
    SCOPED_TRACE(change);
    {
      Database database(file(), file().string(), SQLITE_OPEN_READWRITE);
      sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
      database.execute("PRAGMA writable_schema = 1");
      database.execute(("UPDATE sqlite_master SET sql = replace(sql, " + std::string(change) +
                        ") WHERE type = 'table' AND name = 'samples'")
                           .c_str());
    }
    ASSERT_NE(bytes_of(file()), whole);
    refused_as(ErrorCode::kDataLoss, [&] { Store(file(), OpenMode::kReadOnly); });
    std::ofstream(file(), std::ios::binary) << whole;
  }
}

/// All that reports may read.
std::string dump(const std::filesystem::path& file) {
  Database database(file, file.string(), SQLITE_OPEN_READONLY);
  std::string text;
  for (const char* table :
       {"environments", "plans", "plan_lines", "runs", "samples", "messages", "run_facts", "baselines"}) {
    Statement rows(database, std::string("SELECT * FROM ") + table);
    while (rows.step()) {
      for (int i = 0; i < rows.columns(); ++i) text += rows.bytes(i) + "|";
    }
  }
  return text;
}

TEST_F(CheckTest, AFlippedByteThatChangesAReportIsSeen) {
  std::string bytes = bytes_of(file());
  const std::string before = dump(file());
  std::mt19937_64 random(1);
  int harmless = 0;
  for (int i = 0; i < 300; ++i) {
    const std::size_t at = random() % bytes.size();
    const char flip = static_cast<char>(1 << (random() % 8));
    bytes[at] = static_cast<char>(bytes[at] ^ flip);
    std::ofstream(file(), std::ios::binary) << bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ flip);
    try {
      if (!check_store(file()).is_fine()) continue;
    } catch (const core::Error& error) {  // no store of ours any more
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      continue;
    }
    ++harmless;
    EXPECT_EQ(dump(file()), before) << "byte " << at;
  }
  EXPECT_LT(harmless, 300);
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
  refused_as(ErrorCode::kNotFound, [&] { check_store(folder_ / "none.db"); });
  Database(folder_ / "foreign.db", (folder_ / "foreign.db").string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      .execute("CREATE TABLE recipes (name TEXT)");
  refused_as(ErrorCode::kConflict, [&] { check_store(folder_ / "foreign.db"); });
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
  const core::Refused refused = refused_as(ErrorCode::kConflict, [&] { store.vacuum(); });
  EXPECT_REFUSED(refused, core::Reason::kInUse, std::to_string(getpid()));
  EXPECT_TRUE(refused.names("record12") && refused.names(" 1)")) << refused.message;
}

}  // namespace
}  // namespace nanobench::results
