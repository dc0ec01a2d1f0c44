#include "core/data/data_loader.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "core/base/json.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;
using testing::TestFolder;

using Starts = std::vector<std::int64_t>;

/// Shards of these sizes; token i of shard s is i + 1000 s (mod 2^16).
ShardList shards_of(const TestFolder& folder, const std::vector<std::int64_t>& sizes) {
  std::vector<std::filesystem::path> files;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    std::vector<std::uint16_t> tokens(static_cast<std::size_t>(sizes[s]));
    std::iota(tokens.begin(), tokens.end(), static_cast<std::uint16_t>(1000 * s));
    files.push_back(folder / ("shard" + std::to_string(s) + ".bin"));
    write_token_shard(files.back(), tokens);
  }
  return open_shards(files);
}

std::vector<std::int64_t> starts(const std::vector<SequenceRef>& sequences) {
  std::vector<std::int64_t> result;
  for (const SequenceRef& sequence : sequences) result.push_back(1000 * sequence.shard + sequence.start);
  return result;
}

LoaderOptions small(std::int64_t sequences_per_step, std::int64_t ranks) {
  LoaderOptions options;
  options.sequence_length = 10;
  options.sequences_per_step = sequences_per_step;
  options.ranks = ranks;
  return options;
}

TrainConfig of_steps(std::int64_t steps) {
  TrainConfig config;
  config.data.sequence_length = 10;
  config.data.sequences_per_step = 4;
  config.data.ranks = 4;
  config.data.loader.first_read_twice = false;
  config.run.stop_after = steps;
  return config;
}

/// A step takes 40 tokens, and a rank leaves a shard that has fewer than 41 from its own position on: in one of 85 at
/// the second step rank 3 does, from 70 on, and rank 0 does not.
TEST(ComparePositions, TheyDifferWhereRanksLeaveAShardApart) {
  const TestFolder folder;
  const ShardList shards = shards_of(folder, {85, 200});
  const PositionComparison inside = compare_positions(of_steps(1), shards);
  EXPECT_TRUE(inside.is_same);
  EXPECT_FALSE(inside.leaves_first_shard);
  EXPECT_FALSE(compare_positions(of_steps(2), shards).is_same);
}

/// In one of 115 all have enough at the second step, and none at the third.
TEST(ComparePositions, TheyAreTheSameWhereRanksLeaveAShardTogether) {
  const TestFolder folder;
  const ShardList shards = shards_of(folder, {115, 115});
  const PositionComparison comparison = compare_positions(of_steps(7), shards);
  EXPECT_TRUE(comparison.is_same);
  EXPECT_TRUE(comparison.leaves_first_shard);
}

TEST(DataLoader, ReadsAsTheRecordsDo) {
  const Json cases = read_json_file(golden_data("golden/ops/loader.json"));
  ASSERT_GE(cases.size(), 90u);
  for (const Json& c : cases) {
    const TestFolder folder;
    LoaderOptions options;
    options.sequence_length = c["sequence_length"];
    options.ranks = c["ranks"];
    options.sequences_per_step = c["sequences_per_call"];
    options.position = c["loader"]["position"] == "global" ? LoaderPosition::kGlobal : LoaderPosition::kPerRank;
    options.reserve_tokens = c["loader"]["reserve_tokens"];
    DataLoader loader(shards_of(folder, c["shard_tokens"].get<std::vector<std::int64_t>>()), options);
    const Json& expected = c["reads_by_rank"];
    for (std::size_t call = 0; call < expected[0].size(); ++call) {
      std::vector<Json> got(expected.size(), Json::array());
      for (const SequenceRef& s : loader.next_step()) {
        got[static_cast<std::size_t>(s.rank)].push_back({s.shard, s.start});
        EXPECT_EQ(loader.tokens(s).size(), static_cast<std::size_t>(options.sequence_length) + 1);
        EXPECT_EQ(loader.tokens(s)[0], static_cast<std::uint16_t>(1000 * s.shard + s.start));
      }
      for (std::size_t rank = 0; rank < got.size(); ++rank) {
        ASSERT_EQ(got[rank], expected[rank][call]) << c["rule"] << " ranks " << c["ranks"] << " shards "
                                                   << c["shard_tokens"] << " rank " << rank << " call " << call;
      }
    }
  }
}

