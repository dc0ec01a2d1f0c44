#include "ablations/resolve.h"

#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ErrorCode;
using core::Json;

Resolved resolved(const std::string& record, const FeatureSettings& settings, const std::string& scale = "official") {
  return resolve(embedded_catalogue(), {.record = record, .settings = settings, .scale = scale});
}

Refused resolve_refusal(ErrorCode code, const ResolveRequest& request) {
  return error_of(code, [&] { resolve(embedded_catalogue(), request); });
}

TEST(Resolve, AppliesAFeatureToARecord) {
  const Resolved cell = resolved("record17", {{"muon_orthogonalizer", "svd"}});
  EXPECT_EQ(cell.config.optimizer.hidden_matrices.orthogonalizer, core::Orthogonalizer::kSvd);
  EXPECT_EQ(cell.effective.at("muon_orthogonalizer"), "svd");
  EXPECT_EQ(cell.effective.at("window_granularity"), "block");
  EXPECT_EQ(cell.config.name, "record17 with muon_orthogonalizer=svd (official)");
  EXPECT_TRUE(cell.messages.empty());
}

TEST(Resolve, NullTurnsAnOptionalSettingOff) {
  EXPECT_FALSE(resolved("record17", {{"logit_softcap", "off"}}).config.model.logit_softcap.has_value());
  const core::TrainConfig official;
  const core::TrainConfig off =
      apply_patch(official, core::parse_json(R"({"model": {"logit_softcap": null}})", "x"), "x");
  EXPECT_FALSE(off.model.logit_softcap.has_value());
}

TEST(Resolve, AnotherOptimiserTakesItsOwnFieldsOnly) {
  const Resolved adam = resolved("record17", {{"hidden_matrix_optimizer", "adam"}}, "nano");
  EXPECT_EQ(adam.config.optimizer.hidden_matrices.type, core::OptimizerType::kAdam);
  const core::OrderedJson group = core::to_json(adam.config)["optimizer"]["hidden_matrices"];
  EXPECT_FALSE(group.contains("ns_steps"));
  EXPECT_FALSE(adam.effective.contains("muon_orthogonalizer"));
  EXPECT_FALSE(adam.effective.contains("muon_learning_rate"));
}

TEST(Resolve, PullsInWhatAValueRequiresAndSaysSo) {
  const Resolved cell = resolved("record13", {{"window_granularity", "block"}});
  EXPECT_EQ(cell.settings.at("window_warmup"), "linear_128");
  ASSERT_EQ(cell.pulled_in.size(), 1U);
  EXPECT_EQ(cell.pulled_in[0].setting, (FeatureSetting{"window_warmup", "linear_128"}));
  EXPECT_EQ(cell.pulled_in[0].needed_by, (FeatureSetting{"window_granularity", "block"}));
  EXPECT_EQ(cell.pulled_in[0].asked, cell.pulled_in[0].needed_by);
  EXPECT_EQ(cell.pulled_in[0].before, "linear_64");
  ASSERT_EQ(cell.messages.size(), 1U);
  EXPECT_EQ(cell.messages[0].kind, core::MessageKind::kSetToo);
  EXPECT_EQ(cell.messages[0].subject, "window_warmup");
  expect_parts(cell.messages[0].text, {"window_granularity=block", "window_warmup=linear_128", "linear_64"});
}

TEST(Resolve, ARequirementThatHoldsAddsNothing) {
  const Resolved cell = resolved("record12", {{"window_granularity", "block"}});
  EXPECT_EQ(cell.settings.size(), 1U);
  EXPECT_EQ(cell.config.attention.window.schedule.tokens, 1024);
}

TEST(Resolve, ValueEmbeddingsComeBackWithTheirMix) {
  Catalogue catalogue = embedded_catalogue();
  catalogue.add_record(core::parse_json(R"({"id": "bare", "number": 99, "title": "no values", "parent": "record17",
      "features": {"value_embeddings": "none"}})",
                                        "bare.json"),
                       "bare.json");
  const Resolved cell = resolve(catalogue, {.record = "bare", .settings = {{"value_embeddings", "tables_12"}}});
  EXPECT_EQ(cell.settings.at("value_mix"), "pair");
  EXPECT_EQ(cell.config.model.value_embeddings.mix, core::ValueMix::kPair);
}

