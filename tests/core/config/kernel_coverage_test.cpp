#include "core/config/kernel_coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/config/settings_reference.h"

namespace nanobench::core {
namespace {

constexpr std::array kCpu{KernelDevice::kCpu}, kGpu{KernelDevice::kGpu};
using Parts = std::set<StepPart>;
using KernelCoverageChange = std::function<void(TrainConfig&)>;

/// Record 17 in float32 throughout.
TrainConfig changed(const KernelCoverageChange& change) {
  TrainConfig config;
  config.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kCompute;
  change(config);
  return config;
}

TEST(KernelCoverage, ALimitIsAGap) {
  const std::vector<std::pair<KernelCoverageChange, Parts>> cases = {
      {[](TrainConfig&) {}, {}},
      {[](TrainConfig& c) { c.model.activation = Activation::kGelu; }, {StepPart::kBlocks}},
      {[](TrainConfig& c) { c.model.bias = true; }, {StepPart::kBlocks}},
      {[](TrainConfig& c) { c.precision.rotary_tables = RotaryPrecision::kBfloat16Tables; }, {StepPart::kBlocks}},
      {[](TrainConfig& c) { c.precision.head = ProductPrecision::kFp8; }, {StepPart::kHead}},
      {[](TrainConfig& c) { c.precision.mlp_up = ProductPrecision::kFp8; }, {StepPart::kBlocks}},
      {[](TrainConfig& c) { c.precision.mlp_down = ProductPrecision::kFp8; }, {StepPart::kBlocks}},
      {[](TrainConfig& c) { c.precision.activations = ActivationPrecision::kBfloat16; },
       {StepPart::kBlocks, StepPart::kHead}},
      {[](TrainConfig& c) { c.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kBfloat16; }, {StepPart::kMuon}},
      {[](TrainConfig& c) { c.model.num_heads = c.model.num_kv_heads = 32; },
       {StepPart::kBlocks, StepPart::kAttention}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const TrainConfig config = changed(cases[i].first);
    EXPECT_EQ(parts_without_kernel(KernelQuery(config), kCpu), cases[i].second) << "case " << i;
  }
}

TEST(KernelCoverage, AChoiceOfOperationsIsNone) {
  const std::vector<KernelCoverageChange> choices = {
      [](TrainConfig& c) { c.attention.implementation = AttentionImplementation::kDense; },
      [](TrainConfig& c) { c.optimizer.hidden_matrices.orthogonalizer = Orthogonalizer::kSvd; },
      [](TrainConfig& c) { c.optimizer.hidden_matrices.type = OptimizerType::kAdam; },
      [](TrainConfig& c) { c.optimizer.lm_head.fused = false; },
  };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const TrainConfig config = changed(choices[i]);
    EXPECT_EQ(parts_without_kernel(KernelQuery(config), kCpu), Parts{}) << "choice " << i;
  }
}

TEST(KernelCoverage, NoKernelComputesInFloat64) {
  const TrainConfig config = changed([](TrainConfig&) {});
  EXPECT_EQ(parts_without_kernel(KernelQuery(config, /*float32=*/false), kCpu),
            (Parts{StepPart::kBlocks, StepPart::kAttention, StepPart::kHead, StepPart::kAdam, StepPart::kMuon}));
}

TEST(KernelCoverage, AGpuComputesInBfloat16) {
  TrainConfig config = changed([](TrainConfig&) {});
  EXPECT_EQ(parts_without_kernel(KernelQuery(config), kGpu),
            (Parts{StepPart::kEmbeddings, StepPart::kBlocks, StepPart::kAttention, StepPart::kHead, StepPart::kMuon}));
  config.precision.activations = ActivationPrecision::kBfloat16;
  config.optimizer.hidden_matrices.ns_dtype = NewtonSchulzDtype::kBfloat16;
  EXPECT_EQ(parts_without_kernel(KernelQuery(config), kGpu), Parts{});
  config.precision.adam_state = StoredPrecision::kBfloat16;
  EXPECT_EQ(parts_without_kernel(KernelQuery(config), kGpu), Parts{StepPart::kAdam});
  for (StoredPrecision* stored :
       {&config.precision.embeddings, &config.precision.lm_head, &config.precision.scalars, &config.precision.gates})
    *stored = StoredPrecision::kBfloat16;
  EXPECT_EQ(parts_without_kernel(KernelQuery(config), kGpu), Parts{});
  config.optimizer.hidden_matrices.query_key_blocks = 2;
  EXPECT_EQ(parts_without_kernel(KernelQuery(config), kGpu), Parts{StepPart::kMuon});
  config.optimizer.hidden_matrices.query_key_blocks = 1;
  config.model.model_dim = 2048;
  config.model.num_heads = config.model.num_kv_heads = 8;  // of 256 numbers
  EXPECT_EQ(parts_without_kernel(KernelQuery(config), kGpu),
            (Parts{StepPart::kEmbeddings, StepPart::kBlocks, StepPart::kAttention}));
}

TEST(KernelCoverage, OneOfTwoDevicesIsEnough) {
  const TrainConfig config = changed([](TrainConfig&) {});
  const std::array both{KernelDevice::kGpu, KernelDevice::kCpu};
  EXPECT_EQ(parts_without_kernel(KernelQuery(config), both), Parts{});
}

TEST(KernelCoverage, EveryConditionNamesSettingsThatExist) {
  const std::vector<std::string>& pointers = train_config_pointers();
  for (const KernelRow& row : kernel_table()) {
    for (const KernelCondition& condition : row.conditions)
      for (const std::string setting : condition.settings)
        EXPECT_NE(std::find(pointers.begin(), pointers.end(), setting), pointers.end()) << setting;
  }
}

TEST(KernelCoverage, TheDocumentationHoldsTheTable) {
  std::ifstream file(std::string(NANOBENCH_SOURCE_DIR) + "/docs/kernels.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(kernel_table_text()), std::string::npos) << "docs/kernels.md should hold\n"
                                                                     << kernel_table_text();
}

}  // namespace
}  // namespace nanobench::core
