// The fused ops on every instruction set that this processor has, against the ops that they replace, in float64.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>

#include "engine/kernels/engine_context.h"
#include "engine/kernels/thread_pool.h"
#include "engine/ops/blend.h"
#include "engine/ops/fused_block.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/softcapped_cross_entropy.h"
#include "tests/engine/golden_support.h"
#include "tests/engine/kernels/every_path.h"

namespace nanobench::core::testing {
namespace {

/// Named inputs of an op as leaves of one dtype, with the same values in any.
class Leaves {
 public:
  Leaves(at::ScalarType dtype, std::uint64_t seed) : dtype_(dtype) { at::manual_seed(seed); }

  at::Tensor operator()(at::IntArrayRef shape, double scale = 1.0) {
    leaves_.push_back((at::randn(shape, at::kDouble) * scale).to(at::kFloat).to(dtype_).requires_grad_(true));
    return leaves_.back();
  }
  /// The results, then the gradients of a weighted sum of them by every leaf.
  std::vector<at::Tensor> results_and_gradients(const std::vector<at::Tensor>& results) {
    at::Tensor total = at::zeros({}, at::TensorOptions().dtype(dtype_));
    std::vector<at::Tensor> all;
    for (const at::Tensor& result : results) {
      total = total + (result * at::randn(result.sizes(), at::kDouble).to(at::kFloat).to(dtype_)).sum();
      all.push_back(result.detach());
    }
    total.backward();
    for (const at::Tensor& leaf : leaves_) all.push_back(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf));
    return all;
  }

 private:
  at::ScalarType dtype_;
  std::vector<at::Tensor> leaves_;
};

using Op = std::function<std::vector<at::Tensor>(Leaves&)>;

/// Results and gradients of `fused` in float32 against `plain` in float64.
void expect_same(const std::string& what, const Op& fused, const Op& plain, double tolerance = 2e-6) {
  Leaves single(at::kFloat, 7);
  const std::vector<at::Tensor> got = single.results_and_gradients(fused(single));
  Leaves exact(at::kDouble, 7);  // now, so that it draws the same numbers
  const std::vector<at::Tensor> expected = exact.results_and_gradients(plain(exact));
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(relative_error(got[i], expected[i]), tolerance) << what << ", tensor " << i << " " << got[i].sizes();
}

using FusedOps = EveryPath;

struct BlendCase {
  bool has_skip, has_x0;
};
constexpr BlendCase kBlends[] = {{true, true}, {true, false}, {false, true}};

BlendInputs blend_inputs(Leaves& leaf, std::int64_t length, std::int64_t width, const BlendCase& blend) {
  BlendInputs inputs{.x = leaf({length, width})};
  if (blend.has_skip) {
    inputs.skip = leaf({length, width});
    inputs.skip_weights = leaf({3});
    inputs.skip_index = 1;
  }
  if (blend.has_x0) {
    inputs.x0 = leaf({length, width});
    inputs.lambdas = leaf({2});
  }
  return inputs;
}

at::Tensor plain_blend(const BlendInputs& inputs) {
  at::Tensor x = inputs.x;
  if (inputs.skip.defined())
    x = weighted_sum(x, inputs.skip, inputs.skip_weights, BlendForm::kAddIndexed, inputs.skip_index);
  if (inputs.x0.defined()) x = weighted_sum(x, inputs.x0, inputs.lambdas, BlendForm::kPair);
  return x;
}

TEST_P(FusedOps, BlendAgrees) {
  for (const BlendCase& blend : kBlends) {
    for (const std::int64_t length : {1, 47, 48, 131}) {
      expect_same(
          "blend of " + std::to_string(length),
          [&](Leaves& leaf) { return std::vector{fused_blend(blend_inputs(leaf, length, 48, blend))}; },
          [&](Leaves& leaf) { return std::vector{plain_blend(blend_inputs(leaf, length, 48, blend))}; });
    }
  }
}

struct QkvCase {
  std::int64_t length, width, heads, kv_heads;
  BlendCase blend;
  bool is_joined, has_embedding, normalizes_heads, rotates;
  ValueBlend value_blend;
};
constexpr QkvCase kQkvCases[] = {
    {100, 64, 2, 2, {true, true}, false, true, true, true, ValueBlend::kPair},
    {48, 48, 3, 1, {false, true}, false, true, true, true, ValueBlend::kLerp},
    {49, 32, 2, 2, {false, false}, true, false, true, true, ValueBlend::kNone},
    {17, 64, 4, 2, {true, false}, false, false, true, false, ValueBlend::kPair},
    {2100, 16, 1, 1, {false, true}, true, true, false, true, ValueBlend::kPair},  // more than one run of gradient rows
    {96, 160, 2, 2, {false, false}, false, false, false, false, ValueBlend::kNone},
};

struct QkvLeaves {
  BlendInputs blend;
  at::Tensor wq, wk, wv, embedding, lambdas;
  RotaryTables tables;

