#include "core/config/train_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "core/config/settings_reference.h"
#include "tests/golden/golden_data.h"

namespace nanobench::core {
namespace {

/// The error of a configuration that is the defaults plus `patch`.
std::string error_of(const char* patch, ErrorCode expected = ErrorCode::kInvalidArgument) {
  try {
    read_train_config(parse_json(patch, "c.json"), "c.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected) << error.what();
    return error.what();
  }
  return "(no error)";
}

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
  const char* pointer;
  const char* says;
  ErrorCode code = ErrorCode::kInvalidArgument;

  friend void PrintTo(const BadConfig& item, std::ostream* out) { *out << item.name; }
};

class TrainConfigError : public testing::TestWithParam<BadConfig> {};

TEST_P(TrainConfigError, NamesFilePointerAndReason) {
  const BadConfig& bad = GetParam();
  const std::string message = error_of(bad.patch, bad.code);
  EXPECT_NE(message.find("c.json"), std::string::npos) << message;
  EXPECT_NE(message.find(bad.pointer), std::string::npos) << message;
  EXPECT_NE(message.find(bad.says), std::string::npos) << message;
}

const BadConfig kBadConfigs[] = {
    {"unknown_top", R"({"modle": {}})", "/modle", "model"},
    {"unknown_nested", R"({"attention": {"window": {"schedul": {}}}})", "/attention/window/schedul", "schedule"},
    {"wrong_type", R"({"model": {"num_layers": "12"}})", "/model/num_layers", "whole number"},
    {"fraction", R"({"model": {"num_layers": 1.5}})", "/model/num_layers", "1.5"},
    {"not_object", R"({"model": []})", "/model", "expected an object"},
    {"boolean", R"({"model": {"qk_norm": 1}})", "/model/qk_norm", "true or false"},
    {"too_low", R"({"model": {"num_layers": 0}})", "/model/num_layers", "got 0"},
    {"too_high", R"({"model": {"vocab_size": 70000}})", "/model/vocab_size", "65536"},
    {"enumeration", R"({"model": {"activation": "gelo"}})", "/model/activation", "gelu"},
    {"betas_length", R"({"optimizer": {"scalars": {"betas": [0.9]}}})", "/optimizer/scalars/betas", "two numbers"},
    {"betas_one", R"({"optimizer": {"scalars": {"betas": [0.9, 1.0]}}})", "/optimizer/scalars/betas", "less than 1"},
    {"inactive", R"({"optimizer": {"scalars": {"ns_steps": 5}}})", "/optimizer/scalars/ns_steps", "type"},
    {"heads", R"({"model": {"num_heads": 5}})", "/model/num_heads", "not a multiple"},
    {"layer_map", R"({"model": {"value_embeddings": {"layer_map": [0]}}})", "layer_map", "expected 12, got 1"},
    {"list_item", R"({"model": {"attention_skip_layers": [9223372036854775808]}})", "/model/attention_skip_layers",
     "9223372036854775808"},
    {"skip_layer", R"({"model": {"attention_skip_layers": [12]}})", "/model/attention_skip_layers", "does not exist"},
    {"block", R"({"attention": {"block_size": 100}})", "/data/sequence_length", "multiple"},
    {"stop_after", R"({"run": {"stop_after": 2000}})", "/run/stop_after", "1490"},
    {"ranks", R"({"data": {"ranks": 3}})", "/data/sequences_per_step", "3 ranks"},
    {"muon_head", R"({"optimizer": {"lm_head": {"type": "muon"}}})", "/optimizer/lm_head/type", "hidden_matrices"},
    {"separator", R"({"attention": {"document_separator": 60000}})", "/attention/document_separator", "vocabulary"},
    {"merged_stacked", R"({"model": {"merged_qkv": true, "qkv_rows": "stacked"}})", "/model/qkv_rows", "choose one",
     ErrorCode::kConflict},
    {"tied_rows", R"({"model": {"tied_head": true}})", "/model/tied_head", "vocab_pad_embeddings",
     ErrorCode::kConflict},
    {"half_layers", R"({"attention": {"window": {"granularity": "token_block_clipped", "half_layers": [1]}}})",
     "half_layers", "blocks", ErrorCode::kConflict},
};

INSTANTIATE_TEST_SUITE_P(Table, TrainConfigError, testing::ValuesIn(kBadConfigs),
                         [](const auto& case_info) { return std::string(case_info.param.name); });

TEST(TrainConfig, ProcessesDivideRanksAndWithoutRaggedGroupsTheMatrices) {
  EXPECT_NE(error_of(R"({"distributed": {"processes": 3}})").find("c.json: /distributed/processes: 8 ranks do not"),
            std::string::npos);
  // Record 17: 44 square matrices (eleven layers of four) and 24 of the MLP.
  EXPECT_EQ(error_of(R"({"distributed": {"processes": 8, "ragged_groups": false}})", ErrorCode::kConflict),
            "c.json: /distributed/ragged_groups: false, but the 44 hidden matrices of 589824 elements do not divide "
            "among 8 processes; set it to true or change /distributed/processes");
  for (const char* possible : {R"({"distributed": {"processes": 4, "ragged_groups": false}})",
                               R"({"distributed": {"processes": 8, "ragged_groups": true}})",
                               R"({"distributed": {"processes": 1, "ragged_groups": false}})",
                               R"({"distributed": {"processes": 8, "ragged_groups": false, "muon": "all_reduce"}})",
                               R"({"distributed": {"processes": 8, "ragged_groups": false},
                                   "model": {"attention_skip_layers": []}})"}) {
    EXPECT_EQ(error_of(possible), "(no error)") << possible;
  }
}

TEST(TrainConfig, GradientsWithOwnersNeedOneSumAStepAndNoNorm) {
  EXPECT_EQ(error_of(R"({"distributed": {"gradient_sums": "owners"}})"), "(no error)");
  EXPECT_EQ(error_of(R"({"distributed": {"gradient_sums": "owners", "muon": "all_reduce"}})", ErrorCode::kConflict),
            "c.json: /distributed/gradient_sums: a matrix whose gradient one process has is gathered from it; set muon "
            "to \"all_gather\"");
  EXPECT_EQ(error_of(R"({"distributed": {"gradient_sums": "owners", "gradient_sync": "every_micro_step"}})",
                     ErrorCode::kConflict),
            "c.json: /distributed/gradient_sums: scattered sums are taken once a step; set gradient_sync to "
            "\"last_micro_step\"");
  EXPECT_EQ(error_of(R"({"distributed": {"gradient_sums": "owners"},
                         "optimizer": {"gradient_clip": {"type": "global_norm"}}})",
                     ErrorCode::kConflict),
            "c.json: /distributed/gradient_sums: a norm needs every gradient, and each process has its own only; set "
            "the clipping to \"none\"");
}

std::vector<std::string> pointers_of(const char* patch) {
  try {
    read_train_config(parse_json(patch, "c.json"), "c.json");
  } catch (const LocatedError& error) {
    return error.pointers();
  } catch (const Error&) {  // not about a field
  }
  return {};
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
