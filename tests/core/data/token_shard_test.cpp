#include "core/data/token_shard.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <fstream>

#include <csignal>
#include <numeric>
#include <random>

#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;
using testing::names_in;
using testing::read_bytes;
using testing::TestFolder;
using testing::write_bytes;

using Names = std::vector<std::string>;
using Paths = std::vector<std::filesystem::path>;

std::vector<std::uint16_t> counting(std::size_t count) {
  std::vector<std::uint16_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
  return tokens;
}

std::string shard_bytes(std::int32_t magic, std::int32_t version, std::int32_t count, std::size_t held) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return std::string(reinterpret_cast<const char*>(header.data()), 1024) + std::string(held * 2, 'x');
}

TEST(TokenShard, ReadsBackWhatWasWritten) {
  const TestFolder folder;
  write_token_shard(folder / "a.bin", counting(1000));
  EXPECT_EQ(std::filesystem::file_size(folder / "a.bin"), 1024u + 2000u);
  const TokenShard shard(folder / "a.bin");
  EXPECT_EQ(shard.size(), 1000);
  EXPECT_EQ(shard.path(), folder / "a.bin");
  EXPECT_TRUE(std::ranges::equal(shard.tokens(), counting(1000)));
  EXPECT_EQ(names_in(folder.path()), (Names{"a.bin"}));
}

TEST(TokenShard, HeaderIsThatOfTheSpeedrun) {
  const TestFolder folder;
  write_token_shard(folder / "a.bin", counting(3));
  const std::string bytes = read_bytes(folder / "a.bin");
  EXPECT_EQ(bytes.substr(0, 1024), shard_bytes(20240520, 1, 3, 0));
  EXPECT_EQ(bytes.substr(1024), std::string("\0\0\1\0\2\0", 6));
}

TEST(TokenShard, OutlivesItsCopies) {
  const TestFolder folder;
  write_token_shard(folder / "a.bin", counting(10));
  auto first = std::make_unique<TokenShard>(folder / "a.bin");
  const TokenShard second = *first;
  first.reset();
  EXPECT_EQ(second.tokens()[9], 9);
}

TEST(TokenShard, BadFilesAreNamedWithTheReason) {
  const TestFolder folder;
  const std::string file = (folder / "bad.bin").string();
  const auto refused = [&](ErrorCode code, const std::string& bytes) {
    write_bytes(folder / "bad.bin", bytes);
    const Refused found = error_of(code, [&] { TokenShard shard(folder / "bad.bin"); });
    EXPECT_TRUE(found.names(file)) << found.message;
    return found;
  };
  const auto lost = ErrorCode::kDataLoss, wrong = ErrorCode::kInvalidArgument;
  EXPECT_REFUSED_WITH(refused(lost, ""), Reason::kTruncated, file, " 0 ");
  EXPECT_REFUSED_WITH(refused(lost, std::string(1023, 'x')), Reason::kTruncated, file, "1023");
  EXPECT_REFUSED_WITH(refused(wrong, shard_bytes(7, 1, 4, 4)), Reason::kOtherFormat, file, " 7,", "20240520");
  EXPECT_REFUSED_WITH(refused(wrong, shard_bytes(20240520, 2, 4, 4)), Reason::kOtherVersion, file, " 2,", " 1;");
  EXPECT_REFUSED_WITH(refused(lost, shard_bytes(20240520, 1, 0, 0)), Reason::kOutOfRange, file, " 0 ");
  EXPECT_REFUSED_WITH(refused(lost, shard_bytes(20240520, 1, -5, 4)), Reason::kOutOfRange, file, " -5 ");
  EXPECT_REFUSED_WITH(refused(lost, shard_bytes(20240520, 1, 5, 4)), Reason::kTruncated, file, " 5 ", " 4;");
  EXPECT_REFUSED_WITH(refused(lost, shard_bytes(20240520, 1, 4, 4) + "x"), Reason::kUnusedBytes, file, "1033");
  EXPECT_REFUSED_WITH(refused(lost, shard_bytes(20240520, 1, 4, 5)), Reason::kUnusedBytes, file, " 4 ", "1034");
}

TEST(TokenShard, MissingFileAndFolderAreErrors) {
  const TestFolder folder;
  const auto opening = [](const std::filesystem::path& file) { return refusal_of([&] { TokenShard shard(file); }); };
  EXPECT_REFUSED_AS(opening(folder / "none.bin"), ErrorCode::kNotFound, Reason::kMissingFile,
                    (folder / "none.bin").string());
  EXPECT_REFUSED_AS(opening(folder.path()), ErrorCode::kInvalidArgument, Reason::kNotAFile, folder.path().string());
}

TEST(TokenShard, TokenOutsideTheVocabularyIsNamedWithItsPosition) {
  const TestFolder folder;
  write_token_shard(folder / "a.bin", counting(1000));
  const TokenShard shard(folder / "a.bin");
  EXPECT_NO_THROW(shard.check_token_range(1000));
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { shard.check_token_range(257); }), Reason::kOutOfRange,
                      (folder / "a.bin").string(), " 257 at ", " 257,");
}

