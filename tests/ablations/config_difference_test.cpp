#include "ablations/config_difference.h"

#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

ComparedSide side(const ResolveRequest& request) {
  ComparedSide made;
  made.request = request;
  made.resolved = resolve(embedded_catalogue(), request);
  made.config = made.resolved->config;
  return made;
}

ConfigDifference between(const ComparedSide& a, const ComparedSide& b) {
  return config_difference(embedded_catalogue(), a, b);
}

std::vector<std::string> ids(const ConfigDifference& found) {
  std::vector<std::string> list;
  for (const FeatureDifference& item : found.features) list.push_back(item.feature);
  return list;
}

TEST(ConfigDifference, OfARecordAndItselfIsNothing) {
  const ConfigDifference none = between(side({.record = "record17"}), side({.record = "record17"}));
  EXPECT_TRUE(none.features.empty());
  EXPECT_TRUE(none.settings.empty());
}

TEST(ConfigDifference, IsTheRecordsFeaturesAndTheyExplainEverySetting) {
  for (const Record* record : embedded_catalogue().records()) {
    if (!record->parent || !record->patch.empty()) continue;
    for (const char* scale : {"official", "nano"}) {
      SCOPED_TRACE(record->id + " at " + scale);
      const ConfigDifference found =
          between(side({.record = *record->parent, .scale = scale}), side({.record = record->id, .scale = scale}));
      EXPECT_TRUE(found.settings.empty()) << found.settings.front().pointer;
      if (std::string(scale) != "official") continue;
      for (const auto& [id, value] : record->features) {
        const auto item = std::find_if(found.features.begin(), found.features.end(),
                                       [&, name = id](const FeatureDifference& f) { return f.feature == name; });
        ASSERT_NE(item, found.features.end()) << id;
        EXPECT_EQ(item->b, value);
        EXPECT_NE(item->a, value);
      }
    }
  }
}

TEST(ConfigDifference, ExplainsWhatTheScaleMakesOfAFeature) {
  // At nano the cooldown in steps follows the number of steps, though no patch of training_steps touches it.
  const ConfigDifference found =
      between(side({.scale = "nano"}), side({.settings = {{"training_steps", "1875"}}, .scale = "nano"}));
  EXPECT_EQ(ids(found), std::vector<std::string>{"training_steps"});
  EXPECT_TRUE(found.settings.empty());
}

TEST(ConfigDifference, ShowsSettingsThatNoFeatureExplains) {
  const ConfigDifference found =
      between(side({}), side({.settings = {{"attention_skip", "none"}}, .patch = {{"model", {{"mlp_ratio", 3}}}}}));
  EXPECT_EQ(ids(found), std::vector<std::string>{"attention_skip"});
  ASSERT_EQ(found.settings.size(), 1U);
  EXPECT_EQ(found.settings[0].pointer, "/model/mlp_ratio");
  EXPECT_EQ(found.settings[0].a, 4);
  EXPECT_EQ(found.settings[0].b, 3);
}

TEST(ConfigDifference, ShowsWhatARunHasOtherwiseThanItsRecord) {
  ComparedSide run = side({.settings = {{"attention_skip", "none"}}, .scale = "nano"});
  run.config.model.vocab_size = 300;  // fitted to its data
  const ConfigDifference found = between(side({.scale = "nano"}), run);
  EXPECT_EQ(ids(found), std::vector<std::string>{"attention_skip"});
  ASSERT_EQ(found.settings.size(), 1U);
  EXPECT_EQ(found.settings[0].pointer, "/model/vocab_size");
}

TEST(ConfigDifference, ReadsFeaturesOffAConfigurationWhenNothingElseIsKnown) {
  ComparedSide unknown;
  unknown.config = side({.settings = {{"attention_skip", "none"}}}).config;
  unknown.config.model.mlp_ratio = 3;
  const ConfigDifference found = between(side({}), unknown);
  EXPECT_EQ(ids(found), std::vector<std::string>{"attention_skip"});
  ASSERT_EQ(found.settings.size(), 1U);
  EXPECT_EQ(found.settings[0].pointer, "/model/mlp_ratio");
}

TEST(ConfigDifference, ASettingOfAnotherOptimiserIsNullOnTheOtherSide) {
  const ConfigDifference found = between(side({}), side({.settings = {{"hidden_matrix_optimizer", "adam"}}}));
  const auto item = std::find_if(found.features.begin(), found.features.end(),
                                 [](const FeatureDifference& f) { return f.feature == "muon_orthogonalizer"; });
  ASSERT_NE(item, found.features.end());
  EXPECT_EQ(item->a, "newton_schulz");
  EXPECT_FALSE(item->b.has_value());
  EXPECT_TRUE(found.settings.empty()) << found.settings.front().pointer;
}

}  // namespace
}  // namespace nanobench::ablations
