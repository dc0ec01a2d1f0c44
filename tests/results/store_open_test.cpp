// What Store accepts as a file, and what it says about the others.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

#include "big_store.h"
#include "results/merge.h"
#include "results/run_columns.h"
#include "results/schema.h"
#include "results/sqlite.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

using core::ErrorCode;

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void execute(const std::filesystem::path& file, const char* sql) {
  Database(file, file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).execute(sql);
}

TEST_F(StoreTest, MakesItsFolder) {
  const std::filesystem::path deep = folder_ / "a" / "b" / "store.db";
  Store store(deep);
  EXPECT_TRUE(std::filesystem::exists(deep));
}

/// Whether `action` succeeds in a process of its own, which file sizes beyond its limit do not kill.
bool works_in_a_process(const std::function<void()>& action) {
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    int code = 1;
    try {
      action();
      code = 0;
    } catch (const core::Error&) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Whether it succeeds where no file can be longer than nothing, as on a full disk.
bool works_on_a_full_disk(const std::function<void()>& action) {
  return works_in_a_process([&] {
    const rlimit limit = {0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    action();
  });
}

TEST_F(StoreTest, ALimitOfTheFilesSizeIsNamed) {
  { Store store(file()); }
  const auto is_named = [&] {
    const rlimit limit = {std::filesystem::file_size(file()), RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      Database database(file(), file().string(), SQLITE_OPEN_READWRITE);
      for (int i = 0; i < 1000; ++i)
        database.execute("INSERT INTO environments VALUES (NULL, randomblob(9) || '', hex(randomblob(4000)), 'now')");
    } catch (const core::Error& error) {
      if (core::reason_of(error) == core::Reason::kSizeLimit && core::subject_of(error) == file().string()) return;
    }
    throw core::Error(core::ErrorCode::kInternal, "the limit is not named");
  };
  EXPECT_TRUE(works_in_a_process(is_named));
}

TEST_F(StoreTest, APipeIsNoDatabase) {
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_REFUSED(refused_as(ErrorCode::kIo, [&] { Store(file(), OpenMode::kGlance); }), core::Reason::kNotAFile,
                 file().string());
}

/// SQLite would wait for ever for somebody to write into it.
TEST_F(StoreTest, APipeIsNoLogOfADatabase) {
  const std::filesystem::path linked = folder_ / "link.db";
  for (const bool exists : {false, true}) {
    if (exists) Store store(file());
    for (const char* end : {"-journal", "-wal", "-shm"}) {
      const std::string side = file().string() + end;
      ASSERT_EQ(mkfifo(side.c_str(), 0600), 0);
      EXPECT_REFUSED(refused_as(ErrorCode::kIo, [&] { Store store(file()); }), core::Reason::kNotAFile, side);
      if (exists) {
        const auto read = [&] { Store store(file(), OpenMode::kReadOnly); };
        EXPECT_REFUSED(refused_as(ErrorCode::kIo, read), core::Reason::kNotAFile, side);
      }
      std::filesystem::remove(side);
    }
  }
  std::filesystem::create_symlink(file(), linked);
  ASSERT_EQ(mkfifo((file().string() + "-journal").c_str(), 0600), 0);
  const auto read_by_link = [&] { Store store(linked, OpenMode::kReadOnly); };
  EXPECT_REFUSED(refused_as(ErrorCode::kIo, read_by_link), core::Reason::kNotAFile, file().string() + "-journal");
}

TEST_F(StoreTest, RefusesTextsThatAreNotUtf8) {
  const std::filesystem::path other = folder_ / "utf16.db";
  execute(other, ("PRAGMA encoding = 'UTF-16le'; " + std::string(schema().tables) + "; PRAGMA application_id = " +
                  std::to_string(kApplicationId) + "; PRAGMA user_version = " + std::to_string(kOldestSchema))
                     .c_str());
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kReadOnly}) {
    const auto open = [&] { Store store(other, mode); };
    EXPECT_REFUSED(refused_as(ErrorCode::kDataLoss, open), core::Reason::kOtherFormat, other.string());
  }
}

TEST_F(StoreTest, IsReadOnAFullDisk) {
  { claim(*std::make_unique<Store>(file()), new_run()); }
  ASSERT_FALSE(std::filesystem::exists(file().string() + "-shm"));
  EXPECT_TRUE(works_on_a_full_disk([&] { Store(file(), OpenMode::kReadOnly).run(1); }));
  EXPECT_TRUE(works_on_a_full_disk([&] { Store(file(), OpenMode::kGlance).run(1); }));
  EXPECT_FALSE(works_on_a_full_disk([&] { Store(file()).release_dead_runs(); })) << "the limit is there";
}

