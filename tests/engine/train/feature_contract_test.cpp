// Every value of every feature, trained: finite losses; "numerics" features move them, "systems" features leave every
// bit. Every record, trained a few steps.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "ablations/resolve.h"
#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/data/token_shard.h"
#include "core/data/vocabulary.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

using ablations::Catalogue;
using ablations::embedded_catalogue;
using ablations::Feature;

constexpr std::int64_t kFewSteps = 4;

/// One shard of random words with documents. New words occur all along, as rows of a table that wait for their token.
class ShardFile {
 public:
  explicit ShardFile(std::int64_t length)
      : path_(std::filesystem::temp_directory_path() / ("nanobench_contract_" + std::to_string(getpid()) + ".bin")) {
    std::vector<std::uint16_t> tokens;
    std::uint32_t state = 12345;
    for (std::int64_t i = 0; i < length; ++i) {
      state = state * 1664525U + 1013904223U;
      const bool is_in_long_document = i > 0 && i < 1700;
      const bool opens = i % 97 == 0 && !is_in_long_document;
      const bool is_new = i % 31 == 5;
      const std::int64_t word = is_new ? 61 + i / 256 % 190 : (state >> 24) % 61;
      tokens.push_back(static_cast<std::uint16_t>(opens ? 256 : word));
    }
    write_token_shard(path_, tokens);
    write_file_atomically(vocabulary(), vocabulary_text(synthetic_vocabulary(256)));
  }
  ~ShardFile() {
    std::filesystem::remove(path_);
    std::filesystem::remove(vocabulary());
  }
  ShardFile(const ShardFile&) = delete;
  ShardFile& operator=(const ShardFile&) = delete;
  std::string path() const { return path_.string(); }
  std::string vocabulary() const { return path_.string() + ".vocab"; }

 private:
  std::filesystem::path path_;
};

/// Features of the loader show only where a shard ends and only between two ranks.
const std::set<std::string> kLoaderFeatures = {"loader_position", "loader_reserve"};

/// Features of documents that are longer than a batch takes.
const std::set<std::string> kCutFeatures = {"document_length_limit", "cut_target"};

/// With two ranks, rank 0 can read a shard of this length three times and rank 1 twice; with one token in reserve both
/// twice.
std::int64_t short_shard(const TrainConfig& config) {
  return 6 * config.data.loader.sequences_per_read * config.data.sequence_length + 1;
}

std::int64_t long_shard(const TrainConfig& config) {
  const std::int64_t read = config.run.stop_after * config.data.tokens_per_step() +
                            8 * std::max(config.data.tokens_per_step(), config.data.ranks * config.data.val_length());
  const bool is_aligned = config.data.loader.alignment != BatchAlignment::kNone;
  return is_aligned ? tokens_of_steps(config.data, config.run.stop_after) : read + 1;
}

/// `beside`: settings of other features.
TrainConfig config_of(const Feature& feature, const std::string& value, const ablations::FeatureSettings& beside) {
  // Nano has two micro-steps for each of two ranks, and sequences longer than its longest document.
  const bool needs_nano = feature.needs.micro_steps > 1 || kCutFeatures.contains(feature.id);
  ablations::ResolveRequest request = ablations::FeaturePoint{&feature, value}.request(needs_nano ? "nano" : "smoke");
  request.settings.insert(beside.begin(), beside.end());
  if (kLoaderFeatures.contains(feature.id)) request.ranks = 2;
  if (feature.id == "validation_interval") {  // scales have an interval of their own: a value in proportion
    request.settings.clear();
    TrainConfig config = ablations::resolve(embedded_catalogue(), request).config;
    config.run.val_every = std::stol(value) / 50;
    return config;
  }
  TrainConfig config = ablations::resolve(embedded_catalogue(), request).config;
  if (feature.id == "learning_rate_cooldown")
    config.schedule.num_steps = config.run.stop_after = 64;  // or it begins late
  return config;
}

struct Losses {
  std::vector<double> training, validation;
  bool operator==(const Losses&) const = default;
};

Losses train(const Feature& feature, const std::string& value, std::optional<std::int64_t> steps,
             const ablations::FeatureSettings& beside = {}) {
  RunSpec spec{.run_id = feature.id + "=" + value, .config = config_of(feature, value, beside)};
  if (steps) spec.config.run.stop_after = *steps;
  const ShardFile shard(kLoaderFeatures.contains(feature.id) ? short_shard(spec.config) : long_shard(spec.config));
  spec.threads = static_cast<int>(spec.config.distributed.processes);
  spec.train_shards = spec.val_shards = {shard.path()};
  spec.vocabulary = shard.vocabulary();
  // What the records start at zero is moved away from it, so that every path carries gradient from the first step.
  spec.config.init.zero_init_std = 0.5;
  spec.config.init.scalar_std = 0.1;
  Losses losses;
  for (const RunEvent& event : train_to_the_end(spec).events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.training.push_back(step->loss);
    if (const auto* eval = std::get_if<EvalEvent>(&event)) losses.validation.push_back(eval->loss);
  }
  return losses;
}

