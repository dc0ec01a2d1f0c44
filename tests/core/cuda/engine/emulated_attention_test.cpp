// The engine's attention through the GPU's kernels, which run emulated on the CPU: against the CPU's own attention,
// alone and inside a model in bfloat16.
#include <gtest/gtest.h>

#include <cmath>

#include "ablations/resolve.h"
#include "core/nn/gpt.h"
#include "core/ops/attention.h"
#include "core/ops/bfloat16.h"
#include "core/ops/device_attention.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/core/cuda/engine/emulated_device.h"

namespace nanobench::core::testing {
namespace {

std::vector<std::uint16_t> documents(std::int64_t length) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(length), 1);
  for (std::size_t i = 0; i < tokens.size(); i += 75) tokens[i] = 0;
  return tokens;
}

std::shared_ptr<const AttentionPlan> plan_of(std::int64_t length, std::int64_t window) {
  const BlockMask mask(documents(length), {.block_size = 128,
                                           .document_mask = true,
                                           .document_separator = 0,
                                           .granularity = WindowGranularity::kToken,
                                           .window_tokens = window});
  return std::make_shared<const AttentionPlan>(mask, at::kFloat);
}

at::Tensor bfloat16_values(at::IntArrayRef shape, std::uint64_t seed) {
  const std::int64_t count = c10::multiply_integers(shape);
  const at::Tensor index = at::arange(count, at::kDouble) + static_cast<double>(seed) * 1000.0;
  return round_to_bfloat16(at::sin(index * 1.7 + at::cos(index * 0.3)).to(at::kFloat).reshape(shape))
      .requires_grad_(true);
}

struct Attended {
  at::Tensor y, dq, dk, dv;
};

Attended attend(const std::shared_ptr<const AttentionPlan>& plan, std::int64_t heads, std::int64_t kv_heads,
                bool is_bfloat16) {
  const at::Tensor q = bfloat16_values({plan->length(), heads, 32}, 1);
  const at::Tensor k = bfloat16_values({plan->length(), kv_heads, 32}, 2);
  const at::Tensor v = bfloat16_values({plan->length(), kv_heads, 32}, 3);
  const at::Tensor y = attention(q, k, v, plan, 0.2, is_bfloat16);
  y.backward(bfloat16_values(y.sizes(), 4).detach());
  return {y.detach(), q.grad(), k.grad(), v.grad()};
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

TEST(EmulatedAttention, AgreesWithTheCpusForwardAndBackward) {
  for (const auto& [heads, kv_heads] : {std::pair(2, 2), std::pair(4, 2)}) {
    const auto plan = plan_of(256, 100);
    const Attended expected = attend(plan, heads, kv_heads, /*is_bfloat16=*/false);
    const EmulatedDevice device;
    const Attended got = attend(plan, heads, kv_heads, /*is_bfloat16=*/true);
    // One rounding to bfloat16 is 2^-9 relative; weights and results are rounded, gradients come from both.
    EXPECT_LT(distance(got.y, expected.y), 0.004) << heads;
    EXPECT_LT(distance(got.dq, expected.dq), 0.01) << heads;
    EXPECT_LT(distance(got.dk, expected.dk), 0.01) << heads;
    EXPECT_LT(distance(got.dv, expected.dv), 0.01) << heads;
    EXPECT_GT(distance(got.y, expected.y), 0.0) << "these are not the bits of the CPU's kernel";
  }
}

TEST(EmulatedAttention, IsTakenForBfloat16ValuesOnly) {
  const auto plan = plan_of(128, 64);
  const Attended expected = attend(plan, 2, 2, false);
  const EmulatedDevice device;
  EXPECT_TRUE(at::equal(attend(plan, 2, 2, /*is_bfloat16=*/false).y, expected.y));
}

TEST(EmulatedAttention, RangesAreThoseOfTheMask) {
  const auto plan = plan_of(384, 40);
  const AttentionPlan::Ranges& ranges = plan->ranges();
  for (std::int64_t key = 0; key < plan->length(); ++key) {
    std::int64_t last = -1;
    for (std::int64_t query = key; query < plan->length(); ++query) {
      if (plan->first_key()[static_cast<std::size_t>(query)] <= key) last = query;
    }
    EXPECT_EQ(ranges.last_query[key].item<int>(), last) << key;
    EXPECT_EQ(ranges.first_key[key].item<int>(), plan->first_key()[static_cast<std::size_t>(key)]) << key;
  }
}

/// Loss and gradients of record 17's model in bfloat16 on one sequence.
struct Trained {
  double loss;
  std::vector<at::Tensor> gradients;
};

Trained train(const TrainConfig& config) {
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, 1);
  const std::int64_t length = config.data.sequence_length;
  const at::Tensor ids = (at::arange(length + 1) * 37).remainder(97);
  const auto plan = plan_of(length, length / 2);
  const at::Tensor loss = model.loss(
      {.tokens = ids.narrow(0, 0, length), .targets = ids.narrow(0, 1, length), .plan = plan, .half_plan = plan});
  loss.backward();
  Trained trained{.loss = loss.item<double>(), .gradients = {}};
  for (const Parameter& parameter : model.parameters().all()) trained.gradients.push_back(parameter.tensor.grad());
  return trained;
}

/// Rounding moves some gradients by a tenth: the kernels' must be as near to the exact ones as the CPU's are.
TEST(EmulatedModel, ALossAndItsGradientsInBfloat16AreAsGoodAsTheCpus) {
  TrainConfig config =
      ablations::resolve(ablations::embedded_catalogue(), {.record = "record17", .settings = {}, .scale = "smoke"})
          .config;
  config.init.zero_init_std = 0.5;
  config.precision.activations = ActivationPrecision::kFloat32;
  const Trained exact = train(config);
  config.precision.activations = ActivationPrecision::kBfloat16;
  const Trained expected = train(config);
  const EmulatedDevice device;
  const Trained got = train(config);
  EXPECT_NEAR(got.loss, expected.loss, 2e-3);
  ASSERT_EQ(got.gradients.size(), expected.gradients.size());
  double sum_of_ratios = 0.0;
  int count = 0;
  for (std::size_t i = 0; i < got.gradients.size(); ++i) {
    ASSERT_EQ(got.gradients[i].defined(), expected.gradients[i].defined());
    if (!got.gradients[i].defined() || expected.gradients[i].norm().item<double>() == 0.0) continue;
    const double rounding = distance(expected.gradients[i], exact.gradients[i]);
    EXPECT_GT(rounding, 0.0) << i;
    EXPECT_LT(distance(got.gradients[i], exact.gradients[i]), 2.0 * rounding + 0.02) << i;
    sum_of_ratios += distance(got.gradients[i], exact.gradients[i]) / rounding;
    ++count;
  }
  EXPECT_LT(sum_of_ratios / count, 1.2) << "over all parameters";
}

}  // namespace
}  // namespace nanobench::core::testing
