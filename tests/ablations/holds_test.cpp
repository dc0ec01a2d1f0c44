// What a scale holds, and what explicit settings make of it.
#include "core/config/train_config.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

using core::ActivationPrecision;
using core::ErrorCode;
using core::StoredPrecision;

void add_feature(Catalogue& catalogue, const std::string& text) {
  catalogue.add_feature(core::parse_json(text, "test"), "test");
}

/// A record in bfloat16 and a scale that holds float32. The rotation may only be rounded where activations are.
Catalogue catalogue_with_holds() {
  Catalogue catalogue = embedded_catalogue();
  add_feature(catalogue, R"({"id": "test_activations", "title": "t", "introduced": {}, "kind": "numerics", "text": "t.",
      "before": "float32", "after": "bfloat16",
      "values": {"float32": {"precision": {"activations": "float32"}}, "autocast": {"precision": {"activations": "autocast"}},
                 "bfloat16": {"precision": {"activations": "bfloat16"}}}})");
  add_feature(catalogue, R"({"id": "test_rotation", "title": "t", "introduced": {}, "kind": "numerics", "text": "t.",
      "before": "float32", "after": "bfloat16",
      "values": {"float32": {"precision": {"rotation": "float32"}}, "bfloat16": {"precision": {"rotation": "bfloat16"}}},
      "requires": [{"when": ["bfloat16"], "feature": "test_activations", "values": ["autocast", "bfloat16"]}]})");
  // Nothing is rounded in it, whatever record 17 rounds.
  catalogue.add_record(core::parse_json(R"({"id": "bare", "number": 89, "title": "t", "parent": "record17", "patch": {
      "precision": {"activations": "float32", "validation": "training", "embeddings": "float32", "scalars": "float32",
                    "linear_init": "float32", "rotary_tables": "float32", "rotation": "float32", "logits": "float32"}}})",
                                        "test"),
                       "test");
  catalogue.add_record(core::parse_json(R"({"id": "rounded", "number": 90, "title": "t", "parent": "bare",
      "features": {"test_activations": "bfloat16", "test_rotation": "bfloat16"}})",
                                        "test"),
                       "test");
  catalogue.add_scale(core::parse_json(R"({"id": "plain", "title": "t", "text": "t.", "steps_divisor": 10, "holds": {
      "test_activations": "float32", "test_rotation": "float32", "newton_schulz_precision": "compute"}})",
                                       "test"),
                      "test");
  catalogue.check();
  return catalogue;
}

Resolved at_plain(const Catalogue& catalogue, const FeatureSettings& settings, const std::string& record = "rounded") {
  return resolve(catalogue, {.record = record, .settings = settings, .scale = "plain"});
}

std::string notes_of(const Resolved& resolved) {
  std::string text;
  for (const std::string& note : resolved.scale_notes) text += note + "\n";
  return text;
}

TEST(Holds, AreImposedAndSaid) {
  const Catalogue catalogue = catalogue_with_holds();
  const Resolved held = at_plain(catalogue, {});
  EXPECT_EQ(held.config.precision.activations, ActivationPrecision::kFloat32);
  EXPECT_EQ(held.config.precision.rotation, StoredPrecision::kFloat32);
  EXPECT_EQ(held.config.optimizer.hidden_matrices.ns_dtype, core::NewtonSchulzDtype::kCompute);
  EXPECT_EQ(held.effective.at("test_activations"), "float32");
  EXPECT_EQ(held.held, (FeatureSettings{{"newton_schulz_precision", "compute"},
                                        {"test_activations", "float32"},
                                        {"test_rotation", "float32"}}));
  EXPECT_TRUE(held.settings.empty());
  expect_parts(notes_of(held), {"test_activations=float32", "bfloat16"});
  EXPECT_EQ(resolve(catalogue, {.record = "rounded"}).config.precision.activations, ActivationPrecision::kBfloat16);
}

TEST(Holds, WhatTheRecordHasAnywayIsNotSaid) {
  const Resolved held = at_plain(catalogue_with_holds(), {}, "bare");
  EXPECT_EQ(held.held, (FeatureSettings{{"newton_schulz_precision", "compute"}}));
  EXPECT_EQ(notes_of(held).find("test_activations"), std::string::npos);
}

