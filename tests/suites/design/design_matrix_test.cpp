// Designs over the real catalogue: which cells, what is left out and said, what the contrasts recover.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "ablations/catalogue.h"
#include "core/base/error.h"
#include "suites/design/plan.h"
#include "tests/core/base/refusal_support.h"
#include "tests/suites/design/design_support.h"

namespace nanobench::suites {
namespace {

using core::Reason;
using core::Refused;

using core::Json;

Json design_matrix_suite_of(const std::string& design, const Json& features = nullptr) {
  Json json = {{"name", "s"}, {"design", design}, {"base", {{"record", "record17"}}}, {"scale", "smoke"}};
  if (!features.is_null()) json["features"] = features;
  return json;
}

Matrix design_matrix_of(const Json& json) {
  return make_matrix(read_suite(json, "s.json"), catalogue());
}

Refused design_matrix_refusal(const Json& json) {
  const Refused refused = core::refusal_of([&] { design_matrix_of(json); });
  EXPECT_TRUE(refused.is_refused) << "accepted: " << json;
  EXPECT_NE(refused.code, core::ErrorCode::kInternal) << refused.message;
  EXPECT_TRUE(refused.begins("s.json: /")) << refused.message;
  return refused;
}

const results::PlanContrast& contrast_of(const Matrix& matrix, const std::string& effect) {
  for (const results::PlanContrast& contrast : matrix.contrasts) {
    if (contrast.effect == effect) return contrast;
  }
  throw core::Error(core::ErrorCode::kNotFound, "no contrast for " + effect);
}

/// The contrast over what `loss` makes of each cell.
double estimate(const Matrix& matrix, const std::string& effect, const std::function<double(const Cell&)>& loss) {
  double sum = 0.0;
  const results::PlanContrast& contrast = contrast_of(matrix, effect);
  for (const Cell& cell : matrix.cells) {
    const auto found = contrast.coefficients.find(cell.label);
    if (found != contrast.coefficients.end()) sum += found->second * loss(cell);
  }
  return sum;
}

bool skips_attention(const Cell& cell) {
  return !cell.config.model.attention_skip_layers.empty();
}
bool has_half_rotary(const Cell& cell) {
  return cell.config.model.rope.half_truncate;
}
bool has_late_beta(const Cell& cell) {
  return core::to_json(cell.config)["optimizer"]["lm_head"]["betas"][0] < 0.85;
}

/// Effects of attention_skip, rotary and adam_beta1 in record 17, with one interaction.
double planted(const Cell& cell) {
  return 3.0 + (skips_attention(cell) ? 0.01 : 0) - (has_half_rotary(cell) ? 0.02 : 0) -
         (has_late_beta(cell) ? 0.005 : 0) + (skips_attention(cell) && has_half_rotary(cell) ? 0.004 : 0);
}

const Json kThree = {"attention_skip", "rotary", "adam_beta1"};

TEST(DesignMatrix, ALeaveOneOutEstimatesWhatTheLaterValueDoes) {
  const Matrix matrix = design_matrix_of(design_matrix_suite_of("leave_one_out", kThree));
  EXPECT_EQ(matrix.contrasts.size(), 3u);
  EXPECT_NEAR(estimate(matrix, "attention_skip", planted), 0.014, 1e-12) << "in the company of rotary";
  EXPECT_NEAR(estimate(matrix, "rotary", planted), -0.016, 1e-12);
  EXPECT_EQ(contrast_of(matrix, "rotary").coefficients,
            (std::map<std::string, double>{{"record17", 1}, {"without rotary", -1}}));
  EXPECT_EQ(contrast_of(matrix, "rotary").kind, results::ContrastKind::kSimple);
  ASSERT_EQ(contrast_of(matrix, "rotary").factors.size(), 1U);
  EXPECT_EQ(contrast_of(matrix, "rotary").factors[0],
            (results::ContrastFactor{"rotary", "rotary", "full_10000", "half_1024"}))
      << "to the later value, whichever the base has";
}

TEST(DesignMatrix, WhatActsOnAGpuOnlyIsNoCellOfASuiteOnTheCpu) {
  const auto has = [](const Matrix& matrix) {
    const std::vector<std::string> labels = labels_of(matrix);
    return std::find(labels.begin(), labels.end(), "without expandable_segments") != labels.end();
  };
  const Matrix on_cpu = design_matrix_of(design_matrix_suite_of("leave_one_out"));
  EXPECT_FALSE(has(on_cpu));
  EXPECT_TRUE(says(on_cpu, MessageKind::kLeftOut, "without expandable_segments", {"GPU"})) << all_of(on_cpu.messages);
  EXPECT_TRUE(has(design_matrix_of(with(design_matrix_suite_of("leave_one_out"), "device", "cuda"))));
  const Json listed = Json::array({"expandable_segments", "attention_skip"});
  EXPECT_EQ(design_matrix_refusal(design_matrix_suite_of("leave_one_out", listed)).reason, Reason::kNeedsGpu);
}

TEST(DesignMatrix, AnAddOneInEstimatesEachAlone) {
  const Matrix matrix = design_matrix_of(design_matrix_suite_of("add_one_in", kThree));
  EXPECT_NEAR(estimate(matrix, "attention_skip", planted), 0.01, 1e-12);
  EXPECT_NEAR(estimate(matrix, "rotary", planted), -0.02, 1e-12);
}

TEST(DesignMatrix, AHistoryComparesEachRecordWithTheOneBefore) {
  const Matrix matrix = design_matrix_of({{"name", "s"}, {"design", "history"}, {"records", {"record12", "record13"}}});
  ASSERT_EQ(matrix.contrasts.size(), 1u);
  EXPECT_EQ(matrix.contrasts[0].coefficients, (std::map<std::string, double>{{"record12", -1}, {"record13", 1}}));
  EXPECT_EQ(matrix.contrasts[0].factors.at(0), (results::ContrastFactor{"record13", "record", "record12", "record13"}));
}

TEST(DesignMatrix, AFactorialHasAllCombinationsAndRecoversInteractions) {
  const Matrix matrix = design_matrix_of(design_matrix_suite_of("factorial", kThree));
  EXPECT_EQ(labels_of(matrix),
            (std::vector<std::string>{"none", "adam_beta1", "rotary", "rotary + adam_beta1", "attention_skip",
                                      "attention_skip + adam_beta1", "attention_skip + rotary",
                                      "attention_skip + rotary + adam_beta1"}));
  EXPECT_EQ(results::changes_text(matrix.cells.back().changes), "the base");
  EXPECT_TRUE(matrix.cells.back().features.empty());
  std::set<std::string> digests;
  for (const Cell& cell : matrix.cells) digests.insert(cell.config.digest());
  EXPECT_EQ(digests.size(), 8u);
  EXPECT_NEAR(estimate(matrix, "attention_skip", planted), 0.012, 1e-12);
  EXPECT_NEAR(estimate(matrix, "rotary", planted), -0.018, 1e-12);
  EXPECT_NEAR(estimate(matrix, "adam_beta1", planted), -0.005, 1e-12);
  EXPECT_NEAR(estimate(matrix, "attention_skip x rotary", planted), 0.002, 1e-12) << "half of what one changes";
  EXPECT_NEAR(estimate(matrix, "attention_skip x rotary x adam_beta1", planted), 0.0, 1e-12);
}

TEST(DesignMatrix, AFactorialTakesSeveralValuesOfAFeature) {
  const Matrix matrix = design_matrix_of(design_matrix_suite_of(
      "factorial", Json::array({{{"id", "logit_softcap"}, {"values", {"30", "15", "off"}}}, "attention_skip"})));
  EXPECT_EQ(matrix.cells.size(), 6u);
  EXPECT_EQ(matrix.contrasts.size(), 5u);
  const auto loss = [](const Cell& cell) { return cell.label.find("softcap=off") != std::string::npos ? 3.5 : 3.0; };
  EXPECT_NEAR(estimate(matrix, "logit_softcap=off", loss), 0.5, 1e-12);
  EXPECT_NEAR(estimate(matrix, "logit_softcap=15", loss), 0.0, 1e-12);
  EXPECT_NEAR(estimate(matrix, "attention_skip", loss), 0.0, 1e-12);
}

TEST(DesignMatrix, PairsEstimateWhatTwoDoBeyondTheirSum) {
  const Matrix matrix = design_matrix_of(design_matrix_suite_of("pairs", kThree));
  EXPECT_EQ(labels_of(matrix)[0], "record17");
  EXPECT_EQ(labels_of(matrix)[1], "without attention_skip");
  EXPECT_EQ(labels_of(matrix)[4], "without attention_skip, without rotary");
  EXPECT_EQ(matrix.cells.size(), 7u);
  EXPECT_NEAR(estimate(matrix, "attention_skip", planted), 0.014, 1e-12);
  EXPECT_NEAR(estimate(matrix, "attention_skip x rotary", planted), 0.004, 1e-12);
  const std::vector<results::ContrastFactor>& factors = contrast_of(matrix, "attention_skip x rotary").factors;
  ASSERT_EQ(factors.size(), 2U);
  EXPECT_EQ(factors[0].setting, "attention_skip");
  EXPECT_EQ(factors[1].name, "rotary");
  EXPECT_NEAR(estimate(matrix, "attention_skip x adam_beta1", planted), 0.0, 1e-12);
}

TEST(DesignMatrix, AFractionStatesItsResolutionAndAliases) {
  const Json features = {"attention_skip", "rotary", "adam_beta1", "value_mix", "muon_momentum_form"};
  const Matrix matrix = design_matrix_of(with(design_matrix_suite_of("fractional_factorial", features), "runs", 8));
  EXPECT_EQ(matrix.cells.size(), 8u) << all_of(matrix.messages);
  EXPECT_EQ(matrix.contrasts.size(), 7u);
  EXPECT_TRUE(says(
      matrix, MessageKind::kDesign, "",
      {"8 ", "2^5", " III", "value_mix = attention_skip x rotary", "muon_momentum_form = attention_skip x adam_beta1"}))
      << all_of(matrix.messages);
  EXPECT_TRUE(says(matrix, MessageKind::kDesign, "", {"I = attention_skip x rotary x value_mix = "}))
      << all_of(matrix.messages);
  EXPECT_TRUE(says(matrix, MessageKind::kDesign, "", {"attention_skip (- "})) << all_of(matrix.messages);
  EXPECT_EQ(contrast_of(matrix, "attention_skip").aliases.front(), "rotary x value_mix");
  for (const std::string& label : labels_of(matrix)) EXPECT_EQ(label.size(), 5u) << label;
  EXPECT_NEAR(estimate(matrix, "adam_beta1", planted), -0.005, 1e-12);
  EXPECT_NEAR(estimate(matrix, "value_mix", planted), 0.002, 1e-12) << "the alias attention_skip x rotary";
  const Matrix clear =
      design_matrix_of(with(design_matrix_suite_of("fractional_factorial", features), "resolution", 5));
  EXPECT_EQ(clear.cells.size(), 16u);
  EXPECT_NEAR(estimate(clear, "value_mix", planted), 0.0, 1e-12);
  EXPECT_NEAR(estimate(clear, "attention_skip x rotary", planted), 0.002, 1e-12);
}

TEST(DesignMatrix, AFractionOfAllFeaturesLeavesOutWhatCannotAct) {
  const Matrix matrix = design_matrix_of(with(design_matrix_suite_of("fractional_factorial"), "resolution", 3));
  EXPECT_GE(matrix.cells.size(), 16u);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, ""));
}

