// The catalogue's features of a GPU, as far as its plugin.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/json.h"
#include "core/base/step_profile.h"
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

TEST(GpuFigures, CallsOfAStepAndOfTheAllocatorAreCounters) {
  const std::string library = std::string(NANOBENCH_BIN_DIR) + "/fake_cupti.so";
  setenv("NANOBENCH_CUPTI", library.c_str(), 1);
  void* const cupti = dlopen(library.c_str(), RTLD_NOW);
  ASSERT_NE(cupti, nullptr) << dlerror();
  EmulatedPlugin::driver_call = reinterpret_cast<void (*)(const char*)>(dlsym(cupti, "fake_driver_call"));
  const TinyRun run;
  std::map<std::string, double> counters = train(spec_of(run)).counters;
  EmulatedPlugin::driver_call = nullptr;
  unsetenv("NANOBENCH_CUPTI");
  EXPECT_EQ(counters["gpu/driver_allocations"], 3);
  EXPECT_EQ(counters["gpu/allocation_retries"], 1);
  EXPECT_EQ(counters["gpu/graphs"], 0);
  EXPECT_EQ(counters["gpu/calls_per_step/tensor_allocations"], 4) << "tokens and targets of two sequences";
  EXPECT_EQ(counters["gpu/calls_per_step/copies"], 4);
  EXPECT_EQ(counters["gpu/calls_per_step/waits"], 0);
  EXPECT_GT(counters["gpu/product_gflops"], 0);
}

TEST(GpuProfile, IsOfTheGpusStreamAndComparedWithItsProducts) {
  const TinyRun run;
  RunSpec spec = spec_of(run);
  spec.profile_file = (std::filesystem::temp_directory_path() / ("gpu_profile_" + std::to_string(getpid()))).string();
  const Trained trained = train(spec);
  const int marks = EmulatedPlugin::told.marks;
  const StepProfile profile = read_step_profile(read_json_file(*spec.profile_file).at("nanobench"), "profile");
  std::filesystem::remove(*spec.profile_file);
  EXPECT_FALSE(profile.sgemm_gflops);
  EXPECT_EQ(profile.gpu_gflops.value_or(0), trained.counters.at("gpu/product_gflops"));
  EXPECT_FALSE(trained.counters.contains("profile/sgemm_gflops"));
  EXPECT_EQ(trained.losses, train(spec_of(run)).losses);
  double ms = profile.unaccounted_ms();
  std::set<std::string> ops;
  for (const OpProfile& op : profile.ops) {
    ms += op.self_ms;
    if (op.phase == "backward") ops.insert(op.op);
  }
  EXPECT_NEAR(ms, profile.steps_ms, 1e-4 * profile.steps_ms);
  EXPECT_TRUE(ops.contains("attention")) << "of the thread that goes backward";
  EXPECT_GT(marks, EmulatedPlugin::told.marks + 100) << "of the device, not of the host";
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
