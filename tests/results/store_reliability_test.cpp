// What a store does when its file is taken away, was changed, or was made to do harm.
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "core/base/random.h"

#include "results/check.h"
#include "results/merge.h"
#include "results/sqlite.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

using core::ErrorCode;

class ReliabilityTest : public StoreTest {
 protected:
  /// The only rescued file in the folder.
  std::filesystem::path rescued() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().find(".rescued-") != std::string::npos) found.push_back(entry.path());
    }
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? std::filesystem::path() : found.front();
  }

  /// By its checksums; the runs of these tests have no samples.
  bool is_as_written() const {
    for (const StoreProblem& problem : check_store(file()).problems) {
      if (problem.rule == "totals" || problem.rule.ends_with("_checksum")) return false;
    }
    return true;
  }

  void expect_all_is_rescued(const core::Refused& refused) {
    EXPECT_REFUSED(refused, core::Reason::kMoved, rescued().string());
    EXPECT_TRUE(refused.names(rescued().string()) && refused.names(file().string())) << refused.message;
    EXPECT_TRUE(check_store(rescued()).is_fine());
    const Store store(rescued(), OpenMode::kReadOnly);
    EXPECT_EQ(store.samples(1, "train/loss").size(), 2U);
  }
};

TEST_F(ReliabilityTest, ARemovedStoreIsNoticedAndItsSamplesAreKept) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  store.add_samples(id, {{"train/loss", 0, 4.0}});
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file().string() + end);
  const core::Refused refused = refused_as(ErrorCode::kIncomplete, [&] {
    store.add_samples(id, {{"train/loss", 1, 3.5}});
  });
  expect_all_is_rescued(refused);
}

/// Its folder is gone too, and TMPDIR names none.
TEST_F(ReliabilityTest, WhereNothingCanBeRescuedTheReasonIsSaid) {
  const std::filesystem::path inner = folder_ / "inner";
  Store store(inner / "store.db");
  const std::int64_t id = claim(store, new_run());
  std::filesystem::remove_all(inner);
  const std::string before = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "";
  setenv("TMPDIR", (folder_ / "nowhere").c_str(), 1);
  const core::Refused refused = refused_as(ErrorCode::kIncomplete, [&] {
    store.add_samples(id, {{"train/loss", 0, 4.0}});
  });
  before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
  EXPECT_REFUSED(refused, core::Reason::kMoved, "");
}

TEST_F(ReliabilityTest, AReplacedStoreIsNoticedAndLeftAlone) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  store.add_samples(id, {{"train/loss", 0, 4.0}});
  { Store(folder_ / "other.db").set_expected_seconds(1, {}); }
  std::filesystem::rename(folder_ / "other.db", file());
  const core::Refused refused = refused_as(ErrorCode::kIncomplete, [&] {
    store.add_samples(id, {{"train/loss", 1, 3.5}});
  });
  expect_all_is_rescued(refused);
  EXPECT_FALSE(std::filesystem::exists(file().string() + "-wal")) << "it would be applied to the other store";
  EXPECT_TRUE(check_store(file()).is_fine());
  EXPECT_EQ(check_store(file()).runs, 0);
  refused_as(ErrorCode::kIncomplete, [&] { store.finish_run(id, completed()); });  // saved again, with the result
  EXPECT_TRUE(Store(rescued(), OpenMode::kReadOnly).run(id).is_completed());
}

TEST_F(ReliabilityTest, ARescuedStoreCanBeMerged) {
  {
    Store store(file());
    const std::int64_t id = claim(store, new_run());
    std::filesystem::remove(file());
    refused_as(ErrorCode::kIncomplete, [&] { store.finish_run(id, completed()); });
  }
  EXPECT_EQ(merge_store(folder_ / "new.db", rescued()).runs_added, 1);
}

/// A killed runner leaves its last transactions in the log, of which SQLite leaves out what follows a damaged frame.
class DamagedLog : public ReliabilityTest {
 protected:
  void SetUp() override {
    ReliabilityTest::SetUp();
    Store store(folder_ / "open.db");
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      NewRun run = new_run();
      run.seed = seed;
      run.digest += std::to_string(seed);
      store.add_samples(claim(store, run), {{"train/loss", 0, 4.0}});
    }
    bytes_ = read_bytes(folder_ / "open.db-wal");
    database_ = read_bytes(folder_ / "open.db");
  }

  static std::string read_bytes(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static constexpr std::size_t kHeader = 32, kFrame = 24 + 4096;

  /// Whether the check of a store with such a log finds the log damaged.
  bool is_found(const std::string& log) const {
    const std::filesystem::path copy = folder_ / "copy.db";
    std::filesystem::remove(copy.string() + "-shm");
    std::ofstream(copy, std::ios::binary) << database_;
    std::ofstream(copy.string() + "-wal", std::ios::binary) << log;
    for (const StoreProblem& problem : check_store(copy).problems) {
      if (problem.rule == "write_ahead_log") return true;
    }
    return false;
  }

  std::string bytes_, database_;
};

TEST_F(DamagedLog, AFlippedBitIsFound) {
  ASSERT_GT(bytes_.size(), kHeader + 10 * kFrame);
  ASSERT_EQ((bytes_.size() - kHeader) % kFrame, 0U);
  EXPECT_FALSE(is_found(bytes_));
  core::SplitMix64 random(11);
  for (int i = 0; i < 60; ++i) {
    std::string changed = bytes_;
    const std::size_t at = i < 10 ? random.below(kHeader) : random.below(bytes_.size() - kFrame);
    changed[at] = static_cast<char>(changed[at] ^ (1 << random.below(8)));
    EXPECT_TRUE(is_found(changed)) << "byte " << at;
  }
}

