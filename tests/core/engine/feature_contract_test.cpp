// Every value of every feature, trained: finite losses; "numerics" features move them, "systems" features leave every
// bit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "ablations/resolve.h"
#include "core/data/token_shard.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/core/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

using ablations::Catalogue;
using ablations::Feature;

constexpr std::int64_t kFewSteps = 4;

/// One shard of random words with documents. Its length makes the loader rules of the records differ for two ranks: the
/// last batch of rank 1 fits exactly.
class ShardFile {
 public:
  explicit ShardFile(std::int64_t sequence_length)
      : path_(std::filesystem::temp_directory_path() / ("nanobench_contract_" + std::to_string(getpid()) + ".bin")) {
    std::vector<std::uint16_t> tokens;
    std::uint32_t state = 12345;
    for (std::int64_t i = 0; i < 5 * sequence_length + 1; ++i) {
      state = state * 1664525U + 1013904223U;
      tokens.push_back(i % 97 == 0 ? 256 : static_cast<std::uint16_t>((state >> 24) % 61));
    }
    write_token_shard(path_, tokens);
  }
  ~ShardFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Features whose effect begins late in a run: they are trained to the end.
const std::set<std::string> kLateFeatures = {"training_steps", "learning_rate_cooldown"};
/// Features of the loader: they need two ranks and the end of a shard.
const std::set<std::string> kLoaderFeatures = {"loader_position", "loader_reserve"};

RunSpec spec_of(const Feature& feature, const std::string& value) {
  static const Catalogue catalogue = Catalogue::embedded();
  RunSpec spec{
      .run_id = feature.id + "=" + value,
      .config = ablations::resolve(catalogue, ablations::FeaturePoint{&feature, value}.request("smoke")).config};
  static const ShardFile shard(spec.config.data.sequence_length);
  spec.threads = 1;
  spec.train_shards = {shard.path()};
  spec.val_shards = {shard.path()};
  // What the records start at zero is moved away from it, so that every path carries gradient from the first step.
  spec.config.init.zero_init_std = 0.5;
  spec.config.init.scalar_std = 0.1;
  if (!kLateFeatures.contains(feature.id)) spec.config.run.stop_after = kFewSteps;
  spec.config.run.val_every = spec.config.schedule.num_steps;
  const std::int64_t ranks = kLoaderFeatures.contains(feature.id) ? 2 : 1;
  spec.config.data.ranks = spec.config.data.sequences_per_step = spec.config.data.val_sequences = ranks;
  return spec;
}

class FeatureContract : public ::testing::TestWithParam<std::string> {};

TEST_P(FeatureContract, ValuesTrainAndActAsTheirKindSays) {
  static const Catalogue catalogue = Catalogue::embedded();
  const Feature& feature = catalogue.feature(GetParam());
  std::map<std::string, std::vector<double>> losses;
  for (const std::string& value : feature.value_names()) {
    losses[value] = step_losses(spec_of(feature, value));
    ASSERT_GE(losses[value].size(), static_cast<std::size_t>(kFewSteps)) << value << ": diverged";
    for (const double loss : losses[value]) EXPECT_TRUE(std::isfinite(loss)) << value;
  }
  if (feature.kind == ablations::FeatureKind::kSystems) {
    for (const auto& [value, series] : losses)
      EXPECT_EQ(series, losses[feature.before]) << value << " is said to leave the losses as they are";
  } else {
    EXPECT_NE(losses[feature.before], losses[feature.after]) << "nothing reads this feature";
  }
}

std::vector<std::string> feature_ids() {
  std::vector<std::string> ids;
  for (const Feature* feature : ablations::embedded_catalogue().features()) ids.push_back(feature->id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, FeatureContract, ::testing::ValuesIn(feature_ids()),
                         [](const auto& test) { return test.param; });

class RecordContract : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordContract, TrainsAFewStepsAtSmoke) {
  static const Catalogue catalogue = Catalogue::embedded();
  RunSpec spec{.run_id = GetParam(),
               .config = ablations::resolve(catalogue, {.record = GetParam(), .scale = "smoke"}).config};
  const ShardFile shard(spec.config.data.sequence_length);
  spec.train_shards = spec.val_shards = {shard.path()};
  spec.config.run.stop_after = 8;
  const std::vector<double> losses = step_losses(spec);
  ASSERT_EQ(losses.size(), 8U);
  // The head starts at zero, so the first loss is that of a uniform guess over the padded vocabulary; eight steps
  // improve on it.
  EXPECT_NEAR(losses.front(), std::log(static_cast<double>(spec.config.model.padded_vocab_size())), 1e-5);
  EXPECT_LT(losses.back(), losses.front());
}

std::vector<std::string> record_ids() {
  std::vector<std::string> ids;
  for (const ablations::Record* record : ablations::embedded_catalogue().records()) ids.push_back(record->id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RecordContract, ::testing::ValuesIn(record_ids()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace nanobench::core::testing
