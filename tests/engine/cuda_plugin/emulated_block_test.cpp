// The halves of a block by the GPU's kernels, which run emulated on the CPU: against the CPU's fused ops in float32.
#include <gtest/gtest.h>

#include "engine/ops/device_block.h"
#include "engine/ops/fused_block.h"
#include "engine/ops/rms_norm.h"
#include "tests/engine/cuda_plugin/bfloat16_tensors.h"
#include "tests/engine/cuda_plugin/emulated_device.h"

namespace nanobench::core::testing {
namespace {

constexpr std::int64_t kEmulatedBlockLength = 24, kWidth = 64, kHeadDim = 16, kHeads = 4;
// A rounding to bfloat16 is 2^-9 of a number; gradients go through several.
constexpr double kForwardTolerance = 0.006, kBackwardTolerance = 0.02;

/// Leaves by name of meaning; those of rows become bfloat16 on the device.
struct Leaf {
  const char* name;
  at::Tensor tensor;
  bool is_row;
};

class Leaves {
 public:
  at::Tensor row(const char* name, at::IntArrayRef shape) { return add(name, shape, true, 1.0); }
  at::Tensor weight(const char* name, at::IntArrayRef shape, double scale = 0.1) {
    return add(name, shape, false, scale);
  }
  const std::vector<Leaf>& all() const { return leaves_; }

 private:
  at::Tensor add(const char* name, at::IntArrayRef shape, bool is_row, double scale) {
    const at::Tensor values = bfloat16_values(shape, leaves_.size() + 1).detach() * scale;
    leaves_.push_back({name, round_to_bfloat16(values).requires_grad_(true), is_row});
    return leaves_.back().tensor;
  }
  std::vector<Leaf> leaves_;
};

/// A leaf as the device takes it; gradients flow to the leaf.
at::Tensor on_device(const at::Tensor& row) {
  return row.defined() ? row.to(at::kBFloat16) : row;
}

/// Runs `body(to_rows)` by both paths and compares its results and the gradients of all leaves.
template <class Body>
void expect_both_agree(const Leaves& leaves, const Body& body, const char* what) {
  const auto outcome = [&](bool is_device) {
    for (const Leaf& leaf : leaves.all()) leaf.tensor.mutable_grad() = at::Tensor();
    const std::vector<at::Tensor> results = body([&](const at::Tensor& x) { return is_device ? on_device(x) : x; });
    at::Tensor loss = at::zeros({});
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].scalar_type(), is_device ? at::kBFloat16 : at::kFloat) << what;
      loss = loss + (results[i].to(at::kFloat) * bfloat16_values(results[i].sizes(), 100 + i).detach()).sum();
    }
    loss.backward();
    std::vector<at::Tensor> all;
    for (const at::Tensor& result : results) all.push_back(result.detach());
    for (const Leaf& leaf : leaves.all()) all.push_back(leaf.tensor.grad());
    return all;
  };
  const std::vector<at::Tensor> expected = outcome(false);
  const EmulatedDevice device;
  const std::vector<at::Tensor> got = outcome(true);
  const std::size_t results = got.size() - leaves.all().size();
  double largest = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string name = i < results ? "result " + std::to_string(i) : leaves.all()[i - results].name;
    ASSERT_EQ(got[i].defined(), expected[i].defined()) << what << ", " << name;
    if (!got[i].defined()) continue;
    ASSERT_EQ(got[i].sizes(), expected[i].sizes()) << what << ", " << name;
    EXPECT_LT(distance(got[i], expected[i]), i < results ? kForwardTolerance : kBackwardTolerance)
        << what << ", " << name;
    largest = std::max(largest, distance(got[i], expected[i]));
  }
  EXPECT_GT(largest, 0.0) << what << ": the device did not compute this";
}

RotaryTables tables() {
  return rotary_tables(RopeConfig{}, kHeadDim, at::arange(kEmulatedBlockLength), at::kFloat);
}

struct QkvCase {
  const char* name;
  bool has_skip = false, has_x0 = false, is_joined = false, is_rotary = true;
  std::int64_t kv_heads = kHeads;
  ValueBlend value_blend = ValueBlend::kNone;
  bool has_embedding = false;
  std::optional<double> head_norm_eps = 1e-6;
};

BlendInputs blend_of(Leaves& leaves, bool has_skip, bool has_x0) {
  BlendInputs blend{.x = leaves.row("x", {kEmulatedBlockLength, kWidth})};
  if (has_skip) {
    blend.skip = leaves.row("skip", {kEmulatedBlockLength, kWidth});
    blend.skip_weights = leaves.weight("skip_weights", {3}, 1.0);
    blend.skip_index = 1;
  }
  if (has_x0) {
    blend.x0 = leaves.row("x0", {kEmulatedBlockLength, kWidth});
    blend.lambdas = leaves.weight("lambdas", {2}, 1.0);
  }
  return blend;
}

template <class ToRows>
BlendInputs rows_of(BlendInputs blend, const ToRows& to_rows) {
  for (at::Tensor* row : {&blend.x, &blend.skip, &blend.x0}) *row = to_rows(*row);
  return blend;
}