TEST(DataLoader, OrderIsMicroBatchThenRankThenStream) {
  const TestFolder folder;
  LoaderOptions options = small(8, 2);
  options.sequences_per_read = 2;
  DataLoader loader(shards_of(folder, {1000}), options);
  const auto step = loader.next_step();
  EXPECT_EQ(starts(step), (Starts{0, 10, 20, 30, 40, 50, 60, 70}));
  std::vector<std::pair<std::int64_t, std::int64_t>> order;
  for (const auto& s : step) order.emplace_back(s.micro_batch, s.rank);
  using P = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(order, (std::vector<P>{P{0, 0}, P{0, 0}, P{0, 1}, P{0, 1}, P{1, 0}, P{1, 0}, P{1, 1}, P{1, 1}}));
}

TEST(DataLoader, GlobalPositionGivesEachRankAContiguousPart) {
  const TestFolder folder;
  LoaderOptions options = small(4, 2);
  options.position = LoaderPosition::kGlobal;
  DataLoader loader(shards_of(folder, {1000}), options);
  EXPECT_EQ(starts(loader.next_step()), (Starts{0, 20, 10, 30}));
  EXPECT_EQ(starts(loader.next_step()), (Starts{40, 60, 50, 70}));
}

TEST(DataLoader, FirstReadTwiceRepeatsTheFirstStepOfOneMicroBatch) {
  const TestFolder folder;
  LoaderOptions options = small(2, 2);
  options.first_read_twice = true;
  DataLoader loader(shards_of(folder, {1000}), options);
  EXPECT_EQ(starts(loader.next_step()), (Starts{0, 10}));
  EXPECT_EQ(starts(loader.next_step()), (Starts{0, 10}));
  EXPECT_EQ(starts(loader.next_step()), (Starts{20, 30}));
}

TEST(DataLoader, FirstReadTwiceRepeatsTheMicroBatchWithinAStepOfTwo) {
  const TestFolder folder;
  LoaderOptions options = small(4, 2);
  options.first_read_twice = true;
  DataLoader loader(shards_of(folder, {1000}), options);
  EXPECT_EQ(starts(loader.next_step()), (Starts{0, 10, 0, 10}));
  EXPECT_EQ(starts(loader.next_step()), (Starts{20, 30, 40, 50}));
  EXPECT_EQ(starts(loader.validation_sequences(8)), (Starts{0, 10, 20, 30, 40, 50, 60, 70}));
}

TEST(DataLoader, ValidationAlwaysStartsAtTheFirstShard) {
  const TestFolder folder;
  LoaderOptions options = small(4, 1);
  DataLoader loader(shards_of(folder, {41, 41}), options);
  const auto first = starts(loader.validation_sequences(6));
  EXPECT_EQ(first, (Starts{0, 10, 20, 30, 1000, 1010}));
  EXPECT_EQ(starts(loader.validation_sequences(6)), first);
}

TEST(DataLoader, WithoutWrapTheEndIsAnErrorAndKeepsTheState) {
  for (const LoaderPosition position : {LoaderPosition::kPerRank, LoaderPosition::kGlobal}) {
    const TestFolder folder;
    LoaderOptions options = small(2, 2);
    options.wrap = false;
    options.position = position;
    DataLoader loader(shards_of(folder, {55, 25}), options);
    EXPECT_EQ(starts(loader.next_step()), (Starts{0, 10}));
    EXPECT_EQ(starts(loader.next_step()), (Starts{20, 30}));
    EXPECT_EQ(starts(loader.next_step()), (Starts{1000, 1010}));
    const LoaderState before = loader.state();
    const Refused refused = error_of(ErrorCode::kInvalidArgument, [&] { loader.next_step(); });
    EXPECT_REFUSED_WITH(refused, Reason::kDataEnded, (folder / "shard0.bin").string(), " 80 ", "data.loader.wrap");
    EXPECT_EQ(loader.state(), before);
    loader.reset();
    EXPECT_EQ(starts(loader.next_step()), (Starts{0, 10}));
  }
}

