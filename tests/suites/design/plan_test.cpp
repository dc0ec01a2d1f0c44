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

using core::Reason;
using core::Refused;

using core::Json;

Suite plan_history() {
  return read_suite({{"name", "history"},
                     {"design", "history"},
                     {"records", {"record12", "record13", "record14", "record15", "record16", "record17", "record18"}},
                     {"scale", "smoke"},
                     {"seeds", {1, 2, 3}}},
                    "history.json");
}

Suite ablation(const std::string& design, const Json& features) {
  return read_suite({{"name", "ablation"},
                     {"design", design},
                     {"base", {{"record", "record17"}}},
                     {"features", features},
                     {"scale", "smoke"}},
                    "ablation.json");
}

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

TEST(Matrix, HistoryHasOneCellPerRecordInOrder) {
  const Matrix matrix = make_matrix(plan_history(), catalogue());
  ASSERT_EQ(matrix.cells.size(), 7u);
  EXPECT_EQ(matrix.cells[0].label, "record12");
  EXPECT_EQ(matrix.cells[6].label, "record18");
  EXPECT_EQ(matrix.cells[0].changes, std::vector<std::string>{"the starting point"});
  for (const Cell& cell : matrix.cells) EXPECT_FALSE(cell.changes.empty()) << cell.label;
  EXPECT_NE(matrix.cells[0].config.digest(), matrix.cells[1].config.digest());
}

TEST(Matrix, HistoryTellsAllThatChangedBetweenTwoRecords) {
  Suite suite = plan_history();
  suite.records = {"record12", "record15"};
  const Matrix matrix = make_matrix(suite, catalogue());
  for (const char* record : {"record13", "record14", "record15"}) {
    for (const std::string& change : catalogue().record(record).changes)
      EXPECT_NE(results::changes_text(matrix.cells[1].changes).find(change), std::string::npos) << change;
  }
}

TEST(Matrix, LeaveOneOutTurnsOneFeatureBackAtATime) {
  const Matrix matrix = make_matrix(ablation("leave_one_out", {"rotary", "attention_skip"}), catalogue());
  ASSERT_EQ(matrix.cells.size(), 3u);
  EXPECT_EQ(matrix.cells[0].label, "record17");
  EXPECT_TRUE(matrix.cells[0].features.empty());
  EXPECT_EQ(matrix.cells[1].label, "without rotary");
  EXPECT_EQ(matrix.cells[1].features.at("rotary"), catalogue().feature("rotary").before);
  EXPECT_TRUE(matrix.cells[1].config.model.attention_skip_layers == matrix.cells[0].config.model.attention_skip_layers);
  EXPECT_TRUE(matrix.cells[2].config.model.attention_skip_layers.empty());
}

TEST(Matrix, AddOneInStartsWithAllFeaturesOff) {
  const Matrix matrix = make_matrix(ablation("add_one_in", {"rotary", "attention_skip"}), catalogue());
  ASSERT_EQ(matrix.cells.size(), 3u);
  EXPECT_EQ(matrix.cells[0].label, "none");
  EXPECT_TRUE(matrix.cells[0].config.model.attention_skip_layers.empty());
  EXPECT_EQ(matrix.cells[1].label, "only rotary");
  EXPECT_TRUE(matrix.cells[1].config.model.attention_skip_layers.empty());
  EXPECT_TRUE(matrix.cells[1].config.model.rope.half_truncate);
  EXPECT_FALSE(matrix.cells[2].config.model.rope.half_truncate);
  EXPECT_FALSE(matrix.cells[2].config.model.attention_skip_layers.empty());
}

TEST(Matrix, LeaveOneOutSaysWhatTheBaseDoesWhicheverTheOtherValueIs) {
  const auto contrast_of = [](const std::string& record, const Json& choice) {
    Suite suite = ablation("leave_one_out", Json::array({choice}));
    suite.base_record = record;
    const Matrix matrix = make_matrix(suite, catalogue());
    EXPECT_EQ(matrix.contrasts.size(), 1u);
    return matrix.contrasts.at(0);
  };
  const auto base_less = [](const std::string& record, const std::string& cell) {
    return std::map<std::string, double>{{record, 1.0}, {cell, -1.0}};
  };
  const results::PlanContrast usual = contrast_of("record17", "rotary");
  EXPECT_EQ(usual.effect, "rotary");
  EXPECT_EQ(usual.coefficients, base_less("record17", "without rotary"));
  // Neither the earlier nor the later value.
  const results::PlanContrast other = contrast_of("record17", {{"id", "value_embeddings"}, {"value", "none"}});
  EXPECT_EQ(other.effect, "value_embeddings over none");
  EXPECT_EQ(other.coefficients, base_less("record17", "value_embeddings = none"));
  ASSERT_EQ(other.factors.size(), 1u);
  EXPECT_EQ(other.factors[0].setting, "value_embeddings");
  EXPECT_EQ(other.factors[0].from, "none");
  EXPECT_EQ(other.factors[0].to, catalogue().record("record17").features.at("value_embeddings"));
  // `after` is not the last word: a base beyond it has the later value.
  const results::PlanContrast beyond =
      contrast_of("record41", {{"id", "muon_orthogonalizer"}, {"value", "newton_schulz"}});
  EXPECT_EQ(beyond.effect, "muon_orthogonalizer over newton_schulz");
  EXPECT_EQ(beyond.coefficients, base_less("record41", "muon_orthogonalizer = newton_schulz"));
  // The later value in a base that lacks it: the effect is still the later less the earlier.
  const results::PlanContrast later = contrast_of("record16", {{"id", "attention_skip"}, {"value", "layer_7"}});
  EXPECT_EQ(later.effect, "attention_skip=layer_7");
  EXPECT_EQ(later.coefficients, (std::map<std::string, double>{{"record16", -1.0}, {"attention_skip = layer_7", 1.0}}));
}