TEST(Resolve, RefusesARequirementThatIsSetOtherwise) {
  const Refused message = resolve_refusal(
      ErrorCode::kConflict, {.settings = {{"hidden_matrix_optimizer", "adam"}, {"muon_orthogonalizer", "svd"}}});
  expect_parts(message, Reason::kUnmet, {"muon_orthogonalizer=svd", "hidden_matrix_optimizer", "muon", "adam"});
}

TEST(Resolve, AScaleOfTheUpdateComesWithItsRate) {
  const Refused message = resolve_refusal(
      ErrorCode::kConflict, {.settings = {{"muon_update_scale", "sqrt_largest_side"}, {"muon_learning_rate", "0.04"}}});
  expect_parts(message, Reason::kUnmet, {"muon_learning_rate=0.04", "muon_update_scale", "sqrt_largest_side"});
  for (const char* record : {"record17", "record2"}) {  // record 2 has no Muon yet
    const Resolved cell = resolved(record, {{"muon_update_scale", "sqrt_largest_side"}});
    EXPECT_EQ(cell.config.optimizer.hidden_matrices.type, core::OptimizerType::kMuon);
    EXPECT_EQ(cell.config.optimizer.hidden_matrices.lr, 0.00036);
  }
}

TEST(Resolve, RefusesConflictingFeatures) {
  const Refused message =
      resolve_refusal(ErrorCode::kConflict, {.record = "record3", .settings = {{"qkv_layout", "separate"}}});
  expect_parts(message, Reason::kExcluded, {"qkv_layout=separate", "qkv_splitting=one_matrix"});
  EXPECT_NO_THROW(resolved("record3", {{"qkv_layout", "separate"}, {"qkv_splitting", "three"}}));
}

TEST(Resolve, NullTakesAWholeGroupAway) {
  const Resolved plain = resolved("record21", {{"head_precision", "activations"}});
  EXPECT_EQ(plain.config.precision.head, core::ProductPrecision::kActivations);
  EXPECT_FALSE(core::to_json(plain.config)["precision"].contains("fp8"));
  EXPECT_EQ(resolved("record18", {{"head_precision", "fp8_512"}}).config.precision.fp8.weight_scale, 512);
}

TEST(Resolve, ASettingMayBeTheDefaultOfWhatItPullsIn) {
  const Resolved cell = resolved("record4", {{"full_block_split", "split"}});
  EXPECT_EQ(cell.settings.at("attention_implementation"), "tiled");
  EXPECT_TRUE(cell.config.attention.split_full_blocks);
}

TEST(Resolve, RefusesASettingThatTheRecordItselfExcludes) {
  Catalogue catalogue = embedded_catalogue();
  const auto add = [&](const std::string& text) {
    catalogue.add_feature(core::parse_json(text, "suite.json"), "suite.json");
  };
  add(R"({"id": "width", "title": "t", "introduced": {}, "kind": "numerics", "before": "four", "after": "two",
      "values": {"four": {"model": {"mlp_ratio": 4}}, "two": {"model": {"mlp_ratio": 2}}}, "text": "t",
      "conflicts": [{"when": ["two"], "feature": "norms", "values": ["on"]}]})");
  add(R"({"id": "norms", "title": "t", "introduced": {}, "kind": "numerics", "before": "off", "after": "on",
      "values": {"off": {"model": {"qk_norm": false}}, "on": {"model": {"qk_norm": true}}}, "text": "t",
      "conflicts": [{"when": ["on"], "feature": "width", "values": ["two"]}]})");
  catalogue.check();
  const Refused message = error_of(ErrorCode::kConflict, [&] { resolve(catalogue, {.settings = {{"width", "two"}}}); });
  expect_parts(message, Reason::kExcluded, {"width=two", "norms=on"});
  EXPECT_NO_THROW(resolve(catalogue, {.settings = {{"width", "two"}, {"norms", "off"}}}));
}

TEST(Resolve, RefusesTwoFeaturesThatWriteTheSameField) {
  Catalogue catalogue = embedded_catalogue();
  catalogue.add_feature(core::parse_json(R"({"id": "depth_of_cap", "title": "t", "introduced": {}, "kind": "numerics",
      "values": {"ten": {"model": {"logit_softcap": 10}}, "twenty": {"model": {"logit_softcap": 20}}},
      "before": "ten", "after": "twenty", "text": "t"})",
                                         "suite.json"),
                        "suite.json");
  const Refused message = error_of(ErrorCode::kConflict, [&] {
    resolve(catalogue, {.settings = {{"depth_of_cap", "ten"}, {"logit_softcap", "15"}}});
  });
  expect_parts(message, Reason::kOverlap, {"depth_of_cap=ten", "logit_softcap=15"});
}

