// Features that change the numbers do so in the direction that their formula says, looked at where it shows best.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "ablations/resolve.h"
#include "core/config/schedule.h"
#include "engine/nn/gpt.h"
#include "engine/ops/attention.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/orthogonalize.h"
#include "engine/ops/softcapped_cross_entropy.h"
#include "engine/optim/muon.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

/// The official configuration of a record with one feature set.
TrainConfig with(const std::string& record, const std::string& feature, const std::string& value,
                 const std::string& scale = "official") {
  return ablations::resolve(ablations::embedded_catalogue(),
                            {.record = record, .settings = {{feature, value}}, .scale = scale})
      .config;
}

std::int64_t parameters_of(const TrainConfig& config) {
  return GPT(config, at::kFloat).parameters().count();
}

/// Mean loss of one random sequence under initial parameters.
double first_loss(const TrainConfig& config) {
  GPT model(config, at::kDouble);
  model.parameters().initialize(config, 1);
  const std::int64_t length = config.data.sequence_length;
  const at::Tensor tokens = at::arange(length + 1).remainder(97);
  const BlockMask mask(std::vector<std::uint16_t>(static_cast<std::size_t>(length), 1),
                       {.block_size = config.attention.block_size, .document_mask = false, .window_tokens = length});
  const auto plan = std::make_shared<const AttentionPlan>(mask, at::kDouble);
  const at::NoGradGuard no_grad;
  return model
      .loss({.tokens = tokens.narrow(0, 0, length),
             .targets = tokens.narrow(0, 1, length),
             .plan = plan,
             .half_plan = plan})
      .item<double>();
}

TEST(FeatureDirection, PaddingRowsTakeProbabilityFromTheStart) {
  for (const auto& [value, rows] : {std::pair("1", 257), std::pair("64", 320), std::pair("128", 384)}) {
    EXPECT_NEAR(first_loss(with("record17", "vocabulary_padding", value, "smoke")), std::log(rows), 1e-9) << value;
  }
}

TEST(FeatureDirection, ASoftcapBoundsTheLogitsAndASmallerOneMore) {
  const at::Tensor logits = at::linspace(-200, 200, 401, at::kDouble);
  double before = 1e9;
  for (const char* value : {"off", "30", "15"}) {
    const ModelConfig model = with("record17", "logit_softcap", value).model;
    const at::Tensor capped = softcap_logits(logits, {model.logit_softcap, model.logit_softcap_form});
    const double largest = capped.abs().max().item<double>();
    EXPECT_LT(largest, before) << value;
    before = largest;
  }
  EXPECT_LE(before, 15.0);
  const ModelConfig sigmoid = with("record18", "logit_softcap_form", "sigmoid").model;
  const at::Tensor shifted = softcap_logits(logits, {sigmoid.logit_softcap, sigmoid.logit_softcap_form});
  EXPECT_GE(shifted.min().item<double>(), 0.0);
  EXPECT_LE(shifted.max().item<double>(), 30.0);
}

std::int64_t pairs_seen(const TrainConfig& config, std::int64_t step) {
  const std::vector<std::uint16_t> tokens(4096, 1);
  const BlockMask mask(
      tokens, {.block_size = config.attention.block_size,
               .document_mask = config.attention.document_mask,
               .document_separator = config.attention.document_separator,
               .granularity = config.attention.window.granularity,
               .window_tokens = window_tokens(config.attention.window.schedule, step, config.schedule.num_steps)});
  return mask.allowed_pairs();
}

TEST(FeatureDirection, ClippedWindowsSeeLessThanTokenWindowsAndThanBlockWindows) {
  const std::int64_t token = pairs_seen(with("record15", "window_granularity", "token"), 150);
  const std::int64_t clipped = pairs_seen(with("record15", "window_granularity", "token_block_clipped"), 150);
  EXPECT_LT(clipped, token);
  EXPECT_LT(clipped, pairs_seen(with("record16", "window_granularity", "block"), 150));
}

TEST(FeatureDirection, WindowsGrowWithTheRunAndHalfLayersSeeHalf) {
  const TrainConfig grows = with("record12", "window_warmup", "linear_64");
  EXPECT_LT(pairs_seen(grows, 0), pairs_seen(grows, 500));
  EXPECT_LT(pairs_seen(grows, 500), pairs_seen(grows, 1800));
  const TrainConfig halves = with("record19", "window_lengths", "long_short");
  EXPECT_EQ(halves.attention.window.half_layers.size(), 8U);
  EXPECT_EQ(half_window_tokens(halves.attention, 1024), 512);
  EXPECT_EQ(half_window_tokens(halves.attention, 128), 128);
}

TEST(FeatureDirection, ADocumentMaskHidesOtherDocuments) {
  std::vector<std::uint16_t> tokens(1024, 1);
  tokens[300] = tokens[700] = 50256;
  const auto pairs = [&](const char* value) {
    const TrainConfig config = with("record17", "document_mask", value);
    return BlockMask(tokens, {.document_mask = config.attention.document_mask,
                              .document_separator = config.attention.document_separator,
                              .window_tokens = 1024})
        .allowed_pairs();
  };
  EXPECT_LT(pairs("on"), pairs("off"));
}