TEST(DesignMatrix, ASweepTakesPathsAndFeatures) {
  Json json = design_matrix_suite_of("sweep");
  json["axes"] = Json::array({{{"path", "/optimizer/hidden_matrices/lr"}, {"values", {0.02, 0.05, 0.1}}}});
  const Matrix one = design_matrix_of(json);
  EXPECT_EQ(labels_of(one), (std::vector<std::string>{"lr=0.02", "lr=0.05", "lr=0.1"}));
  EXPECT_EQ(core::to_json(one.cells[2].config)["optimizer"]["hidden_matrices"]["lr"], 0.1);
  EXPECT_EQ(contrast_of(one, "lr=0.1").coefficients, (std::map<std::string, double>{{"lr=0.02", -1}, {"lr=0.1", 1}}));
  EXPECT_EQ(contrast_of(one, "lr=0.1").kind, results::ContrastKind::kSimple);
  EXPECT_EQ(contrast_of(one, "lr=0.1").factors.at(0),
            (results::ContrastFactor{"lr=0.1", "/optimizer/hidden_matrices/lr", "0.02", "0.1"}));
  json["axes"].push_back({{"feature", "attention_skip"}, {"values", {"none", "layer_7"}}});
  const Matrix grid = design_matrix_of(json);
  EXPECT_EQ(grid.cells.size(), 6u);
  EXPECT_EQ(grid.cells[1].label, "lr=0.02, attention_skip=layer_7");
  EXPECT_NEAR(estimate(grid, "attention_skip", planted), 0.014, 1e-12);
}