TEST_F(StoreTest, MarksItsFile) {
  { Store store(file()); }
  Database database(file(), file().string(), SQLITE_OPEN_READONLY);
  EXPECT_EQ(database.integer_of("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(database.integer_of("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(database.text_of("PRAGMA journal_mode"), "wal");
}

TEST_F(StoreTest, RefusesAFolder) {
  EXPECT_REFUSED(refused_as(ErrorCode::kIo, [&] { Store store(folder_); }), core::Reason::kNotAFile, folder_.string());
}

TEST_F(StoreTest, RefusesATextFileAndLeavesItAlone) {
  std::ofstream(file()) << "This is my diary, and not a database.\n";
  const std::string before = bytes_of(file());
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kReadOnly}) {
    const auto open = [&] { Store store(file(), mode); };
    EXPECT_REFUSED(refused_as(ErrorCode::kDataLoss, open), core::Reason::kOtherFormat, file().string());
  }
  EXPECT_EQ(bytes_of(file()), before);
}

TEST_F(StoreTest, RefusesTheDatabaseOfAnotherProgramAndLeavesItAlone) {
  execute(file(), "CREATE TABLE recipes (name TEXT)");
  const std::string before = bytes_of(file());
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kReadOnly}) {
    const auto open = [&] { Store store(file(), mode); };
    EXPECT_REFUSED(refused_as(ErrorCode::kConflict, open), core::Reason::kForeignOwner, file().string());
  }
  EXPECT_EQ(bytes_of(file()), before);
}

TEST_F(StoreTest, RefusesAnotherApplicationId) {
  execute(file(), "PRAGMA application_id = 12345");
  refused_as(ErrorCode::kConflict, [&] { Store store(file()); });
}

/// Its checksums stay those that it had.
TEST_F(StoreTest, AStoreOfSchema5IsContinued) {
  {
    Store store(file());
    fill_big_store(store, {.cells = 2, .seeds = 2, .steps = 20, .val_every = 5, .untimed_steps = 2});
  }
  for (const char* table : {"runs", "plans", "plan_lines"})
    execute(file(), (std::string("UPDATE ") + table + " SET checksum = '5' || substr(checksum, 2)").c_str());
  execute(file(), "DROP TABLE plan_uses; PRAGMA user_version = 5");
  EXPECT_REFUSED(refused_as(ErrorCode::kUnavailable, [&] { Store(file(), OpenMode::kReadOnly); }),
                 core::Reason::kOlderVersion, file().string());
  EXPECT_EQ(Store(file()).newest_plan_id(), 1);
  Database database(file(), file().string(), SQLITE_OPEN_READONLY);
  EXPECT_EQ(database.integer_of("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(database.integer_of("SELECT count(*) FROM runs WHERE checksum LIKE '5:%'"), 4);
  EXPECT_EQ(changed_place(file()), std::nullopt);
}

TEST_F(StoreTest, RefusesANewerSchema) {
  { Store store(file()); }
  execute(file(), ("PRAGMA user_version = " + std::to_string(kSchemaVersion + 1)).c_str());
  EXPECT_REFUSED(refused_as(ErrorCode::kUnavailable, [&] { Store store(file()); }), core::Reason::kNewerVersion,
                 file().string());
}

TEST_F(StoreTest, RefusesADamagedFile) {
  {
    Store store(file());
    claim(store, new_run());
  }
  {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(100);
    out << std::string(8000, '\xff');
  }
  refused_as(ErrorCode::kDataLoss, [&] {
    Store store(file());
    store.runs();
  });
}

TEST_F(StoreTest, RefusesATruncatedFile) {
  {
    Store store(file());
    claim(store, new_run());
  }
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) / 2);
  refused_as(ErrorCode::kDataLoss, [&] { Store store(file()); });
}

TEST_F(StoreTest, TakesAnEmptyFile) {
  std::ofstream(file()).flush();
  Store store(file());
  EXPECT_TRUE(store.runs().empty());
}

TEST_F(StoreTest, ReadingNeedsAFile) {
  refused_as(ErrorCode::kNotFound, [&] { Store store(file(), OpenMode::kReadOnly); });
  EXPECT_FALSE(std::filesystem::exists(file()));
}

/// The rest of the test as a user whom permissions stop. Root is stopped by none.
class AsNobody {
 public:
  AsNobody() : was_root_(geteuid() == 0) {
    if (was_root_ && seteuid(65534) != 0) std::abort();
  }
  ~AsNobody() {
    if (was_root_ && seteuid(0) != 0) std::abort();
  }

 private:
  bool was_root_;
};

TEST_F(StoreTest, RefusesAFolderThatCannotBeWritten) {
  chmod(folder_.c_str(), 0555);
  core::Refused refused;
  {
    const AsNobody nobody;
    refused = refused_as(ErrorCode::kIo, [&] { Store store(folder_ / "new.db"); });
    refused_as(ErrorCode::kIo, [&] { Store store(folder_ / "sub" / "new.db"); });
  }
  EXPECT_REFUSED(refused, core::Reason::kReadOnly, folder_.string());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new.db"));
  chmod(folder_.c_str(), 0755);
}

TEST_F(StoreTest, ReadsFromAFolderThatCannotBeWritten) {
  {
    Store store(file());
    claim(store, new_run());
  }
  chmod(file().c_str(), 0444);
  chmod(folder_.c_str(), 0555);
  {
    const AsNobody nobody;
    EXPECT_EQ(Store(file(), OpenMode::kReadOnly).runs().size(), 1u);
    refused_as(ErrorCode::kIo, [&] { Store store(file()); });
  }
  chmod(folder_.c_str(), 0755);
}

