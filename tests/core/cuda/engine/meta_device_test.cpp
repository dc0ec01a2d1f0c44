// A training step on LibTorch's meta device, which has shapes and no values: a tensor left on the CPU is an error
// there, and so is every question for a value. What passes never makes the host wait for a GPU inside a step.
#include <gtest/gtest.h>
#include <torch/library.h>

#include "ablations/resolve.h"
#include "core/nn/gpt.h"
#include "core/optim/optimizer_set.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::core::testing {
namespace {

at::Tensor index_select_shape(const at::Tensor& self, std::int64_t dim, const at::Tensor& index) {
  std::vector<std::int64_t> sizes = self.sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = index.numel();
  return self.new_empty(sizes);
}

at::Tensor shape_of_self(const at::Tensor& self) {
  return at::empty_like(self);
}

at::Tensor dot_shape(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.sizes() == other.sizes() && other.is_meta(), "dot: the tensors do not fit");
  return self.new_empty({});
}

at::Tensor embedding_backward_shape(const at::Tensor& gradient, const at::Tensor& /*indices*/, std::int64_t rows,
                                    std::int64_t /*padding*/, bool /*scale*/) {
  return gradient.new_empty({rows, gradient.size(-1)});
}

void fused_adamw_shape(at::TensorList /*self*/, at::TensorList /*gradients*/, at::TensorList, at::TensorList,
                       at::TensorList, at::TensorList steps, double, double, double, double, double, bool, bool,
                       const std::optional<at::Tensor>&, const std::optional<at::Tensor>&) {
  for (const at::Tensor& step : steps) TORCH_CHECK(step.is_meta(), "the number of steps is on another device");
}

TrainConfig record_at_smoke(const std::string& record) {
  return ablations::resolve(ablations::embedded_catalogue(), {.record = record, .settings = {}, .scale = "smoke"})
      .config;
}

SequenceInput input_of(const TrainConfig& config, at::Device device) {
  const std::int64_t length = config.data.sequence_length;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const BlockMask mask(std::vector<std::uint16_t>(static_cast<std::size_t>(length), 1),
                       {.block_size = config.attention.block_size,
                        .document_mask = false,
                        .granularity = config.attention.window.granularity,
                        .window_tokens = length / 2});
  const auto plan = std::make_shared<const AttentionPlan>(
      mask, at::kFloat, AttentionPlanOptions{.implementation = config.attention.implementation}, device);
  return {
      .tokens = at::zeros({length}, options), .targets = at::zeros({length}, options), .plan = plan, .half_plan = plan};
}

void take_a_step(const TrainConfig& config, at::Device device) {
  GPT model(config, at::kFloat, device);
  SingleProcess alone;
  OptimizerSet optimizers(model.parameters(), config, 1, alone);
  const at::Tensor loss = model.loss(input_of(config, device));
  loss.backward(at::full({}, 0.5, loss.options()));
  optimizers.step(0);
  for (const Parameter& parameter : model.parameters().all()) {
    EXPECT_EQ(parameter.tensor.device(), device) << parameter.name;
    if (parameter.tensor.grad().defined()) {
      EXPECT_EQ(parameter.tensor.grad().device(), device) << parameter.name;
    }
  }
}

// Operations that GPUs have and LibTorch's C++ library knows no shapes of.
TORCH_LIBRARY_IMPL(aten, Meta, library) {
  library.impl("relu", shape_of_self);
  library.impl("dot", dot_shape);
  library.impl("index_select", index_select_shape);
  library.impl("embedding_dense_backward", embedding_backward_shape);
  library.impl("_fused_adamw_", fused_adamw_shape);
}

class MetaDevice : public ::testing::TestWithParam<std::string> {};

TEST_P(MetaDevice, AStepOfEveryRecordStaysOnTheDeviceAndWaitsForNothing) {
  take_a_step(record_at_smoke(GetParam()), at::kMeta);
}

/// record1 rounds its parameters stochastically, with numbers that are drawn on the CPU.
std::vector<std::string> records() {
  std::vector<std::string> names;
  for (int record = 2; record <= 21; ++record) names.push_back("record" + std::to_string(record));
  return names;
}

INSTANTIATE_TEST_SUITE_P(Records, MetaDevice, ::testing::ValuesIn(records()),
                         [](const auto& test) { return test.param; });

TEST(MetaDevice, ATensorLeftOnTheCpuWouldBeNoticed) {
  const TrainConfig config = record_at_smoke("record17");
  GPT model(config, at::kFloat, at::kMeta);
  EXPECT_ANY_THROW(model.loss(input_of(config, at::kCPU)));
  EXPECT_ANY_THROW(model.loss(input_of(config, at::kMeta)).item<float>()) << "nor a question for a value";
}

}  // namespace
}  // namespace nanobench::core::testing
