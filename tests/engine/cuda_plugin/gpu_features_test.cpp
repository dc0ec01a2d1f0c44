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

}  // namespace
}  // namespace nanobench::core::testing
