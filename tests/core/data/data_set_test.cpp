#include "core/data/data_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/core/data/data_test_support.h"

namespace nanobench::core {
namespace {
using testing::error_of;
using testing::names_in;
using testing::read_bytes;
using testing::TestFolder;
using testing::write_bytes;
using Tokens = std::vector<std::uint16_t>;

DataSetContents small_contents() {
  DataSetContents contents;
  contents.name = "small";
  contents.kind = "text";
  contents.train = {256, 1, 2, 3, 256, 4};
  contents.val = {256, 5, 6};
  contents.vocab_size = 257;
  contents.separator = 256;
  return contents;
}

TEST(DataSet, ReadsBackWhatWasWritten) {
  const TestFolder folder;
  DataSetContents contents = small_contents();
  contents.floor_nats = 1.25;
  contents.details = {{"what", "a test"}};
  const DataSet written = write_data_set(contents, folder / "deep/data");
  const DataSet data = load_data_set(folder / "deep/data/");
  EXPECT_EQ(data.name, "small");
  EXPECT_EQ(data.vocab_size, 257);
  EXPECT_EQ(data.separator, 256);
  EXPECT_EQ(data.train_tokens, 6);
  EXPECT_EQ(data.val_tokens, 3);
  EXPECT_EQ(data.floor_nats, 1.25);
  EXPECT_EQ(data.meta["details"]["what"], "a test");
  EXPECT_EQ(data.digest, written.digest);
  EXPECT_EQ(data.digest.size(), 32u);
  ASSERT_EQ(data.train.size(), 1u);
  EXPECT_EQ(data.train[0], folder / "deep/data/train_000000.bin");
  EXPECT_TRUE(std::ranges::equal(testing::tokens_in(data.train[0]), contents.train));
  EXPECT_EQ(names_in(folder / "deep"), (std::vector<std::string>{"data"}));
}

TEST(DataSet, DigestIsThatOfTheTokensAndTheirSplit) {
  const TestFolder folder;
  const std::string digest = write_data_set(small_contents(), folder / "a").digest;
  DataSetContents renamed = small_contents();
  renamed.name = "other";
  EXPECT_EQ(write_data_set(renamed, folder / "b").digest, digest);
  DataSetContents changed = small_contents();
  changed.train[5] = 5;
  EXPECT_NE(write_data_set(changed, folder / "c").digest, digest);
  DataSetContents moved = small_contents();
  moved.val.insert(moved.val.begin(), moved.train.back());
  moved.train.pop_back();
  EXPECT_NE(write_data_set(moved, folder / "d").digest, digest);
}

TEST(DataSet, ForeignShardsAreDescribedByTheirTokens) {
  const TestFolder folder;
  write_token_shard(folder / "fineweb_train_000002.bin", Tokens{7, 8});
  write_token_shard(folder / "fineweb_train_000001.bin", Tokens{50256, 1, 2});
  write_token_shard(folder / "fineweb_val_000000.bin", Tokens{3, 4, 5, 6});
  const DataSet gpt2 = load_data_set(folder.path());
  EXPECT_EQ(gpt2.vocab_size, 50257);
  EXPECT_EQ(gpt2.separator, 50256);
  EXPECT_EQ(gpt2.train_tokens, 5);
  EXPECT_EQ(gpt2.val_tokens, 4);
  EXPECT_TRUE(gpt2.meta.is_null());
  ASSERT_EQ(gpt2.train.size(), 2u);
  EXPECT_EQ(gpt2.train[0].filename(), "fineweb_train_000001.bin");

  write_token_shard(folder / "fineweb_train_000001.bin", Tokens{256, 1, 2});
  const DataSet bytes = load_data_set(folder.path());
  EXPECT_EQ(bytes.vocab_size, 257);
  EXPECT_EQ(bytes.separator, 256);
  EXPECT_NE(bytes.digest, gpt2.digest);

  write_token_shard(folder / "fineweb_train_000002.bin", Tokens{7, 60000});
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kInvalidArgument, [&] { load_data_set(folder.path()); }), Reason::kOutOfRange,
                      (folder / "fineweb_train_000002.bin").string(), " 60000 ", " 1,");
}

TEST(DataSet, GoldenShardsAreADataSet) {
  const DataSet data = load_data_set(golden_data("golden/record12"));
  EXPECT_EQ(data.vocab_size, 257);
  EXPECT_EQ(data.name, "record12");
}

// Sampling must not miss a shard's ends or lengths; shards this large are few, so one is enough.
TEST(DataSet, LargeShardsAreSampledWithBothEnds) {
  const TestFolder folder;
  Tokens tokens((64u << 20) / 2 + 1000, 1);
  const auto digest = [&] {
    write_token_shard(folder / "t.bin", tokens);
    return digest_of_shards({TokenShard(folder / "t.bin")}, {});
  };
  const std::string plain = digest();
  tokens.front() = 2;
  const std::string first = digest();
  tokens.front() = 1;
  tokens.back() = 2;
  const std::string last = digest();
  tokens.back() = 1;
  EXPECT_EQ(digest(), plain);
  tokens.push_back(1);
  const std::string longer = digest();
  EXPECT_NE(first, plain);
  EXPECT_NE(last, plain);
  EXPECT_NE(first, last);
  EXPECT_NE(longer, plain);
}

