// Over the whole catalogue: a parameter of one name and shape begins with the same numbers under every flag, so that
// two cells differ by the feature and not by the draw.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ablations/resolve.h"
#include "engine/nn/gpt.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::core::testing {
namespace {

/// Features that are themselves about how parameters begin.
const std::set<std::string> kInitialValues = {
    "initialization",     "output_projection_init",   "head_init",        "embedding_init",
    "linear_init_std",    "linear_init_rounding",     "head_tying",       "unet_skip_gate",
    "head_untying",       "attention_weight_scaling", "value_table_init", "attention_init",
    "bigram_weight_init", "attention_output_init"};

std::map<std::string, at::Tensor> common_random_numbers_initial(const TrainConfig& config) {
  GPT model(config, at::kFloat);
  model.parameters().initialize(config, 3);
  std::map<std::string, at::Tensor> tensors;
  for (const Parameter& parameter : model.parameters().all()) tensors[parameter.name] = parameter.tensor.detach();
  return tensors;
}

TEST(CommonRandomNumbers, EveryValueOfEveryFeatureBeginsAsItsBaseDoes) {
  const ablations::Catalogue& catalogue = ablations::embedded_catalogue();
  std::map<std::string, std::map<std::string, at::Tensor>> by_base;
  std::int64_t compared = 0;
  for (const ablations::FeaturePoint& point : ablations::all_feature_points(catalogue)) {
    if (kInitialValues.contains(point.feature->id)) continue;
    // Refused at this scale: it has a validation interval of its own, and one micro-step only.
    if (point.feature->id == "validation_interval" || point.feature->needs.micro_steps > 1) continue;
    ablations::ResolveRequest request = point.request("smoke");
    const auto tensors = common_random_numbers_initial(ablations::resolve(catalogue, request).config);
    request.settings.clear();
    if (!by_base.contains(request.record))
      by_base[request.record] = common_random_numbers_initial(ablations::resolve(catalogue, request).config);
    for (const auto& [name, base] : by_base.at(request.record)) {
      const auto found = tensors.find(name);
      if (found == tensors.end() || found->second.sizes() != base.sizes()) continue;
      EXPECT_TRUE(at::equal(found->second, base)) << point.name() << ": " << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 5000);
}

}  // namespace
}  // namespace nanobench::core::testing
