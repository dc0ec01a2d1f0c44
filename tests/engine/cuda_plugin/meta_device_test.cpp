// A training step on LibTorch's meta device, which has shapes and no values: a tensor left on the CPU is an error
// there, and so is every question for a value. What passes never makes the host wait for a GPU inside a step.
#include <gtest/gtest.h>
#include <torch/library.h>

#include "ablations/resolve.h"
#include "engine/nn/gpt.h"
#include "engine/optim/optimizer_set.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/cuda_plugin/idle_device.h"

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

at::Tensor mm_shape(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  TORCH_CHECK(a.size(1) == b.size(0) && b.is_meta(), "mm: the matrices do not fit");
  return a.new_empty({a.size(0), b.size(1)}, type);
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

TrainConfig record_at(const std::string& record, const std::string& scale) {
  return ablations::resolve(ablations::embedded_catalogue(), {.record = record, .settings = {}, .scale = scale}).config;
}
TrainConfig record_at_smoke(const std::string& record) {
  return record_at(record, "smoke");
}

SequenceInput meta_device_input_of(const TrainConfig& config, at::Device device) {
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
  const at::Tensor loss = model.loss(meta_device_input_of(config, device));
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
  library.impl("mm.dtype", mm_shape);
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

/// With kernels, which do nothing, so that everything around them is the GPU's path.
TEST_P(MetaDevice, NorDoesItWithTheGpusKernels) {
  TrainConfig config = record_at_smoke(GetParam());
  config.precision.activations = ActivationPrecision::kBfloat16;
  const IdleDevice device;
  EXPECT_EQ(
      GPT(config, at::kFloat, at::kMeta).fuses_blocks(Pass::kTraining),
      config.model.norm == NormType::kRms && !config.model.bias && config.model.activation == Activation::kReluSquared);
  take_a_step(config, at::kMeta);
}

INSTANTIATE_TEST_SUITE_P(Records, MetaDevice, ::testing::ValuesIn(records()),
                         [](const auto& test) { return test.param; });

TEST(MetaDevice, ATensorLeftOnTheCpuWouldBeNoticed) {
  const TrainConfig config = record_at_smoke("record17");
  GPT model(config, at::kFloat, at::kMeta);
  EXPECT_ANY_THROW(model.loss(meta_device_input_of(config, at::kCPU)));
  EXPECT_ANY_THROW(model.loss(meta_device_input_of(config, at::kMeta)).item<float>()) << "nor a question for a value";
}

/// Memory of a step of 65,536 tokens, the share of one of eight GPUs; more sequences add their gradients to the same
/// tensors, so eight of them need no more.
TEST(GpuMemory, TheOfficialModelFitsACardOf80Gigabytes) {
  for (const char* const record : {"record17", "record21"}) {
    TrainConfig config = record_at(record, "official");
    config.data.sequence_length = 65536;
    const IdleDevice device;
    CountingAllocator& memory = CountingAllocator::instance();
    memory.reset_peak();
    const std::size_t before = memory.live();
    GPT model(config, at::kFloat, at::kMeta);
    SingleProcess alone;
    OptimizerSet optimizers(model.parameters(), config, 1, alone);
    for (int sequence = 0; sequence < 2; ++sequence) {
      const at::Tensor loss = model.loss(meta_device_input_of(config, at::kMeta));
      loss.backward(at::full({}, 0.125, loss.options()));
    }
    optimizers.step(0);
    const double gigabytes = static_cast<double>(memory.peak() - before) * 1e-9;
    RecordProperty(std::string(record) + "_peak_gigabytes", std::to_string(gigabytes));
    EXPECT_LT(gigabytes, 72.0) << record << ": with a tenth left for fragments and the libraries' workspaces";
    EXPECT_GT(gigabytes, 10.0) << record << ": less than its parameters and their gradients";
  }
}

}  // namespace
}  // namespace nanobench::core::testing
