// Claims: reading one file, and promises that hold for every embedded one.
#include "ablations/claim.h"

#include <fstream>
#include <set>

#include "ablations/claim_cells.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;
using core::Json;
using Verdict = PublishedEvidence::Verdict;

Json claim_json() {
  return Json::parse(R"({"id": "claim", "analysis": "000", "place": "1. Part, bullet 1", "record": 16,
      "statement": "A step gets faster.", "quantity": {"value": 10, "unit": "percent", "change": "decrease"},
      "features": ["rotary"],
      "measure": {"kind": "cells", "before": {"record": "record15"},
                  "after": {"record": "record16", "features": {"rotary": "full_10000"}}},
      "rule": {"metric": "step_ms", "of": "after/before", "within": [[null, 0.9]], "tolerance": 0.02},
      "published": {"verdict": "supported", "text": "The logs say so.", "value": 0.5, "source": "logs"}})");
}

Refused reading_error(const std::function<void(Json&)>& spoil) {
  Json json = claim_json();
  spoil(json);
  return error_of(ErrorCode::kInvalidArgument, [&] { read_claim(json, "c.json"); });
}

Json with_measure(const std::string& measure, const std::string& rule) {
  Json json = claim_json();
  json["measure"] = Json::parse(measure);
  json["rule"] = Json::parse(rule);
  json["published"].erase("value");
  return json;
}

Refused measure_error(const std::string& measure, const std::string& rule) {
  return error_of(ErrorCode::kInvalidArgument, [&] { read_claim(with_measure(measure, rule), "c.json"); });
}

TEST(ReadClaim, ReadsEveryPart) {
  const Claim claim = read_claim(claim_json(), "c.json");
  EXPECT_EQ(claim.analysis, "000");
  EXPECT_EQ(claim.record, 16);
  EXPECT_EQ(claim.quantity->first, 10);
  EXPECT_EQ(claim.quantity->change, ClaimQuantity::Change::kDecrease);
  EXPECT_EQ(claim.measure.kind, MeasureKind::kCells);
  EXPECT_EQ(claim.measure.after->features.at("rotary"), "full_10000");
  EXPECT_EQ(claim.rule->form, RuleForm::kAfterOverBefore);
  EXPECT_EQ(claim.published.verdict, Verdict::kSupported);
  EXPECT_EQ(claim.json, claim_json());
}

TEST(ReadClaim, NamesFileAndPointerOfWhatIsWrong) {
  expect_parts(reading_error([](Json& c) { c.erase("id"); }), Reason::kMissingKey, {"c.json", "\"id\""});
  expect_parts(reading_error([](Json& c) { c["statment"] = "x"; }), Reason::kUnknownKey,
               {"c.json: /statment", "\"statement\""});
  expect_parts(reading_error([](Json& c) { c["analysis"] = "005"; }), Reason::kUnknownName,
               {"c.json: /analysis", "004", "005"});
  expect_parts(reading_error([](Json& c) { c["record"] = "16"; }), Reason::kWrongType, {"c.json: /record: "});
  expect_parts(reading_error([](Json& c) { c["statement"] = "faster"; }), Reason::kNoSentence,
               {"c.json: /statement: "});
  expect_parts(reading_error([](Json& c) { c["quantity"].erase("unit"); }), Reason::kMissingKey,
               {"c.json: /quantity", "\"unit\""});
  expect_parts(reading_error([](Json& c) { c["quantity"]["unit"] = ""; }), Reason::kEmpty,
               {"c.json: /quantity/unit: "});
  expect_parts(reading_error([](Json& c) { c["quantity"]["change"] = "less"; }), Reason::kUnknownName,
               {"c.json: /quantity/change", "decrease", "less"});
  expect_parts(reading_error([](Json& c) { c["quantity"]["change"] = "from_to"; }), Reason::kWrongType,
               {"c.json: /quantity/value: "});
  expect_parts(reading_error([](Json& c) {
                 c["quantity"]["value"] = {1, 2};
               }),
               Reason::kWrongType, {"c.json: /quantity/value: "});
  expect_parts(reading_error([](Json& c) { c["features"] = "rotary"; }), Reason::kWrongType, {"c.json: /features: "});
  expect_parts(reading_error([](Json& c) { c["measure"]["kind"] = "cell"; }), Reason::kUnknownName,
               {"c.json: /measure/kind", "cells"});
  expect_parts(reading_error([](Json& c) { c["measure"]["after"]["feature"] = 1; }), Reason::kUnknownKey,
               {"c.json: /measure/after/feature", "\"features\""});
  expect_parts(reading_error([](Json& c) { c["measure"]["after"]["features"]["rotary"] = 1; }), Reason::kWrongType,
               {"c.json: /measure/after/features/rotary: "});
  expect_parts(reading_error([](Json& c) { c["published"]["verdict"] = "true"; }), Reason::kUnknownName,
               {"c.json: /published/verdict", "silent"});
  expect_parts(reading_error([](Json& c) { c["published"].erase("source"); }), Reason::kMissingKey,
               {"c.json: /published", "\"source\""});
  expect_parts(reading_error([](Json& c) { c["published"]["value"] = 0.91; }), Reason::kOneSided,
               {"c.json: /published/value: "});
}

