// Groups that pause after a change of batch or window (records #52 and #53).
#include <gtest/gtest.h>

#include "engine/distributed/communicator.h"
#include "engine/nn/gpt.h"
#include "engine/optim/optimizer_set.h"

namespace nanobench::core::testing {
namespace {

TrainConfig paused_config() {
  TrainConfig config;
  config.model.num_layers = 4;
  config.model.num_heads = config.model.num_kv_heads = 2;
  config.model.model_dim = 32;
  config.model.vocab_size = 50;
  config.model.vocab_pad_multiple = 16;
  config.model.value_embeddings = {.num_tables = 2, .layer_map = {0, 1, std::nullopt, 0}};
  config.model.attention_skip_layers = {2};
  config.attention.window.schedule.type = WindowScheduleType::kNone;
  config.schedule.num_steps = 20;
  config.data.sequence_length = 128;
  config.data.stages = {{0, 64, 64}, {4, 128, 128}};
  config.optimizer.scalars.step_every = 2;
  config.optimizer.scalars.pause_steps = 3;
  return config;
}

TEST(Pause, NoUpdateAndNoGradientIsKept) {
  const TrainConfig config = paused_config();
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, 1);
  SingleProcess alone;
  OptimizerSet optimizers(model.parameters(), config, 1, alone);
  const Parameter* scalars = nullptr;
  const Parameter* table = nullptr;
  for (const Parameter& parameter : model.parameters().all()) {
    if (parameter.name == "skip_weights") scalars = &parameter;
    if (parameter.name == "embed.weight") table = &parameter;
  }
  ASSERT_TRUE(scalars != nullptr && table != nullptr);
  std::vector<std::int64_t> updated;
  std::vector<double> sums;
  for (std::int64_t step = 0; step < 10; ++step) {
    for (const Parameter& parameter : model.parameters().all())
      parameter.tensor.mutable_grad() = at::ones_like(parameter.tensor);
    optimizers.gather_gradients(step);
    sums.push_back(scalars->tensor.grad().flatten()[0].item<double>());
    const at::Tensor before = scalars->tensor.detach().clone(), table_before = table->tensor.detach().clone();
    optimizers.step(step);
    if (!at::equal(scalars->tensor, before)) updated.push_back(step);
    EXPECT_FALSE(at::equal(table->tensor, table_before)) << "other groups pause too, at step " << step;
  }
  // The batch changes at step 4, so steps 4, 5 and 6 are a pause: step 7 has its own gradient alone.
  EXPECT_EQ(updated, (std::vector<std::int64_t>{1, 3, 7, 9}));
  EXPECT_EQ(sums[3], 2.0);
  EXPECT_EQ(sums[7], 1.0);
  EXPECT_EQ(sums[9], 2.0);
}

}  // namespace
}  // namespace nanobench::core::testing