TEST(Matrix, LeavesOutAFeatureThatTheBaseHasAlready) {
  const Matrix matrix = make_matrix(
      ablation("leave_one_out", Json::array({{{"id", "attention_skip"}, {"value", "layer_7"}}})), catalogue());
  EXPECT_EQ(matrix.cells.size(), 1u);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "attention_skip = layer_7"));
}

TEST(Matrix, WithoutFeaturesTakesAllThatTheBaseHas) {
  const Matrix matrix = make_matrix(ablation("leave_one_out", Json::array()), catalogue());
  std::set<std::string> labels;
  for (const Cell& cell : matrix.cells) labels.insert(cell.label);
  EXPECT_EQ(labels.size(), matrix.cells.size());
  EXPECT_TRUE(labels.contains("without rotary"));
  EXPECT_GE(matrix.cells.size(), 10u);
}

Refused plan_refusal(const Suite& suite, core::ErrorCode code) {
  const Refused refused = core::refusal_of([&] { make_matrix(suite, catalogue()); });
  EXPECT_TRUE(refused.is_refused) << "accepted";
  EXPECT_EQ(refused.code, code) << refused.message;
  return refused;
}

TEST(Matrix, TurnsBackOnlyWhatTheBaseHasAtItsLaterValue) {
  // Record 17 has 1490 steps, the later value; record 12 has 1875, which is neither.
  Suite suite = ablation("leave_one_out", {"training_steps", "rotary"});
  EXPECT_EQ(make_matrix(suite, catalogue()).cells.size(), 3u);
  suite.base_record = "record12";
  const Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_EQ(matrix.cells.size(), 1u);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without training_steps", {"\"1875\"", "\"1490\""}));
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without rotary"));
  suite.features = {{"training_steps", "1480"}};
  EXPECT_EQ(make_matrix(suite, catalogue()).cells.size(), 2u) << "a value that is named is set";
}

TEST(Matrix, WhatTheScaleHoldsIsNotTurnedBack) {
  const Suite suite = ablation("leave_one_out", {"newton_schulz_precision"});
  const Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_EQ(matrix.cells.size(), 1u);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without newton_schulz_precision", {"smoke"}));
  Suite official = suite;
  official.scale = "official";
  EXPECT_EQ(make_matrix(official, catalogue()).cells.size(), 2u);
}

TEST(Matrix, WithoutFeaturesSaysOnceWhatItLeftOut) {
  const Matrix matrix = make_matrix(ablation("leave_one_out", Json::array()), catalogue());
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "", {"newton_schulz_precision", "logit_softcap"}));
  for (const Cell& cell : matrix.cells) EXPECT_NE(cell.label, "without newton_schulz_precision");
}

/// Needs two processes, and one that changes nothing at this scale.
std::vector<Json> idle_features() {
  return {Json::parse(R"({"id": "buckets", "title": "t", "introduced": {}, "kind": "systems", "text": "t.",
            "before": "copies", "after": "views", "needs": {"processes": 2},
            "values": {"copies": {"distributed": {"buckets": "copies"}}, "views": {"distributed": {"buckets": "views"}}}})"),
          Json::parse(R"({"id": "free_steps", "title": "t", "introduced": {}, "kind": "systems", "text": "t.",
            "before": "twenty", "after": "ten",
            "values": {"twenty": {"run": {"untimed_steps": 20}}, "ten": {"run": {"untimed_steps": 10}}}})")};
}