TEST(DataLoader, StepThatEndsInTheMiddleIsNotBegun) {
  const TestFolder folder;
  LoaderOptions options = small(4, 1);
  options.wrap = false;
  DataLoader loader(shards_of(folder, {65}), options);  // six sequences
  loader.next_step();
  const LoaderState before = loader.state();
  error_of(ErrorCode::kInvalidArgument, [&] { loader.next_step(); });
  EXPECT_EQ(loader.state(), before);
  EXPECT_EQ(starts(loader.next(2)), (Starts{40, 50}));
}

TEST(DataLoader, RestoredStateContinuesExactly) {
  for (const LoaderPosition position : {LoaderPosition::kPerRank, LoaderPosition::kGlobal}) {
    const TestFolder folder;
    LoaderOptions options = small(4, 2);
    options.position = position;
    options.reserve_tokens = 1;
    options.first_read_twice = true;
    const ShardList shards = shards_of(folder, {215, 187, 99});
    for (int done = 0; done < 12; ++done) {
      DataLoader original(shards, options);
      for (int step = 0; step < done; ++step) original.next_step();
      DataLoader copy(shards, options);
      copy.restore(original.state());
      for (int step = 0; step < 9; ++step) ASSERT_EQ(copy.next_step(), original.next_step());
    }
  }
}

TEST(DataLoader, ForeignStateIsRefused) {
  const TestFolder folder;
  const ShardList shards = shards_of(folder, {215});
  DataLoader loader(shards, small(4, 2));
  LoaderState state = loader.state();
  state.cursors[1].position = 210;
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { loader.restore(state); }), Reason::kOutOfRange, "210",
                      " 210 ", " 0,");
  state.cursors[1] = {5, 0};
  error_of(ErrorCode::kInvalidArgument, [&] { loader.restore(state); });
  const LoaderState of_one_rank = DataLoader(shards, small(4, 1)).state();
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { loader.restore(of_one_rank); }), Reason::kWrongLength,
                      "1", " 1 ", " 2;");
}

TEST(DataLoader, ShortShardIsNamed) {
  const TestFolder folder;
  const ShardList shards = shards_of(folder, {100, 20});
  EXPECT_NO_THROW(DataLoader(shards, small(1, 1)));
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { DataLoader(shards, small(2, 2)); }),
                      Reason::kTooShort, (folder / "shard1.bin").string(), "shard1.bin", " 20 ", " 2 ", " 10 ");
  LoaderOptions global = small(4, 1);
  global.position = LoaderPosition::kGlobal;
  error_of(ErrorCode::kInvalidArgument, [&] { DataLoader(shards, global); });
}

TEST(DataLoader, OptionsThatDoNotFitAreRefused) {
  const TestFolder folder;
  const ShardList shards = shards_of(folder, {1000});
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { DataLoader(shards, small(3, 2)); }),
                      Reason::kNoMultiple, "sequences_per_step", "sequences_per_step", " 3,");
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { DataLoader(shards, small(4, 0)); }),
                      Reason::kOutOfRange, "ranks", "ranks", " 0,");
  LoaderOptions huge = small(std::int64_t{1} << 31, std::int64_t{1} << 31);
  huge.sequences_per_read = std::int64_t{1} << 31;
  error_of(ErrorCode::kInvalidArgument, [&] { DataLoader(shards, huge); });
  error_of(ErrorCode::kInvalidArgument, [&] { DataLoader(nullptr, small(1, 1)); });
  DataLoader loader(shards, small(4, 2));
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { loader.next(3); }), Reason::kNoMultiple, "3", " 3 ");
}

