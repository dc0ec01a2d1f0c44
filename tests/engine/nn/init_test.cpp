// How parameters begin: the same (seed, name, shape) gives the same numbers whatever else is configured.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/kernels/engine_context.h"
#include "engine/nn/gpt.h"
#include "engine/ops/bfloat16.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

TrainConfig small_config() {
  TrainConfig config;
  config.model.num_layers = 4;
  config.model.num_heads = config.model.num_kv_heads = 2;
  config.model.model_dim = 32;
  config.model.vocab_size = 50;
  config.model.vocab_pad_multiple = 16;
  config.model.rope.max_seq_len = 64;
  config.model.value_embeddings = {.num_tables = 2, .layer_map = {0, 1, std::nullopt, 0}};
  config.model.attention_skip_layers = {2};
  return config;
}

std::map<std::string, at::Tensor> initial_parameters(const TrainConfig& config, std::uint64_t seed = 5) {
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, seed);
  std::map<std::string, at::Tensor> tensors;
  for (const Parameter& parameter : model.parameters().all()) tensors[parameter.name] = parameter.tensor.detach();
  return tensors;
}

/// The constructor throws where the model lacks a parameter of the list; here, that it has no other.
TEST(Parameters, AreThoseOfTheList) {
  std::vector<TrainConfig> configs(5, small_config());
  configs[1].model.merged_qkv = true;
  configs[2].model.qkv_rows = QkvRows::kStacked;
  configs[2].model.bias = true;
  configs[3].model.norm = NormType::kLayer;
  configs[3].model.position = PositionEncoding::kLearned;
  configs[3].model.tied_head = true;
  configs[4].model.value_embeddings.mix = ValueMix::kLerp;
  configs[4].model.value_embeddings.layout = ValueTableLayout::kJoined;
  for (const TrainConfig& config : configs) {
    const GPT model(config, at::kFloat);
    std::int64_t numbers = 0;
    for (const ParameterShape& parameter : parameter_list(config)) numbers += parameter.numbers();
    EXPECT_EQ(model.parameters().count(), numbers);
    EXPECT_EQ(model.parameters().all().size(), parameter_list(config).size());
  }
}

TEST(Init, JoinedMatricesBeginAsTheSeparateOnes) {
  TrainConfig config = small_config();
  const auto separate = initial_parameters(config);
  config.model.value_embeddings.layout = ValueTableLayout::kJoined;
  config.model.merged_qkv = true;
  const auto merged = initial_parameters(config);
  config.model.merged_qkv = false;
  config.model.qkv_rows = QkvRows::kStacked;
  const auto stacked = initial_parameters(config);
  const at::Tensor qkv = at::stack({separate.at("blocks.1.attn.c_q.weight"), separate.at("blocks.1.attn.c_k.weight"),
                                    separate.at("blocks.1.attn.c_v.weight")});
  EXPECT_TRUE(at::equal(merged.at("blocks.1.attn.qkv_w"), qkv));
  EXPECT_TRUE(at::equal(stacked.at("blocks.1.attn.c_attn.weight"), qkv.reshape({96, 32})));
  EXPECT_TRUE(
      at::equal(merged.at("value_embeds.weight"),
                at::cat({separate.at("value_embeds.embed.0.weight"), separate.at("value_embeds.embed.1.weight")}, 1)));
}

/// Records #49 to #70 give value tables, head and attention initial values of their own.
TEST(Init, TablesHeadAndAttentionHaveStandardDeviationsOfTheirOwn) {
  TrainConfig config = small_config();
  config.model.merged_qkvo = MergedQkvo::kRows;
  config.model.linear_init_std = 0.5;
  config.init.lm_head = MatrixInit::kLinear;
  const auto usual = initial_parameters(config);
  config.init.value_table_std = 0.01;
  config.init.lm_head_std = 0.005;
  config.init.attention_std = 1.0;
  config.init.linear_attention_outputs = true;
  const auto late = initial_parameters(config);
  EXPECT_TRUE(
      at::allclose(late.at("value_embeds.embed.0.weight"), 0.01 * usual.at("value_embeds.embed.0.weight"), 1e-6, 0.0));
  EXPECT_NEAR(late.at("lm_head.weight").std().item<double>(), 0.005, 0.0005);
  EXPECT_TRUE(at::equal(late.at("embed.weight"), usual.at("embed.weight")));
  const at::Tensor before = usual.at("blocks.1.attn.qkvo_w"), after = late.at("blocks.1.attn.qkvo_w");
  EXPECT_TRUE(at::allclose(after.narrow(0, 0, 96), 2.0 * before.narrow(0, 0, 96), 1e-6, 0.0));
  EXPECT_EQ(before.narrow(0, 96, 32).abs().max().item<double>(), 0.0);
  EXPECT_NEAR(after.narrow(0, 96, 32).std().item<double>(), 1.0 / std::sqrt(32.0), 0.02);
  EXPECT_EQ(late.at("blocks.1.mlp.c_proj.weight").abs().max().item<double>(), 0.0);

  config.init.value_table_std = 0.0;
  EXPECT_EQ(initial_parameters(config).at("value_embeds.embed.1.weight").abs().max().item<double>(), 0.0);
}