void expect_qkv_agrees(const QkvCase& c) {
  Leaves leaves;
  const BlendInputs blend = blend_of(leaves, c.has_skip, c.has_x0);
  const std::int64_t kv_width = c.kv_heads * kHeadDim;
  at::Tensor wq, wk, wv, embedding, lambdas;
  if (c.is_joined) {
    wq = leaves.weight("qkv", {3, kWidth, kWidth});
  } else {
    wq = leaves.weight("wq", {kWidth, kWidth});
    wk = leaves.weight("wk", {kv_width, kWidth});
    wv = leaves.weight("wv", {kv_width, kWidth});
  }
  if (c.has_embedding) embedding = leaves.row("value_embedding", {kEmulatedBlockLength, kv_width});
  if (c.value_blend == ValueBlend::kPair) lambdas = leaves.weight("value_lambdas", {2}, 1.0);
  if (c.value_blend == ValueBlend::kLerp) lambdas = leaves.weight("lamb", {}, 1.0);
  const QkvOptions options{.heads = kHeads,
                           .kv_heads = c.kv_heads,
                           .head_dim = kHeadDim,
                           .norm_eps = 1e-6,
                           .head_norm_eps = c.head_norm_eps,
                           .value_blend = c.value_blend};
  const auto body = [&](const auto& to_rows) -> std::vector<at::Tensor> {
    const QkvOutput out = fused_qkv(rows_of(blend, to_rows), wq, wk, wv, c.is_rotary ? tables() : RotaryTables{},
                                    to_rows(embedding), lambdas, options);
    return {out.x, out.q, out.k, out.v};
  };
  expect_both_agree(leaves, body, c.name);
}

TEST(EmulatedBlock, QueriesKeysAndValuesAgreeWithTheCpus) {
  for (const QkvCase& c :
       std::vector<QkvCase>{{.name = "plain"},
                            {.name = "skip", .has_skip = true},
                            {.name = "x0", .has_x0 = true},
                            {.name = "skip and x0", .has_skip = true, .has_x0 = true},
                            {.name = "joined", .has_x0 = true, .is_joined = true},
                            {.name = "fewer key heads", .kv_heads = 2},
                            {.name = "no rotation, no norm", .is_rotary = false, .head_norm_eps = std::nullopt},
                            {.name = "pair", .has_x0 = true, .value_blend = ValueBlend::kPair, .has_embedding = true},
                            {.name = "pair without embedding", .is_joined = true, .value_blend = ValueBlend::kPair},
                            {.name = "lerp", .kv_heads = 2, .value_blend = ValueBlend::kLerp, .has_embedding = true}}) {
    expect_qkv_agrees(c);
  }
}

/// The CPU's fused op has no such order: its other one must be far from it.
TEST(EmulatedBlock, HeadsAreNormalisedAfterTheRotationWhereAsked) {
  const EmulatedDevice device;
  const at::Tensor x = bfloat16_values({kEmulatedBlockLength, kWidth}, 1).detach().to(at::kBFloat16);
  const at::Tensor w = bfloat16_values({3, kWidth, kWidth}, 2).detach();
  QkvOptions options{.heads = kHeads, .kv_heads = kHeads, .head_dim = kHeadDim, .head_norm_eps = 0.5};
  RotaryTables doubled = tables();
  doubled = {doubled.cos * 2.0, doubled.sin * 2.0};
  const at::Tensor before = fused_qkv({.x = x}, w, {}, {}, doubled, {}, {}, options).q;
  options.norm_after_rotation = true;
  const at::Tensor after = fused_qkv({.x = x}, w, {}, {}, doubled, {}, {}, options).q;
  EXPECT_NEAR(after.to(at::kDouble).square().mean().item<double>(), 1.0, 0.15);
  EXPECT_GT(before.to(at::kDouble).square().mean().item<double>(), 2.0);
  options.rounds_rotation = true;
  const at::Tensor rounded = fused_qkv({.x = x}, w, {}, {}, doubled, {}, {}, options).q;
  EXPECT_FALSE(at::equal(rounded, after));
  EXPECT_LT(distance(rounded, after), 0.01);
}

TEST(EmulatedBlock, MlpAgreesWithTheCpus) {
  for (const bool has_attention : {true, false}) {
    Leaves leaves;
    const at::Tensor x = leaves.row("x", {kEmulatedBlockLength, kWidth});
    const at::Tensor y = has_attention ? leaves.row("y", {kEmulatedBlockLength, kHeads, kHeadDim}) : at::Tensor();
    const at::Tensor wo = has_attention ? leaves.weight("wo", {kWidth, kWidth}) : at::Tensor();
    const at::Tensor w1 = leaves.weight("w1", {4 * kWidth, kWidth}), w2 = leaves.weight("w2", {kWidth, 4 * kWidth});
    const auto body = [&](const auto& to_rows) -> std::vector<at::Tensor> {
      return {fused_mlp(to_rows(x), to_rows(y), wo, w1, w2, 0.7, 1e-6)};
    };
    expect_both_agree(leaves, body, has_attention ? "with attention" : "without attention");
  }
}

TEST(EmulatedBlock, BlendAndNormAgreeWithTheCpus) {
  for (const bool has_x0 : {true, false}) {
    Leaves leaves;
    const BlendInputs blend = blend_of(leaves, /*has_skip=*/true, has_x0);
    const auto body = [&](const auto& to_rows) -> std::vector<at::Tensor> {
      const at::Tensor blended = fused_blend(rows_of(blend, to_rows));
      return {blended, rms_norm(blended, 1e-6)};
    };
    expect_both_agree(leaves, body, has_x0 ? "skip and x0" : "skip");
  }
}

}  // namespace
}  // namespace nanobench::core::testing