TEST(TokenShard, GarbageNeverCrashes) {
  const TestFolder folder;
  std::mt19937_64 random(17);
  const std::string good = shard_bytes(20240520, 1, 500, 500);
  int opened = 0;
  for (int round = 0; round < 500; ++round) {
    std::string bytes = good.substr(0, round % 2 == 0 ? random() % (good.size() + 1) : good.size());
    const std::size_t changes = random() % 4;
    for (std::size_t i = 0; i < changes && !bytes.empty(); ++i)
      bytes[random() % std::min<std::size_t>(bytes.size(), 16)] = static_cast<char>(random());
    write_bytes(folder / "a.bin", bytes);
    try {
      const TokenShard shard(folder / "a.bin");
      ++opened;
      EXPECT_EQ(std::accumulate(shard.tokens().begin(), shard.tokens().end(), 0L), 500L * 0x7878);
    } catch (const Error&) {
    }
  }
  EXPECT_GT(opened, 0);
  EXPECT_LT(opened, 400);
}

TEST(WriteTokenShard, RefusesNoTokens) {
  const TestFolder folder;
  error_of(ErrorCode::kInvalidArgument, [&] { write_token_shard(folder / "a.bin", {}); });
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(WriteTokenShard, MissingFolderIsAnIoError) {
  const TestFolder folder;
  const Refused refused = error_of(ErrorCode::kIo, [&] { write_token_shard(folder / "none/a.bin", counting(3)); });
  EXPECT_TRUE(refused.names(std::strerror(ENOENT))) << refused.message;
}

/// Runs `action` in a child process and returns its exit status: 42 for an Error{kIo}, 1 for another one, 0 for none.
template <class Action>
int status_in_child(Action&& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      action();
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::kIo ? 42 : 1);
    }
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WEXITSTATUS(status);
}

TEST(WriteTokenShard, ReadOnlyFolderIsAnIoError) {
  const TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const int status = status_in_child([&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(3);  // the superuser may write anywhere
    write_token_shard(folder / "a.bin", counting(3));
  });
  EXPECT_EQ(status, 42);
  EXPECT_TRUE(names_in(folder.path()).empty());
}

// A file-size limit stands for the full disk: both make write() fail after a part has been written.
TEST(WriteTokenShard, FullDiskLeavesTheOldFileAndNothingElse) {
  const TestFolder folder;
  write_token_shard(folder / "a.bin", counting(10));
  const int status = status_in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    write_token_shard(folder / "a.bin", counting(10000));
  });
  EXPECT_EQ(status, 42);
  EXPECT_EQ(names_in(folder.path()), (Names{"a.bin"}));
  EXPECT_EQ(TokenShard(folder / "a.bin").size(), 10);
}

TEST(ExpandShards, FileFolderAndPattern) {
  const TestFolder folder;
  for (const char* name :
       {"x_train_000002.bin", "x_train_000001.bin", "x_val_000000.bin", "notes.txt", ".hidden.bin"}) {
    write_bytes(folder / name, "");
  }
  EXPECT_EQ(expand_shards(folder / "notes.txt"), (Paths{folder / "notes.txt"}));
  EXPECT_EQ(expand_shards(folder / "*train*.bin"),
            (Paths{folder / "x_train_000001.bin", folder / "x_train_000002.bin"}));
  EXPECT_EQ(expand_shards(folder.path()),
            (Paths{folder / "x_train_000001.bin", folder / "x_train_000002.bin", folder / "x_val_000000.bin"}));
  for (const char* none : {"*test*.bin", "none", "none/*.bin"})
    EXPECT_REFUSED(error_of(ErrorCode::kNotFound, [&] { expand_shards(folder / none); }), Reason::kMissingFile,
                   (folder / none).string());
}

TEST(MatchesPattern, StarStandsForAnyCharacters) {
  EXPECT_TRUE(matches_pattern("abc", "a*c"));
  EXPECT_TRUE(matches_pattern("abc", "*"));
  EXPECT_TRUE(matches_pattern("aXbXbc", "a*bc"));
  EXPECT_TRUE(matches_pattern("abc", "abc*"));
  EXPECT_FALSE(matches_pattern("abcd", "a*c"));
  EXPECT_FALSE(matches_pattern("abc", "b*"));
  EXPECT_FALSE(matches_pattern("", "a"));
}

TEST(TokenShard, EveryStorageHoldsTheSameTokens) {
  const TestFolder folder;
  std::vector<std::uint16_t> tokens(5000);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint16_t>(i * 7);
  write_token_shard(folder / "a.bin", tokens);
  for (const ShardStorage storage : {ShardStorage::kMapped, ShardStorage::kRead, ShardStorage::kPinned}) {
    const TokenShard shard(folder / "a.bin", storage);
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), shard.tokens().begin(), shard.tokens().end()));
    EXPECT_TRUE(storage == ShardStorage::kPinned || !shard.is_locked());
  }
  // A copy in memory does not see what happens to the file.
  const TokenShard copied(folder / "a.bin", ShardStorage::kRead);
  std::ofstream(folder / "a.bin", std::ios::binary | std::ios::in).seekp(kShardHeaderBytes).write("xx", 2);
  EXPECT_EQ(copied.tokens()[0], 0);
}

}  // namespace
}  // namespace nanobench::core