TEST(DataSet, MissingPartsAreNamed) {
  const TestFolder folder;
  const auto loading = [](const std::filesystem::path& data) {
    return error_of(ErrorCode::kNotFound, [&] { load_data_set(data); });
  };
  EXPECT_REFUSED(loading(folder / "none"), Reason::kMissingFile, (folder / "none").string());
  EXPECT_REFUSED(loading(folder.path()), Reason::kMissingFile, (folder / "*train*.bin").string());
  write_token_shard(folder / "x_train_1.bin", Tokens{1});
  EXPECT_REFUSED(loading(folder.path()), Reason::kMissingFile, (folder / "*val*.bin").string());
}

TEST(DataSet, DamageIsFound) {
  const TestFolder folder;
  const DataSet data = write_data_set(small_contents(), folder / "d");
  write_token_shard(data.val[0], Tokens{256, 5, 7});
  const auto loading = [&] { return refusal_of([&] { load_data_set(folder / "d"); }); };
  EXPECT_REFUSED_AS(loading(), ErrorCode::kDataLoss, Reason::kOtherContents, (folder / "d").string());
  write_token_shard(data.val[0], Tokens{256, 5, 6, 6});
  EXPECT_REFUSED_AS(loading(), ErrorCode::kDataLoss, Reason::kOtherSizes, (folder / "d").string());
  std::filesystem::remove(data.val[0]);
  EXPECT_REFUSED_AS(loading(), ErrorCode::kNotFound, Reason::kMissingFile, data.val[0].string());
}

TEST(DataSet, ItsVocabularyLiesBesideTheTokens) {
  const TestFolder folder;
  DataSetContents contents = small_contents();
  const std::string digest = write_data_set(contents, folder / "without").digest;
  EXPECT_FALSE(load_data_set(folder / "without").vocabulary);
  contents.vocabulary = byte_vocabulary();
  const DataSet data = write_data_set(contents, folder / "with");
  EXPECT_EQ(data.digest, digest) << "the kind of data decides its vocabulary";
  EXPECT_EQ(read_vocabulary(data.vocabulary.value()), byte_vocabulary());
  const auto loading = [&] { return refusal_of([&] { load_data_set(folder / "with"); }); };
  write_bytes(*data.vocabulary, "dGhl 1\n");
  EXPECT_REFUSED_AS(loading(), ErrorCode::kDataLoss, Reason::kOtherVocabulary, (folder / "with").string());
  std::filesystem::remove(*data.vocabulary);
  EXPECT_REFUSED_AS(loading(), ErrorCode::kDataLoss, Reason::kOtherVocabulary, (folder / "with").string());
}

TEST(DataSet, AVocabularyBelongsToAForeignFoldersContents) {
  const TestFolder folder;
  write_token_shard(folder / "x_train_1.bin", Tokens{1, 2, 3});
  write_token_shard(folder / "x_val_1.bin", Tokens{1, 2, 3});
  const std::string without = load_data_set(folder.path()).digest;
  write_bytes(folder / "vocab", "dGhl 1\n");
  const DataSet data = load_data_set(folder.path());
  EXPECT_EQ(data.vocabulary, folder / "vocab");
  EXPECT_NE(data.digest, without);
  write_bytes(folder / "vocab", "dGhl 2\n");
  EXPECT_NE(load_data_set(folder.path()).digest, data.digest);
}

TEST(DataSet, BadMetaIsNamedWithItsPointer) {
  const TestFolder folder;
  write_data_set(small_contents(), folder / "d");
  const Json good = read_json_file(folder / "d/meta.json");
  const auto refused = [&](const char* key, const Json& value) {
    Json meta = good;
    if (value.is_null())
      meta.erase(key);
    else
      meta[key] = value;
    write_bytes(folder / "d/meta.json", meta.dump());
    return error_of(ErrorCode::kInvalidArgument, [&] { load_data_set(folder / "d"); });
  };
  EXPECT_REFUSED(refused("format", "x"), Reason::kOtherFormat, "/format");
  EXPECT_REFUSED(refused("version", 2), Reason::kOutOfRange, "/version");
  EXPECT_REFUSED(refused("vocab_size", nullptr), Reason::kMissingKey, "/vocab_size");
  EXPECT_REFUSED(refused("separator", 257), Reason::kOutOfRange, "/separator");
  EXPECT_REFUSED(refused("train", Json::array()), Reason::kEmpty, "/train");
  EXPECT_REFUSED_WITH(refused("val", Json::array({"../d/val_000000.bin"})), Reason::kBadValue, "/val",
                      "\"../d/val_000000.bin\"");
  EXPECT_REFUSED_WITH(refused("sepatator", 3), Reason::kUnknownKey, "/sepatator", "\"separator\"");
  EXPECT_REFUSED(refused("floor_nats", "low"), Reason::kWrongType, "/floor_nats");
  write_bytes(folder / "d/meta.json", "{");
  EXPECT_REFUSED(error_of(ErrorCode::kInvalidArgument, [&] { load_data_set(folder / "d"); }), Reason::kMalformed,
                 (folder / "d/meta.json").string());
}