TEST(ReadClaim, TheRuleFitsTheMeasure) {
  const std::string cells = R"({"kind": "cells", "before": {"record": "a"}, "after": {"record": "b"}})";
  const auto rule = [](const std::string& metric, const std::string& of) {
    return R"({"metric": ")" + metric + R"(", "of": ")" + of + R"(", "within": [[2, 3]]})";
  };
  expect_parts(measure_error(cells, rule("step_mss", "after/before")), Reason::kUnknownName,
               {"c.json: /rule/metric", "cells", "\"step_ms\""});
  expect_parts(measure_error(cells, rule("minutes", "after/before")), Reason::kUnknownName,
               {"c.json: /rule/metric", "cells", "minutes"});
  expect_parts(measure_error(cells, rule("step_ms", "after")), Reason::kInactive, {"c.json: /measure/before: "});
  expect_parts(measure_error(cells, rule("step_ms", "before")), Reason::kInactive, {"c.json: /measure/after: "});
  expect_parts(measure_error(R"({"kind": "cells", "after": {"record": "b"}})", rule("step_ms", "after-before")),
               Reason::kMissingKey, {"c.json: /measure: ", "\"before\""});
  expect_parts(measure_error(cells, rule("step_ms", "pair")), Reason::kExcluded, {"c.json: /rule/of: "});
  expect_parts(measure_error(cells, rule("different_losses", "after")), Reason::kExcluded,
               {"c.json: /rule/of", "\"pair\""});
  expect_parts(measure_error(cells, R"({"metric": "step_ms", "of": "after/before", "within": [[0, null]]})"),
               Reason::kOneSided, {"c.json: /rule/within: ", "contradicted"});
  expect_parts(measure_error(cells, R"({"metric": "step_ms", "of": "after/before", "within": [[-2, -1]]})"),
               Reason::kOneSided, {"c.json: /rule/within: ", "supported"});
}

TEST(ReadClaim, WhatCannotBeMeasuredSaysWhy) {
  const std::string rule = R"({"metric": "step_ms", "of": "after", "within": [[2, 3]]})";
  expect_parts(measure_error(R"({"kind": "none"})", rule), Reason::kMissingKey, {"c.json: /measure: ", "\"why\""});
  expect_parts(measure_error(R"({"kind": "none", "why": "no"})", rule), Reason::kNoSentence,
               {"c.json: /measure/why: "});
  expect_parts(measure_error(R"({"kind": "none", "why": "Nothing can tell."})", rule), Reason::kInactive,
               {"c.json: /rule: "});
  Json json = with_measure(R"({"kind": "none", "why": "Nothing can tell."})", rule);
  json.erase("rule");
  EXPECT_FALSE(read_claim(json, "c.json").rule);
  json["published"]["value"] = 1;
  expect_parts(error_of(ErrorCode::kInvalidArgument, [&] { read_claim(json, "c.json"); }), Reason::kOneSided,
               {"c.json: /published/value"});
}

