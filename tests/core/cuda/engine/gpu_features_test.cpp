// The catalogue's features of a GPU, as far as its plugin.
#include <gtest/gtest.h>

#include <set>

#include "tests/ablations/catalogue_support.h"
#include "tests/core/cuda/engine/emulated_run.h"

namespace nanobench::core::testing {
namespace {

/// Every feature that needs a GPU changes what the GPU is asked for.
TEST(GpuFeatures, EveryValueReachesTheGpu) {
  const TinyRun run;
  int features = 0;
  for (const ablations::Feature* feature : ablations::embedded_catalogue().features()) {
    if (!feature->needs.gpu) continue;
    ++features;
    std::set<std::string> told;
    for (const std::string& value : feature->value_names()) {
      RunSpec spec = spec_of(run);
      spec.config.gpu =
          ablations::resolve(ablations::embedded_catalogue(), ablations::FeaturePoint{feature, value}.request("smoke"))
              .config.gpu;
      spec.config.run.stop_after = 0;
      told.insert(train(spec).told);
    }
    EXPECT_EQ(told.size(), feature->value_names().size()) << feature->id << ": nothing reads it";
  }
  EXPECT_EQ(features, 4);
}

}  // namespace
}  // namespace nanobench::core::testing
