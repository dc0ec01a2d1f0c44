#include "core/data/token_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/core/data/data_test_support.h"

namespace nanobench::core::testing {
namespace {

TEST(LogBuckets, AreFourToADoubling) {
  EXPECT_EQ(log_bucket(1), 0);
  EXPECT_EQ(log_bucket(2), 4);
  EXPECT_EQ(log_bucket(3), 6);
  for (std::int64_t number = 1; number < 60000; ++number) {
    const int expected = static_cast<int>(std::floor(4.0 * std::log2(static_cast<double>(number)) + 1e-12));
    ASSERT_EQ(log_bucket(number), expected) << number;
    ASSERT_GE(number, log_bucket_begin(expected));
    ASSERT_LT(number, log_bucket_begin(expected + 1));
  }
  EXPECT_EQ(log_bucket(std::int64_t{1} << 16), kLogBuckets - 1) << "the last one holds all that follows";
  EXPECT_EQ(log_bucket(std::numeric_limits<std::int64_t>::max() - 1), kLogBuckets - 1);
}

TEST(TokenPlaces, CountWithinDocuments) {
  const std::vector<std::uint16_t> tokens = {5, 6, 0, 7, 8, 9, 0, 0, 4};
  const TokenPlaces places = token_places(tokens, 0, 9, 0);
  EXPECT_EQ(places.positions, (std::vector<std::int64_t>{1, 2, 1, 2, 3, 4, 1, 1, 2}));
  EXPECT_EQ(places.document_lengths, (std::vector<std::int64_t>{2, 2, 4, 4, 4, 4, 1, 2, 2}));
}

TEST(TokenPlaces, DoNotDependOnHowTheStreamIsCut) {
  const std::vector<std::uint16_t> tokens = {5, 6, 0, 7, 8, 9, 0, 0, 4, 3, 2, 0};
  const auto size = static_cast<std::int64_t>(tokens.size());
  const TokenPlaces whole = token_places(tokens, 0, size, 0);
  for (std::int64_t begin = 0; begin < size; ++begin) {
    for (std::int64_t count = 0; begin + count <= size; ++count) {
      const TokenPlaces part = token_places(tokens, begin, count, 0);
      const auto expect_part = [&](const std::vector<std::int64_t>& got, const std::vector<std::int64_t>& all) {
        EXPECT_EQ(got, std::vector<std::int64_t>(all.begin() + begin, all.begin() + begin + count)) << begin << count;
      };
      expect_part(part.positions, whole.positions);
      expect_part(part.document_lengths, whole.document_lengths);
    }
  }
}

TEST(TokenPlaces, OfAStreamWithoutASeparatorAreThoseOfTheStream) {
  const std::vector<std::uint16_t> tokens = {5, 6, 7};
  const TokenPlaces places = token_places(tokens, 1, 2, 0);
  EXPECT_EQ(places.positions, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(places.document_lengths, (std::vector<std::int64_t>{3, 3}));
}

TEST(FrequencyRanks, OrderTokensByCountThenByNumber) {
  const TestFolder folder;
  write_token_shard(folder / "a.bin", std::vector<std::uint16_t>{3, 3, 1, 9});
  write_token_shard(folder / "b.bin", std::vector<std::uint16_t>{3, 0, 1, 2});
  const ShardList shards = open_shards(folder.path());
  EXPECT_EQ(frequency_ranks(*shards, 5), (std::vector<std::int64_t>{3, 2, 4, 1, 5}));
}

}  // namespace
}  // namespace nanobench::core::testing