TEST(ReadClaim, SettingsAndBenchmarksAreKnownOnes) {
  const std::string rule = R"({"metric": "value", "of": "after", "within": [[2, 3]]})";
  expect_parts(measure_error(R"({"kind": "config", "pointer": "/model/num_layer", "after": {"record": "a"}})", rule),
               Reason::kUnknownName, {"c.json: /measure/pointer", "\"/model/num_layers\""});
  expect_parts(
      measure_error(R"({"kind": "config", "pointer": "/model/qk_norm", "equals": true, "after": {"record": "a"}})",
                    rule),
      Reason::kInactive, {"c.json: /measure", "\"equals\""});
  const std::string time = R"({"metric": "time_ms", "of": "after", "within": [[2, 3]]})";
  expect_parts(measure_error(R"({"kind": "benchmark", "op": "atention", "after": {"shapes": {"T": 1}}})", time),
               Reason::kUnknownName, {"c.json: /measure/op", "attention"});
  expect_parts(measure_error(R"({"kind": "benchmark", "op": "attention", "after": {"shapes": {"tokens": 1}}})", time),
               Reason::kUnknownName, {"c.json: /measure/after/shapes/tokens", "T"});
  expect_parts(measure_error(R"({"kind": "benchmark", "op": "attention", "after": {"shapes": {}}})", time),
               Reason::kEmpty, {"c.json: /measure/after/shapes: "});
  expect_parts(measure_error(R"({"kind": "benchmark", "op": "attention",
                                 "after": {"shapes": {"T": 1}, "patch": {"atention": {}}}})",
                             time),
               Reason::kUnknownKey, {"c.json: /measure/after/patch/atention", "\"attention\""});
}

TEST(EmbeddedClaims, CoverEverySeedWithItsRecord) {
  const std::map<std::string, std::int64_t> records = {{"000", 16}, {"001", 15}, {"002", 12}, {"003", 17}, {"004", 18}};
  std::map<std::string, int> counts;
  for (const Claim* claim : embedded_catalogue().claims()) {
    ++counts[claim->analysis];
    EXPECT_EQ(claim->record, records.at(claim->analysis)) << claim->id;
    EXPECT_EQ(claim->id.rfind("seed" + claim->analysis + "_", 0), 0U) << claim->id;
    EXPECT_EQ(claim->source, "ablations/claims/" + claim->id + ".json");
  }
  EXPECT_GE(embedded_catalogue().claims().size(), 60U);
  for (const auto& [seed, unused] : records) EXPECT_GE(counts[seed], 20) << seed;
}

TEST(EmbeddedClaims, EveryRuleCanHoldAndFail) {
  for (const Claim* claim : embedded_catalogue().claims()) {
    ASSERT_EQ(claim->rule.has_value(), claim->measure.kind != MeasureKind::kNone) << claim->id;
    if (!claim->rule) {
      EXPECT_GT(claim->measure.why.size(), 20U) << claim->id;
      continue;
    }
    const ClaimMetric* metric = find_claim_metric(claim->measure.kind, claim->rule->metric);
    ASSERT_NE(metric, nullptr) << claim->id;
    for (const ClaimVerdict verdict : {ClaimVerdict::kSupported, ClaimVerdict::kContradicted}) {
      const std::optional<double> value = example_value(*claim->rule, metric->range, verdict);
      ASSERT_TRUE(value) << claim->id << " can never be " << enum_name(verdict);
      EXPECT_EQ(evaluate(*claim->rule, *value), verdict) << claim->id;
      EXPECT_EQ(evaluate(*claim->rule, *value, *value), verdict) << claim->id << ": the interval form agrees";
    }
  }
}

/// What the claim's number makes of the rule's form, where that follows from the number alone.
std::optional<double> expected_of(const ClaimQuantity& quantity, RuleForm form) {
  using Change = ClaimQuantity::Change;
  if (form != RuleForm::kAfterOverBefore) return std::nullopt;
  if (quantity.change == Change::kFromTo) return quantity.second / quantity.first;
  if (quantity.unit == "times") return quantity.first;
  if (quantity.unit == "percent" && quantity.change == Change::kDecrease) return 1 - quantity.first / 100;
  return std::nullopt;
}

