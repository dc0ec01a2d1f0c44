#include "suites/design/plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "ablations/catalogue.h"
#include "core/base/error.h"
#include "core/data/token_shard.h"
#include "core/data/vocabulary.h"
#include "suites/design/data_source.h"
#include "tests/core/base/refusal_support.h"
#include "tests/suites/design/design_support.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::Reason;
using core::Refused;

core::DataSet some_data() {
  core::DataSet data;
  data.name = "some";
  data.train = {"/data/train.bin"};
  data.val = {"/data/val.bin"};
  data.digest = "data-digest";
  return data;
}

results::MachineInfo machine() {
  return {"host", "Test CPU", "x86_64", 2, 1 << 30, "Linux"};
}

Plan planned(const Suite& suite) {
  return make_plan(suite, make_matrix(suite, catalogue()), some_data(), mock_engine({"mock"}), machine());
}

std::vector<std::pair<std::size_t, std::uint64_t>> order_of(const Plan& plan) {
  std::vector<std::pair<std::size_t, std::uint64_t>> order;
  for (const PlannedRun& run : plan.runs) order.emplace_back(run.cell, run.seed);
  return order;
}

TEST(Plan, HasEachCellOncePerSeed) {
  const Plan plan = planned(history_suite());
  ASSERT_EQ(plan.runs.size(), 21u);
  std::set<std::pair<std::size_t, std::uint64_t>> seen;
  for (const auto& item : order_of(plan)) EXPECT_TRUE(seen.insert(item).second);
  // Interleaved: a seed's runs stand together, each with all cells.
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    EXPECT_EQ(plan.runs[i].seed, 1 + i / 7);
    EXPECT_EQ(plan.runs[i].position, i);
  }
}

TEST(Plan, SameSeedGivesSameOrder) {
  EXPECT_EQ(order_of(planned(history_suite())), order_of(planned(history_suite())));
  EXPECT_EQ(planned(history_suite()).digest, planned(history_suite()).digest);
}

TEST(Plan, AnotherOrderSeedGivesAnotherOrderOfTheSameRuns) {
  Suite other = history_suite();
  other.order_seed = 2;
  const Plan a = planned(history_suite());
  const Plan b = planned(other);
  EXPECT_NE(order_of(a), order_of(b));
  EXPECT_NE(a.digest, b.digest);
  std::set<std::string> digests_a;
  std::set<std::string> digests_b;
  for (const PlannedRun& run : a.runs) digests_a.insert(run.digest);
  for (const PlannedRun& run : b.runs) digests_b.insert(run.digest);
  EXPECT_EQ(digests_a, digests_b);
}

TEST(Plan, IsShuffledAndNotTheSameForEverySeed) {
  const auto order = order_of(planned(history_suite()));
  const auto cells_of = [&](std::size_t first) {
    std::vector<std::size_t> cells;
    for (std::size_t i = first; i < first + 7; ++i) cells.push_back(order[i].first);
    return cells;
  };
  EXPECT_FALSE(std::is_sorted(order.begin(), order.begin() + 7));
  EXPECT_NE(cells_of(0), cells_of(7));
}

/// The shuffle is part of what a stored plan means: it must not change from version to version.
TEST(Plan, TheOrderIsTheOneOfEarlierVersions) {
  std::vector<std::size_t> cells;
  for (const auto& [cell, seed] : order_of(planned(history_suite()))) {
    if (seed == 1) cells.push_back(cell);
  }
  EXPECT_EQ(cells, (std::vector<std::size_t>{5, 6, 4, 3, 0, 1, 2}));
}