TEST_F(StoreTest, RefusesAFileThatCannotBeWritten) {
  { Store store(file()); }
  chmod(file().c_str(), 0444);
  chmod(folder_.c_str(), 0777);
  {
    const AsNobody nobody;
    refused_as(ErrorCode::kIo, [&] { Store store(file()); });
  }
}

TEST_F(StoreTest, MigratesStepByStepInOneTransaction) {
  const std::array steps = {Migration{"ALTER TABLE a ADD COLUMN y INTEGER"}};
  const Schema first{"CREATE TABLE a (x INTEGER)", kOldestSchema, {}};
  const Schema second{first.tables, kOldestSchema, steps};
  Database database(file(), file().string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  migrate(database, first);
  EXPECT_EQ(database.integer_of("PRAGMA user_version"), kOldestSchema);
  database.execute("INSERT INTO a VALUES (5)");
  migrate(database, second);
  EXPECT_EQ(database.integer_of("PRAGMA user_version"), kOldestSchema + 1);
  EXPECT_EQ(database.integer_of("SELECT x FROM a WHERE y IS NULL"), 5);
}

TEST_F(StoreTest, RefusesTheFirstSchemaWithOneSentence) {
  execute(file(), ("CREATE TABLE a (x INTEGER); PRAGMA user_version = 1; PRAGMA application_id = " +
                   std::to_string(kApplicationId))
                      .c_str());
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kReadOnly}) {
    const core::Refused refused = refused_as(ErrorCode::kUnavailable, [&] { Store store(file(), mode); });
    EXPECT_REFUSED(refused, core::Reason::kOlderVersion, file().string());
    EXPECT_TRUE(refused.names(" 1,")) << refused.message;
  }
}

TEST_F(StoreTest, EveryColumnIsDocumentedAndEveryColumnOfARunIsRead) {
  { Store store(file()); }
  const std::string text = bytes_of(std::string(NANOBENCH_SOURCE_DIR) + "/results/SCHEMA.md");
  Database database(file(), file().string(), SQLITE_OPEN_READONLY);
  std::string of_runs;
  Statement columns(database,
                    "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS "
                    "columns WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'");
  while (columns.step()) {
    const std::string name = columns.text(1);
    const bool is_owners = name.starts_with("owner_") && text.find("`owner_*`") != std::string::npos;
    const bool is_number = name == "id" || name == "text";
    EXPECT_TRUE(text.find("`" + name + "`") != std::string::npos || is_owners || is_number)
        << columns.text(0) << "." << name;
    if (columns.text(0) != "runs" || name == "checksum") continue;
    EXPECT_NE((", " + run_columns() + ",").find(" " + name + ","), std::string::npos) << name;
  }
}

TEST_F(StoreTest, AFailingMigrationChangesNothing) {
  const std::array steps = {Migration{"CREATE TABLE b (x INTEGER)"}, Migration{"CREATE TABLE a (x INTEGER)"}};
  const Schema first{"CREATE TABLE a (x INTEGER)", kOldestSchema, {}};
  Database database(file(), file().string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  migrate(database, first);
  EXPECT_THROW(migrate(database, {first.tables, kOldestSchema, steps}), core::Error);
  EXPECT_EQ(database.integer_of("PRAGMA user_version"), kOldestSchema);
  EXPECT_EQ(database.integer_of("SELECT count(*) FROM sqlite_master"), 1);
}

TEST_F(StoreTest, SaysWhenTheDiskIsFullAndKeepsWhatWasStored) {
  { Store store(file()); }
  Database database(file(), file().string(), SQLITE_OPEN_READWRITE);
  database.execute("INSERT INTO environments VALUES (1, 'd', 'facts', 'now')");
  const std::string limit = "PRAGMA max_page_count = " + std::to_string(database.integer_of("PRAGMA page_count"));
  Statement(database, limit).execute();
  const core::Refused refused = refused_as(ErrorCode::kIo, [&] {
    Transaction transaction(database);
    for (int i = 0; i < 100; ++i)
      database.execute("INSERT INTO environments VALUES (NULL, randomblob(9) || '', hex(randomblob(4000)), 'now')");
  });
  EXPECT_REFUSED(refused, core::Reason::kDiskFull, file().string());
  EXPECT_EQ(database.integer_of("SELECT count(*) FROM environments"), 1);
}

TEST(StoreFile, IsChosenByOptionThenVariableThenDefault) {
  unsetenv("NANOBENCH_DB");
  EXPECT_EQ(default_store_file(std::nullopt, "/src"), "/src/results/nanobench.db");
  setenv("NANOBENCH_DB", "/var/x.db", 1);
  EXPECT_EQ(default_store_file(std::nullopt, "/src"), "/var/x.db");
  EXPECT_EQ(default_store_file("/opt/y.db", "/src"), "/opt/y.db");
  unsetenv("NANOBENCH_DB");
}

}  // namespace
}  // namespace nanobench::results
