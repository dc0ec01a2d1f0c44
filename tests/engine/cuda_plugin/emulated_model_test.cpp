// Whole models in bfloat16 on a GPU whose kernels run emulated on the CPU: losses and gradients of the records against
// those of the CPU.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "ablations/resolve.h"
#include "engine/nn/gpt.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/cuda_plugin/bfloat16_tensors.h"
#include "tests/engine/cuda_plugin/emulated_device.h"

namespace nanobench::core::testing {
namespace {

struct EmulatedModelTrained {
  double loss = 0.0;
  bool is_fused = false;
  std::vector<std::string> names;
  std::vector<at::Tensor> gradients;
};

std::shared_ptr<const AttentionPlan> emulated_model_plan_of(const TrainConfig& config, std::int64_t window) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(config.data.sequence_length), 1);
  for (std::size_t i = 0; i < tokens.size(); i += 75) tokens[i] = 0;
  const BlockMask mask(tokens, {.block_size = config.attention.block_size,
                                .document_mask = true,
                                .document_separator = 0,
                                .granularity = WindowGranularity::kToken,
                                .window_tokens = window});
  return std::make_shared<const AttentionPlan>(mask, at::kFloat,
                                               AttentionPlanOptions{.block_order = config.attention.block_order});
}

/// One sequence, forward and backward.
EmulatedModelTrained emulated_model_train(const TrainConfig& config) {
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, 1);
  const std::int64_t length = config.data.sequence_length;
  const at::Tensor ids = (at::arange(length + 1) * 37).remainder(97);
  const at::Tensor loss = model.loss({.tokens = ids.narrow(0, 0, length),
                                      .targets = ids.narrow(0, 1, length),
                                      .plan = emulated_model_plan_of(config, length / 2),
                                      .half_plan = emulated_model_plan_of(config, length / 4)});
  loss.backward();
  EmulatedModelTrained trained{.loss = loss.item<double>(), .is_fused = model.fuses_blocks(Pass::kTraining)};
  for (const Parameter& parameter : model.parameters().all()) {
    trained.names.push_back(parameter.name);
    trained.gradients.push_back(parameter.tensor.grad());
  }
  return trained;
}

TrainConfig emulated_model_config_of(const std::string& record) {
  TrainConfig config =
      ablations::resolve(ablations::embedded_catalogue(), {.record = record, .settings = {}, .scale = "smoke"}).config;
  config.init.zero_init_std = 0.5;  // else most gradients are zero
  config.init.scalar_std = 0.3;     // else x0 is blended into no layer
  config.data.sequence_length = 256;
  return config;
}

/// By the parameter's name; those of learned scalars, in whose sums much cancels, as one vector of all layers.
std::map<std::string, at::Tensor> emulated_model_gradients_of(const EmulatedModelTrained& trained) {
  static const std::regex layer("^blocks[.][0-9]+[.]");
  std::map<std::string, at::Tensor> gradients;
  for (std::size_t i = 0; i < trained.gradients.size(); ++i) {
    const at::Tensor& gradient = trained.gradients[i];
    if (!gradient.defined()) continue;
    const bool is_scalar = gradient.numel() <= 12;
    at::Tensor& all = gradients[is_scalar ? std::regex_replace(trained.names[i], layer, "") : trained.names[i]];
    const at::Tensor numbers = gradient.to(at::kDouble).reshape({-1});
    all = all.defined() ? at::cat({all, numbers}) : numbers;
  }
  return gradients;
}

/// How much of `exact` is in `gradient`. Rounding has no direction and hardly moves it; what is lost or scaled on the
/// way does, by its share.
double share_of(const at::Tensor& exact, const at::Tensor& gradient) {
  return (at::dot(gradient, exact) / at::dot(exact, exact)).item<double>();
}