TEST(Plan, ARunIsAnotherRunWhenWhatItMeasuresDiffers) {
  Suite suite = history_suite();
  suite.seeds = {1};
  const Plan base = planned(suite);
  const Matrix matrix = make_matrix(suite, catalogue());
  const auto digest = [](const Plan& plan) { return plan.runs.front().digest; };

  core::DataSet other_data = some_data();
  other_data.digest = "other";
  EXPECT_NE(digest(make_plan(suite, matrix, other_data, mock_engine({"mock"}), machine())), digest(base));
  Engine other_engine = mock_engine({"mock"});
  other_engine.version = "2";
  EXPECT_NE(digest(make_plan(suite, matrix, some_data(), other_engine, machine())), digest(base));
  results::MachineInfo other_machine = machine();
  other_machine.cpu_model = "Another CPU";
  EXPECT_NE(digest(make_plan(suite, matrix, some_data(), mock_engine({"mock"}), other_machine)), digest(base));
  Suite other = suite;
  other.threads = 1;
  EXPECT_NE(digest(planned(other)), digest(base));
  other = suite;
  other.dtype = core::Dtype::kFloat64;
  EXPECT_NE(digest(planned(other)), digest(base));
  other = suite;
  other.seeds = {2};
  EXPECT_NE(planned(other).runs.front().digest, digest(base));
}

TEST(Plan, TheSameConfigurationInAnotherSuiteIsTheSameRun) {
  Suite one = history_suite();
  one.records = {"record17"};
  one.seeds = {1};
  Suite two = ablation_suite("leave_one_out", {"rotary"});
  std::set<std::string> digests;
  for (const PlannedRun& run : planned(two).runs) digests.insert(run.digest);
  EXPECT_TRUE(digests.contains(planned(one).runs.front().digest));
}

TEST(Plan, ZeroThreadsAreAllCores) {
  const Plan plan = planned(history_suite());
  EXPECT_EQ(plan.threads, 2);
  EXPECT_EQ(plan.runs.front().spec.threads, 2);
}

TEST(Plan, MockSettingsMayDifferByCell) {
  Suite suite = history_suite();
  suite.mock = {{"steps", 3}, {"cells", {{"record13", {{"effect", -0.1}}}}}};
  for (const PlannedRun& run : planned(suite).runs) {
    EXPECT_EQ(run.spec.mock.at("steps"), 3);
    EXPECT_FALSE(run.spec.mock.contains("cells"));
    EXPECT_EQ(run.spec.mock.contains("effect"), run.cell == 1);
  }
}

