// Every feature of the catalogue on a GPU: its values differ in what the GPU is asked for, or in the numbers that it
// gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/data/token_shard.h"
#include "core/data/vocabulary.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/cuda_plugin/emulated_run.h"
#include "tests/engine/cuda_plugin/noting_device.h"

namespace nanobench::core::testing {
namespace {

using ablations::embedded_catalogue;
using ablations::Feature;

/// Shards of tokens of the scale "smoke", in documents of different lengths.
class SmokeData {
 public:
  SmokeData() {
    std::mt19937 random(20240520);
    for (int shard = 0; shard < 3; ++shard) {
      std::vector<std::uint16_t> tokens;
      while (tokens.size() < 400'000) {
        const bool ends = random() % 200 == 0;
        tokens.push_back(ends ? 256 : static_cast<std::uint16_t>(random() % 256));
      }
      const std::filesystem::path file = folder_.path() / ("shard_" + std::to_string(shard) + ".bin");
      write_token_shard(file, tokens);
      files_.push_back(file.string());
    }
    write_file_atomically(vocabulary(), vocabulary_text(synthetic_vocabulary(256)));
  }
  const std::vector<std::string>& files() const { return files_; }
  std::string vocabulary() const { return folder_.path() / kVocabularyFile; }

 private:
  TemporaryFolder folder_{"smoke-data"};
  std::vector<std::string> files_;
};

constexpr std::int64_t kMaxSteps = 16;
constexpr std::int64_t kFirstSteps = 3;
constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();

/// The value on its feature's base record, in bfloat16 where that can be, so that the GPU's kernels are used.
TrainConfig config_of(const Feature& feature, const std::string& value) {
  ablations::ResolveRequest request = ablations::FeaturePoint{&feature, value}.request("smoke");
  request.device = kGpuDevice;
  request.settings.emplace("activation_precision", "bfloat16");
  TrainConfig config = ablations::resolve(embedded_catalogue(), request).config;
  OptimizerGroupConfig& hidden = config.optimizer.hidden_matrices;
  if (hidden.type == OptimizerType::kMuon && feature.id != "newton_schulz_precision" &&
      hidden.orthogonalizer != Orthogonalizer::kSvd)
    hidden.ns_dtype = NewtonSchulzDtype::kBfloat16;
  const std::int64_t steps =
      std::max(kMaxSteps, static_cast<std::int64_t>(std::ceil(config.schedule.learning_rate.cooldown_steps)));
  if (feature.id != "training_steps" && config.schedule.num_steps > steps) {
    config.schedule.num_steps = steps;
    config.run.stop_after = steps + config.schedule.extension_steps;
  }
  std::optional<std::int64_t>& longest = config.data.loader.max_document_length;
  if (longest) longest = std::min(*longest, config.data.sequence_length / 2);  // so that some documents are longer
  return config;
}

/// What the initial parameters are.
void note_parameters(const TrainConfig& config) {
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, /*seed=*/1);
  for (const auto& [name, summary] : summarize(model.parameters(), /*gradients=*/false)) {
    Notes::add_bytes(&summary.l2, sizeof summary.l2);
    Notes::add_bytes(&summary.probe, sizeof summary.probe);
  }
}

/// Everything that the GPU is asked for in a run of so many steps, and the initial parameters, as one number.
std::uint64_t asked_by(const TrainConfig& config, const SmokeData& data, std::int64_t steps) {
  RunSpec spec{.run_id = "noted", .config = config};
  spec.config.run.stop_after = std::min(steps, config.run.stop_after);
  spec.threads = 1;
  spec.device = kGpuDevice;
  spec.train_shards = spec.val_shards = data.files();
  spec.vocabulary = data.vocabulary();
  EventLog log;
  SingleProcess alone;
  const NotingScope scope;
  const RunDevice device(noting_plugin(), kGpuDevice, HostShare{}, config.gpu);
  Trainer trainer(spec, log, kNeverStop, alone, device);
  EXPECT_EQ(trainer.run(), RunOutcome::kCompleted);
  note_parameters(config);
  return Notes::digest();
}

/// What these change is the host's, and the same for both devices; their own tests are beside the loader and the clock.
/// The interval of validations is held by the scale.
const std::map<std::string, std::string>& hosts_features() {
  static const std::map<std::string, std::string> features = {
      {"untimed_steps", "the clock"},
      {"validation_interval", "when the host validates"},
      {"loader_reserve", "where a shard's last batch ends"},
      {"loader_wrap", "what follows the last shard"},
      {"loader_position", "how ranks go from a shard to the next"},
  };
  return features;
}

std::vector<std::string> features() {
  std::vector<std::string> ids;
  for (const Feature* feature : embedded_catalogue().features()) {
    // Those of several processes are compared in DistributedSettings, those of a GPU alone in GpuFeatures.
    const bool is_ours = feature->is_applicable() && !feature->needs.gpu && feature->needs.processes < 2;
    if (is_ours && !hosts_features().contains(feature->id)) ids.push_back(feature->id);
  }
  return ids;
}

class EveryFeature : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryFeature, ActsOnAGpu) {
  static const SmokeData data;
  const Feature& feature = embedded_catalogue().feature(GetParam());
  const TrainConfig before = config_of(feature, feature.before), after = config_of(feature, feature.after);
  // Most features act in the first steps; a cooldown, say, acts later.
  for (const std::int64_t steps : {kFirstSteps, kAllSteps}) {
    const std::uint64_t asked = asked_by(before, data, steps);
    ASSERT_EQ(asked_by(before, data, steps), asked) << "or every comparison would find a difference";
    if (asked_by(after, data, steps) != asked) return;
  }
  FAIL() << "both values ask a GPU for the same";
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryFeature, ::testing::ValuesIn(features()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace nanobench::core::testing
