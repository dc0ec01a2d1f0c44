// Emulated bfloat16 against LibTorch's own bfloat16, and 8-bit floating point against its definition.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/nn/layers.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/blend.h"
#include "engine/ops/orthogonalize.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/softcapped_cross_entropy.h"
#include "engine/optim/adam.h"
#include "tests/engine/golden_support.h"
#include "tests/engine/reference_ops.h"

namespace nanobench::core::testing {
namespace {

/// Values that a bfloat16 tensor of LibTorch holds, as float32.
at::Tensor as_bfloat16(const at::Tensor& x) {
  return x.to(at::kBFloat16);
}

/// Largest distance in units of the last bfloat16 place of the larger value (at least of `floor`).
double ulps(const at::Tensor& a, const at::Tensor& b, double floor = 1e-30) {
  const at::Tensor x = a.detach().to(at::kDouble), y = b.detach().to(at::kDouble);
  const at::Tensor size = at::maximum(x.abs(), y.abs()).clamp_min(floor);
  const at::Tensor unit = at::exp2(at::floor(at::log2(size)) - 7);
  return ((x - y).abs() / unit).max().item<double>();
}

double equal_share(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).eq(b.to(at::kDouble)).to(at::kDouble).mean().item<double>();
}

TEST(Bfloat16, RoundsEveryKindOfNumberAsLibTorchDoes) {
  at::manual_seed(1);
  const float inf = std::numeric_limits<float>::infinity();
  const at::Tensor special =
      at::tensor({0.0f, -0.0f, 1.0f, 1.00390625f, 1.01171875f, 3.3961775e38f, std::numeric_limits<float>::max(), inf,
                  -inf, 1e-45f, -1e-40f, std::numeric_limits<float>::denorm_min()});
  const at::Tensor bits =
      at::randint(std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), {1 << 20}, at::kInt);
  const at::Tensor anything = bits.view(at::kFloat);
  for (const at::Tensor& x : {special, at::randn({100000}), anything}) {
    const at::Tensor expected = as_bfloat16(x).to(at::kFloat);
    const at::Tensor got = round_to_bfloat16(x);
    const at::Tensor same = got.eq(expected).logical_or(got.isnan().logical_and(expected.isnan()));
    EXPECT_TRUE(same.all().item<bool>());
    at::Tensor in_place = x.clone();
    round_to_bfloat16_(in_place);
    EXPECT_TRUE(at::equal(in_place.view(at::kInt), got.view(at::kInt)));
  }
  EXPECT_TRUE(at::signbit(round_to_bfloat16(at::tensor({-0.0f}))).item<bool>());
}

TEST(Bfloat16, StoringRoundsTheGradientToo) {
  at::Tensor x = at::randn({50}).requires_grad_(true);
  const at::Tensor gradient = at::randn({50});
  stored_as_bfloat16(x).backward(gradient);
  EXPECT_TRUE(at::equal(x.grad(), round_to_bfloat16(gradient)));
  EXPECT_FALSE(at::equal(x.grad(), gradient));
}

/// How the products are computed; nullopt: by LibTorch's float32 ones.
using ProductPath = std::optional<Bfloat16Path>;

class Bfloat16Products : public ::testing::TestWithParam<ProductPath> {
 protected:
  Bfloat16Products() {
    if (GetParam()) {
      context_.set_bfloat16_path(*GetParam());
    } else {
      single_ops_.emplace();
    }
  }

 private:
  EngineContext context_;
  std::optional<ReferenceOps> single_ops_;
};

std::vector<ProductPath> product_paths() {
  std::vector<ProductPath> paths = {std::nullopt};
  for (const Bfloat16Path path : available_bfloat16_paths()) paths.emplace_back(path);
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Path, Bfloat16Products, ::testing::ValuesIn(product_paths()), [](const auto& test) {
  return std::string(test.param ? enum_name(*test.param) : "reference");
});

TEST_P(Bfloat16Products, NewtonSchulzIsTheSameButForOrdersOfSums) {
  at::manual_seed(7);
  const at::Tensor g = at::randn({3, 48, 80});
  for (const NewtonSchulzForm form : {NewtonSchulzForm::kGrouped, NewtonSchulzForm::kTerms}) {
    // Two steps: after more, roundings that fell elsewhere have grown.
    const NewtonSchulzOptions options{.steps = 2, .dtype = NewtonSchulzDtype::kBfloat16, .form = form};
    const at::Tensor got = newton_schulz(g, options);
    const at::Tensor want = newton_schulz(g.to(at::kDouble), options);
    EXPECT_TRUE(at::equal(got, round_to_bfloat16(got)));
    EXPECT_LE(ulps(got, want, 0.05), 4.0);
    EXPECT_GE(equal_share(got, want), 0.9);
  }
}

