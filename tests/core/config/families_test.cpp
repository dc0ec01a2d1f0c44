// Settings of families of parameters: names, inheritance from the group, JSON and identity.
#include <gtest/gtest.h>

#include "core/config/parameter_list.h"
#include "core/config/train_config.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::core {
namespace {

TEST(Families, HaveNamesWithoutLayerAndSuffix) {
  EXPECT_EQ(family_of("blocks.3.attn.qkvo_w"), "attn.qkvo_w");
  EXPECT_EQ(family_of("blocks.11.mlp.c_proj.weight"), "mlp.c_proj");
  EXPECT_EQ(family_of("value_embeds.embed.2.weight"), "value_embeds.embed");
  EXPECT_EQ(family_of("lm_head.weight"), "lm_head");
  EXPECT_EQ(family_of("blocks.0.mlp.c_fc.bias"), "mlp.c_fc.bias");
  EXPECT_EQ(family_of("resid_lambdas"), "resid_lambdas");
}

TEST(Families, BelongToTheGroupOfTheirParameters) {
  std::vector<TrainConfig> configs(4);
  configs[1].model.bias = true;
  configs[1].model.norm = NormType::kLayer;
  configs[1].model.position = PositionEncoding::kLearned;
  configs[2].model.merged_qkvo = MergedQkvo::kWide;
  configs[2].model.attention_gate_dim = configs[2].model.smear_gate_dim = 12;
  configs[2].model.value_embeddings.layout = ValueTableLayout::kJoined;
  configs[3].model.merged_qkv = true;
  configs[3].model.skip.to = 8;
  configs[3].model.residual_scaling = ResidualScaling::kBlock;
  for (const TrainConfig& config : configs) {
    for (const ParameterShape& parameter : parameter_list(config))
      EXPECT_EQ(&settings_of(config.optimizer, parameter.group, parameter.name),
                &config.optimizer.group_of_family(family_of(parameter.name)))
          << parameter.name;
  }
}

const char* const kPatch = R"({"optimizer": {"hidden_matrices": {"lr": 0.03},
    "families": {"mlp.c_proj": {"rate_multiplier": 2}, "attn.attn_gate": {"type": "adam", "lr": 0.008},
                 "lm_head": {}}}})";

TEST(Families, TakeWhatTheyDoNotSayFromTheirGroup) {
  const TrainConfig config = read_train_config(parse_json(kPatch, "c.json"), "c.json");
  const OptimizerGroupConfig& down = config.optimizer.families.at("mlp.c_proj");
  EXPECT_EQ(down.type, OptimizerType::kMuon);
  EXPECT_DOUBLE_EQ(down.lr, 0.03);
  EXPECT_DOUBLE_EQ(down.rate_multiplier, 2);
  EXPECT_EQ(settings_of(config.optimizer, ParameterGroup::kHiddenMatrices, "blocks.1.attn.attn_gate.weight").type,
            OptimizerType::kAdam);
}

TEST(Families, AreWrittenAsDifferencesAndReadBack) {
  const TrainConfig config = read_train_config(parse_json(kPatch, "c.json"), "c.json");
  const Json changed = changed_settings(config);
  EXPECT_EQ(changed.at("optimizer"), Json::parse(R"({"hidden_matrices": {"lr": 0.03},
      "families": {"mlp.c_proj": {"rate_multiplier": 2.0}, "attn.attn_gate": {"type": "adam", "lr": 0.008}}})"));
  const TrainConfig read = read_train_config(changed, "c.json");
  EXPECT_EQ(read.digest(), config.digest());
  EXPECT_EQ(to_json(read), to_json(config));
  EXPECT_NE(config.digest(),
            read_train_config(parse_json(R"({"optimizer": {"hidden_matrices": {"lr": 0.03}}})", ""), "").digest());
}

TEST(Families, RefuseUnknownFieldsAndMuonForWhatIsNoMatrix) {
  const auto refusal_with = [](const char* families) {
    const std::string patch = R"({"optimizer": {"families": )" + std::string(families) + "}}";
    return refusal_of([&] { read_train_config(parse_json(patch, "c.json"), "c.json"); });
  };
  const std::string place = "/optimizer/families/";
  EXPECT_REFUSED(refusal_with(R"({"lm_head": {"lrr": 1}})"), Reason::kUnknownKey, place + "lm_head/lrr");
  const Refused no_matrix = refusal_with(R"({"lm_head": {"type": "muon"}})");
  EXPECT_REFUSED(no_matrix, Reason::kUnmet, place + "lm_head/type");
  EXPECT_TRUE(no_matrix.names("lm_head.weight")) << no_matrix.message;
  const Refused whole = refusal_with(R"({"mlp.c_fc": {"cautious_decay": 1.2}})");
  EXPECT_REFUSED(whole, Reason::kExcluded, place + "mlp.c_fc/cautious_decay");
  EXPECT_EQ(whole.pointers,
            (std::vector<std::string>{place + "mlp.c_fc/cautious_decay", place + "mlp.c_fc/blockwise"}));
}

}  // namespace
}  // namespace nanobench::core