class DataTest : public testing::Test {
 protected:
  DataTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nanobench-data-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~DataTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(DataTest, SyntheticHasTokensForEveryStepAndItsFloor) {
  const Suite suite = history_suite();
  Matrix matrix = make_matrix(suite, catalogue());
  const core::DataSet data = prepare_data(suite, matrix, folder_);
  for (const Cell& cell : matrix.cells) {
    EXPECT_GE(data.train_tokens, cell.config.data.tokens_per_step() * cell.config.run.stop_after);
    EXPECT_GT(data.val_tokens, cell.config.data.val_length() * cell.config.data.val_sequences);
    EXPECT_EQ(cell.config.attention.document_separator, data.separator);
    ASSERT_TRUE(cell.floor_nats.has_value());
    EXPECT_GT(*cell.floor_nats, 0);
  }
  Suite shorter = suite;
  shorter.records = {"record18", "record17"};
  Matrix other = make_matrix(shorter, catalogue());
  EXPECT_EQ(prepare_data(shorter, other, folder_).digest, data.digest) << "suites of one scale share their data";
}

TEST_F(DataTest, TextFitsTheCells) {
  std::ofstream text(folder_ / "a.txt");
  for (int i = 0; i < 2000; ++i) text << "Sentence number " << i << " of a text that is quite dull.\n\n";
  text.close();
  Suite suite = history_suite();
  suite.data = {DataRequest::Kind::kText, {folder_ / "a.txt"}};
  Matrix matrix = make_matrix(suite, catalogue());
  const core::DataSet data = prepare_data(suite, matrix, folder_ / "cache");
  EXPECT_EQ(data.vocab_size, 257);
  for (const Cell& cell : matrix.cells) {
    EXPECT_GE(cell.config.model.vocab_size, 257);
    EXPECT_FALSE(cell.floor_nats.has_value());
    core::check_train_config(cell.config, cell.label);
  }
}

TEST_F(DataTest, SaysThatATextIsTooShort) {
  std::ofstream(folder_ / "a.txt") << std::string(1500, 'x');
  Suite suite = history_suite();
  suite.scale = "nano";
  suite.data = {DataRequest::Kind::kText, {folder_ / "a.txt"}};
  Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_EQ(core::refusal_of([&] { prepare_data(suite, matrix, folder_ / "cache"); }).reason, Reason::kTooShort);
}

/// A folder with one shard a split, of bytes and `largest`.
core::DataSet write_shards(const std::filesystem::path& folder, std::uint16_t largest, std::size_t tokens = 20000) {
  std::filesystem::create_directories(folder);
  std::vector<std::uint16_t> train(tokens);
  for (std::size_t i = 0; i < tokens; ++i) train[i] = static_cast<std::uint16_t>(i % 90);
  std::vector<std::uint16_t> val = train;
  train[123] = largest;
  core::write_token_shard(folder / "x_train_000000.bin", train);
  core::write_token_shard(folder / "x_val_000000.bin", val);
  return core::load_data_set(folder);
}

Refused data_refusal(const Suite& suite, Matrix& matrix, const std::filesystem::path& cache) {
  const Refused refused = core::refusal_of([&] { prepare_data(suite, matrix, cache); });
  EXPECT_TRUE(refused.is_refused) << "accepted";
  EXPECT_EQ(refused.code, core::ErrorCode::kInvalidArgument) << refused.message;
  return refused;
}

TEST_F(DataTest, AVocabularyThatWasAskedForMustHoldEveryToken) {
  write_shards(folder_ / "shards", 200);
  Suite suite = ablation_suite("leave_one_out", {"rotary"});
  suite.data = {DataRequest::Kind::kShards, {folder_ / "shards"}};
  suite.scale = "official";
  suite.base_patch = Json::parse(R"({"model": {"vocab_size": 150}, "attention": {"document_separator": 89},
      "data": {"sequence_length": 1024, "val_sequences": 8}})");
  Matrix matrix = make_matrix(suite, catalogue());
  const Refused refused = data_refusal(suite, matrix, folder_ / "cache");
  EXPECT_REFUSED(refused, Reason::kOutOfRange, (folder_ / "shards/x_train_000000.bin").string());
  for (const char* part : {" 150 ", "ablation.json: /base/patch", "x_train_000000.bin", " 200 ", " 123,"})
    EXPECT_TRUE(refused.names(part)) << part << " is not in: " << refused.message;
}

TEST_F(DataTest, AVocabularyOfTheScaleIsEnlarged) {
  write_shards(folder_ / "shards", 40000);
  Suite suite = history_suite();
  suite.data = {DataRequest::Kind::kShards, {folder_ / "shards"}};
  Matrix matrix = make_matrix(suite, catalogue());
  const core::DataSet data = prepare_data(suite, matrix, folder_ / "cache");
  for (const Cell& cell : matrix.cells) EXPECT_EQ(cell.config.model.vocab_size, 50257);
  EXPECT_TRUE(says(matrix, MessageKind::kData, data.name, {"257", "50257"}));
}

TEST_F(DataTest, ATargetThatIsAPrefixNeedsTheBytesOfTheTokens) {
  const std::filesystem::path shards = folder_ / "shards";
  write_shards(shards, 200);
  Suite suite = ablation_suite("add_one_in", {"prefix_loss"});
  suite.base_record = "record41";
  suite.data = {DataRequest::Kind::kShards, {shards}};
  const auto write_vocabulary = [&](const core::Vocabulary& tokens) {
    std::ofstream(shards / core::kVocabularyFile) << core::vocabulary_text(tokens);
  };
  const auto planned_now = [&] {
    Matrix matrix = make_matrix(suite, catalogue());
    const core::DataSet data = prepare_data(suite, matrix, folder_ / "cache");
    EXPECT_EQ(says(matrix, MessageKind::kData, data.name, {"/loss/prefix"}),
              core::longest_prefixes(core::read_vocabulary(*data.vocabulary)).back() < 0);
    return make_plan(suite, matrix, data, mock_engine({"mock"}), machine());
  };
  Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_REFUSED(data_refusal(suite, matrix, folder_ / "cache"), Reason::kMissingFile, core::kVocabularyFile);
  write_vocabulary(core::synthetic_vocabulary(300));
  EXPECT_REFUSED(data_refusal(suite, matrix, folder_ / "cache"), Reason::kOtherVocabulary,
                 (shards / core::kVocabularyFile).string());
  EXPECT_TRUE(data_refusal(suite, matrix, folder_ / "cache").names(" 300 "));
  write_vocabulary(core::byte_vocabulary());
  planned_now();
  write_vocabulary(core::synthetic_vocabulary(256));
  for (const Plan plan = planned_now(); const PlannedRun& run : plan.runs)
    EXPECT_EQ(run.spec.vocabulary.has_value(), !run.spec.config.loss.prefix.empty()) << plan.cell_of(run).label;
}

