// What the configuration says of memory against what the engine allocates.
#include <gtest/gtest.h>

#include "ablations/resolve.h"
#include "core/config/memory_model.h"
#include "core/config/schedule.h"
#include "core/data/block_mask.h"
#include "engine/operations/operation_cost.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/distributed/tiny_run.h"
#include "tests/engine/golden_training.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

using ablations::embedded_catalogue;

TrainConfig config_of(const std::string& record, const std::string& scale) {
  ablations::ResolveRequest request;
  request.record = record;
  request.scale = scale;
  return ablations::resolve(embedded_catalogue(), request).config;
}

std::int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
  return bytes;
}

class MemoryOfRecord : public ::testing::TestWithParam<std::string> {};

TEST_P(MemoryOfRecord, CountsParametersAndOptimisersAsTheyAreAllocated) {
  for (const auto& [dtype, number_bytes] : {std::pair(at::kFloat, 4), std::pair(at::kDouble, 8)}) {
    const TrainConfig config = config_of(GetParam(), "smoke");
    const MemoryCounts counts = memory_counts(config);
    GPT model(config, dtype);
    SingleProcess alone;
    const OptimizerSet optimizers(model.parameters(), config, 1, alone);
    std::vector<at::Tensor> parameters;
    for (const Parameter& parameter : model.parameters().all()) parameters.push_back(parameter.tensor);
    EXPECT_EQ(counts.parameters.emulated_bytes(number_bytes), bytes_of(parameters));
    const OptimizerSet::StateBytes state = optimizers.state_bytes();
    EXPECT_EQ(counts.optimizer.emulated_bytes(number_bytes), state.moments + state.masters);
  }
}

std::vector<std::string> all_records() {
  std::vector<std::string> ids;
  for (const ablations::Record* record : embedded_catalogue().records()) ids.push_back(record->id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, MemoryOfRecord, ::testing::ValuesIn(all_records()),
                         [](const auto& test) { return test.param; });

TEST(MemoryCounts, NanoAllocatesWhatIsCounted) {
  for (const char* record : {"record12", "record17", "record41"}) {
    const TrainConfig config = config_of(record, "nano");
    GPT model(config, at::kFloat);
    SingleProcess alone;
    const OptimizerSet optimizers(model.parameters(), config, 1, alone);
    const OptimizerSet::StateBytes state = optimizers.state_bytes();
    EXPECT_EQ(memory_counts(config).parameters.emulated_bytes(4), 4 * model.parameters().count()) << record;
    EXPECT_EQ(memory_counts(config).optimizer.emulated_bytes(4), state.moments + state.masters) << record;
  }
}

/// A sequence of one document.
SequenceInput sequence_input(const TrainConfig& config, const at::Tensor& tokens) {
  const std::int64_t length = tokens.size(0) - 1;
  std::vector<std::uint16_t> row(static_cast<std::size_t>(length), 1);
  const auto plan = [&](const std::optional<std::int64_t>& window) {
    const BlockMask mask(row, {.block_size = config.attention.block_size,
                               .document_mask = false,
                               .granularity = config.attention.window.granularity,
                               .window_tokens = window});
    return std::make_shared<const AttentionPlan>(mask, at::kFloat);
  };
  const StepWindows windows = step_windows(config.attention, config.schedule, 0);
  SequenceInput input;
  input.tokens = tokens.narrow(0, 0, length).clone();
  input.targets = tokens.narrow(0, 1, length).clone();
  input.plan = plan(windows.whole);
  if (!config.attention.window.narrow_layers().empty()) input.half_plan = plan(windows.half);
  return input;
}

/// Forward and backward of one sequence: the gradients that it leaves, and what it keeps in between.
struct PassBytes {
  std::int64_t gradients = 0;
  std::int64_t kept = 0;
};

PassBytes pass_bytes(const TrainConfig& config) {
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, 1);
  const std::int64_t length = config.data.sequence_length;
  const at::Tensor tokens = at::randint(0, config.model.vocab_size - 1, {length + 1}, at::kLong);
  PassBytes bytes;
  {
    const AllocationMeter meter;
    const SequenceInput input = sequence_input(config, tokens);
    const at::Tensor loss = model.loss(input, Pass::kTraining);
    bytes.kept = meter.held_bytes();
    loss.backward();
  }
  std::vector<at::Tensor> gradients;
  for (const Parameter& parameter : model.parameters().all()) gradients.push_back(parameter.tensor.grad());
  bytes.gradients = bytes_of(gradients);
  return bytes;
}

TEST(MemoryCounts, GradientsAreAsManyAsParametersAndActivationsWithinAFifth) {
  for (const char* record : {"record12", "record13", "record15", "record17", "record18"}) {
    for (const char* scale : {"smoke", "nano"}) {
      const TrainConfig config = config_of(record, scale);
      const MemoryCounts counts = memory_counts(config);
      const PassBytes measured = pass_bytes(config);
      EXPECT_EQ(measured.gradients, counts.gradients.emulated_bytes(4)) << record << " " << scale;
      const auto counted = static_cast<double>(counts.activations.emulated_bytes(4));
      EXPECT_GE(static_cast<double>(measured.kept), 0.8 * counted) << record << " " << scale;
      EXPECT_LE(static_cast<double>(measured.kept), 1.2 * counted) << record << " " << scale;
    }
  }
}

TEST(MemoryCounts, AreReportedByEveryRun) {
  const TinyRun run;
  const RunSpec spec = run.spec(1);
  std::map<std::string, double> counters;
  for (const RunEvent& event : train_to_the_end(spec).events) {
    if (const auto* counter = std::get_if<CounterEvent>(&event)) counters[counter->name] = counter->value;
  }
  const MemoryCounts counts = memory_counts(spec.config);
  for (const MemoryPart part : kMemoryParts) {
    EXPECT_EQ(counters.at("memory/" + enum_name(part) + "_bytes"),
              static_cast<double>(counts.of(part).emulated_bytes(4)))
        << enum_name(part);
  }
  EXPECT_GT(counters.at("memory/before_model_bytes"), 0.0);
  EXPECT_GT(counters.at("memory/training_bytes"), 0.0);
}

}  // namespace
}  // namespace nanobench::core::testing