TEST(Resolve, ASettingThatChangesNothingIsNoErrorButIsSaid) {
  const Resolved cell = resolved("record17", {{"rotary", "half_1024"}});
  EXPECT_EQ(cell.config.digest(), resolved("record17", {}).config.digest());
  ASSERT_EQ(cell.messages.size(), 1U);
  EXPECT_EQ(cell.messages[0].kind, core::MessageKind::kAlreadySet);
  expect_parts(cell.messages[0].text, {"rotary=half_1024", "record17"});
}

TEST(Resolve, AppliesTheInlinePatchBeforeTheScale) {
  const Resolved cell =
      resolve(embedded_catalogue(), {.scale = "nano", .patch = {{"schedule", {{"num_steps", 2000}}}}});
  EXPECT_EQ(cell.config.schedule.num_steps, 167);
}

TEST(Resolve, NamesTheNearestOfWhatItDoesNotKnow) {
  expect_parts(resolve_refusal(ErrorCode::kNotFound, {.record = "recrod17"}), Reason::kUnknownName,
               {"recrod17", "record17"});
  expect_parts(resolve_refusal(ErrorCode::kNotFound, {.scale = "nanno"}), Reason::kUnknownName, {"nanno", "\"nano\""});
  expect_parts(resolve_refusal(ErrorCode::kNotFound, {.settings = {{"muon_orthogonaliser", "svd"}}}),
               Reason::kUnknownName, {"muon_orthogonaliser", "\"muon_orthogonalizer\""});
  expect_parts(resolve_refusal(ErrorCode::kNotFound, {.settings = {{"muon_orthogonalizer", "newton_shulz"}}}),
               Reason::kUnknownValue, {"muon_orthogonalizer", "newton_shulz", "\"newton_schulz\"", "\"svd\""});
}

TEST(Resolve, RefusesABadInlinePatch) {
  expect_parts(resolve_refusal(ErrorCode::kInvalidArgument,
                               {.patch = {{"model", {{"model_dims", 3}}}}, .patch_source = "suite.json: /base/patch"}),
               Reason::kUnknownKey, {"suite.json: /base/patch", "/model/model_dims", "model_dim"});
  expect_parts(resolve_refusal(ErrorCode::kInvalidArgument,
                               {.patch = {{"model", {{"num_heads", 5}}}}, .patch_source = "s.json"}),
               Reason::kUnmet, {"record17", "s.json", "/model/num_heads", "768", "5"});
}

TEST(Resolve, AModifiedCatalogueIsResolvedAnew) {
  Catalogue catalogue = embedded_catalogue();
  const auto steps = [&] { return resolve_record(catalogue, "mine").schedule.num_steps; };
  const auto set = [&](const std::string& value) {
    catalogue.add_record(core::parse_json(R"({"id": "mine", "number": 99, "title": "t", "parent": "record17",
        "patch": {"schedule": {"num_steps": )" +
                                              value + R"(}, "run": {"stop_after": 1500}}})",
                                          "mine.json"),
                         "mine.json");
  };
  set("1600");
  EXPECT_EQ(steps(), 1600);
  const Catalogue before = catalogue;
  set("1700");
  EXPECT_EQ(steps(), 1700);
  EXPECT_EQ(resolve_record(before, "mine").schedule.num_steps, 1600);
}

TEST(FeatureValueAt, TellsEachRecordsValue) {
  const auto value = [](const std::string& record, const std::string& feature) {
    return feature_value_at(resolve_record(embedded_catalogue(), record), embedded_catalogue().feature(feature));
  };
  EXPECT_EQ(value("record12", "value_embeddings"), "first_layer");
  EXPECT_EQ(value("record14", "value_embeddings"), "tables_12");
  EXPECT_EQ(value("record16", "value_embeddings"), "mirrored_6");
  EXPECT_EQ(value("record17", "value_embeddings"), "sparse_3");
  EXPECT_EQ(value("record12", "window_warmup"), "constant_1024");
  EXPECT_EQ(value("record18", "window_warmup"), "linear_128_from_128");
  EXPECT_EQ(value("record12", "adam_beta1"), "0.9");
  EXPECT_EQ(value("record18", "logit_softcap"), "15");
}

}  // namespace
}  // namespace nanobench::ablations
