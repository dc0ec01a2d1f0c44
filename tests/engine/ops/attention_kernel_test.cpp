// The vector kernel of every instruction set that this processor has, against dense attention in float64.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "engine/kernels/attention_kernel.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/thread_pool.h"
#include "engine/ops/attention.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

class EveryPath : public ::testing::TestWithParam<CpuPath> {
 protected:
  EveryPath() { context_.set_cpu_path(GetParam()); }
  EngineContext context_;
};

struct Case {
  std::int64_t length, heads, kv_heads, head_dim, block, window;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "T " << c.length << ", heads " << c.heads << "/" << c.kv_heads << ", E " << c.head_dim << ", block "
             << c.block << ", window " << c.window;
}

constexpr Case kCases[] = {{64, 1, 1, 16, 16, 16},    {80, 2, 1, 32, 16, 48},    {200, 2, 2, 64, 8, 40},
                           {640, 4, 2, 48, 32, 128},  {1000, 2, 2, 32, 8, 1000}, {1280, 3, 1, 128, 128, 256},
                           {1408, 2, 2, 16, 128, 384}};

BlockMask attention_kernel_mask_of(const Case& c) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(c.length), 1);
  for (std::int64_t i = 3; i < c.length; i += 7 + i / 3) tokens[static_cast<std::size_t>(i)] = 256;
  return BlockMask(tokens, {.block_size = c.block,
                            .document_separator = 256,
                            .granularity = WindowGranularity::kToken,
                            .window_tokens = c.window});
}

/// y, dq, dk, dv.
std::vector<at::Tensor> run(const Case& c, bool is_reference, const AttentionPlanOptions& options = {}) {
  const at::ScalarType dtype = is_reference ? at::kDouble : at::kFloat;
  at::manual_seed(static_cast<std::uint64_t>(c.length));
  const auto random = [&](std::int64_t heads) { return at::randn({c.length, heads, c.head_dim}).to(dtype); };
  at::Tensor q = random(c.heads).requires_grad_(true), k = random(c.kv_heads).requires_grad_(true),
             v = random(c.kv_heads).requires_grad_(true);
  const double scale = 0.3;
  const BlockMask mask = attention_kernel_mask_of(c);
  const auto plan = std::make_shared<const AttentionPlan>(mask, dtype, options);
  EXPECT_TRUE(is_reference || plan->uses_kernel(c.head_dim));
  const at::Tensor y = is_reference ? dense_attention(q, k, v, mask, scale) : attention(q, k, v, plan, scale);
  y.backward(random(c.heads));
  return {y.detach(), q.grad(), k.grad(), v.grad()};
}

TEST_P(EveryPath, AgreesWithDenseAttention) {
  for (const Case& c : kCases) {
    const std::vector<at::Tensor> expected = run(c, true), got = run(c, false);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(relative_error(got[i], expected[i]), 2e-6) << c << " tensor " << i;
  }
}

TEST_P(EveryPath, MaskingFullBlocksChangesNoBitAndOtherOrdersOnlyRounding) {
  for (const Case& c : kCases) {
    const std::vector<at::Tensor> base = run(c, false), masked = run(c, false, {.split_full_blocks = false}),
                                  reversed = run(c, false, {.block_order = KeyBlockOrder::kNearestFirst});
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(at::equal(masked[i], base[i])) << c << " tensor " << i;
      EXPECT_LE(relative_error(reversed[i], base[i]), 2e-6) << c << " tensor " << i;
    }
  }
}

TEST_P(EveryPath, ResultsDoNotDependOnTheNumberOfThreads) {
  const Case c = kCases[5];
  context_.set_threads(1);
  const std::vector<at::Tensor> one = run(c, false);
  context_.set_threads(3);
  const std::vector<at::Tensor> two = run(c, false);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(at::equal(one[i], two[i])) << i;
}

TEST_P(EveryPath, LargeScoresNeitherOverflowNorVanish) {
  const Case c = kCases[2];
  const BlockMask mask = attention_kernel_mask_of(c);
  at::manual_seed(1);
  const at::Tensor q = at::randn({c.length, c.heads, c.head_dim}) * 100, k = q.clone(), v = at::randn_like(q);
  const auto plan = std::make_shared<const AttentionPlan>(mask, at::kFloat);
  const at::Tensor y = attention(q, k, v, plan, 1.0);
  EXPECT_LE(relative_error(y, dense_attention(q.to(at::kDouble), k.to(at::kDouble), v.to(at::kDouble), mask, 1.0)),
            1e-3);  // scores of 10^5 in float32
}

INSTANTIATE_TEST_SUITE_P(AttentionKernel, EveryPath, ::testing::ValuesIn(available_cpu_paths()),
                         [](const auto& test) { return enum_name(test.param); });

TEST(CpuPath, TheBestIsChosenAndOthersCanBeAskedFor) {
  EngineContext context;
  EXPECT_EQ(context.cpu_path(), available_cpu_paths().back());
  context.set_cpu_path(CpuPath::kGeneric);
  EXPECT_EQ(context.cpu_path(), CpuPath::kGeneric);
  context.set_cpu_path(std::nullopt);
  EXPECT_EQ(context.cpu_path(), available_cpu_paths().back());
}

}  // namespace
}  // namespace nanobench::core::testing