TEST(DataSet, GarbageNeverCrashes) {
  const TestFolder folder;
  write_data_set(small_contents(), folder / "d");
  const std::string meta = read_bytes(folder / "d/meta.json");
  const std::string shard = read_bytes(folder / "d/train_000000.bin");
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string changed = round % 2 == 0 ? meta : shard;
    for (std::size_t i = random() % 3 + 1; i > 0; --i) {
      const std::size_t at = random() % changed.size();
      if (random() % 4 == 0) changed.resize(at + 1);
      changed[at % changed.size()] = static_cast<char>(random());
    }
    write_bytes(folder / (round % 2 == 0 ? "d/meta.json" : "d/train_000000.bin"), changed);
    try {
      load_data_set(folder / "d");
    } catch (const Error& error) {
      EXPECT_STRNE(to_string(error.code()), "internal") << error.what();
      ++refused;
    }
    write_bytes(folder / "d/meta.json", meta);
    write_bytes(folder / "d/train_000000.bin", shard);
  }
  EXPECT_GT(refused, 200);
}

TEST(WriteDataSet, SameDataAgainIsLeftAsItIs) {
  const TestFolder folder;
  write_data_set(small_contents(), folder / "d");
  const auto written = std::filesystem::last_write_time(folder / "d/meta.json");
  EXPECT_EQ(write_data_set(small_contents(), folder / "d").name, "small");
  EXPECT_EQ(std::filesystem::last_write_time(folder / "d/meta.json"), written);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"d"}));
}

TEST(WriteDataSet, OtherContentsAreAConflictAndStay) {
  const TestFolder folder;
  write_data_set(small_contents(), folder / "d");
  DataSetContents other = small_contents();
  other.val.push_back(9);
  EXPECT_REFUSED_WITH(error_of(ErrorCode::kConflict, [&] { write_data_set(other, folder / "d"); }),
                      Reason::kOtherContents, (folder / "d").string(), "\"small\"");
  EXPECT_EQ(load_data_set(folder / "d").val_tokens, 3);
  std::filesystem::create_directory(folder / "e");
  write_bytes(folder / "e/thesis.tex", "mine");
  EXPECT_REFUSED(error_of(ErrorCode::kConflict, [&] { write_data_set(other, folder / "e"); }), Reason::kForeignFiles,
                 (folder / "e").string());
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"d", "e"}));
  std::filesystem::create_directory(folder / "empty");
  EXPECT_EQ(write_data_set(other, folder / "empty").val_tokens, 4);
}

TEST(WriteDataSet, ImpossibleFoldersAreIoErrors) {
  const TestFolder folder;
  write_bytes(folder / "file", "x");
  error_of(ErrorCode::kIo, [&] { write_data_set(small_contents(), folder / "file/d"); });
  error_of(ErrorCode::kIo, [&] { write_data_set(small_contents(), folder / "file"); });
  error_of(ErrorCode::kIo, [&] { write_data_set(small_contents(), "/proc/nanobench/d"); });
  DataSetContents empty = small_contents();
  empty.val.clear();
  EXPECT_REFUSED(error_of(ErrorCode::kInvalidArgument, [&] { write_data_set(empty, folder / "d"); }), Reason::kEmpty,
                 "val");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"file"}));
}

TEST(WriteDataSet, NamesNeedNotBeUtf8) {
  const TestFolder folder;
  DataSetContents contents = small_contents();
  contents.name = "text:\xff\xfe";
  contents.details["file"] = "\xff";
  EXPECT_NO_THROW(write_data_set(contents, folder / "d").meta.dump());
}

TEST(Entropy, ClosedForms) {
  Tokens tokens;
  for (int i = 0; i < 4000; ++i) tokens.push_back(static_cast<std::uint16_t>(i % 4));
  EXPECT_NEAR(unigram_entropy(tokens), std::log(4.0), 1e-12);
  EXPECT_NEAR(bigram_entropy(tokens), 0, 1e-3);
  EXPECT_TRUE(std::isnan(unigram_entropy({})));
  EXPECT_TRUE(std::isnan(bigram_entropy(Tokens{1})));
}

}  // namespace
}  // namespace nanobench::core
