// The language-model head by the GPU's kernels, which run emulated on the CPU: against the CPU's with the same
// rounding.
#include <gtest/gtest.h>

#include "engine/ops/bfloat16.h"
#include "engine/ops/device_head.h"
#include "engine/ops/softcapped_cross_entropy.h"
#include "tests/engine/cuda_plugin/bfloat16_tensors.h"
#include "tests/engine/cuda_plugin/emulated_device.h"

namespace nanobench::core::testing {
namespace {

constexpr std::int64_t kEmulatedHeadLength = 80, kHeadWidth = 32, kVocabulary = 112;

struct Head {
  at::Tensor x = bfloat16_values({kEmulatedHeadLength, kHeadWidth}, 1);
  at::Tensor weight = bfloat16_values({kVocabulary, kHeadWidth}, 2);
  at::Tensor targets = (at::arange(kEmulatedHeadLength) * 37).remainder(kVocabulary - 12);
};

struct Outcome {
  double loss;
  at::Tensor dx, dweight;
};

Outcome outcome_of(const Head& head, const at::Tensor& loss) {
  (loss * 0.5).backward();
  return {loss.item<double>(), head.x.grad(), head.weight.grad()};
}

Outcome by_cpu(const HeadOptions& options) {
  const Head head;
  return outcome_of(head, softcapped_cross_entropy(head.x, head.weight, head.targets, options));
}

Outcome by_device(const DeviceHeadOptions& options) {
  const Head head;
  return outcome_of(head,
                    device_softcapped_cross_entropy(head.x.to(at::kBFloat16), head.weight, head.targets, options));
}

void expect_agree(const Outcome& got, const Outcome& expected, double tolerance, const char* what) {
  EXPECT_NEAR(got.loss, expected.loss, 1e-3 * expected.loss) << what;
  EXPECT_LT(distance(got.dx, expected.dx), tolerance) << what;
  EXPECT_LT(distance(got.dweight, expected.dweight), tolerance) << what;
}

TEST(EmulatedHead, LossAndGradientsAgreeWithTheCpus) {
  const EmulatedDevice device;
  for (const Softcap& softcap :
       {Softcap{.cap = std::nullopt}, Softcap{.cap = 4.0}, Softcap{.cap = 3.0, .form = SoftcapForm::kSigmoid}}) {
    for (const bool rounds_capped : {false, true}) {
      const Outcome expected =
          by_cpu({.softcap = softcap, .rounds_logits = true, .rounds_capped = rounds_capped, .fp8 = {}});
      const Outcome got = by_device({.softcap = softcap, .rounds_capped = rounds_capped, .fp8 = {}});
      expect_agree(got, expected, 0.01, softcap.cap ? "capped" : "not capped");
      EXPECT_EQ(got.dweight.scalar_type(), at::kFloat);
      EXPECT_TRUE(at::equal(got.dweight, round_to_bfloat16(got.dweight))) << "as a bfloat16 product stores it";
    }
  }
}

TEST(EmulatedHead, LateRecordsAgreeWithTheCpus) {
  const EmulatedDevice device;
  const Softcap softcap{.cap = 3.0, .form = SoftcapForm::kSigmoid};
  for (const double scale : {1.0, 0.25}) {
    for (const LossRounding rounding : {LossRounding::kNone, LossRounding::kCap, LossRounding::kAll}) {
      for (const bool is_sum : {false, true}) {
        const Outcome expected = by_cpu({.softcap = softcap,
                                         .rounds_logits = true,
                                         .logit_scale = scale,
                                         .loss_rounding = rounding,
                                         .is_sum = is_sum,
                                         .fp8 = {}});
        const Outcome got = by_device(
            {.softcap = softcap, .logit_scale = scale, .loss_rounding = rounding, .is_sum = is_sum, .fp8 = {}});
        expect_agree(got, expected, 0.02, is_sum ? "sum" : "mean");
      }
    }
  }
}

/// With record #21c's scale the gradients of a mean would be too small for 8 bits; they are those of the sum.
TEST(EmulatedHead, EightBitsOfASumKeepItsGradients) {
  EmulatedDevice device;
  device.kernels().has_float8_products = true;
  const Fp8Config scales{.x_scale = 16, .weight_scale = 512, .grad_scale = 0.0009765625};
  const Softcap softcap{.cap = 3.0, .form = SoftcapForm::kSigmoid};
  const Outcome expected = by_cpu({.softcap = softcap, .rounds_logits = true, .is_sum = true, .fp8 = scales});
  const Outcome got = by_device({.softcap = softcap, .is_sum = true, .fp8 = scales});
  expect_agree(got, expected, 0.03, "8 bits of a sum");
  EXPECT_GT(distance(by_device({.softcap = softcap, .fp8 = scales}).dx, expected.dx), 0.1) << "the mean's are lost";
}

TEST(EmulatedHead, ChunksChangeNothingButTheOrderOfASum) {
  const EmulatedDevice device;
  const Outcome whole = by_device({.softcap = {.cap = 4.0}, .fp8 = {}});
  const Outcome in_chunks = by_device({.softcap = {.cap = 4.0}, .fp8 = {}, .chunk_numbers = 40 * kVocabulary});
  EXPECT_EQ(in_chunks.loss, whole.loss);
  EXPECT_TRUE(at::equal(in_chunks.dx, whole.dx));
  EXPECT_LT(distance(in_chunks.dweight, whole.dweight), 1e-3);
}

TEST(EmulatedHead, WithoutGradientsThereIsALossOnly) {
  const EmulatedDevice device;
  const double expected = by_device({.softcap = {.cap = 4.0}, .fp8 = {}}).loss;
  const at::NoGradGuard no_grad;
  const Head head;
  const at::Tensor loss = device_softcapped_cross_entropy(head.x.to(at::kBFloat16), head.weight, head.targets,
                                                          {.softcap = {.cap = 4.0}, .fp8 = {}});
  EXPECT_EQ(loss.item<double>(), expected);
  EXPECT_FALSE(loss.requires_grad());
}

TEST(EmulatedHead, LossesOfTokensAgreeWithTheCpusAndWithTheirMean) {
  EmulatedDevice device;
  device.kernels().has_float8_products = true;
  const at::NoGradGuard no_grad;
  const Head head;
  const at::Tensor x = head.x.to(at::kBFloat16);
  const Softcap softcap{.cap = 3.0, .form = SoftcapForm::kSigmoid};
  for (const LossRounding rounding : {LossRounding::kNone, LossRounding::kCap}) {
    const at::Tensor expected =
        token_cross_entropies(head.x, head.weight, head.targets,
                              {.softcap = softcap, .rounds_logits = true, .loss_rounding = rounding, .fp8 = {}});
    for (const std::int64_t chunk : {std::int64_t{1} << 29, 40 * kVocabulary}) {
      const DeviceHeadOptions options{.softcap = softcap, .loss_rounding = rounding, .fp8 = {}, .chunk_numbers = chunk};
      const at::Tensor got = device_token_cross_entropies(x, head.weight, head.targets, options);
      EXPECT_LT(distance(got, expected), 1e-2);
      const double mean = device_softcapped_cross_entropy(x, head.weight, head.targets, options).item<double>();
      EXPECT_NEAR(got.to(at::kDouble).mean().item<double>(), mean, 1e-6 * mean);
    }
  }
  const DeviceHeadOptions eight_bits{.softcap = softcap, .fp8 = Fp8Config{.x_scale = 16, .weight_scale = 512}};
  const at::Tensor got = device_token_cross_entropies(x, head.weight, head.targets, eight_bits);
  const double mean = device_softcapped_cross_entropy(x, head.weight, head.targets, eight_bits).item<double>();
  EXPECT_NEAR(got.to(at::kDouble).mean().item<double>(), mean, 1e-6 * mean);
}

TEST(EmulatedHead, EightBitProductsNeedAGpuThatHasThemAndWholeUnits) {
  const Head head;
  const at::Tensor x = head.x.to(at::kBFloat16);
  EXPECT_FALSE(fits_float8_head(x, head.weight)) << "no GPU";
  EmulatedDevice device;
  EXPECT_FALSE(fits_float8_head(x, head.weight)) << "a GPU of before them";
  device.kernels().has_float8_products = true;
  EXPECT_TRUE(fits_float8_head(x, head.weight));
  EXPECT_FALSE(fits_float8_head(x.narrow(0, 0, 79), head.weight));
  EXPECT_FALSE(fits_float8_head(x, head.weight.narrow(0, 0, 111)));
}

TEST(EmulatedHead, EightBitsAgreeWithTheCpusEmulationOfThem) {
  EmulatedDevice device;
  device.kernels().has_float8_products = true;
  const Fp8Config scales{.x_scale = 2, .weight_scale = 32, .grad_scale = 1 << 16};
  const Outcome expected = by_cpu({.softcap = {.cap = 4.0}, .rounds_logits = true, .fp8 = scales});
  const Outcome got = by_device({.softcap = {.cap = 4.0}, .fp8 = scales});
  expect_agree(got, expected, 0.02, "8 bits");
  const Outcome in_chunks = by_device({.softcap = {.cap = 4.0}, .fp8 = scales, .chunk_numbers = 40 * kVocabulary});
  expect_agree(in_chunks, got, 1e-3, "in chunks");
  const Outcome scaled = by_device({.softcap = {.cap = 4.0}, .logit_scale = 0.3, .fp8 = scales});
  expect_agree(scaled, by_cpu({.softcap = {.cap = 4.0}, .rounds_logits = true, .logit_scale = 0.3, .fp8 = scales}),
               0.01, "products are rounded before they are scaled, and their gradients after it");
  const Outcome bfloat16 = by_device({.softcap = {.cap = 4.0}, .fp8 = {}});
  EXPECT_GT(distance(bfloat16.dweight, expected.dweight), 0.02) << "8 bits are coarser than the tolerance";
}

}  // namespace
}  // namespace nanobench::core::testing
