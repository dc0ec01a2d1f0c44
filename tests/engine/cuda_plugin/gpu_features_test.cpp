// The catalogue's features of a GPU, as far as its plugin.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/ablations/catalogue_support.h"
#include "tests/engine/cuda_plugin/emulated_run.h"

namespace nanobench::core::testing {
namespace {

/// Every feature that needs a GPU changes what the GPU is asked for, and the losses if it is said to change sums.
TEST(GpuFeatures, EveryValueReachesTheGpuAndActsAsItsKindSays) {
  const TinyRun run;
  int features = 0;
  for (const ablations::Feature* feature : ablations::embedded_catalogue().features()) {
    if (!feature->needs.gpu) continue;
    ++features;
    std::map<std::string, Trained> trained;
    std::set<std::string> told;
    for (const std::string& value : feature->value_names()) {
      RunSpec spec = spec_of(run);
      spec.config.gpu =
          ablations::resolve(ablations::embedded_catalogue(), ablations::FeaturePoint{feature, value}.request("smoke"))
              .config.gpu;
      spec.config.run.stop_after = 2;
      trained[value] = train(spec);
      told.insert(trained[value].told);
    }
    EXPECT_EQ(told.size(), feature->value_names().size()) << feature->id << ": nothing reads it";
    const bool is_same = trained[feature->before].losses == trained[feature->after].losses;
    EXPECT_EQ(is_same, feature->kind == ablations::FeatureKind::kSystems) << feature->id;
  }
  EXPECT_EQ(features, 4);
}

TEST(GpuFigures, PeakMemoryIsTheAllocatorsAndNotTheHosts) {
  const TinyRun run;
  EXPECT_EQ(train(spec_of(run)).peak_bytes, std::set<std::int64_t>{EmulatedPlugin::kAllocatedBytes});
}

Told told_of(const TinyRun& run, const std::string& patch) {
  train(spec_of(run, patch));
  return EmulatedPlugin::told;
}

TEST(GpuToggles, StorageDecidesHowTokensAreCopied) {
  const TinyRun run;
  const Told pinned = told_of(run, R"({"data": {"loader": {"storage": "pinned"}}})");
  EXPECT_GT(pinned.asynchronous_copies, 0);
  EXPECT_EQ(pinned.blocking_copies, 0);
  const Told mapped = told_of(run, R"({"data": {"loader": {"storage": "mapped"}}})");
  EXPECT_EQ(mapped.asynchronous_copies, 0);
  EXPECT_EQ(mapped.blocking_copies, pinned.asynchronous_copies);
}

TEST(GpuToggles, TokensAreConvertedBeforeTheyAreCopied) {
  const TinyRun run;
  const Told wide = told_of(run, R"({"data": {"loader": {"token_dtype": "int64"}}})");
  const Told narrow = told_of(run, R"({"data": {"loader": {"token_dtype": "int32"}}})");
  EXPECT_EQ(4 * narrow.copied_bytes, 3 * wide.copied_bytes) << "targets stay int64";
}

TEST(GpuToggles, TheMaskOfFullBlocksReachesTheKernels) {
  const TinyRun run;
  EXPECT_FALSE(told_of(run, R"({"attention": {"split_full_blocks": true}})").masks_full_tiles);
  EXPECT_TRUE(told_of(run, R"({"attention": {"split_full_blocks": false}})").masks_full_tiles);
  EXPECT_EQ(train(spec_of(run, R"({"attention": {"split_full_blocks": true}})")).losses,
            train(spec_of(run, R"({"attention": {"split_full_blocks": false}})")).losses);
}

}  // namespace
}  // namespace nanobench::core::testing