/// A warm-up of 100 and one of 101 official steps are as long at this scale: one run, and one effect.
TEST(DesignMatrix, ASweepHasOneEffectForCellsThatAreOneRun) {
  Json json = design_matrix_suite_of("sweep");
  json["axes"] = Json::array({{{"path", "/schedule/muon_momentum/warmup_steps"}, {"values", {300, 100, 101}}}});
  const Matrix matrix = design_matrix_of(json);
  ASSERT_EQ(matrix.cells.size(), 3U);
  EXPECT_EQ(matrix.cells[1].config.digest(), matrix.cells[2].config.digest());
  ASSERT_EQ(matrix.contrasts.size(), 1U);
  EXPECT_EQ(matrix.contrasts[0].effect, "warmup_steps=100");
  EXPECT_TRUE(says(matrix, MessageKind::kSameRun, "warmup_steps=101", {"warmup_steps=100"})) << all_of(matrix.messages);
  json["axes"][0]["values"] = {100, 101};
  EXPECT_TRUE(design_matrix_of(json).contrasts.empty());
}

/// Many features call it "none" to be without.
TEST(DesignMatrix, OffIsAnotherWordForNone) {
  Json json = design_matrix_suite_of("sweep");
  json["axes"] = Json::array({{{"feature", "attention_skip"}, {"values", {"off", "layer_7"}}}});
  const Matrix matrix = design_matrix_of(json);
  EXPECT_EQ(labels_of(matrix), (std::vector<std::string>{"attention_skip=none", "attention_skip=layer_7"}));
  EXPECT_FALSE(skips_attention(matrix.cells[0]));
  const Matrix without = design_matrix_of(
      design_matrix_suite_of("leave_one_out", Json::array({{{"id", "attention_skip"}, {"value", "off"}}})));
  EXPECT_EQ(labels_of(without), (std::vector<std::string>{"record17", "without attention_skip"}));
}

