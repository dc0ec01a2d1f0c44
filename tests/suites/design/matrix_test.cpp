#include "suites/design/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "ablations/catalogue.h"
#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"
#include "tests/suites/design/design_support.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::Reason;
using core::Refused;

TEST(Matrix, HistoryHasOneCellPerRecordInOrder) {
  const Matrix matrix = make_matrix(history_suite(), catalogue());
  ASSERT_EQ(matrix.cells.size(), 7u);
  EXPECT_EQ(matrix.cells[0].label, "record12");
  EXPECT_EQ(matrix.cells[6].label, "record18");
  EXPECT_EQ(matrix.cells[0].changes, std::vector<std::string>{"the starting point"});
  for (const Cell& cell : matrix.cells) EXPECT_FALSE(cell.changes.empty()) << cell.label;
  EXPECT_NE(matrix.cells[0].config.digest(), matrix.cells[1].config.digest());
}

TEST(Matrix, HistoryTellsAllThatChangedBetweenTwoRecords) {
  Suite suite = history_suite();
  suite.records = {"record12", "record15"};
  const Matrix matrix = make_matrix(suite, catalogue());
  for (const char* record : {"record13", "record14", "record15"}) {
    for (const std::string& change : catalogue().record(record).changes)
      EXPECT_NE(results::changes_text(matrix.cells[1].changes).find(change), std::string::npos) << change;
  }
}

TEST(Matrix, LeaveOneOutTurnsOneFeatureBackAtATime) {
  const Matrix matrix = make_matrix(ablation_suite("leave_one_out", {"rotary", "attention_skip"}), catalogue());
  ASSERT_EQ(matrix.cells.size(), 3u);
  EXPECT_EQ(matrix.cells[0].label, "record17");
  EXPECT_TRUE(matrix.cells[0].features.empty());
  EXPECT_EQ(matrix.cells[1].label, "without rotary");
  EXPECT_EQ(matrix.cells[1].features.at("rotary"), catalogue().feature("rotary").before);
  EXPECT_TRUE(matrix.cells[1].config.model.attention_skip_layers == matrix.cells[0].config.model.attention_skip_layers);
  EXPECT_TRUE(matrix.cells[2].config.model.attention_skip_layers.empty());
}

TEST(Matrix, AddOneInStartsWithAllFeaturesOff) {
  const Matrix matrix = make_matrix(ablation_suite("add_one_in", {"rotary", "attention_skip"}), catalogue());
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
    Suite suite = ablation_suite("leave_one_out", Json::array({choice}));
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
      ablation_suite("leave_one_out", Json::array({{{"id", "attention_skip"}, {"value", "layer_7"}}})), catalogue());
  EXPECT_EQ(matrix.cells.size(), 1u);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "attention_skip = layer_7"));
}

TEST(Matrix, WithoutFeaturesTakesAllThatTheBaseHas) {
  const Matrix matrix = make_matrix(ablation_suite("leave_one_out", Json::array()), catalogue());
  std::set<std::string> labels;
  for (const Cell& cell : matrix.cells) labels.insert(cell.label);
  EXPECT_EQ(labels.size(), matrix.cells.size());
  EXPECT_TRUE(labels.contains("without rotary"));
  EXPECT_GE(matrix.cells.size(), 10u);
}

Refused matrix_refusal(const Suite& suite, core::ErrorCode code) {
  const Refused refused = core::refusal_of([&] { make_matrix(suite, catalogue()); });
  EXPECT_TRUE(refused.is_refused) << "accepted";
  EXPECT_EQ(refused.code, code) << refused.message;
  return refused;
}

TEST(Matrix, TurnsBackOnlyWhatTheBaseHasAtItsLaterValue) {
  // Record 17 has 1490 steps, the later value; record 12 has 1875, which is neither.
  Suite suite = ablation_suite("leave_one_out", {"training_steps", "rotary"});
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
  const Suite suite = ablation_suite("leave_one_out", {"newton_schulz_precision"});
  const Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_EQ(matrix.cells.size(), 1u);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without newton_schulz_precision", {"smoke"}));
  Suite official = suite;
  official.scale = "official";
  EXPECT_EQ(make_matrix(official, catalogue()).cells.size(), 2u);
}

