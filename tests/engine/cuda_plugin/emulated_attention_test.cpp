// The engine's attention through the GPU's kernels, which run emulated on the CPU: against the CPU's own attention,
// alone and inside a model in bfloat16.
#include <gtest/gtest.h>

#include <cmath>

#include "ablations/resolve.h"
#include "engine/nn/gpt.h"
#include "engine/ops/attention.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/cuda_plugin/bfloat16_tensors.h"
#include "tests/engine/cuda_plugin/emulated_device.h"

namespace nanobench::core::testing {
namespace {

std::vector<std::uint16_t> documents(std::int64_t length) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(length), 1);
  for (std::size_t i = 0; i < tokens.size(); i += 75) tokens[i] = 0;
  return tokens;
}

std::shared_ptr<const AttentionPlan> emulated_attention_plan_of(std::int64_t length, std::int64_t window,
                                                                KeyBlockOrder order = KeyBlockOrder::kAscending) {
  const BlockMask mask(documents(length), {.block_size = 128,
                                           .document_mask = true,
                                           .document_separator = 0,
                                           .granularity = WindowGranularity::kToken,
                                           .window_tokens = window});
  return std::make_shared<const AttentionPlan>(mask, at::kFloat, AttentionPlanOptions{.block_order = order});
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

TEST(EmulatedAttention, AgreesWithTheCpusForwardAndBackward) {
  for (const auto& [heads, kv_heads] : {std::pair(2, 2), std::pair(4, 2)}) {
    const auto plan = emulated_attention_plan_of(256, 100);
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

TEST(EmulatedAttention, KeysAreSummedInEitherOrder) {
  const Attended expected = attend(emulated_attention_plan_of(256, 200), 2, 2, /*is_bfloat16=*/false);
  const EmulatedDevice device;
  const Attended ascending = attend(emulated_attention_plan_of(256, 200), 2, 2, /*is_bfloat16=*/true);
  const Attended nearest_first =
      attend(emulated_attention_plan_of(256, 200, KeyBlockOrder::kNearestFirst), 2, 2, /*is_bfloat16=*/true);
  EXPECT_LT(distance(nearest_first.y, expected.y), 0.004);
  EXPECT_LT(distance(nearest_first.dq, expected.dq), 0.01);
  EXPECT_LT(distance(nearest_first.dk, expected.dk), 0.01);
  EXPECT_FALSE(at::equal(nearest_first.y, ascending.y)) << "sums in the same order";
  EXPECT_FALSE(at::equal(nearest_first.dq, ascending.dq)) << "sums in the same order";
}

TEST(EmulatedAttention, IsMadeOfTheProductsThatTheRunAskedFor) {
  const Attended expected = attend(emulated_attention_plan_of(384, 130), 4, 2, /*is_bfloat16=*/false);
  EmulatedDevice device;
  const Attended by_warps = attend(emulated_attention_plan_of(384, 130), 4, 2, /*is_bfloat16=*/true);
  device.kernels().attention_products = cuda::DeviceAttentionProducts::kWarpgroup;
  const Attended by_warpgroups = attend(emulated_attention_plan_of(384, 130), 4, 2, /*is_bfloat16=*/true);
  EXPECT_LT(distance(by_warpgroups.y, expected.y), 0.004);
  EXPECT_LT(distance(by_warpgroups.dq, expected.dq), 0.01);
  EXPECT_LT(distance(by_warpgroups.dk, expected.dk), 0.01);
  EXPECT_LT(distance(by_warpgroups.dv, expected.dv), 0.01);
  EXPECT_FALSE(at::equal(by_warpgroups.y, by_warps.y)) << "tiles of the same size";
}

TEST(EmulatedAttention, IsTakenForBfloat16ValuesOnly) {
  const auto plan = emulated_attention_plan_of(128, 64);
  const Attended expected = attend(plan, 2, 2, false);
  const EmulatedDevice device;
  EXPECT_TRUE(at::equal(attend(plan, 2, 2, /*is_bfloat16=*/false).y, expected.y));
}

TEST(EmulatedAttention, RangesAreThoseOfTheMask) {
  const auto plan = emulated_attention_plan_of(384, 40);
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

}  // namespace
}  // namespace nanobench::core::testing