/// A table that is the head, or begins as it, takes the head's standard deviation.
TEST(Init, ATableThatIsTheHeadBeginsAsTheHead) {
  TrainConfig config = small_config();
  config.model.vocab_pad_embeddings = true;
  config.init.lm_head_std = 0.005;
  config.model.untie_step = 3;
  const auto untied = initial_parameters(config);
  EXPECT_TRUE(at::equal(untied.at("embed.weight"), untied.at("lm_head.weight")));
  config.model.untie_step.reset();
  config.model.tied_head = true;
  const at::Tensor tied = initial_parameters(config).at("embed.weight");
  EXPECT_NEAR(tied.std().item<double>(), 0.005, 0.0005);
}

/// Tables of more numbers than a thread draws at a time.
TEST(Init, IsTheSameForAnyNumberOfThreads) {
  TrainConfig config = small_config();
  config.model.vocab_size = 1100;
  EngineContext context;
  context.set_threads(1);
  const auto alone = initial_parameters(config);
  context.set_threads(3);
  const auto together = initial_parameters(config);
  for (const auto& [name, tensor] : alone) EXPECT_TRUE(at::equal(tensor, together.at(name))) << name;
  config.model.value_embeddings.layout = ValueTableLayout::kJoined;
  const at::Tensor joined = initial_parameters(config).at("value_embeds.weight");
  const at::Tensor first = alone.at("value_embeds.embed.0.weight"), second = alone.at("value_embeds.embed.1.weight");
  EXPECT_TRUE(at::equal(joined, at::cat({first, second}, 1)));
  // The last rows too are drawn, and not what the memory held before.
  const at::Tensor last = second.slice(0, 1090);
  EXPECT_NEAR(last.std().item<double>(), 1.0, 0.2);
  EXPECT_FALSE(at::equal(last, first.slice(0, 1090)));
}

TEST(Init, DependsOnSeedNameAndShapeOnly) {
  TrainConfig config = small_config();
  const auto base = initial_parameters(config);
  config.model.unet_skips = false;
  config.model.x0_lambdas = false;
  config.model.attention_skip_layers = {};
  config.model.value_embeddings = {.source = ValueSource::kNone,
                                   .num_tables = 0,
                                   .layer_map = std::vector<std::optional<std::int64_t>>(4),
                                   .mix = ValueMix::kNone};
  const auto other = initial_parameters(config);
  int shared = 0;
  for (const auto& [name, tensor] : other) {
    if (!base.contains(name)) continue;
    EXPECT_TRUE(at::equal(tensor, base.at(name))) << name;
    ++shared;
  }
  EXPECT_GE(shared, 20);
  EXPECT_FALSE(at::equal(initial_parameters(config, 6).at("embed.weight"), base.at("embed.weight")));
}

TEST(Init, OfGpt2HasItsDeviationsAndZeroPaddingRows) {
  TrainConfig config = small_config();
  config.model.model_dim = 128;
  config.model.vocab_pad_embeddings = true;
  config.model.tied_head = true;
  config.model.position = PositionEncoding::kLearned;
  config.model.norm = NormType::kLayer;
  config.model.bias = true;
  config.init.scheme = InitScheme::kGpt2;
  const auto tensors = initial_parameters(config);
  const auto deviation = [&](const std::string& name) { return tensors.at(name).std().item<double>(); };
  EXPECT_NEAR(deviation("blocks.0.mlp.c_fc.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("position_embed.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("blocks.0.mlp.c_proj.weight"), 0.02 / std::sqrt(8.0), 0.0005);
  const at::Tensor embed = tensors.at("embed.weight");
  EXPECT_EQ(embed.size(0), 64);
  EXPECT_TRUE(embed.narrow(0, 50, 14).eq(0).all().item<bool>());
  EXPECT_NEAR(embed.narrow(0, 0, 50).std().item<double>(), 0.02, 0.001);
  EXPECT_TRUE(tensors.at("ln_f.weight").eq(1).all().item<bool>());
  EXPECT_TRUE(tensors.at("blocks.1.attn.c_proj.bias").eq(0).all().item<bool>());
}

TEST(Init, OutputProjectionsAndHeadAreZeroOrLinear) {
  TrainConfig config = small_config();
  EXPECT_TRUE(initial_parameters(config).at("lm_head.weight").eq(0).all().item<bool>());
  config.init.lm_head = config.init.output_projections = MatrixInit::kLinear;
  config.init.embeddings = TableInit::kLinear;
  const auto tensors = initial_parameters(config);
  for (const char* name : {"lm_head.weight", "blocks.0.attn.c_proj.weight", "embed.weight"}) {
    const double bound = 1.0 / std::sqrt(32.0);
    EXPECT_LE(tensors.at(name).abs().max().item<double>(), bound) << name;
    EXPECT_GE(tensors.at(name).abs().max().item<double>(), 0.9 * bound) << name;
  }
  config.precision.linear_init = StoredPrecision::kBfloat16;
  const auto rounded = initial_parameters(config);
  const at::Tensor exact = tensors.at("blocks.0.mlp.c_fc.weight");
  EXPECT_TRUE(at::equal(rounded.at("blocks.0.mlp.c_fc.weight"), round_to_bfloat16(exact)));
  EXPECT_TRUE(at::equal(rounded.at("embed.weight"), tensors.at("embed.weight")));
}

}  // namespace
}  // namespace nanobench::core::testing