TEST(Matrix, WithoutFeaturesSaysOnceWhatItLeftOut) {
  const Matrix matrix = make_matrix(ablation_suite("leave_one_out", Json::array()), catalogue());
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
  Suite suite = ablation_suite("leave_one_out", {"rotary", "buckets"});
  suite.inline_features = idle_features();
  const Refused alone = matrix_refusal(suite, core::ErrorCode::kUnavailable);
  EXPECT_REFUSED(alone, Reason::kTooFewProcesses, "buckets=copies");
  EXPECT_TRUE(alone.begins("ablation.json: /features/1: ") && alone.names(" 2 processes")) << alone.message;
  suite.processes = 2;
  EXPECT_EQ(make_matrix(suite, catalogue()).cells.size(), 3u);
  suite.features = {{"free_steps", std::nullopt}};
  const Refused idle = matrix_refusal(suite, core::ErrorCode::kUnavailable);
  EXPECT_REFUSED(idle, Reason::kNoEffect, "free_steps=twenty");
  EXPECT_TRUE(idle.names("smoke")) << idle.message;
}

TEST(Matrix, AFeatureThatNobodyNamedAndThatCannotActIsLeftOut) {
  Suite suite = ablation_suite("leave_one_out", Json::array());
  suite.inline_features = idle_features();
  const Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without buckets", {"--processes 2"}));
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "without free_steps", {"smoke"}));
  EXPECT_GE(matrix.cells.size(), 10u);
}

TEST(Matrix, AddOneInWithoutFeaturesLeavesOutWhatExcludesEachOther) {
  const Matrix matrix = make_matrix(ablation_suite("add_one_in", Json::array()), catalogue());
  EXPECT_GE(matrix.cells.size(), 10u);
  EXPECT_EQ(matrix.cells[0].label, "none");
  for (std::size_t i = 1; i < matrix.cells.size(); ++i)
    EXPECT_NE(matrix.cells[i].config.digest(), matrix.cells[0].config.digest()) << matrix.cells[i].label;
}

TEST(Matrix, RanksAndProcessesReachTheCells) {
  Suite suite = history_suite();
  suite.processes = 2;
  for (const Cell& cell : make_matrix(suite, catalogue()).cells) {
    EXPECT_EQ(cell.config.distributed.processes, 2) << cell.label;
    EXPECT_EQ(cell.config.data.ranks, 2) << cell.label;
  }
}

TEST(Matrix, SaysWhenTwoRecordsAreTheSame) {
  ablations::Catalogue extended = catalogue();
  extended.add_record({{"id", "record12b"}, {"number", 12}, {"title", "again"}, {"parent", "record12"}}, "record12b");
  Suite suite = history_suite();
  suite.records = {"record12", "record12b"};
  const Matrix matrix = make_matrix(suite, extended);
  EXPECT_TRUE(says(matrix, MessageKind::kSameRun, "record12b", {"record12 "}));
}

TEST(Matrix, AnImpossibleBaseNamesWhoAskedForIt) {
  Suite suite = ablation_suite("leave_one_out", {"rotary"});
  suite.base_features = {{"value_embeddings", "tables_12"}};
  suite.base_patch = {{"model", {{"num_layers", 6}}}};
  const Refused refused = matrix_refusal(suite, core::ErrorCode::kInvalidArgument);
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
  Suite suite = history_suite();
  suite.records = {"record12", "record171"};
  const Refused refused = core::refusal_of([&] { make_matrix(suite, catalogue()); });
  EXPECT_REFUSED(refused, Reason::kUnknownName, "record171");
  EXPECT_TRUE(refused.begins("history.json: /records/1: ") && refused.names("record171")) << refused.message;
  EXPECT_REFUSAL(make_matrix(ablation_suite("leave_one_out", {"rotarry"}), catalogue()), Reason::kUnknownName,
                 "rotarry");
  suite = history_suite();
  suite.scale = "nanno";
  EXPECT_REFUSAL(make_matrix(suite, catalogue()), Reason::kUnknownName, "nanno");
}

TEST(Matrix, TakesFeaturesFromTheSuite) {
  Suite suite = ablation_suite("leave_one_out", {"wide_mlp"});
  suite.inline_features = {Json::parse(R"({
    "id": "wide_mlp", "title": "Width of the MLP", "introduced": {"analyses": []},
    "values": {"half": {"model": {"mlp_ratio": 2}}, "full": {"model": {"mlp_ratio": 4}}},
    "before": "half", "after": "full", "kind": "numerics", "text": "for this test"})")};
  const Matrix matrix = make_matrix(suite, catalogue());
  ASSERT_EQ(matrix.cells.size(), 2u);
  EXPECT_EQ(matrix.cells[1].config.model.mlp_ratio, 2);
}

}  // namespace
}  // namespace nanobench::suites