TEST(EmbeddedClaims, NumbersHaveUnitsAndStandInTheRule) {
  int compared = 0;
  for (const Claim* claim : embedded_catalogue().claims()) {
    if (!claim->quantity) continue;
    EXPECT_FALSE(claim->quantity->unit.empty()) << claim->id;
    const auto expected = claim->rule ? expected_of(*claim->quantity, claim->rule->form) : std::nullopt;
    if (!expected) continue;
    ASSERT_TRUE(claim->rule->claimed) << claim->id;
    EXPECT_NEAR(*claim->rule->claimed, *expected, 1e-4 * *expected) << claim->id;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST(EmbeddedClaims, PublishedValuesGiveThePublishedVerdict) {
  for (const Claim* claim : embedded_catalogue().claims()) {
    if (!claim->published.value) continue;
    EXPECT_EQ(enum_name(evaluate(*claim->rule, *claim->published.value)), enum_name(claim->published.verdict))
        << claim->id;
  }
}

TEST(EmbeddedClaims, FiguresAndConfigurationsGiveThePublishedVerdict) {
  int known = 0;
  for (const Claim* claim : embedded_catalogue().claims()) {
    if (!claim->rule) continue;
    const std::optional<double> value = known_value(embedded_catalogue(), *claim);
    if (!value) continue;
    EXPECT_EQ(enum_name(evaluate(*claim->rule, *value)), enum_name(claim->published.verdict))
        << claim->id << ": " << *value;
    ++known;
  }
  EXPECT_GE(known, 70);
}

/// The configuration of an arm; features that act between processes get two.
core::TrainConfig arm_config(const MeasureArm& arm) {
  ResolveRequest request{.record = arm.record, .settings = arm.features};
  request.patch = Json::parse(R"({"distributed": {"processes": 2}})");
  return resolve(embedded_catalogue(), request).config;
}

TEST(EmbeddedClaims, ArmsResolveAndDiffer) {
  int pairs = 0;
  for (const Claim* claim : embedded_catalogue().claims()) {
    const ClaimMeasure& measure = claim->measure;
    if (measure.kind != MeasureKind::kCells && measure.kind != MeasureKind::kCounter) continue;
    SCOPED_TRACE(claim->id);
    std::vector<std::string> digests;
    for (const auto& arm : {measure.before, measure.after}) {
      if (!arm) continue;
      ASSERT_NO_THROW(digests.push_back(arm_config(*arm).digest()));
      if (arm->kernels) digests.back() += enum_name(*arm->kernels);  // of the run, not of its configuration
    }
    if (digests.size() < 2) continue;
    EXPECT_NE(digests[0], digests[1]);
    ++pairs;
  }
  EXPECT_GT(pairs, 30);
}

TEST(EmbeddedClaims, ComeInTheOrderOfTheirTexts) {
  const auto claims = embedded_catalogue().claims();
  for (std::size_t i = 1; i < claims.size(); ++i) EXPECT_LE(claims[i - 1]->analysis, claims[i]->analysis);
  const auto place_of = [&](const std::string& id) {
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (claims[i]->id == id) return i;
    }
    return claims.size();
  };
  EXPECT_LT(place_of("seed000_svd_backend_removed"), place_of("seed000_throughput_2_1_times"));
  EXPECT_LT(place_of("seed000_throughput_2_1_times"), place_of("seed000_flop_utilisation_63_percent"));
}

TEST(CatalogueClaims, ComeWithAFolderAndCanBeLeftOut) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "nb_claims_overlay";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "claims");
  std::ofstream(root / "claims" / "claim.json") << claim_json().dump();
  Catalogue catalogue = Catalogue::embedded(CatalogueParts::kWithoutClaims);
  EXPECT_TRUE(catalogue.claims().empty());
  EXPECT_TRUE(catalogue.has_record("record17"));
  catalogue.overlay(root);
  ASSERT_EQ(catalogue.claims().size(), 1U);
  EXPECT_EQ(catalogue.claim("claim").source, (root / "claims" / "claim.json").string());
  expect_parts(error_of(ErrorCode::kNotFound, [&] { catalogue.claim("claims"); }), Reason::kUnknownName,
               {"claim", "\"claim\""});
  std::filesystem::remove_all(root);
}

TEST(CatalogueClaims, NameRecordsFeaturesAndValuesThatExist) {
  const auto message = [](const std::function<void(Json&)>& spoil) {
    Catalogue catalogue = embedded_catalogue();
    Json json = claim_json();
    spoil(json);
    catalogue.add_claim(json, "c.json");
    return error_of(ErrorCode::kInvalidArgument, [&] { catalogue.check(); });
  };
  expect_parts(message([](Json& c) { c["record"] = 160; }), Reason::kUnknownName,
               {"c.json: /record: ", "160", "nanobench list records"});
  expect_parts(message([](Json& c) {
                 c["features"] = {"rotary", "rotarry"};
               }),
               Reason::kUnknownName, {"c.json: /features/1", "\"rotary\""});
  expect_parts(message([](Json& c) { c["measure"]["before"]["record"] = "recrod15"; }), Reason::kUnknownName,
               {"c.json: /measure/before/record", "\"record15\""});
  expect_parts(message([](Json& c) {
                 c["measure"]["after"]["features"] = {{"rotarry", "full_10000"}};
               }),
               Reason::kUnknownName, {"c.json: /measure/after/features/rotarry", "\"rotary\""});
  expect_parts(message([](Json& c) {
                 c["measure"]["after"]["features"] = {{"rotary", "full_1000"}};
               }),
               Reason::kUnknownValue, {"c.json: /measure/after/features/rotary", "\"full_10000\""});
}