TEST(DesignMatrix, ArmsOfAnAAAreRunsOfTheirOwn) {
  const Json json = with(design_matrix_suite_of("a_a"), "engine", {{"mock", {{"loss_sigma", 0.1}}}});
  const Suite suite = read_suite(json, "s.json");
  const Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_EQ(labels_of(matrix), (std::vector<std::string>{"record17 A", "record17 B"}));
  EXPECT_EQ(matrix.cells[0].config.digest(), matrix.cells[1].config.digest());
  EXPECT_EQ(matrix.contrasts.at(0).kind, results::ContrastKind::kNoise);
  core::DataSet data;
  data.digest = "d";
  const results::MachineInfo machine{"host", "CPU", "x86_64", 2, 1 << 30, "Linux"};
  const auto plan_of = [&](const Suite& wanted) {
    return make_plan(wanted, make_matrix(wanted, catalogue()), data, mock_engine({"mock"}), machine);
  };
  std::set<std::string> digests;
  for (const PlannedRun& run : plan_of(suite).runs) digests.insert(run.digest);
  digests.insert(
      plan_of(
          read_suite(with(design_matrix_suite_of("leave_one_out", {"rotary"}), "engine", json.at("engine")), "s.json"))
          .runs.front()
          .digest);
  EXPECT_EQ(digests.size(), 3u) << "no arm is a run of another suite";
  Suite native = suite;
  native.mock = nullptr;
  const Plan plan = plan_of(native);
  EXPECT_NE(plan.runs[0].digest, plan.runs[1].digest) << "also where the engine is told nothing of arms";
  EXPECT_EQ(design_matrix_of(with(json, "arms", 3)).cells.size(), 3u);
}

/// Three features of which two exclude each other, and one needs another.
Json with_relations(const std::string& design) {
  Json json = design_matrix_suite_of(design, {"cap", "ratio", "attention_skip"});
  json["inline_features"] = Json::parse(R"([
    {"id": "cap", "title": "t", "introduced": {}, "kind": "numerics", "text": "t.", "before": "high", "after": "low",
     "values": {"high": {"model": {"logit_softcap": 40}}, "low": {"model": {"logit_softcap": 10}}},
     "conflicts": [{"when": ["low"], "feature": "ratio", "values": ["two"]}]},
    {"id": "ratio", "title": "t", "introduced": {}, "kind": "numerics", "text": "t.", "before": "two", "after": "three",
     "values": {"two": {"model": {"mlp_ratio": 2}}, "three": {"model": {"mlp_ratio": 3}}},
     "conflicts": [{"when": ["two"], "feature": "cap", "values": ["low"]}]}])");
  return json;
}

