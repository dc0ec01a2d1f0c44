// Whole training runs against the golden records: losses, activations, gradients, parameters, in float64 and float32.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/engine/golden_support.h"
#include "tests/core/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

RunSpec spec_of(const std::filesystem::path& folder, const std::string& dtype) {
  RunSpec spec{.run_id = folder.filename().string(),
               .config = read_train_config_file((folder / "config.json").string())};
  spec.dtype = dtype;
  spec.threads = 1;
  spec.train_shards = {(folder / "train.bin").string()};
  spec.val_shards = {(folder / "val.bin").string()};
  spec.init_file = (folder / "init.safetensors").string();
  return spec;
}

Json trace_of(const RunSpec& base) {
  RunSpec spec = base;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("nanobench_trace_" + spec.run_id + "_" + spec.dtype + ".json");
  spec.trace_file = file.string();
  EventLog log;
  Trainer trainer(spec, log, kNeverStop);
  EXPECT_EQ(trainer.run(), RunOutcome::kCompleted);
  Json trace = read_json_file(file);
  std::filesystem::remove(file);
  return trace;
}

double loss_error(const Json& got, const Json& expected) {
  return std::abs(got.get<double>() - expected.get<double>()) / std::abs(expected.get<double>());
}

double summary_error(const Json& got, const Json& expected, double count) {
  const double l2 = expected.at("l2").get<double>();
  if (l2 == 0.0) return std::abs(got.at("l2").get<double>());
  const auto difference = [&](const char* key) {
    return std::abs(got.at(key).get<double>() - expected.at(key).get<double>());
  };
  return std::max({difference("l2") / l2, difference("sum") / (std::sqrt(count) * l2),
                   difference("probe") / (std::sqrt(count) * l2)});
}

/// Largest error by kind, as the golden README defines the kinds.
class Errors {
 public:
  Errors(const Json& trace, const Json& expected) {
    const Json& truth = expected.at("float64");
    compare_losses(trace, truth);
    const Json& counts = expected.at("element_counts");
    compare_summaries(trace.at("activations_step_0_sequence_0"), truth.at("activations_step_0_sequence_0"),
                      counts.at("activations"), {}, "activations", false);
    const auto ignored = expected.at("ignored_parameters").get<std::vector<std::string>>();
    for (const auto& [step, gradients] : truth.at("gradients").items()) {
      compare_summaries(trace.at("gradients").at(step), gradients, counts.at("parameters"), ignored,
                        "gradients_step_" + step, true);
    }
    compare_summaries(trace.at("final_parameters"), truth.at("final_parameters"), counts.at("parameters"), ignored,
                      "final_parameters", true);
  }
  std::map<std::string, double> by_kind;

 private:
  void add(const std::string& kind, double error) {
    by_kind[kind] = std::isfinite(error) ? std::max(by_kind[kind], error) : INFINITY;
  }

  void compare_losses(const Json& trace, const Json& truth) {
    ASSERT_EQ(trace.at("train_losses").size(), truth.at("train_losses").size());
    for (std::size_t step = 0; step < truth.at("train_losses").size(); ++step) {
      add("train_losses", loss_error(trace["train_losses"][step], truth["train_losses"][step]));
      ASSERT_EQ(trace["sequence_losses"][step].size(), truth["sequence_losses"][step].size());
      for (std::size_t i = 0; i < truth["sequence_losses"][step].size(); ++i) {
        add("train_losses", loss_error(trace["sequence_losses"][step][i], truth["sequence_losses"][step][i]));
      }
    }
    ASSERT_EQ(trace.at("val_losses").size(), truth.at("val_losses").size());
    for (const auto& [step, loss] : truth.at("val_losses").items())
      add("val_losses", loss_error(trace.at("val_losses").at(step), loss));
  }

  void compare_summaries(const Json& got, const Json& expected, const Json& counts,
                         const std::vector<std::string>& ignored, const std::string& kind, bool has_groups) {
    ASSERT_EQ(got.size(), expected.size());
    for (const auto& [name, summary] : expected.items()) {
      if (std::find(ignored.begin(), ignored.end(), name) != ignored.end()) continue;
      const std::string suffix = !has_groups ? "" : name.ends_with(".weight") ? "_matrices" : "_scalars";
      add(kind + suffix, summary_error(got.at(name), summary, counts.at(name).get<double>()));
    }
  }
};

std::vector<std::string> golden_cases() {
  std::vector<std::string> cases;
  if (!has_golden()) return {"missing"};
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
    if (std::filesystem::exists(entry.path() / "expected.json")) cases.push_back(entry.path().filename().string());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

class GoldenTraining : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTraining, AgreesInBothTypes) {
  NB_NEEDS_GOLDEN();
  const std::filesystem::path folder = golden_folder() / GetParam();
  const Json expected = read_json_file(folder / "expected.json");
  for (const std::string dtype : {"float64", "float32"}) {
    const Errors errors(trace_of(spec_of(folder, dtype)), expected);
    for (const auto& [kind, tolerance] : expected.at("tolerance").at(dtype).items()) {
      ASSERT_TRUE(errors.by_kind.contains(kind)) << kind;
      EXPECT_LE(errors.by_kind.at(kind), tolerance.get<double>()) << GetParam() << " " << dtype << " " << kind;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Records, GoldenTraining, ::testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return test.param; });

TEST(Trainer, SameSpecSameBits) {
  NB_NEEDS_GOLDEN();
  RunSpec spec = spec_of(golden_folder() / "record17", "float32");
  spec.threads = 2;
  const std::vector<double> first = step_losses(spec);
  EXPECT_EQ(first.size(), 8U);
  EXPECT_EQ(first, step_losses(spec));
}

TEST(Trainer, RotaryTablesMadeOnceOrAnewGiveTheSameBits) {
  NB_NEEDS_GOLDEN();
  EXPECT_EQ(step_losses(spec_of(golden_folder() / "record17", "float32")),
            step_losses(spec_of(golden_folder() / "record17_rope_recomputed", "float32")));
}

TEST(Trainer, StopsBeforeTheNextStepWhenAsked) {
  NB_NEEDS_GOLDEN();
  const RunSpec spec = spec_of(golden_folder() / "record17", "float32");
  EventLog log;
  const std::atomic<bool> stop{true};
  EXPECT_EQ(Trainer(spec, log, stop).run(), RunOutcome::kInterrupted);
  EXPECT_TRUE(std::holds_alternative<FailedEvent>(log.events.back()));
}

TEST(Trainer, ANaNLossIsDivergence) {
  NB_NEEDS_GOLDEN();
  RunSpec spec = spec_of(golden_folder() / "record17", "float32");
  spec.config.optimizer.hidden_matrices.lr = 1e30;
  spec.config.optimizer.embeddings.lr = 1e30;
  EventLog log;
  EXPECT_EQ(Trainer(spec, log, kNeverStop).run(), RunOutcome::kDiverged);
  const auto* failed = std::get_if<FailedEvent>(&log.events.back());
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->outcome, RunOutcome::kDiverged);
}

}  // namespace
}  // namespace nanobench::core::testing
