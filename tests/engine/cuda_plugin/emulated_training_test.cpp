// Whole models whose optimisers go through the GPU's kernels, which run emulated on the CPU: against the operations.
#include <block_runner.h>
#include <gtest/gtest.h>

#include "ablations/resolve.h"
#include "engine/nn/gpt.h"
#include "engine/optim/optimizer_set.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/cuda_plugin/emulated_device.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {
namespace {

constexpr int kEmulatedTrainingSteps = 3;

/// The smallest scale, but with the records' bfloat16 in tables and iterations.
TrainConfig emulated_training_config_of(const std::string& record) {
  TrainConfig config =
      ablations::resolve(ablations::embedded_catalogue(), {.record = record, .settings = {}, .scale = "smoke"}).config;
  config.precision.embeddings = StoredPrecision::kBfloat16;
  config.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kBfloat16;
  return config;
}

SequenceInput emulated_training_input_of(const TrainConfig& config, int step) {
  const std::int64_t length = config.data.sequence_length;
  const at::Tensor ids = (at::arange(length + 1) * 37 + step * 11).remainder(97);
  const BlockMask mask(std::vector<std::uint16_t>(static_cast<std::size_t>(length), 1),
                       {.block_size = config.attention.block_size,
                        .document_mask = false,
                        .granularity = config.attention.window.granularity,
                        .window_tokens = length / 2});
  const auto plan = std::make_shared<const AttentionPlan>(mask, at::kFloat);
  return {.tokens = ids.narrow(0, 0, length), .targets = ids.narrow(0, 1, length), .plan = plan, .half_plan = plan};
}

using Paths = std::map<std::string, std::string>;

struct EmulatedTrainingTrained {
  std::vector<double> losses;
  std::vector<at::Tensor> moved;
  std::vector<std::string> names;
  bool is_replayable = false;
  Paths paths;
  std::uint64_t launches = 0;  ///< of the optimisers
};

EmulatedTrainingTrained emulated_training_train(const TrainConfig& config) {
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, 1);
  SingleProcess alone;
  OptimizerSet optimizers(model.parameters(), config, 1, alone);
  const std::vector<at::Tensor> before = model.parameters().values();
  EmulatedTrainingTrained trained{.is_replayable = optimizers.is_replayable(), .paths = optimizers.paths()};
  for (int step = 0; step < kEmulatedTrainingSteps; ++step) {
    model.parameters().zero_gradients();
    const at::Tensor loss = model.loss(emulated_training_input_of(config, step));
    loss.backward();
    trained.losses.push_back(loss.item<double>());
    const std::uint64_t launches = emulation::statistics().launches;
    optimizers.step(step);
    trained.launches += emulation::statistics().launches - launches;
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    trained.moved.push_back(model.parameters().all()[i].tensor.detach() - before[i]);
    trained.names.push_back(model.parameters().all()[i].name);
  }
  return trained;
}

class EmulatedTraining : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Records, EmulatedTraining, ::testing::Values("record17", "record21"),
                         [](const auto& test) { return test.param; });

/// Rounding magnifies the smallest difference: the kernels' steps must be as near to those with exact iterations as the
/// operations' are.
TEST_P(EmulatedTraining, ThreeStepsByKernelsAreAsGoodAsTheOperations) {
  TrainConfig config = emulated_training_config_of(GetParam());
  config.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kCompute;
  const EmulatedTrainingTrained exact = emulated_training_train(config);
  config.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kBfloat16;
  const EmulatedTrainingTrained expected = emulated_training_train(config);
  const EmulatedDevice device;
  const EmulatedTrainingTrained got = emulated_training_train(config);
  EXPECT_FALSE(expected.is_replayable);
  EXPECT_TRUE(got.is_replayable);
  EXPECT_EQ(expected.paths, Paths({{"adam", "CPU kernels"}, {"muon", "operations"}}));
  EXPECT_EQ(got.paths, Paths({{"adam", "GPU kernels"}, {"muon", "GPU kernels"}}));
  EXPECT_GT(got.launches, 0U);
  EXPECT_EQ(expected.launches, 0U);
  EXPECT_EQ(got.losses[0], expected.losses[0]) << "before the first update";
  EXPECT_NEAR(got.losses[2], expected.losses[2], 5e-3);
  double sum_of_ratios = 0.0;
  for (std::size_t i = 0; i < got.moved.size(); ++i) {
    const double rounding = relative_error(expected.moved[i], exact.moved[i]);
    EXPECT_LT(relative_error(got.moved[i], exact.moved[i]), 2.0 * rounding + 0.02) << got.names[i];
    sum_of_ratios += (relative_error(got.moved[i], exact.moved[i]) + 1e-4) / (rounding + 1e-4);
  }
  EXPECT_LT(sum_of_ratios / static_cast<double>(got.moved.size()), 1.2) << "over all parameters";
}

TEST(EmulatedOptimizers, AdamAloneTrainsAModelAsTheCpuDoes) {
  TrainConfig config = emulated_training_config_of("record17");
  config.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kCompute;
  const EmulatedTrainingTrained expected = emulated_training_train(config);
  const EmulatedDevice device;
  const EmulatedTrainingTrained got = emulated_training_train(config);
  EXPECT_EQ(got.paths, Paths({{"adam", "GPU kernels"}, {"muon", "CPU kernels"}}));
  EXPECT_EQ(got.launches, static_cast<std::uint64_t>(kEmulatedTrainingSteps));
  for (std::size_t i = 0; i < got.moved.size(); ++i)
    EXPECT_LT(relative_error(got.moved[i], expected.moved[i]), 2e-3) << got.names[i];
}

TEST(EmulatedOptimizers, SeparateOperationsStaySeparate) {
  TrainConfig config = emulated_training_config_of("record17");
  for (OptimizerGroupConfig* group :
       {&config.optimizer.embeddings, &config.optimizer.lm_head, &config.optimizer.scalars})
    group->fused = false;
  config.optimizer.hidden_matrices.orthogonalizer = Orthogonalizer::kSvd;
  const EmulatedDevice device;
  const EmulatedTrainingTrained got = emulated_training_train(config);
  EXPECT_FALSE(got.is_replayable);
  EXPECT_EQ(got.launches, 0U);
  EXPECT_EQ(got.paths, Paths({{"adam", "operations"}, {"muon", "operations"}}));
}

}  // namespace
}  // namespace nanobench::core::testing