  QkvLeaves(Leaves& leaf, const QkvCase& c) : blend(blend_inputs(leaf, c.length, c.width, c.blend)) {
    const std::int64_t head_dim = c.width / c.heads, kv = c.kv_heads * head_dim;
    wq = leaf(c.is_joined ? std::vector<std::int64_t>{3, c.width, c.width} : std::vector{c.width, c.width}, 0.2);
    if (!c.is_joined) wk = leaf({kv, c.width}, 0.2), wv = leaf({kv, c.width}, 0.2);
    if (c.has_embedding) embedding = leaf({c.length, kv});
    if (c.value_blend == ValueBlend::kPair) lambdas = leaf({2});
    if (c.value_blend == ValueBlend::kLerp) lambdas = leaf({});
    if (c.rotates)
      tables = rotary_tables({.max_seq_len = c.length}, head_dim, at::arange(c.length + 5), blend.x.scalar_type());
  }
};

constexpr double kEps = 1e-3, kHeadEps = 2e-3;

std::vector<at::Tensor> run_fused(Leaves& leaf, const QkvCase& c) {
  const QkvLeaves in(leaf, c);
  QkvOptions options{.heads = c.heads,
                     .kv_heads = c.kv_heads,
                     .head_dim = c.width / c.heads,
                     .norm_eps = kEps,
                     .value_blend = c.value_blend};
  if (c.normalizes_heads) options.head_norm_eps = kHeadEps;
  const QkvOutput out = fused_qkv(in.blend, in.wq, in.wk, in.wv, in.tables, in.embedding, in.lambdas, options);
  return {out.x * 1.0, out.q, out.k, out.v};
}

std::vector<at::Tensor> run_plain(Leaves& leaf, const QkvCase& c) {
  const QkvLeaves in(leaf, c);
  const std::int64_t head_dim = c.width / c.heads;
  const at::Tensor x = plain_blend(in.blend), normed = rms_norm(x, kEps);
  const auto project = [&](const at::Tensor& weight, std::int64_t third, std::int64_t heads) {
    const at::Tensor matrix = weight.defined() && !c.is_joined ? weight : in.wq.select(0, third);
    return at::linear(normed, matrix).reshape({c.length, heads, head_dim});
  };
  const auto place = [&](at::Tensor heads) {
    if (c.normalizes_heads) heads = rms_norm(heads, kHeadEps);
    return c.rotates ? rotate(heads, in.tables) : heads;
  };
  at::Tensor v = project(in.wv, 2, c.kv_heads);
  const at::Tensor other = in.embedding.defined() ? in.embedding.reshape(v.sizes()) : at::Tensor();
  if (c.value_blend == ValueBlend::kLerp) {
    v = weighted_sum(v, other, in.lambdas, BlendForm::kLerp);
  } else if (c.value_blend == ValueBlend::kPair) {
    v = weighted_sum(v, other, in.lambdas, other.defined() ? BlendForm::kPair : BlendForm::kFirstOnly);
  }
  return {x * 1.0, place(project(in.wq, 0, c.heads)), place(project(in.wk, 1, c.kv_heads)), v};
}

TEST_P(FusedOps, QkvAgrees) {
  for (const QkvCase& c : kQkvCases) {
    expect_same(
        "qkv of " + std::to_string(c.length) + " x " + std::to_string(c.width),
        [&](Leaves& leaf) { return run_fused(leaf, c); }, [&](Leaves& leaf) { return run_plain(leaf, c); }, 5e-6);
  }
}

TEST_P(FusedOps, MlpAgrees) {
  struct Case {
    std::int64_t length, width, attention_width, hidden;
  };
  for (const Case& c : {Case{100, 64, 64, 256}, Case{48, 32, 48, 80}, Case{2049, 16, 0, 32}, Case{7, 160, 32, 400}}) {
    const auto run = [&](Leaves& leaf, bool is_fused) {
      const at::Tensor x = leaf({c.length, c.width});
      const at::Tensor y = c.attention_width > 0 ? leaf({c.length, c.attention_width}) : at::Tensor();
      const at::Tensor wo = c.attention_width > 0 ? leaf({c.width, c.attention_width}, 0.2) : at::Tensor();
      const at::Tensor w1 = leaf({c.hidden, c.width}, 0.2), w2 = leaf({c.width, c.hidden}, 0.2);
      if (is_fused) return std::vector{fused_mlp(x, y, wo, w1, w2, 0.7, kEps)};
      const at::Tensor middle = y.defined() ? x + at::linear(y, wo) * 0.7 : x;
      return std::vector{middle + at::linear(relu_squared(at::linear(rms_norm(middle, kEps), w1)), w2)};
    };
    expect_same(
        "mlp of " + std::to_string(c.length) + " x " + std::to_string(c.width),
        [&](Leaves& leaf) { return run(leaf, true); }, [&](Leaves& leaf) { return run(leaf, false); }, 5e-6);
  }
}

TEST_P(FusedOps, HeadAgrees) {
  struct Case {
    std::int64_t length, width, vocabulary;
    std::optional<double> cap;
    SoftcapForm form;
  };
  for (const Case& c : {Case{100, 64, 384, 30.0, SoftcapForm::kTanh}, Case{385, 32, 257, 15.0, SoftcapForm::kSigmoid},
                        Case{800, 16, 33, std::nullopt, SoftcapForm::kTanh}, Case{3, 48, 5, 2.0, SoftcapForm::kTanh}}) {
    const auto run = [&](Leaves& leaf) {
      const at::Tensor x = leaf({c.length, c.width}), weight = leaf({c.vocabulary, c.width}, 0.5);
      const at::Tensor targets = at::remainder(at::arange(c.length) * 7, c.vocabulary);
      return std::vector{softcapped_cross_entropy(x, weight, targets, {.softcap = {c.cap, c.form}}) * 3.0};
    };
    expect_same("head of " + std::to_string(c.length) + " x " + std::to_string(c.vocabulary), run, run, 5e-6);
  }
}

TEST_P(FusedOps, TokenLossesAgree) {
  Leaves leaf(at::kFloat, 11);
  const at::Tensor x = leaf({800, 32}), weight = leaf({257, 32}, 0.5);
  const at::Tensor targets = at::remainder(at::arange(800) * 7, 257);
  for (const Softcap& softcap :
       {Softcap{}, Softcap{.cap = 15.0}, Softcap{.cap = 15.0, .form = SoftcapForm::kSigmoid}}) {
    const at::Tensor got = token_cross_entropies(x, weight, targets, {.softcap = softcap, .fp8 = {}});
    const at::Tensor expected = at::cross_entropy_loss(
        softcap_logits(at::linear(x.detach().to(at::kDouble), weight.detach().to(at::kDouble)), softcap), targets, {},
        at::Reduction::None);
    EXPECT_FALSE(got.requires_grad());
    EXPECT_LE((got - expected).abs().max().item<double>(), 1e-4);
    EXPECT_LE(relative_error(got, expected), 2e-6);
  }
}

TEST_P(FusedOps, RmsNormAgrees) {
  for (const std::int64_t width : {16, 48, 768}) {
    const auto run = [&](Leaves& leaf) { return std::vector{rms_norm(leaf({5, 20, width}), 1e-4)}; };
    expect_same("norm of " + std::to_string(width), run, run);
  }
}

/// Not a number must not become a number on the way: a run that has diverged says so.
TEST_P(FusedOps, NanStaysNan) {
  at::Tensor x = at::randn({60, 32});
  x[50][3] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor out = fused_mlp(x, {}, {}, at::randn({64, 32}), at::randn({32, 64}), 1.0, kEps);
  EXPECT_TRUE(at::isnan(out[50]).all().item<bool>());
  EXPECT_FALSE(at::isnan(out[49]).any().item<bool>());
  const at::Tensor loss = softcapped_cross_entropy(x, at::randn({40, 32}), at::zeros({60}, at::kLong), {});
  EXPECT_TRUE(std::isnan(loss.item<float>()));
}

TEST_P(FusedOps, ThreadsChangeNoBit) {
  const QkvCase& c = kQkvCases[0];
  std::vector<std::vector<at::Tensor>> runs;
  for (const int threads : {1, 3}) {
    context_.set_threads(threads);
    Leaves leaf(at::kFloat, 3);
    std::vector<at::Tensor> out = run_fused(leaf, c);
    out.push_back(
        fused_mlp(out[0], out[1], leaf({c.width, c.width}), leaf({256, c.width}), leaf({c.width, 256}), 1, kEps));
    runs.push_back(leaf.results_and_gradients(out));
  }
  for (std::size_t i = 0; i < runs[0].size(); ++i) EXPECT_TRUE(at::equal(runs[0][i], runs[1][i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Path, FusedOps, ::testing::ValuesIn(available_cpu_paths()), name_of_path());

}  // namespace
}  // namespace nanobench::core::testing