TEST(DesignMatrix, CombinationsThatExcludeEachOtherAreLeftOutAndSaid) {
  const Matrix matrix = design_matrix_of(with_relations("factorial"));
  EXPECT_EQ(matrix.cells.size(), 6u) << all_of(matrix.messages);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "", {"2 of 8", "cap=low", "ratio=two", "cap; cap + attention_skip"}))
      << all_of(matrix.messages);
  EXPECT_TRUE(says(matrix, MessageKind::kNotEstimable, "", {"cap x ratio"})) << all_of(matrix.messages);
  const auto loss = [](const Cell& cell) {
    return 3.0 + (cell.config.model.mlp_ratio == 3 ? -0.1 : 0) + (skips_attention(cell) ? 0.02 : 0) +
           (cell.config.model.logit_softcap == 10.0 ? 0.05 : 0);
  };
  EXPECT_NEAR(estimate(matrix, "ratio", loss), -0.1, 1e-12);
  EXPECT_NEAR(estimate(matrix, "cap", loss), 0.05, 1e-12);
  EXPECT_NEAR(estimate(matrix, "attention_skip", loss), 0.02, 1e-12);
}

TEST(DesignMatrix, ACellInWhichALevelIsPulledAwayIsLeftOut) {
  Json json = design_matrix_suite_of("factorial", {"cap", "attention_skip"});
  json["inline_features"] = Json::parse(R"([
    {"id": "cap", "title": "t", "introduced": {}, "kind": "numerics", "text": "t.", "before": "high", "after": "low",
     "values": {"high": {"model": {"logit_softcap": 40}}, "low": {"model": {"logit_softcap": 10}}},
     "requires": [{"when": ["low"], "feature": "attention_skip", "values": ["none"]}]}])");
  const Matrix matrix = design_matrix_of(json);
  EXPECT_EQ(labels_of(matrix), (std::vector<std::string>{"none", "attention_skip", "cap"})) << all_of(matrix.messages);
  EXPECT_TRUE(says(matrix, MessageKind::kLeftOut, "", {"1 ", " 4", "cap=low", "attention_skip=none"}))
      << all_of(matrix.messages);
}

TEST(DesignMatrix, RefusesInOneSentenceWithItsPlace) {
  Json sweep = design_matrix_suite_of("sweep");
  sweep["axes"] = Json::array({{{"path", "/optimizer/hidden_matrices/lrr"}, {"values", {0.02}}}});
  const auto expect_refused = [](const Json& json, const std::string& place, Reason reason, const std::string& subject,
                                 const std::string& datum) {
    const Refused refused = design_matrix_refusal(json);
    EXPECT_REFUSED(refused, reason, subject);
    EXPECT_TRUE(refused.begins("s.json: " + place + ": ") && refused.names(datum)) << refused.message;
  };
  expect_refused(sweep, "/axes/0", Reason::kUnknownKey, "/optimizer/hidden_matrices/lrr", "\"lr\"");
  sweep["axes"][0] = {{"path", "/optimizer/hidden_matrices/lr"}, {"values", {0.02, "fast"}}};
  expect_refused(sweep, "/axes/0", Reason::kWrongType, "/optimizer/hidden_matrices/lr", "\"fast\"");
  sweep["axes"][0] = {{"feature", "attention_skp"}, {"values", {"none"}}};
  expect_refused(sweep, "/axes/0", Reason::kUnknownName, "attention_skp", "\"attention_skip\"");
  sweep["axes"][0] = {{"feature", "attention_skip"}, {"values", {"nine"}}};
  expect_refused(sweep, "/axes/0", Reason::kUnknownValue, "nine", "attention_skip");
  expect_refused(design_matrix_suite_of("factorial", {"rotarry"}), "/features/0", Reason::kUnknownName, "rotarry",
                 "\"rotary\"");
  expect_refused(design_matrix_suite_of("pairs", {"rotary"}), "/features", Reason::kTooFewFeatures, "2", " 2 ");
  EXPECT_EQ(design_matrix_refusal(design_matrix_suite_of("factorial")).reason, Reason::kTooManyCells);
  EXPECT_TRUE(design_matrix_refusal(design_matrix_suite_of("factorial")).names(" 512"));
  expect_refused(with(design_matrix_suite_of("fractional_factorial", kThree), "runs", 6), "/runs",
                 Reason::kNoPowerOfTwo, "6", "6");
  expect_refused(with(design_matrix_suite_of("fractional_factorial", kThree), "runs", 2), "/runs", Reason::kTooFewRuns,
                 "2", " 4 ");
}

}  // namespace
}  // namespace nanobench::suites
