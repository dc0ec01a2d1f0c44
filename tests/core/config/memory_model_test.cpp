#include "core/config/memory_model.h"

#include <gtest/gtest.h>

#include "core/config/parameter_list.h"

namespace nanobench::core {
namespace {

std::int64_t numbers_of(const TrainConfig& config) {
  std::int64_t numbers = 0;
  for (const ParameterShape& parameter : parameter_list(config)) numbers += parameter.numbers();
  return numbers;
}

TEST(MemoryModel, AdamKeepsTwoMomentsAndMuonOne) {
  TrainConfig config;
  std::int64_t expected = 0;
  for (const ParameterShape& parameter : parameter_list(config)) {
    const bool is_muon = settings_of(config.optimizer, parameter.group, parameter.name).type == OptimizerType::kMuon;
    expected += (is_muon ? 1 : 2) * parameter.numbers();
  }
  const MemoryCounts counts = memory_counts(config);
  EXPECT_EQ(counts.optimizer.full + counts.optimizer.bfloat16, expected);
  EXPECT_EQ(counts.parameters.full + counts.parameters.bfloat16, numbers_of(config));
  EXPECT_EQ(counts.gradients.full + counts.gradients.bfloat16, numbers_of(config));
  EXPECT_EQ(counts.total().bytes(), counts.parameters.bytes() + counts.gradients.bytes() + counts.optimizer.bytes() +
                                        counts.activations.bytes());
}

TEST(MemoryModel, ANumberInBfloat16TakesTwoBytesUnlessItIsEmulated) {
  EXPECT_EQ((TypedNumbers{.full = 10, .bfloat16 = 6, .bytes_alone = 1}.bytes()), 53);
  EXPECT_EQ((TypedNumbers{.full = 10, .bfloat16 = 6, .bytes_alone = 1}.emulated_bytes()), 65);
  EXPECT_EQ((TypedNumbers{.full = 10, .bfloat16 = 6}.bytes(8)), 92);
  TrainConfig config;
  config.precision.embeddings = StoredPrecision::kFloat32;
  const std::int64_t full = memory_counts(config).parameters.bytes();
  config.precision.embeddings = StoredPrecision::kBfloat16;
  const MemoryCounts rounded = memory_counts(config);
  std::int64_t tables = 0;
  for (const ParameterShape& parameter : parameter_list(config))
    tables += parameter.group == ParameterGroup::kEmbeddings ? parameter.numbers() : 0;
  EXPECT_EQ(rounded.parameters.bytes(), full - 2 * tables);
  EXPECT_EQ(rounded.parameters.bfloat16, tables);
  EXPECT_EQ(rounded.parameters.emulated_bytes(), full);
}

TEST(MemoryModel, GroupsThatWaitHoldAGradientMoreAndMastersAreState) {
  TrainConfig config;
  const MemoryCounts plain = memory_counts(config);
  config.optimizer.lm_head.step_every = 2;
  const std::int64_t head = config.model.padded_vocab_size() * config.model.model_dim;
  EXPECT_EQ(memory_counts(config).gradients.emulated_bytes(), plain.gradients.emulated_bytes() + 4 * head);
  config = {};
  config.precision.parameters = ParameterStorage::kBfloat16Stochastic;
  const MemoryCounts masters = memory_counts(config);
  EXPECT_EQ(masters.optimizer.full - plain.optimizer.full, numbers_of(config));
  EXPECT_EQ(masters.parameters.bytes(), 2 * numbers_of(config));
}

TEST(MemoryModel, ProcessesShareMuonsMomentumAndWithOwnersAdamsMoments) {
  TrainConfig config;
  const std::int64_t alone = memory_counts(config).optimizer.emulated_bytes();
  config.distributed.processes = 2;
  config.distributed.gradient_sums = GradientSums::kAllProcesses;
  const std::int64_t shared = memory_counts(config).optimizer.emulated_bytes();
  EXPECT_LT(shared, alone);
  config.distributed.gradient_sums = GradientSums::kOwners;
  EXPECT_LT(memory_counts(config).optimizer.emulated_bytes(), shared);
}

TEST(MemoryModel, ActivationsGrowWithTheSequence) {
  TrainConfig config;
  const std::int64_t head = 4 * config.model.padded_vocab_size() * config.model.model_dim;  // its gradient
  const std::int64_t whole = memory_counts(config).activations.bytes() - head;
  config.data.sequence_length /= 2;
  EXPECT_EQ(2 * (memory_counts(config).activations.bytes() - head), whole);
}

}  // namespace
}  // namespace nanobench::core
