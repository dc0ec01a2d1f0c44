// Whole training runs against the golden records: losses, activations, gradients, parameters, in float64 and float32.
#include <gtest/gtest.h>

#include "tests/engine/golden_training.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

Json trace_of(const RunSpec& base) {
  RunSpec spec = base;
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     ("nanobench_trace_" + spec.run_id + "_" + enum_name(spec.dtype) + ".json");
  spec.trace_file = file.string();
  EventLog log;
  CpuTrainer trainer(spec, log, kNeverStop);
  EXPECT_EQ(trainer.run(), RunOutcome::kCompleted);
  Json trace = read_json_file(file);
  std::filesystem::remove(file);
  return trace;
}

class GoldenTraining : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTraining, AgreesInBothTypes) {
  const std::filesystem::path folder = golden_case(GetParam());
  const Json expected = read_json_file(folder / "expected.json");
  for (const std::string dtype : {"float64", "float32"}) {
    const GoldenErrors errors(trace_of(golden_spec(folder, dtype)), expected);
    for (const auto& [kind, tolerance] : expected.at("tolerance").at(dtype).items()) {
      ASSERT_TRUE(errors.by_kind.contains(kind)) << kind;
      EXPECT_LE(errors.by_kind.at(kind), tolerance.get<double>()) << GetParam() << " " << dtype << " " << kind;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Records, GoldenTraining, ::testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return test.param; });

TEST(Trainer, SameSpecSameBits) {
  RunSpec spec = golden_spec(golden_folder() / "record17", "float32");
  spec.threads = 2;
  const std::vector<double> first = step_losses(spec);
  EXPECT_EQ(first.size(), 8U);
  EXPECT_EQ(first, step_losses(spec));
}

TEST(Trainer, RotaryTablesMadeOnceOrAnewGiveTheSameBits) {
  EXPECT_EQ(step_losses(golden_spec(golden_folder() / "record17", "float32")),
            step_losses(golden_spec(golden_folder() / "record17_rope_recomputed", "float32")));
}

TEST(Trainer, StopsBeforeTheNextStepWhenAsked) {
  const RunSpec spec = golden_spec(golden_folder() / "record17", "float32");
  EventLog log;
  const std::atomic<bool> stop{true};
  EXPECT_EQ(CpuTrainer(spec, log, stop).run(), RunOutcome::kInterrupted);
  EXPECT_TRUE(std::holds_alternative<FailedEvent>(log.events.back()));
}

TEST(Trainer, ANaNLossIsDivergence) {
  RunSpec spec = golden_spec(golden_folder() / "record17", "float32");
  spec.config.optimizer.hidden_matrices.lr = 1e30;
  spec.config.optimizer.embeddings.lr = 1e30;
  EventLog log;
  EXPECT_EQ(CpuTrainer(spec, log, kNeverStop).run(), RunOutcome::kDiverged);
  const auto* failed = std::get_if<FailedEvent>(&log.events.back());
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->outcome, RunOutcome::kDiverged);
}

}  // namespace
}  // namespace nanobench::core::testing