TEST(DataLoader, NeverLeavesAShard) {
  const TestFolder folder;
  const ShardList shards = shards_of(folder, {215, 187, 99, 81});
  for (const std::int64_t ranks : {1, 2, 4}) {
    for (const std::int64_t per_read : {1, 2}) {
      for (const std::int64_t reserve : {0, 1, 7}) {
        for (const LoaderPosition position : {LoaderPosition::kPerRank, LoaderPosition::kGlobal}) {
          LoaderOptions options = small(8, ranks);
          options.sequences_per_read = per_read;
          options.reserve_tokens = reserve;
          options.position = position;
          DataLoader loader(shards, options);
          for (int step = 0; step < 50; ++step) {
            for (const SequenceRef& s : loader.next_step()) ASSERT_NO_THROW(loader.tokens(s));
          }
        }
      }
    }
  }
}

/// All batches of an epoch in the order of a shuffled loader of two ranks over shards of 4 and 3 batches.
std::vector<std::int64_t> shuffled_epoch(DataLoader& loader) {
  std::vector<std::int64_t> order;
  for (int batch = 0; batch < 7; ++batch) {
    const std::vector<std::int64_t> pair = starts(loader.next_step());
    EXPECT_EQ(pair.size(), 2u);
    EXPECT_EQ(pair[1], pair[0] + 10);  // the ranks lie side by side
    order.push_back(pair[0]);
  }
  return order;
}

TEST(DataLoader, ShuffledOrderTakesEveryBatchOnceAnEpochAndShardByShard) {
  const TestFolder folder;
  const ShardList shards = shards_of(folder, {85, 61});
  LoaderOptions options = small(2, 2);
  options.order = BatchOrder::kShuffled;
  options.seed = 3;
  DataLoader loader(shards, options);
  const std::vector<std::int64_t> first = shuffled_epoch(loader), second = shuffled_epoch(loader);
  const std::vector<std::int64_t> all = {0, 20, 40, 60, 1000, 1020, 1040};
  for (std::vector<std::int64_t> epoch : {first, second}) {
    int changes = 0;
    for (std::size_t i = 1; i < epoch.size(); ++i) changes += (epoch[i] >= 1000) != (epoch[i - 1] >= 1000) ? 1 : 0;
    EXPECT_EQ(changes, 1) << "a shard is read to its end";
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, all);
  }
  EXPECT_NE(first, second);
  EXPECT_NE(first, all);
  DataLoader again(shards, options);
  EXPECT_EQ(shuffled_epoch(again), first);
  options.seed = 4;
  DataLoader other(shards, options);
  EXPECT_NE(shuffled_epoch(other), first);
}

TEST(DataLoader, ShuffledOrderContinuesAndEndsAsTheSequentialOneDoes) {
  const TestFolder folder;
  LoaderOptions options = small(2, 2);
  options.order = BatchOrder::kShuffled;
  options.wrap = false;
  options.first_read_twice = true;
  DataLoader loader(shards_of(folder, {85, 61}), options);
  EXPECT_EQ(starts(loader.next_step()), starts(loader.next_step()));
  const LoaderState state = loader.state();
  const std::vector<std::int64_t> next = starts(loader.next_step());
  DataLoader resumed(shards_of(folder, {85, 61}), options);
  resumed.restore(state);
  EXPECT_EQ(starts(resumed.next_step()), next);
  for (int i = 0; i < 5; ++i) resumed.next_step();
  EXPECT_THROW(resumed.next_step(), Error);
  options.position = LoaderPosition::kGlobal;
  EXPECT_THROW(DataLoader(shards_of(folder, {85, 61}), options), Error);
}

}  // namespace
}  // namespace nanobench::core
