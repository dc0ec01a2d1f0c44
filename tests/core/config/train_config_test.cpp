#include "core/config/train_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/config/settings_reference.h"
#include "tests/core/base/refusal_support.h"
#include "tests/golden/golden_data.h"

namespace nanobench::core {
namespace {

/// How a configuration that is the defaults plus `patch` is refused.
Refused refusal_with(const char* patch) {
  return refusal_of([&] { read_train_config(parse_json(patch, "c.json"), "c.json"); });
}

/// The fields that the refusal depends on; none if nothing is refused.
using Fields = std::vector<std::string>;

TEST(TrainConfig, DefaultsAreRecord17) {
  const TrainConfig config = read_train_config(Json::object(), "c.json");
  EXPECT_EQ(config.model.num_layers, 12);
  EXPECT_EQ(config.model.model_dim, 768);
  EXPECT_EQ(config.model.attention_skip_layers, std::vector<std::int64_t>{7});
  EXPECT_EQ(config.schedule.num_steps, 1490);
  EXPECT_EQ(config.model.head_dim(), 128);
  EXPECT_EQ(config.model.padded_vocab_size(), 50304);
  EXPECT_EQ(config.data.tokens_per_step(), 8 * 65536);
}

TEST(TrainConfig, WritesAndReadsBackTheSame) {
  TrainConfig config;
  config.name = "round trip";
  config.model.qk_norm_eps = 1e-6;
  config.model.logit_softcap.reset();
  config.optimizer.hidden_matrices.orthogonalizer = Orthogonalizer::kSvd;
  config.schedule.learning_rate.cooldown_steps = 557.2;
  config.init.note = "a note";
  const OrderedJson written = to_json(config);
  const TrainConfig read = read_train_config(Json::parse(written.dump()), "c.json");
  EXPECT_EQ(to_json(read).dump(), written.dump());
  EXPECT_EQ(read.digest(), config.digest());
}

TEST(TrainConfig, EveryPublishedRecordReadsAndRoundTrips) {
  std::set<std::string> digests;
  for (const auto& entry : std::filesystem::directory_iterator(golden_data("golden/records"))) {
    if (entry.path().extension() != ".json") continue;
    const TrainConfig config = read_train_config_file(entry.path().string());
    const TrainConfig again = read_train_config(Json::parse(to_json(config).dump()), "again");
    EXPECT_EQ(config.digest(), again.digest()) << entry.path();
    digests.insert(config.digest());
  }
  EXPECT_GE(digests.size(), 10U);
}

TEST(TrainConfig, DigestIsThatOfTheArithmetic) {
  TrainConfig config;
  const std::string digest = config.digest();
  config.name = "other";
  config.init.file = "x.safetensors";
  config.init.note = "why";
  EXPECT_EQ(config.digest(), digest) << "names and notes do no arithmetic";
  config.model.norm_eps *= 2;
  EXPECT_NE(config.digest(), digest);
}

TEST(TrainConfig, DigestDependsOnEveryWrittenField) {
  const TrainConfig base;
  std::set<std::string> seen = {base.digest()};
  TrainConfig config = base;
  config.run.val_every = 7;
  EXPECT_TRUE(seen.insert(config.digest()).second);
  config = base;
  config.optimizer.embeddings.beta2 = 0.96;
  EXPECT_TRUE(seen.insert(config.digest()).second);
  config = base;
  config.data.loader.wrap = false;
  EXPECT_TRUE(seen.insert(config.digest()).second);
}

TEST(TrainConfig, PointersListsNestedFields) {
  const std::vector<std::string>& pointers = train_config_pointers();
  const std::set<std::string> all(pointers.begin(), pointers.end());
  EXPECT_EQ(all.size(), pointers.size());
  EXPECT_TRUE(all.contains("/model/num_layers"));
  EXPECT_TRUE(all.contains("/attention/window/schedule/type"));
  EXPECT_TRUE(all.contains("/optimizer/hidden_matrices/orthogonalizer"));
}

struct BadConfig {
  const char* name;
  const char* patch;
  Reason reason;
  Fields pointers;
  const char* datum;  ///< what the message names
  ErrorCode code = ErrorCode::kInvalidArgument;