TEST_F(DataTest, ATokenBeyondEveryKnownVocabularyIsFoundBeforeARun) {
  // 64 MiB of a larger shard are looked at when a folder is opened; the rest when it is to be trained on.
  write_shards(folder_ / "shards", 200);
  Suite suite = history_suite();
  suite.data = {DataRequest::Kind::kShards, {folder_ / "shards"}};
  Matrix matrix = make_matrix(suite, catalogue());
  for (Cell& cell : matrix.cells) {
    cell.config.model.vocab_size = 180;
    cell.vocabulary_asked_by = "small_vocabulary=180";
  }
  const Refused refused = data_refusal(suite, matrix, folder_ / "cache");
  EXPECT_EQ(refused.reason, Reason::kOutOfRange) << refused.message;
  EXPECT_TRUE(refused.names("small_vocabulary=180")) << refused.message;
}

TEST_F(DataTest, TooLittleDataForARunThatMayNotWrapIsReadAgain) {
  write_shards(folder_ / "shards", 200);
  Suite suite = history_suite();
  suite.data = {DataRequest::Kind::kShards, {folder_ / "shards"}};
  Matrix matrix = make_matrix(suite, catalogue());
  for (Cell& cell : matrix.cells) {
    cell.config.data.loader.wrap = false;
    cell.config.run.stop_after = cell.config.schedule.num_steps = 100;  // of 256 tokens
    cell.config.schedule.learning_rate.cooldown_steps = 10;
  }
  const core::DataSet data = prepare_data(suite, matrix, folder_ / "cache");
  for (const Cell& cell : matrix.cells) EXPECT_TRUE(cell.config.data.loader.wrap);
  EXPECT_TRUE(says(matrix, MessageKind::kData, data.name, {"78 ", " 100 "}));
}

TEST_F(DataTest, SaysWhichFileIsMissing) {
  Suite suite = history_suite();
  suite.data = {DataRequest::Kind::kText, {folder_ / "missing.txt"}};
  Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_THROW(prepare_data(suite, matrix, folder_), core::Error);
  suite.data = {DataRequest::Kind::kShards, {folder_ / "missing"}};
  EXPECT_THROW(prepare_data(suite, matrix, folder_), core::Error);
}

/// The option changes what a run measures, not what it is.
TEST(Plan, AskedMetricsAreNoPartOfTheIdentity) {
  Suite suite = history_suite();
  const Plan plain = planned(suite);
  suite.metrics = {core::AskedMetric::kLossAtPosition};
  const Plan asked = planned(suite);
  EXPECT_EQ(asked.digest, plain.digest);
  ASSERT_EQ(asked.runs.size(), plain.runs.size());
  for (std::size_t i = 0; i < asked.runs.size(); ++i) {
    EXPECT_EQ(asked.runs[i].digest, plain.runs[i].digest);
    EXPECT_EQ(asked.runs[i].spec.metrics, suite.metrics);
    EXPECT_TRUE(plain.runs[i].spec.metrics.empty());
  }
  EXPECT_EQ(needed_evidence(asked.runs[0]).metrics, (std::vector<std::string>{"val/loss_at_position"}));
  EXPECT_TRUE(needed_evidence(plain.runs[0]).metrics.empty());
}

}  // namespace
}  // namespace nanobench::suites
