#include "core/data/data_cache.h"

#include <gtest/gtest.h>

#include "core/data/corpus_oracle.h"
#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;
using testing::TestFolder;

TEST(GenerateCorpus, WritesBothSplitsAndWhatIsKnownOfThem) {
  const TestFolder folder;
  const CorpusConfig config;
  const DataSet data = generate_corpus(config, 50000, 20000, folder / "d");
  EXPECT_EQ(data.name, "synthetic");
  EXPECT_EQ(data.vocab_size, 257);
  EXPECT_EQ(data.separator, 256);
  EXPECT_EQ(data.train_tokens, 50000);
  EXPECT_EQ(data.val_tokens, 20000);
  const CorpusModel model(config);
  EXPECT_TRUE(
      std::ranges::equal(testing::tokens_in(data.train[0]), generate_tokens(model, CorpusStream::kTrain, 50000)));
  const auto val = generate_tokens(model, CorpusStream::kVal, 20000);
  EXPECT_EQ(testing::tokens_in(data.val[0]), val);
  ASSERT_TRUE(data.floor_nats.has_value());
  EXPECT_DOUBLE_EQ(*data.floor_nats, oracle_loss(model, val));
  const Json& details = data.meta["details"];
  EXPECT_EQ(corpus_config_from_json(details["corpus"], "", ""), config);
  EXPECT_DOUBLE_EQ(details["entropy_rate"]["nats_per_token"], entropy_rate(model).nats_per_token);
  EXPECT_LE(details["entropy_rate"]["lower_bound"], details["entropy_rate"]["nats_per_token"]);
  EXPECT_LT(details["bigram_nats"], details["unigram_nats"]);
}

TEST(GenerateCorpus, TooFewTokensAreRefused) {
  const TestFolder folder;
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { generate_corpus({}, 1000, 1, folder / "d"); }),
                      Reason::kOutOfRange, "val", " 1 ");
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { generate_corpus({}, -5, 10, folder / "d"); }),
                      Reason::kOutOfRange, "train", " -5 ");
  EXPECT_TRUE(testing::names_in(folder.path()).empty());
}

TEST(ValidationFloor, IsTheOraclesLossOnWhatIsRead) {
  const TestFolder folder;
  const DataSet data = generate_corpus({}, 1000, 20000, folder / "d");
  const CorpusModel model(CorpusConfig{});
  const auto val = generate_tokens(model, CorpusStream::kVal, 20000);
  EXPECT_DOUBLE_EQ(validation_floor(data, 4096).value(), oracle_loss(model, std::span(val).first(4097)));
  EXPECT_DOUBLE_EQ(validation_floor(data, 19999).value(), *data.floor_nats);
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { validation_floor(data, 20000); }),
                      Reason::kOutOfRange, data.name, " 1 ", " 19999");
  error_of(ErrorCode::kInvalidArgument, [&] { validation_floor(data, 0); });
}

TEST(ValidationFloor, IsUnknownForOtherData) {
  DataSet data;
  EXPECT_FALSE(validation_floor(data, 10).has_value());
  data.meta = {{"kind", "text"}};
  EXPECT_FALSE(validation_floor(data, 10).has_value());
}

}  // namespace
}  // namespace nanobench::core