TEST(Matrix, AFeatureThatTheSuiteNamesAndThatCannotActIsAnError) {
  Suite suite = ablation("leave_one_out", {"rotary", "buckets"});
  suite.inline_features = idle_features();
  const Refused alone = plan_refusal(suite, core::ErrorCode::kUnavailable);
  EXPECT_REFUSED(alone, Reason::kTooFewProcesses, "buckets=copies");
  EXPECT_TRUE(alone.begins("ablation.json: /features/1: ") && alone.names(" 2 processes")) << alone.message;
  suite.processes = 2;
  EXPECT_EQ(make_matrix(suite, catalogue()).cells.size(), 3u);
  suite.features = {{"free_steps", std::nullopt}};
  const Refused idle = plan_refusal(suite, core::ErrorCode::kUnavailable);
  EXPECT_REFUSED(idle, Reason::kNoEffect, "free_steps=twenty");
  EXPECT_TRUE(idle.names("smoke")) << idle.message;
}

TEST(Matrix, AFeatureThatNobodyNamedAndThatCannotActIsLeftOut) {
  Suite suite = ablation("leave_one_out", Json::array());
  suite.inline_features = idle_features();
  const Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without buckets", {"--processes 2"}));
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without free_steps", {"smoke"}));
  EXPECT_GE(matrix.cells.size(), 10u);
}

TEST(Matrix, AddOneInWithoutFeaturesLeavesOutWhatExcludesEachOther) {
  const Matrix matrix = make_matrix(ablation("add_one_in", Json::array()), catalogue());
  EXPECT_GE(matrix.cells.size(), 10u);
  EXPECT_EQ(matrix.cells[0].label, "none");
  for (std::size_t i = 1; i < matrix.cells.size(); ++i)
    EXPECT_NE(matrix.cells[i].config.digest(), matrix.cells[0].config.digest()) << matrix.cells[i].label;
}

TEST(Matrix, RanksAndProcessesReachTheCells) {
  Suite suite = plan_history();
  suite.processes = 2;
  for (const Cell& cell : make_matrix(suite, catalogue()).cells) {
    EXPECT_EQ(cell.config.distributed.processes, 2) << cell.label;
    EXPECT_EQ(cell.config.data.ranks, 2) << cell.label;
  }
}

TEST(Matrix, SaysWhenTwoRecordsAreTheSame) {
  ablations::Catalogue extended = catalogue();
  extended.add_record({{"id", "record12b"}, {"number", 12}, {"title", "again"}, {"parent", "record12"}}, "record12b");
  Suite suite = plan_history();
  suite.records = {"record12", "record12b"};
  const Matrix matrix = make_matrix(suite, extended);
  EXPECT_TRUE(says(matrix, MessageKind::kSameRun, "record12b", {"record12 "}));
}

TEST(Matrix, AnImpossibleBaseNamesWhoAskedForIt) {
  Suite suite = ablation("leave_one_out", {"rotary"});
  suite.base_features = {{"value_embeddings", "tables_12"}};
  suite.base_patch = {{"model", {{"num_layers", 6}}}};
  const Refused refused = plan_refusal(suite, core::ErrorCode::kInvalidArgument);
  EXPECT_REFUSED(refused, Reason::kUnmet, "/model/value_embeddings/layer_map");
  EXPECT_TRUE(refused.begins("ablation.json: /base: ")) << refused.message;
  EXPECT_TRUE(refused.names("value_embeddings=tables_12") && refused.names("ablation.json: /base/patch"))
      << refused.message;
}

TEST(Matrix, TheSuitesOfThisFolderResolve) {
  for (const auto& entry : std::filesystem::directory_iterator(NANOBENCH_SOURCE_DIR "/suites")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".json") || name == "suite.schema.json") continue;
    for (const char* scale : {"smoke", "nano", "official"}) {
      Suite suite = read_suite_file(entry.path());
      suite.scale = scale;
      const Matrix matrix = make_matrix(suite, catalogue());
      std::map<std::string, std::string>
          labels;  // by digest and kernels; two records may be one configuration, and then it is said
      for (const Cell& cell : matrix.cells) {
        if (cell.arm > 0) continue;
        const std::string kernels = cell.kernels ? enum_name(*cell.kernels) : "";
        const auto [twin, is_new] = labels.emplace(config_digest(cell) + kernels, cell.label);
        EXPECT_TRUE(is_new || says(matrix, MessageKind::kSameRun, cell.label, {twin->second}))
            << name << " at " << scale << ": " << cell.label << " and " << twin->second << " are the same";
      }
      EXPECT_GE(matrix.cells.size(), 2u) << name;
      EXPECT_EQ(matrix.contrasts.empty(), suite.design == Design::kClaims) << name;
      if (suite.design == Design::kHistory) {
        EXPECT_EQ(matrix.cells.size(), suite.records.size());
      }
      if (suite.design == Design::kLeaveOneOut) {
        EXPECT_EQ(matrix.cells.size(), suite.features.size() + 1);
      }
    }
  }
}