TEST(Holds, AnExplicitSettingWins) {
  const Resolved explicit_one = at_plain(catalogue_with_holds(), {{"test_activations", "bfloat16"}});
  EXPECT_EQ(explicit_one.config.precision.activations, ActivationPrecision::kBfloat16);
  EXPECT_EQ(explicit_one.config.precision.rotation, StoredPrecision::kFloat32) << "what nobody asked for stays held";
  EXPECT_TRUE(explicit_one.messages.empty()) << "it is what the record has, but not what the scale would make of it";
}

TEST(Holds, ASettingPullsInWhatItNeedsOfWhatIsHeld) {
  const Resolved pulled = at_plain(catalogue_with_holds(), {{"test_rotation", "bfloat16"}});
  EXPECT_EQ(pulled.config.precision.rotation, StoredPrecision::kBfloat16);
  EXPECT_EQ(pulled.config.precision.activations, ActivationPrecision::kBfloat16)
      << "the record's own value, not autocast";
  ASSERT_EQ(pulled.pulled_in.size(), 1U);
  EXPECT_EQ(pulled.pulled_in[0].setting, (FeatureSetting{"test_activations", "bfloat16"}));
  EXPECT_EQ(pulled.pulled_in[0].needed_by, (FeatureSetting{"test_rotation", "bfloat16"}));
  EXPECT_EQ(pulled.pulled_in[0].before, "float32");
  const Resolved other = at_plain(catalogue_with_holds(), {{"test_rotation", "bfloat16"}}, "bare");
  EXPECT_EQ(other.config.precision.activations, ActivationPrecision::kAutocast) << "the first that is named";
}

TEST(Holds, AnExplicitSettingAndItsOppositeExcludeEachOther) {
  const Catalogue catalogue = catalogue_with_holds();
  const Refused message = error_of(ErrorCode::kConflict, [&] {
    at_plain(catalogue, {{"test_rotation", "bfloat16"}, {"test_activations", "float32"}});
  });
  expect_parts(message, Reason::kUnmet, {"test_rotation=bfloat16", "test_activations", "float32"});
}

TEST(Holds, PullNothingIn) {
  const Resolved adam = at_plain(catalogue_with_holds(), {{"hidden_matrix_optimizer", "adam"}});
  EXPECT_EQ(adam.config.optimizer.hidden_matrices.type, core::OptimizerType::kAdam);
  EXPECT_FALSE(adam.held.contains("newton_schulz_precision"));
}

TEST(Holds, ActOnWhatASettingBringsAlong) {
  Catalogue catalogue = catalogue_with_holds();
  catalogue.add_record(core::parse_json(R"({"id": "under_adam", "number": 91, "title": "t", "parent": "bare",
      "features": {"hidden_matrix_optimizer": "adam"}})",
                                        "test"),
                       "test");
  EXPECT_TRUE(at_plain(catalogue, {}, "under_adam").held.empty());
  const Resolved muon = at_plain(catalogue, {{"hidden_matrix_optimizer", "muon"}}, "under_adam");
  EXPECT_EQ(muon.config.optimizer.hidden_matrices.ns_dtype, core::NewtonSchulzDtype::kCompute);
}

TEST(Holds, AConflictWithASettingLetsTheHoldGo) {
  Catalogue catalogue = catalogue_with_holds();
  add_feature(catalogue, R"({"id": "test_activations", "title": "t", "introduced": {}, "kind": "numerics", "text": "t.",
      "before": "float32", "after": "bfloat16",
      "values": {"float32": {"precision": {"activations": "float32"}}, "autocast": {"precision": {"activations": "autocast"}},
                 "bfloat16": {"precision": {"activations": "bfloat16"}}},
      "conflicts": [{"when": ["float32"], "feature": "rotary", "values": ["full_10000"]}]})");
  const Resolved resolved = at_plain(catalogue, {{"rotary", "full_10000"}});
  EXPECT_EQ(resolved.config.precision.activations, ActivationPrecision::kBfloat16);
  EXPECT_FALSE(resolved.held.contains("test_activations"));
}

TEST(Holds, TheInlinePatchComesAfterThem) {
  const Resolved patched =
      resolve(catalogue_with_holds(),
              {.record = "rounded", .scale = "plain", .patch = {{"precision", {{"activations", "autocast"}}}}});
  EXPECT_EQ(patched.config.precision.activations, ActivationPrecision::kAutocast);
}

}  // namespace
}  // namespace nanobench::ablations