/// The device rounds where the CPU does but for one thing: gradients of a row that is used in several places (x0,
/// values of the first layer, skips) are summed in bfloat16, as PyTorch's autograd sums those of the records, and in
/// float32 on the CPU. So its gradients must be about as near to the exact ones as the CPU's are.
void expect_as_good_as_the_cpus(const std::string& record) {
  TrainConfig config = emulated_model_config_of(record);
  const ProductPrecision head = config.precision.head;
  config.precision.activations = ActivationPrecision::kFloat32;
  config.precision.head = ProductPrecision::kActivations;
  const EmulatedModelTrained exact = emulated_model_train(config);
  config.precision.activations = ActivationPrecision::kBfloat16;
  config.precision.head = head;
  const EmulatedModelTrained expected = emulated_model_train(config);
  EmulatedDevice device;
  device.kernels().has_float8_products = true;
  const EmulatedModelTrained got = emulated_model_train(config);
  EXPECT_TRUE(got.is_fused) << record;
  EXPECT_FALSE(expected.is_fused) << record;
  EXPECT_NEAR(got.loss, expected.loss, 2e-3) << record;
  const std::map<std::string, at::Tensor> exact_gradients = emulated_model_gradients_of(exact),
                                          expected_gradients = emulated_model_gradients_of(expected);
  std::map<std::string, at::Tensor> got_gradients = emulated_model_gradients_of(got);
  EXPECT_EQ(got_gradients.size(), expected_gradients.size()) << record;
  double sum_of_ratios = 0.0;
  int count = 0;
  for (const auto& [name, expected_gradient] : expected_gradients) {
    const std::string what = record + ", " + name;
    const at::Tensor& gradient = got_gradients[name];
    ASSERT_TRUE(gradient.defined()) << what;
    const at::Tensor& exact_gradient = exact_gradients.at(name);
    const double rounding = distance(expected_gradient, exact_gradient), error = distance(gradient, exact_gradient);
    EXPECT_GT(rounding, 0.0) << what;
    const bool is_scalars = gradient.numel() < 64;
    // Found, by any of the processor's instruction sets: 1.18 times the CPU's error and 0.0021 of the share at most, of
    // scalars 0.058 and 0.026, and 1.03 in the mean.
    EXPECT_LT(error, is_scalars ? 0.08 : 1.3 * rounding) << what;
    EXPECT_NEAR(share_of(exact_gradient, gradient), share_of(exact_gradient, expected_gradient),
                is_scalars ? 0.04 : 0.004)
        << what;
    if (is_scalars) continue;
    sum_of_ratios += error / rounding;
    ++count;
  }
  EXPECT_LT(sum_of_ratios / count, 1.06) << record << ", over all but scalars";
}

TEST(EmulatedModel, ValuesOfTheFirstLayer) {
  expect_as_good_as_the_cpus("record9");
}
TEST(EmulatedModel, ValueEmbeddingsAndSkips) {
  expect_as_good_as_the_cpus("record14");
}
TEST(EmulatedModel, ALayerWithoutAttention) {
  expect_as_good_as_the_cpus("record17");
}
TEST(EmulatedModel, AnEightBitHeadMergedProjectionsAndLongAndShortWindows) {
  expect_as_good_as_the_cpus("record21");
}

/// Twelve value tables that one weight joins, and three of their own, beside that of the embedding.
TEST(EmulatedModel, AllTablesAreReadAtOnceAndGetTheirGradientsAtOnce) {
  static int forward, backward;
  for (const char* const record : {"record14", "record21"}) {
    TrainConfig config = emulated_model_config_of(record);
    config.precision.activations = ActivationPrecision::kBfloat16;
    EmulatedDevice device;
    device.kernels().has_float8_products = true;
    forward = backward = 0;
    device.kernels().embedding_forward = [](auto... arguments) {
      ++forward;
      cuda::embedding_forward(arguments...);
    };
    device.kernels().embedding_backward = [](auto... arguments) {
      ++backward;
      cuda::embedding_backward(arguments...);
    };
    emulated_model_train(config);
    EXPECT_EQ(forward, 1) << record;
    EXPECT_EQ(backward, 1) << record;
  }
}

/// What the kernels do not compute goes op by op, on any device.
TEST(EmulatedModel, OtherActivationsAreNotFused) {
  TrainConfig config = emulated_model_config_of("record17");
  config.precision.activations = ActivationPrecision::kBfloat16;
  config.model.activation = Activation::kGelu;
  const EmulatedModelTrained expected = emulated_model_train(config);
  const EmulatedDevice device;
  const EmulatedModelTrained got = emulated_model_train(config);
  EXPECT_FALSE(got.is_fused);
  EXPECT_NEAR(got.loss, expected.loss, 2e-3);
}

TEST(EmulatedModel, ValidationInFloat32IsNotFused) {
  TrainConfig config = emulated_model_config_of("record17");
  config.precision.activations = ActivationPrecision::kBfloat16;
  config.precision.validation = ValidationPrecision::kFloat32;
  const EmulatedDevice device;
  const GPT model(config, at::kFloat);
  EXPECT_TRUE(model.fuses_blocks(Pass::kTraining));
  EXPECT_TRUE(model.fuses_blocks(Pass::kValidation)) << "through the CPU's kernels";
}

}  // namespace
}  // namespace nanobench::core::testing