TEST(ClaimFacts, ComeFromPublishedFiguresAndConfigurations) {
  const auto value = [](const std::string& measure, const std::string& rule) {
    return known_value(embedded_catalogue(), read_claim(with_measure(measure, rule), "c.json"));
  };
  const std::string arms = R"("before": {"record": "record15"}, "after": {"record": "record16"}})";
  const auto ratio = [](const std::string& metric) {
    return R"({"metric": ")" + metric + R"(", "of": "after/before", "within": [[0.9, 1.1]]})";
  };
  EXPECT_NEAR(*value(R"({"kind": "published_log", )" + arms, ratio("step_ms")), 157.153 / 161.133, 1e-12);
  EXPECT_NEAR(*value(R"({"kind": "published_log", )" + arms, ratio("minutes")), 3.8 / 3.95, 1e-12);
  EXPECT_NEAR(*value(R"({"kind": "cells", )" + arms, ratio("tokens_per_second")), 161.133 / 157.153, 1e-12);
  EXPECT_NEAR(*value(R"({"kind": "cells", )" + arms, ratio("final_val_loss_sd")), 0.002363 / 0.002141, 1e-12);
  EXPECT_FALSE(value(R"({"kind": "cells", )" + arms, ratio("peak_bytes"))) << "record15 prints none";
  EXPECT_FALSE(value(R"({"kind": "cells", )" + arms, ratio("phase_data_ms"))) << "no record prints it";
  EXPECT_FALSE(value(R"({"kind": "cells", "before": {"record": "record16", "features": {"rotary": "half_1024"}},
                         "after": {"record": "record16"}})",
                     ratio("step_ms")))
      << "nobody published that cell";
  EXPECT_EQ(value(R"({"kind": "config", "pointer": "/model/value_embeddings/num_tables", )" + arms, ratio("value")), 1);
  EXPECT_EQ(value(R"({"kind": "config", "pointer": "/attention/window/granularity", "equals": "block", )" + arms,
                  R"({"metric": "equals", "of": "after-before", "within": [[1, 1]]})"),
            1);
  EXPECT_EQ(value(R"({"kind": "config", "pointer": "/model/qk_norm", "after": {"record": "record16",
                      "features": {"qk_norm": "off"}}})",
                  R"({"metric": "value", "of": "after", "within": [[1, 1]]})"),
            0);
  EXPECT_FALSE(value(R"({"kind": "config", "pointer": "/model/attention_scale", "after": {"record": "record16"}})",
                     R"({"metric": "value", "of": "after", "within": [[1, 1]]})"))
      << "null is no number";
}

TEST(ClaimFacts, FallBackOnTheFilesOwnValue) {
  Json json = with_measure(R"({"kind": "counter", "after": {"record": "record16"}})",
                           R"({"metric": "full_blocks", "of": "after", "within": [[1, null]]})");
  EXPECT_FALSE(known_value(embedded_catalogue(), read_claim(json, "c.json")));
  json["published"]["value"] = 7;
  EXPECT_EQ(known_value(embedded_catalogue(), read_claim(json, "c.json")), 7);
}

/// By the units: what is measured in seconds, or per second, depends on machine and code, whatever it is called.
TEST(ClaimMetrics, TimesAreComparedWithinOneMachineAndLossesAnywhere) {
  const std::set<std::string> of_time = {"ms", "s", "tokens/s", "MB/s"};
  for (const ClaimMetric& metric : claim_metrics()) {
    if (metric.kind != MeasureKind::kCells) continue;
    const bool is_loss = std::string(metric.unit) == "nats/token";
    if (is_loss || of_time.contains(metric.unit)) {
      EXPECT_EQ(is_of_machine(metric.basis), !is_loss) << metric.name;
    }
  }
  const auto basis = [](const char* name) { return find_claim_metric(MeasureKind::kCells, name)->basis; };
  EXPECT_EQ(basis("final_val_loss"), MetricBasis::kMeanLoss);
  EXPECT_EQ(basis("final_val_loss_sd"), MetricBasis::kOther) << "a spread is no mean";
  EXPECT_EQ(basis("share_of_saved_time"), MetricBasis::kTime);
  EXPECT_EQ(basis("gpu_utilization_percent"), MetricBasis::kMachine);
}

}  // namespace
}  // namespace nanobench::ablations