TEST_F(DamagedLog, WhatAKilledProcessWasWritingIsNoDamage) {
  for (const std::size_t cut : {std::size_t{1}, kFrame - 24, kFrame - 1, kFrame, 2 * kFrame})
    EXPECT_FALSE(is_found(bytes_.substr(0, bytes_.size() - cut))) << cut;
  EXPECT_FALSE(is_found(""));
  EXPECT_FALSE(is_found(bytes_.substr(0, 20)));
  std::string torn = bytes_;  // the last frame's header, before an older page
  torn.replace(torn.size() - 4096, 4096, std::string(4096, 'x'));
  EXPECT_FALSE(is_found(torn));
  std::string reused = bytes_;  // frames of an earlier use behind the last one
  reused += std::string(3 * kFrame, '\1');
  EXPECT_FALSE(is_found(reused));
}

TEST_F(ReliabilityTest, AChangedRunIsMeasuredAgain) {
  Store store(file());
  const std::int64_t first = claim(store, new_run());
  store.finish_run(first, completed());
  EXPECT_TRUE(std::holds_alternative<AlreadyDone>(store.claim_run(new_run(), this_process())));
  Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute("UPDATE runs SET final_val_loss = 1.0");
  const Claimed claimed = std::get<Claimed>(store.claim_run(new_run(), this_process()));
  EXPECT_EQ(claimed.damaged, std::vector<std::int64_t>{first});
  store.finish_run(claimed.run_id, completed());
  EXPECT_EQ(std::get<AlreadyDone>(store.claim_run(new_run(), this_process())).run.id, claimed.run_id);
}

TEST_F(ReliabilityTest, AChangedStoreIsNotMerged) {
  {
    Store store(file());
    store.finish_run(claim(store, new_run()), completed());
  }
  Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute("UPDATE runs SET final_val_loss = 1.0");
  EXPECT_REFUSED(refused_as(ErrorCode::kDataLoss, [&] { merge_store(folder_ / "new.db", file()); }),
                 core::Reason::kChanged, "run 1");
}

TEST_F(ReliabilityTest, AFinishedRunTakesNothingMore) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  store.finish_run(id, completed());
  EXPECT_REFUSED(refused_as(ErrorCode::kConflict,
                            [&] {
                              store.add_samples(id, {{"train/loss", 0, 4.0}});
                            }),
                 core::Reason::kEnded, std::to_string(id));
  EXPECT_REFUSED(refused_as(ErrorCode::kConflict,
                            [&] {
                              store.set_environment(id, {{"cpu", "x"}});
                            }),
                 core::Reason::kEnded, std::to_string(id));
  EXPECT_TRUE(is_as_written());
}

TEST_F(ReliabilityTest, AMigratedStoreIsSealedAsItIs) {
  make_store_of_schema_2(file());
  { Store store(file()); }
  EXPECT_TRUE(is_as_written());
  Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute("UPDATE runs SET seed = seed + 1 WHERE id = 1");
  EXPECT_FALSE(is_as_written());
}

TEST_F(ReliabilityTest, AnEndlessQueryEnds) {
  { Store store(file()); }
  Database database(file(), file().string(), SQLITE_OPEN_READONLY);
  const core::Refused refused = refused_as(ErrorCode::kDataLoss, [&] {
    database.integer_of("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  });
  EXPECT_REFUSED(refused, core::Reason::kEndless, file().string());
  EXPECT_EQ(database.integer_of("SELECT count(*) FROM runs"), 0);  // the next one has its own limit
}

TEST_F(ReliabilityTest, ALockedStoreNamesTheReason) {
  Store store(file());
  Database first(file(), file().string(), SQLITE_OPEN_READWRITE);
  Database second(file(), file().string(), SQLITE_OPEN_READWRITE);
  second.set_patience(std::chrono::milliseconds(1));
  first.execute("BEGIN IMMEDIATE");
  const core::Refused refused = refused_as(ErrorCode::kIo, [&] { Transaction transaction(second); });
  EXPECT_REFUSED(refused, core::Reason::kInUse, file().string());
  EXPECT_TRUE(refused.names(sqlite3_errstr(SQLITE_BUSY)) && !refused.names(sqlite3_errstr(SQLITE_OK)))
      << "SQLite's own words: " << refused.message;
}

TEST_F(ReliabilityTest, PlansWithoutReadableJsonAreRefused) {
  {
    Store store(file());
    store.ensure_plan({.digest = "d", .suite = "s"});
  }
  for (const std::string& cells : {std::string("[1e999]"), std::string("{"), std::string("[{}]"),
                                   std::string(100'000, '[') + std::string(100'000, ']')}) {
    SCOPED_TRACE(cells.substr(0, 10));
    {
      Database database(file(), file().string(), SQLITE_OPEN_READWRITE);
      Statement statement(database, "UPDATE plans SET cells = ?");
      statement.bind(cells);
      statement.execute();
    }
    EXPECT_REFUSED(refused_as(ErrorCode::kDataLoss, [&] { Store(file(), OpenMode::kReadOnly).newest_plan(); }),
                   core::Reason::kDamaged, "1");
    EXPECT_FALSE(check_store(file()).is_fine());
  }
}

}  // namespace
}  // namespace nanobench::results
