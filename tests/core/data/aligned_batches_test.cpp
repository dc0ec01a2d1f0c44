#include "core/data/aligned_batches.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/data/data_loader.h"
#include "tests/core/data/data_test_support.h"
#include "tests/golden/golden_data.h"

namespace nanobench::core {
namespace {

using testing::TestFolder;

constexpr std::uint16_t kSeparator = 7;

/// Shards as the golden cases describe theirs: the token at position p is p + 1000, separators are 7.
ShardList golden_shards(const TestFolder& folder, const Json& shards) {
  std::vector<std::filesystem::path> files;
  for (const Json& shard : shards) {
    const auto positions = shard.get<std::vector<std::size_t>>();  // the last one is the size
    std::vector<std::uint16_t> tokens(positions.back());
    std::iota(tokens.begin(), tokens.end(), static_cast<std::uint16_t>(1000));
    for (std::size_t i = 0; i + 1 < positions.size(); ++i) tokens[positions[i]] = kSeparator;
    files.push_back(folder / ("shard" + std::to_string(files.size()) + ".bin"));
    write_token_shard(files.back(), tokens);
  }
  return open_shards(files);
}

Json piece_lengths(const SequenceTokens& tokens) {
  Json lengths = Json::array();
  for (const std::uint16_t token : tokens) {
    if (token == kSeparator) {
      lengths.push_back(1);
    } else {
      lengths.back() = lengths.back().get<int>() + 1;
    }
  }
  return lengths;
}

LoaderOptions options_of(const Json& one) {
  LoaderOptions options;
  options.sequence_length = one["sequence_length"];
  options.ranks = one["ranks"];
  options.sequences_per_step = one["ranks"];
  options.position = LoaderPosition::kGlobal;
  options.reserve_tokens = one["rule"]["reserve_tokens"];
  options.wrap = one["rule"]["wrap"];
  options.alignment = one["rule"]["alignment"] == "bos" ? BatchAlignment::kBos : BatchAlignment::kDocuments;
  options.document_separator = kSeparator;
  if (one["rule"].contains("max_document_length")) options.max_document_length = one["rule"]["max_document_length"];
  return options;
}

/// One sequence a step, of whole documents.
LoaderOptions documents_of_length(std::int64_t tokens) {
  LoaderOptions options;
  options.sequence_length = tokens;
  options.sequences_per_step = 1;
  options.position = LoaderPosition::kGlobal;
  options.alignment = BatchAlignment::kDocuments;
  options.document_separator = kSeparator;
  return options;
}

TEST(AlignedBatches, AreGolden) {
  std::size_t steps = 0;
  for (const Json& one : read_json_file(golden_data("golden_22_41/ops_22_41/loader_aligned.json"))) {
    const TestFolder folder;
    DataLoader loader(golden_shards(folder, one["separator_positions_and_size"]), options_of(one));
    for (const Json& expected : one["steps"]) {
      Json lengths = Json::array(), second = Json::array();
      for (const SequenceRef& sequence : loader.next_step()) {
        EXPECT_EQ(sequence.shard, expected["shard"].get<std::int64_t>());
        const SequenceTokens tokens = loader.tokens(sequence);
        ASSERT_EQ(tokens.size(), one["sequence_length"].get<std::size_t>() + 1);
        lengths.push_back(piece_lengths(tokens));
        second.push_back(tokens[1] == kSeparator ? Json() : Json(tokens[1]));
      }
      EXPECT_EQ(lengths, expected["piece_lengths_by_rank"]) << one["rule"] << " step " << steps;
      for (std::size_t rank = 0; rank < second.size(); ++rank) {
        if (second[rank].is_null()) continue;
        EXPECT_EQ(second[rank], expected["second_token_by_rank"][rank]) << one["rule"];
      }
      EXPECT_EQ(loader.state().cursors.front().position, expected["position_after"].get<std::int64_t>());
      ++steps;
    }
    const LoaderState before = loader.state();
    EXPECT_THROW(loader.next_step(), Error) << "a step that cannot be filled ends the list: " << one["rule"];
    EXPECT_EQ(loader.state(), before);
  }
  EXPECT_GT(steps, 400U);
}

TEST(AlignedBatches, AWiderSearchFindsWhatTheRecordsWindowLacks) {
  const std::vector<std::int64_t> starts = {3, 25};
  EXPECT_FALSE(sequences_from_documents(starts, 0, 1, 10, 20));
  const auto found = sequences_from_documents(starts, 0, 1, 10, 40);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cursor, 25);
  EXPECT_EQ(found->sequences, (std::vector<std::vector<TokenPiece>>{{{3, 11}}}));
}

TEST(AlignedBatches, SequencesOfDocumentsAreCutAndTheRestIsLost) {
  const std::vector<std::int64_t> starts = {2, 5, 30};
  const auto found = sequences_of_documents(starts, 40, 0, 1, 9, 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sequences.front(), (std::vector<TokenPiece>{{2, 3}, {5, 4}, {30, 3}}));
  EXPECT_EQ(found->cursor, 3);
  EXPECT_FALSE(sequences_of_documents(starts, 40, 0, 1, 20, 4));
}

TEST(AlignedBatches, KnowWhatFollowsACutDocument) {
  const TestFolder folder;
  LoaderOptions options = documents_of_length(9);
  options.max_document_length = 4;
  DataLoader loader(golden_shards(folder, {{2, 5, 30, 40}}), options);
  const SequenceRef sequence = loader.next_step().front();  // {2, 3}, {5, 4}, {30, 3}
  EXPECT_EQ(loader.cuts(sequence), (std::vector<DataLoader::Cut>{{.place = 6, .next = 1009}}))
      << "neither the whole document nor the end of the sequence is a cut";
}

TEST(AlignedBatches, WrapsToTheFirstShard) {
  const TestFolder folder;
  const LoaderOptions options = documents_of_length(4);
  const Json shards = {{0, 3, 6, 12}};
  DataLoader loader(golden_shards(folder, shards), options);
  const auto first = loader.next_step();
  EXPECT_EQ(first.front().pieces, (std::vector<TokenPiece>{{0, 3}, {3, 2}}));
  const auto second = loader.next_step();
  EXPECT_TRUE(second.front().pieces.empty());
  EXPECT_EQ(second.front().start, 6);
  EXPECT_EQ(loader.next_step(), first);
}

}  // namespace
}  // namespace nanobench::core