  friend void PrintTo(const BadConfig& item, std::ostream* out) { *out << item.name; }
};

class TrainConfigError : public testing::TestWithParam<BadConfig> {};

TEST_P(TrainConfigError, NamesFilePointerAndReason) {
  const BadConfig& bad = GetParam();
  const Refused refused = refusal_with(bad.patch);
  EXPECT_REFUSED_AS(refused, bad.code, bad.reason, bad.pointers.front());
  EXPECT_TRUE(refused.pointers.empty() || refused.pointers == bad.pointers) << testing::PrintToString(refused.pointers);
  EXPECT_EQ(refused.message.rfind("c.json: " + bad.pointers.front() + ": ", 0), 0U) << refused.message;
  EXPECT_TRUE(refused.names(bad.datum)) << refused.message;
}

const BadConfig kBadConfigs[] = {
    {"unknown_top", R"({"modle": {}})", Reason::kUnknownKey, {"/modle"}, "\"model\""},
    {"unknown_nested",
     R"({"attention": {"window": {"schedul": {}}}})",
     Reason::kUnknownKey,
     {"/attention/window/schedul"},
     "\"schedule\""},
    {"wrong_type", R"({"model": {"num_layers": "12"}})", Reason::kWrongType, {"/model/num_layers"}, "\"12\""},
    {"fraction", R"({"model": {"num_layers": 1.5}})", Reason::kWrongType, {"/model/num_layers"}, "1.5"},
    {"not_object", R"({"model": []})", Reason::kWrongType, {"/model"}, "[]"},
    {"boolean", R"({"model": {"qk_norm": 1}})", Reason::kWrongType, {"/model/qk_norm"}, " 1"},
    {"too_low", R"({"model": {"num_layers": 0}})", Reason::kOutOfRange, {"/model/num_layers"}, " 0"},
    {"too_high", R"({"model": {"vocab_size": 70000}})", Reason::kOutOfRange, {"/model/vocab_size"}, "65536"},
    {"enumeration", R"({"model": {"activation": "gelo"}})", Reason::kUnknownName, {"/model/activation"}, "\"gelu\""},
    {"betas_length",
     R"({"optimizer": {"scalars": {"betas": [0.9]}}})",
     Reason::kOutOfRange,
     {"/optimizer/scalars/betas"},
     "[0.9]"},
    {"betas_one",
     R"({"optimizer": {"scalars": {"betas": [0.9, 1.0]}}})",
     Reason::kOutOfRange,
     {"/optimizer/scalars/betas"},
     "[0.9,1.0]"},
    {"inactive",
     R"({"optimizer": {"scalars": {"ns_steps": 5}}})",
     Reason::kInactive,
     {"/optimizer/scalars/ns_steps"},
     "\"type\""},
    {"heads", R"({"model": {"num_heads": 5}})", Reason::kUnmet, {"/model/num_heads", "/model/model_dim"}, "768"},
    {"layer_map",
     R"({"model": {"value_embeddings": {"layer_map": [0]}}})",
     Reason::kUnmet,
     {"/model/value_embeddings/layer_map", "/model/num_layers"},
     "12"},
    {"list_item",
     R"({"model": {"attention_skip_layers": [9223372036854775808]}})",
     Reason::kOutOfRange,
     {"/model/attention_skip_layers"},
     "9223372036854775808"},
    {"skip_layer",
     R"({"model": {"attention_skip_layers": [12]}})",
     Reason::kUnmet,
     {"/model/attention_skip_layers", "/model/num_layers"},
     "12"},
    {"block",
     R"({"attention": {"block_size": 100}})",
     Reason::kUnmet,
     {"/data/sequence_length", "/data/val_sequence_length", "/attention/block_size"},
     "100"},
    {"stop_after",
     R"({"run": {"stop_after": 2000}})",
     Reason::kUnmet,
     {"/run/stop_after", "/schedule/num_steps", "/schedule/extension_steps"},
     "1490"},
    {"ranks", R"({"data": {"ranks": 3}})", Reason::kUnmet, {"/data/sequences_per_step", "/data/ranks"}, " 3 "},
    {"muon_head",
     R"({"optimizer": {"lm_head": {"type": "muon"}}})",
     Reason::kUnmet,
     {"/optimizer/lm_head/type"},
     "hidden_matrices"},
    {"separator",
     R"({"attention": {"document_separator": 60000}})",
     Reason::kUnmet,
     {"/attention/document_separator", "/model/vocab_size"},
     "60000"},
    {"merged_stacked",
     R"({"model": {"merged_qkv": true, "qkv_rows": "stacked"}})",
     Reason::kExcluded,
     {"/model/qkv_rows", "/model/merged_qkv"},
     "merged_qkv",
     ErrorCode::kConflict},
    {"tied_rows",
     R"({"model": {"tied_head": true}})",
     Reason::kExcluded,
     {"/model/tied_head", "/model/vocab_pad_embeddings", "/model/vocab_pad_multiple"},
     "vocab_pad_embeddings",
     ErrorCode::kConflict},
    {"half_layers",
     R"({"attention": {"window": {"granularity": "token_block_clipped", "half_layers": [1]}}})",
     Reason::kExcluded,
     {"/attention/window/half_layers", "/attention/window/granularity"},
     "",
     ErrorCode::kConflict},
};

INSTANTIATE_TEST_SUITE_P(Table, TrainConfigError, testing::ValuesIn(kBadConfigs),
                         [](const auto& case_info) { return std::string(case_info.param.name); });

TEST(TrainConfig, ProcessesDivideRanksAndWithoutRaggedGroupsTheMatrices) {
  const Refused uneven = refusal_with(R"({"distributed": {"processes": 3}})");
  EXPECT_REFUSED_AS(uneven, ErrorCode::kInvalidArgument, Reason::kUnmet, "/distributed/processes");
  EXPECT_EQ(uneven.pointers, (Fields{"/distributed/processes", "/data/ranks"}));
  EXPECT_TRUE(uneven.names("8") && uneven.names("3")) << uneven.message;
  // Record 17: 44 square matrices (eleven layers of four) and 24 of the MLP.
  const Refused ragged = refusal_with(R"({"distributed": {"processes": 8, "ragged_groups": false}})");
  EXPECT_REFUSED_AS(ragged, ErrorCode::kConflict, Reason::kExcluded, "/distributed/ragged_groups");
  EXPECT_EQ(ragged.pointers, (Fields{"/distributed/ragged_groups", "/distributed/processes"}));
  EXPECT_TRUE(ragged.names(" 44 ") && ragged.names(" 589824 ") && ragged.names(" 8 ")) << ragged.message;
  for (const char* possible : {R"({"distributed": {"processes": 4, "ragged_groups": false}})",
                               R"({"distributed": {"processes": 8, "ragged_groups": true}})",
                               R"({"distributed": {"processes": 1, "ragged_groups": false}})",
                               R"({"distributed": {"processes": 8, "ragged_groups": false, "muon": "all_reduce"}})",
                               R"({"distributed": {"processes": 8, "ragged_groups": false},
                                   "model": {"attention_skip_layers": []}})"}) {
    EXPECT_FALSE(refusal_with(possible).is_refused) << possible;
  }
}

TEST(TrainConfig, GradientsWithOwnersNeedOneSumAStepAndNoNorm) {
  EXPECT_FALSE(refusal_with(R"({"distributed": {"gradient_sums": "owners"}})").is_refused);
  const auto expect_excluded = [](const char* patch, const char* other, const char* remedy) {
    const Refused refused = refusal_with(patch);
    EXPECT_REFUSED_AS(refused, ErrorCode::kConflict, Reason::kExcluded, "/distributed/gradient_sums");
    EXPECT_EQ(refused.pointers, (Fields{"/distributed/gradient_sums", other}));
    EXPECT_TRUE(refused.names(remedy)) << refused.message;
  };
  expect_excluded(R"({"distributed": {"gradient_sums": "owners", "muon": "all_reduce"}})", "/distributed/muon",
                  "\"all_gather\"");
  expect_excluded(R"({"distributed": {"gradient_sums": "owners", "gradient_sync": "every_micro_step"}})",
                  "/distributed/gradient_sync", "\"last_micro_step\"");
  expect_excluded(R"({"distributed": {"gradient_sums": "owners"},
                      "optimizer": {"gradient_clip": {"type": "global_norm"}}})",
                  "/optimizer/gradient_clip/type", "\"none\"");
}