/// Settings of other features that one of the two values needs, if the other can be trained beside them too.
ablations::FeatureSettings needed_by_one(const Feature& feature) {
  ablations::FeatureSettings needed;
  try {
    for (const std::string& value : {feature.before, feature.after}) {
      for (const ablations::PulledIn& item :
           ablations::resolve(embedded_catalogue(), ablations::FeaturePoint{&feature, value}.request("smoke"))
               .pulled_in)
        needed.emplace(item.setting.feature, item.setting.value);
    }
    for (const std::string& value : {feature.before, feature.after}) {
      const ablations::ResolveRequest alone = ablations::FeaturePoint{&feature, value}.request("smoke");
      ablations::ResolveRequest beside = alone;
      beside.settings.insert(needed.begin(), needed.end());
      for (const auto& [id, asked] : beside.settings) {
        if (ablations::resolve(embedded_catalogue(), beside).effective.at(id) != asked) return {};
      }
    }
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return {};  // the values need what excludes the other
  } catch (const std::out_of_range&) {
    return {};
  }
  return needed;
}

/// For values whose first steps agree: they may act late (a cooldown), or differ in rounding that takes time to reach a
/// loss.
void expect_whole_runs_differ(const Feature& feature, const ablations::FeatureSettings& beside = {}) {
  EXPECT_FALSE(train(feature, feature.before, std::nullopt, beside) ==
               train(feature, feature.after, std::nullopt, beside))
      << "nothing reads this feature";
}

/// What a value needs moves the losses by itself, so both values are compared beside it.
void expect_values_differ_beside(const Feature& feature, const ablations::FeatureSettings& needed) {
  if (train(feature, feature.before, kFewSteps, needed) == train(feature, feature.after, kFewSteps, needed))
    expect_whole_runs_differ(feature, needed);
}

class FeatureContract : public ::testing::TestWithParam<std::string> {};

TEST_P(FeatureContract, ValuesTrainAndActAsTheirKindSays) {
  const Feature& feature = embedded_catalogue().feature(GetParam());
  std::map<std::string, Losses> losses;
  for (const std::string& value : feature.value_names()) {
    losses[value] = train(feature, value, kFewSteps);
    ASSERT_EQ(losses[value].training.size(), static_cast<std::size_t>(kFewSteps)) << value << ": did not finish";
    for (const double loss : losses[value].training) EXPECT_TRUE(std::isfinite(loss)) << value;
  }
  // What acts on a GPU only is seen there (GpuFeatures), and leaves the CPU's losses alone whatever its kind.
  if (feature.kind == ablations::FeatureKind::kSystems || feature.needs.gpu) {
    for (const auto& [value, series] : losses)
      EXPECT_EQ(series.training, losses[feature.before].training)
          << value << " is said to leave the losses as they are";
  } else if (losses[feature.before] == losses[feature.after]) {
    expect_whole_runs_differ(feature);
  }
  const bool differs_here =
      feature.kind != ablations::FeatureKind::kSystems && !feature.needs.gpu && feature.needs.processes < 2;
  const ablations::FeatureSettings beside = differs_here ? needed_by_one(feature) : ablations::FeatureSettings{};
  if (!beside.empty()) expect_values_differ_beside(feature, beside);
}

std::vector<std::string> feature_ids() {
  std::vector<std::string> ids;
  for (const Feature* feature : embedded_catalogue().features()) ids.push_back(feature->id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, FeatureContract, ::testing::ValuesIn(feature_ids()),
                         [](const auto& test) { return test.param; });

/// The weight of all targets of a token together at step 0.
double first_target_weight(const LossConfig& loss) {
  double weight = loss.multi_token.empty() ? 1.0 : 0.0;
  if (!loss.multi_token.empty()) {
    for (const double one : loss.multi_token.front().start) weight += one;
  }
  return weight;
}

class RecordContract : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordContract, TrainsAFewStepsAtSmoke) {
  constexpr std::int64_t kSteps = 8;
  RunSpec spec{.run_id = GetParam(),
               .config = ablations::resolve(embedded_catalogue(), {.record = GetParam(), .scale = "smoke"}).config};
  spec.config.run.stop_after = kSteps;
  const ShardFile shard(long_shard(spec.config));
  spec.train_shards = spec.val_shards = {shard.path()};
  spec.vocabulary = shard.vocabulary();
  const std::vector<double> losses = step_losses(spec);
  ASSERT_EQ(losses.size(), static_cast<std::size_t>(kSteps));
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
  const double uniform =
      first_target_weight(spec.config.loss) * std::log(static_cast<double>(spec.config.model.padded_vocab_size()));
  const InitConfig& init = spec.config.init;
  const bool begins_uniform =
      !spec.config.model.tied_head && init.lm_head == MatrixInit::kZero && !init.lm_head_std.has_value();
  EXPECT_NEAR(losses.front(), uniform, begins_uniform ? 1e-5 : 1.0);
  EXPECT_LT(losses.back(), losses.front());
}

std::vector<std::string> record_ids() {
  std::vector<std::string> ids;
  for (const ablations::Record* record : embedded_catalogue().records()) ids.push_back(record->id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RecordContract, ::testing::ValuesIn(record_ids()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace nanobench::core::testing