TEST(Matrix, SaysWhichFileNamesSomethingUnknown) {
  Suite suite = plan_history();
  suite.records = {"record12", "record171"};
  const Refused refused = core::refusal_of([&] { make_matrix(suite, catalogue()); });
  EXPECT_REFUSED(refused, Reason::kUnknownName, "record171");
  EXPECT_TRUE(refused.begins("history.json: /records/1: ") && refused.names("record171")) << refused.message;
  EXPECT_REFUSAL(make_matrix(ablation("leave_one_out", {"rotarry"}), catalogue()), Reason::kUnknownName, "rotarry");
  suite = plan_history();
  suite.scale = "nanno";
  EXPECT_REFUSAL(make_matrix(suite, catalogue()), Reason::kUnknownName, "nanno");
}

TEST(Matrix, TakesFeaturesFromTheSuite) {
  Suite suite = ablation("leave_one_out", {"wide_mlp"});
  suite.inline_features = {Json::parse(R"({
    "id": "wide_mlp", "title": "Width of the MLP", "introduced": {"analyses": []},
    "values": {"half": {"model": {"mlp_ratio": 2}}, "full": {"model": {"mlp_ratio": 4}}},
    "before": "half", "after": "full", "kind": "numerics", "text": "for this test"})")};
  const Matrix matrix = make_matrix(suite, catalogue());
  ASSERT_EQ(matrix.cells.size(), 2u);
  EXPECT_EQ(matrix.cells[1].config.model.mlp_ratio, 2);
}

TEST(Plan, HasEachCellOncePerSeed) {
  const Plan plan = planned(plan_history());
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
  EXPECT_EQ(order_of(planned(plan_history())), order_of(planned(plan_history())));
  EXPECT_EQ(planned(plan_history()).digest, planned(plan_history()).digest);
}

TEST(Plan, AnotherOrderSeedGivesAnotherOrderOfTheSameRuns) {
  Suite other = plan_history();
  other.order_seed = 2;
  const Plan a = planned(plan_history());
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
  const auto order = order_of(planned(plan_history()));
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
  for (const auto& [cell, seed] : order_of(planned(plan_history()))) {
    if (seed == 1) cells.push_back(cell);
  }
  EXPECT_EQ(cells, (std::vector<std::size_t>{5, 6, 4, 3, 0, 1, 2}));
}

TEST(Plan, ARunIsAnotherRunWhenWhatItMeasuresDiffers) {
  Suite suite = plan_history();
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
  Suite one = plan_history();
  one.records = {"record17"};
  one.seeds = {1};
  Suite two = ablation("leave_one_out", {"rotary"});
  std::set<std::string> digests;
  for (const PlannedRun& run : planned(two).runs) digests.insert(run.digest);
  EXPECT_TRUE(digests.contains(planned(one).runs.front().digest));
}

TEST(Plan, ZeroThreadsAreAllCores) {
  const Plan plan = planned(plan_history());
  EXPECT_EQ(plan.threads, 2);
  EXPECT_EQ(plan.runs.front().spec.threads, 2);
}

TEST(Plan, MockSettingsMayDifferByCell) {
  Suite suite = plan_history();
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
  const Suite suite = plan_history();
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
  Suite suite = plan_history();
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
  Suite suite = plan_history();
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
  Suite suite = ablation("leave_one_out", {"rotary"});
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
  Suite suite = plan_history();
  suite.data = {DataRequest::Kind::kShards, {folder_ / "shards"}};
  Matrix matrix = make_matrix(suite, catalogue());
  const core::DataSet data = prepare_data(suite, matrix, folder_ / "cache");
  for (const Cell& cell : matrix.cells) EXPECT_EQ(cell.config.model.vocab_size, 50257);
  EXPECT_TRUE(says(matrix, MessageKind::kData, data.name, {"257", "50257"}));
}

TEST_F(DataTest, ATargetThatIsAPrefixNeedsTheBytesOfTheTokens) {
  const std::filesystem::path shards = folder_ / "shards";
  write_shards(shards, 200);
  Suite suite = ablation("add_one_in", {"prefix_loss"});
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
  Suite suite = plan_history();
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
  Suite suite = plan_history();
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
  Suite suite = plan_history();
  suite.data = {DataRequest::Kind::kText, {folder_ / "missing.txt"}};
  Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_THROW(prepare_data(suite, matrix, folder_), core::Error);
  suite.data = {DataRequest::Kind::kShards, {folder_ / "missing"}};
  EXPECT_THROW(prepare_data(suite, matrix, folder_), core::Error);
}

/// The option changes what a run measures, not what it is.
TEST(Plan, AskedMetricsAreNoPartOfTheIdentity) {
  Suite suite = plan_history();
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