TEST(FeatureDirection, TheSvdIsExactlyOrthogonalAndNewtonSchulzNearlySo) {
  at::manual_seed(1);
  const at::Tensor g = at::randn({64, 256}, at::kDouble);
  const at::Tensor exact = std::get<1>(at::linalg_svd(svd_orthogonalize(g), false));
  const at::Tensor rough = std::get<1>(at::linalg_svd(newton_schulz(g, {}), false));
  EXPECT_LE((exact - 1).abs().max().item<double>(), 1e-12);
  EXPECT_GE(rough.min().item<double>(), 0.6);
  EXPECT_LE(rough.max().item<double>(), 1.3);
  EXPECT_GE((rough - 1).abs().max().item<double>(), 0.05);
}

TEST(FeatureDirection, UpdateScalesFollowTheShape) {
  const auto scale = [](const char* value, std::int64_t rows, std::int64_t columns) {
    const TrainConfig config = with("record17", "muon_update_scale", value);
    return muon_update_scale(config.optimizer.hidden_matrices.update_scale, rows, columns);
  };
  EXPECT_EQ(scale("none", 3072, 768), 1.0);
  EXPECT_EQ(scale("sqrt_rows_over_columns", 3072, 768), 2.0);
  EXPECT_EQ(scale("sqrt_rows_over_columns", 768, 3072), 1.0);
  EXPECT_EQ(scale("sqrt_largest_side", 768, 3072), std::sqrt(3072.0));
}

TEST(FeatureDirection, RatesEndAtTheFloorAndMomentumWarmsUp) {
  const auto last_rate = [](const char* value) {
    const ScheduleConfig schedule = with("record18", "learning_rate_floor", value).schedule;
    return learning_rate_factor(schedule, schedule.num_steps - 1);
  };
  EXPECT_LT(last_rate("0"), 0.01);
  EXPECT_GT(last_rate("0.1"), 0.1);
  const auto momentum = [](const char* value, std::int64_t step) {
    return muon_momentum(with("record17", "momentum_warmup", value).schedule, step);
  };
  EXPECT_EQ(momentum("none", 0), momentum("none", 1000));
  EXPECT_LT(momentum("500", 250), momentum("300", 250));
  EXPECT_LT(momentum("300", 0), momentum("300", 100));
}

TEST(FeatureDirection, FewerTablesHeadsAndLayersMeanFewerParameters) {
  const auto count = [](const char* feature, const char* value) {
    return parameters_of(with("record17", feature, value, "smoke"));
  };
  EXPECT_GT(count("value_embeddings", "tables_12"), count("value_embeddings", "mirrored_6"));
  EXPECT_GT(count("value_embeddings", "mirrored_6"), count("value_embeddings", "sparse_3"));
  EXPECT_GT(count("value_embeddings", "sparse_3"), count("value_embeddings", "none"));
  EXPECT_GT(count("grouped_query_attention", "6"), count("grouped_query_attention", "1"));
  const TrainConfig smoke = with("record17", "attention_skip", "none", "smoke");
  const std::int64_t attention = 4 * smoke.model.model_dim * smoke.model.model_dim + 2;  // and its two lambdas
  EXPECT_EQ(count("attention_skip", "none") - count("attention_skip", "layer_7"), attention);
  EXPECT_GT(count("embedding_padding", "padded"), count("embedding_padding", "unpadded"));
  EXPECT_EQ(count("unet_skips", "on") - count("unet_skips", "off"), 6);
  EXPECT_GT(parameters_of(with("record8", "head_tying", "untied", "smoke")),
            parameters_of(with("record8", "head_tying", "tied", "smoke")));
}

TEST(FeatureDirection, HalfTheRotaryPairsStandStill) {
  const auto turning = [](const char* value) {
    const ModelConfig model = with("record17", "rotary", value).model;
    const RotaryTables tables = rotary_tables(model.rope, model.head_dim(), at::arange(1000), at::kDouble);
    return tables.sin.abs().amax(0).gt(0).sum().item<std::int64_t>();
  };
  EXPECT_EQ(turning("full_10000"), 64);
  EXPECT_EQ(turning("half_1024"), 32);
}

TEST(FeatureDirection, ALargerAttentionScaleIsSharper) {
  const auto largest_weight = [](const char* value) {
    const ModelConfig model = with("record19", "attention_scale", value).model;
    const double scale = model.attention_scale.value_or(1.0 / std::sqrt(static_cast<double>(model.head_dim())));
    at::manual_seed(1);
    return at::softmax(at::randn({200, 64}, at::kDouble) * 10 * scale, -1).amax(-1).mean().item<double>();
  };
  EXPECT_LT(largest_weight("0.088"), largest_weight("0.12"));
}

TEST(FeatureDirection, TheFirstReadComesTwiceOnlyUntilRecord11) {
  EXPECT_TRUE(with("record11", "first_read_twice", "twice").data.loader.first_read_twice);
  EXPECT_FALSE(with("record11", "first_read_twice", "once").data.loader.first_read_twice);
}

TEST(FeatureDirection, LowerPrecisionKeepsFewerValues) {
  const auto distinct_losses = [](const char* value) {
    TrainConfig config = with("record18", "table_precision", value, "smoke");
    GPT model(config, at::kFloat);
    model.parameters().initialize(config, 1);
    const at::Tensor table = model.parameters().all().front().tensor.detach();
    return config.precision.embeddings == StoredPrecision::kBfloat16 ? round_to_bfloat16(table) : table;
  };
  const auto distinct = [](const at::Tensor& x) { return std::get<0>(at::_unique(x)).numel(); };
  EXPECT_LT(distinct(distinct_losses("bfloat16")), distinct(distinct_losses("float32")) / 2);
}

}  // namespace
}  // namespace nanobench::core::testing