TEST_P(Bfloat16Products, LinearLayersGiveWhatRealBfloat16Gives) {
  at::manual_seed(2);
  const Rounding rounding{.products = true, .stream = true};
  const at::Tensor values = round_to_bfloat16(at::randn({64, 96}));
  const at::Tensor matrix = at::randn({80, 96}) / 10;
  const at::Tensor dy = round_to_bfloat16(at::randn({64, 80}));

  at::Tensor x = values.clone().requires_grad_(true), w = matrix.clone().requires_grad_(true);
  const Linear linear{.weight = w, .bias = {}};
  const at::Tensor y = linear(rounding.in_stream(x), rounding);
  y.backward(dy);

  at::Tensor real_x = as_bfloat16(values).requires_grad_(true), real_w = matrix.clone().requires_grad_(true);
  const at::Tensor real_y = at::linear(real_x, real_w.to(at::kBFloat16));
  real_y.backward(as_bfloat16(dy));

  // Sums of other orders can fall on the other side of a rounding boundary: one place at most, and rarely. Where terms
  // cancel, the place is that of the terms.
  EXPECT_LE(ulps(y, real_y, 0.05), 1.0);
  EXPECT_LE(ulps(x.grad(), real_x.grad(), 0.05), 1.0);
  EXPECT_LE(ulps(w.grad(), real_w.grad(), 0.5), 1.0);
  EXPECT_GE(equal_share(y, real_y), 0.98);
  EXPECT_GE(equal_share(w.grad(), real_w.grad()), 0.98);
  EXPECT_TRUE(at::equal(y, round_to_bfloat16(y)));
  EXPECT_TRUE(at::equal(w.grad(), round_to_bfloat16(w.grad())));
}

TEST(Bfloat16, ElementwiseOperationsGiveWhatRealBfloat16Gives) {
  at::manual_seed(3);
  const at::Tensor x = round_to_bfloat16(at::randn({40, 64}));
  // One kernel reads bfloat16, computes in float32 and stores bfloat16.
  EXPECT_TRUE(at::equal(round_to_bfloat16(at::relu(x)), at::relu(as_bfloat16(x)).to(at::kFloat)));
  EXPECT_LE(ulps(round_to_bfloat16(at::gelu(x)), at::gelu(as_bfloat16(x)), 1e-6), 1.0);
  const at::Tensor squared = round_to_bfloat16(relu_squared(x));
  EXPECT_TRUE(at::equal(squared, at::relu(as_bfloat16(x)).square().to(at::kFloat)));
  const at::Tensor sum = round_to_bfloat16(x + x * 0.5);
  EXPECT_LE(ulps(sum, at::add(as_bfloat16(x), as_bfloat16(x), 0.5)), 1.0);
  const at::Tensor norm = round_to_bfloat16(rms_norm(x, 0.0078125));
  EXPECT_LE(ulps(norm, at::rms_norm(as_bfloat16(x), {64}, {}, 0.0078125)), 1.0);
}

TEST(Bfloat16, AdamStatesAreThoseOfTheRealFusedKernel) {
  at::manual_seed(4);
  const at::Tensor start = round_to_bfloat16(at::randn({300}));
  const OptimizerGroupConfig config{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-8};
  at::Tensor parameter = start.clone().requires_grad_(true);
  Adam adam({parameter}, config, StoredPrecision::kBfloat16);

  at::Tensor real_parameter = as_bfloat16(start), m = at::zeros_like(real_parameter),
             v = at::zeros_like(real_parameter);
  at::Tensor count = at::zeros({}, at::kFloat);
  for (int step = 0; step < 10; ++step) {
    const at::Tensor gradient = at::randn({300});
    parameter.mutable_grad() = gradient.clone();
    adam.step(1.0);
    count.add_(1);
    at::_fused_adam_({real_parameter}, {as_bfloat16(gradient)}, {m}, {v}, {}, {count}, 0.05, 0.8, 0.95, 0.0, 1e-8,
                     false, false);
    EXPECT_GE(equal_share(adam.first_moments()[0], m), 0.97) << step;
    EXPECT_GE(equal_share(adam.second_moments()[0], v), 0.97) << step;
    EXPECT_GE(equal_share(parameter.detach(), real_parameter), 0.97) << step;
  }
}

