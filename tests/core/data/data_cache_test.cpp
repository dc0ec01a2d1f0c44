#include "core/data/data_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>

#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::names_in;
using testing::TestFolder;
using testing::write_bytes;

TEST(DataCache, MakesASyntheticDataSetOnce) {
  const TestFolder folder;
  const DataSet first = ensure_synthetic({}, 5000, 2000, folder / "cache");
  const auto written = std::filesystem::last_write_time(first.train[0]);
  const DataSet second = ensure_synthetic({}, 5000, 2000, folder / "cache");
  EXPECT_EQ(first.train, second.train);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(std::filesystem::last_write_time(second.train[0]), written);
  EXPECT_EQ(names_in(folder / "cache").size(), 1u);
  CorpusConfig other;
  other.seed = 2;
  EXPECT_NE(ensure_synthetic(other, 5000, 2000, folder / "cache").digest, first.digest);
  EXPECT_NE(ensure_synthetic({}, 5001, 2000, folder / "cache").digest, first.digest);
  EXPECT_EQ(names_in(folder / "cache").size(), 3u);
}

TEST(DataCache, TextIsFoundByContentNotByPlace) {
  const TestFolder folder;
  std::filesystem::create_directories(folder / "elsewhere");
  write_bytes(folder / "t.txt", std::string(3000, 'x'));
  write_bytes(folder / "elsewhere/t.txt", std::string(3000, 'x'));
  const auto ensure = [&](const char* file, DocumentRule rule) {
    return ensure_text({folder / file}, rule, 0.1, folder / "cache");
  };
  const DataSet first = ensure("t.txt", DocumentRule::kAutomatic);
  EXPECT_EQ(ensure("elsewhere/t.txt", DocumentRule::kAutomatic).train, first.train);
  EXPECT_NE(ensure("t.txt", DocumentRule::kFile).train, first.train);
  write_bytes(folder / "t.txt", std::string(3000, 'y'));
  EXPECT_NE(ensure("t.txt", DocumentRule::kAutomatic).digest, first.digest);
}

TEST(DataCache, MissingTextIsReportedAndNothingIsMade) {
  const TestFolder folder;
  const Refused refused = testing::error_of(ErrorCode::kNotFound, [&] {
    ensure_text({folder / "none.txt"}, DocumentRule::kAutomatic, 0.1, folder / "cache");
  });
  EXPECT_REFUSED(refused, Reason::kMissingFile, (folder / "none.txt").string());
  EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
}

TEST(DataCache, DamagedEntryIsMadeAgain) {
  const TestFolder folder;
  const DataSet first = ensure_synthetic({}, 5000, 2000, folder / "cache");
  write_bytes(first.val[0], "garbage");
  EXPECT_EQ(ensure_synthetic({}, 5000, 2000, folder / "cache").digest, first.digest);
  write_bytes(first.val[0].parent_path() / "meta.json", "{}");
  EXPECT_EQ(ensure_synthetic({}, 5000, 2000, folder / "cache").digest, first.digest);
  EXPECT_EQ(names_in(folder / "cache").size(), 1u);
}

TEST(DataCache, ManyProcessesAtOnceShareOneEntry) {
  const TestFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    int code = 1;
    try {
      code = ensure_synthetic({}, 20000, 5000, folder / "cache").train_tokens == 20000 ? 0 : 2;
    } catch (...) {
    }
    ::_exit(code);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(names_in(folder / "cache").size(), 1u);
}

TEST(DataCache, OldLeftoversOfKilledProcessesAreRemoved) {
  const TestFolder folder;
  ensure_synthetic({}, 5000, 2000, folder / "cache");
  for (const char* name : {".abc.tmp-1-0", ".abc.tmp-2-0"})
    std::filesystem::create_directory(folder / ("cache/" + std::string(name)));
  std::filesystem::last_write_time(folder / "cache/.abc.tmp-1-0",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(48));
  ensure_synthetic({}, 5001, 2000, folder / "cache");
  const auto names = names_in(folder / "cache");
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(names[0], ".abc.tmp-2-0");
}

}  // namespace
}  // namespace nanobench::core