std::vector<std::string> pointers_of(const char* patch) {
  return refusal_with(patch).pointers;
}

TEST(TrainConfigPointers, AreTheFieldsThatTheErrorDependsOn) {
  EXPECT_EQ(pointers_of(R"({"model": {"num_kv_heads": 4}})"),
            (std::vector<std::string>{"/model/num_kv_heads", "/model/num_heads"}));
  EXPECT_EQ(pointers_of(R"({"model": {"num_layers": 0}})"), std::vector<std::string>{"/model/num_layers"});
  EXPECT_EQ(pointers_of(R"({"model": {"tied_head": true}})"),
            (std::vector<std::string>{"/model/tied_head", "/model/vocab_pad_embeddings", "/model/vocab_pad_multiple"}));
}

TEST(TrainConfigPointers, AreAllFieldsOfTheConfiguration) {
  const std::vector<std::string>& fields = train_config_pointers();
  for (const BadConfig& bad : kBadConfigs) {
    for (const std::string& pointer : pointers_of(bad.patch)) {
      const bool is_known = std::any_of(fields.begin(), fields.end(), [&](const std::string& field) {
        return field == pointer || field.starts_with(pointer + "/");
      });
      EXPECT_TRUE(is_known || std::string(bad.name).starts_with("unknown")) << bad.name << ": " << pointer;
    }
  }
}

}  // namespace
}  // namespace nanobench::core