TEST(StochasticRounding, TakesOneOfTheTwoNeighboursAndIsRightOnAverage) {
  const float value = 1.0f + 0.25f / 128;  // a quarter of the way to the next bfloat16
  at::Tensor x = at::full({1 << 16}, value);
  round_stochastically_(x, 7, 1);
  const at::Tensor upper = x.eq(1.0f + 1.0f / 128).to(at::kDouble);
  EXPECT_TRUE(x.eq(1.0f).logical_or(x.eq(1.0f + 1.0f / 128)).all().item<bool>());
  EXPECT_NEAR(upper.mean().item<double>(), 0.25, 0.01);  // six standard deviations

  at::Tensor again = at::full({1 << 16}, value), other = again.clone();
  round_stochastically_(again, 7, 1);
  round_stochastically_(other, 7, 2);
  EXPECT_TRUE(at::equal(again, x));
  EXPECT_FALSE(at::equal(other, x));

  at::Tensor exact = round_to_bfloat16(at::randn({1000}));
  const at::Tensor before = exact.clone();
  round_stochastically_(exact, 7, 3);
  EXPECT_TRUE(at::equal(exact, before));
}

/// All finite values of a format with `exponent_bits` and `mantissa_bits`, by its definition.
std::vector<double> format_values(int exponent_bits, int mantissa_bits, double largest) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  std::vector<double> values;
  for (int exponent = 0; exponent < (1 << exponent_bits); ++exponent) {
    for (int mantissa = 0; mantissa < (1 << mantissa_bits); ++mantissa) {
      const double fraction = static_cast<double>(mantissa) / (1 << mantissa_bits);
      const double value = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
      if (value <= largest) values.push_back(value);
    }
  }
  return values;
}

/// The nearest value, ties to the even mantissa (even index: the mantissa's last bit is the index's), saturating.
double nearest(const std::vector<double>& values, double x) {
  const double size = std::abs(x);
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double closer = std::abs(values[i] - size) - std::abs(values[best] - size);
    if (closer < 0 || (closer == 0 && i % 2 == 0)) best = i;
  }
  return std::copysign(values[best], x);
}

TEST(Float8, RoundsToTheNearestValueOfTheFormatAndSaturates) {
  at::manual_seed(5);
  const std::vector<double> e4m3 = format_values(4, 3, kE4m3Max), e5m2 = format_values(5, 2, kE5m2Max);
  EXPECT_EQ(e4m3.back(), 448.0);
  EXPECT_EQ(e5m2.back(), 57344.0);
  const at::Tensor wide = at::exp2(at::rand({4000}) * 40 - 22) * at::sign(at::randn({4000}));
  const at::Tensor ties =
      at::tensor({9.0f, 17.0f, 19.0f, 0.0009765625f, 0.0029296875f, 448.0f, 464.0f, 1e9f, -1e9f, 0.0f});
  for (const at::Tensor& x : {wide, ties}) {
    const at::Tensor four = in_e4m3(x, 1.0), five = in_e5m2(x, 1.0);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double value = x[i].item<double>();
      EXPECT_EQ(four[i].item<double>(), nearest(e4m3, value)) << value;
      EXPECT_EQ(five[i].item<double>(), nearest(e5m2, value)) << value;
    }
  }
}

TEST(Float8, HeadIsTheProductOfQuantisedOperands) {
  at::manual_seed(6);
  const Fp8Config scales{.x_scale = 2, .weight_scale = 32, .grad_scale = 4096};
  const at::Tensor values = at::randn({24, 16}, at::kDouble), matrix = at::randn({40, 16}, at::kDouble) * 0.03;
  const at::Tensor targets = at::randint(0, 40, {24}, at::kLong);
  at::Tensor x = values.clone().requires_grad_(true), w = matrix.clone().requires_grad_(true);
  const HeadOptions options{.softcap = {15.0, SoftcapForm::kSigmoid}, .fp8 = scales};
  const at::Tensor loss = softcapped_cross_entropy(x, w, targets, options);
  loss.backward();

  const at::Tensor x8 = (values * 2).to(at::kFloat8_e4m3fn).to(at::kDouble) / 2;
  const at::Tensor w8 = (matrix * 32).to(at::kFloat8_e4m3fn).to(at::kDouble) / 32;
  at::Tensor logits = at::matmul(x8, w8.t()).requires_grad_(true);
  const at::Tensor expected = at::cross_entropy_loss(30 * at::sigmoid(logits / 7.5), targets);
  expected.backward();
  const at::Tensor g8 = (logits.grad() * 4096).to(at::kFloat8_e5m2).to(at::kDouble) / 4096;
  EXPECT_LE(relative_error(loss, expected), 1e-12);
  // The gradient of a logit can lie at a boundary of e5m2: compared as a whole.
  EXPECT_LE(relative_error(x.grad(), at::matmul(g8, w8)), 1e-9);
  EXPECT_LE(relative_error(w.grad(), at::matmul(g8.t(), x8)), 1e-9);
  EXPECT_GE(relative_error(w.grad(), at::matmul(logits.grad().t(), x8)), 1e-4) << "gradients were not quantised";
}

}  // namespace
}  // namespace nanobench::core::testing
