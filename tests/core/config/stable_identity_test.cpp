// What must hold so that a new setting changes no stored digest and no run of an older engine.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/config/settings_reference.h"
#include "core/config/train_config.h"
#include "core/protocol/operation_spec.h"

namespace nanobench::core {
namespace {

TEST(StableIdentity, ADefaultNeverChanges) {
  std::map<std::string, Json> today;
  for (const SettingReference& setting : settings_reference()) today[setting.pointer] = setting.default_value;
  EXPECT_GE(first_settings().size(), 186U);
  for (const auto& [pointer, value] : first_settings()) {
    ASSERT_TRUE(today.contains(pointer)) << pointer << " was released: engines and stores use it";
    EXPECT_EQ(today.at(pointer), value) << pointer << ": a new behaviour is a new value, not a new default";
  }
}

TEST(StableIdentity, OnlyChangedSettingsAreWritten) {
  EXPECT_EQ(changed_settings(TrainConfig{}), Json::object());
  TrainConfig config;
  config.model.num_layers = 6;
  config.model.logit_softcap.reset();
  config.optimizer.scalars.beta2 = 0.9;
  config.optimizer.hidden_matrices.type = OptimizerType::kAdam;
  config.optimizer.hidden_matrices.ns_steps = 3;  // does not count for adam
  const Json changed = changed_settings(config);
  EXPECT_EQ(changed, Json::parse(R"({"model": {"num_layers": 6, "logit_softcap": null},
                                     "optimizer": {"scalars": {"betas": [0.8, 0.9]},
                                                   "hidden_matrices": {"type": "adam"}}})"));
}

TEST(StableIdentity, ReadersMakeTheSameConfigurationOfChangedSettings) {
  TrainConfig config;
  config.name = "six layers";
  config.model.num_layers = 6;
  config.model.attention_skip_layers = {};
  config.model.value_embeddings.layer_map.assign(6, std::nullopt);
  config.attention.window.schedule.type = WindowScheduleType::kConstant;
  config.precision.head = ProductPrecision::kFp8;
  const TrainConfig read = read_train_config(changed_settings(config), "c.json");
  EXPECT_EQ(to_json(read), to_json(config));
  EXPECT_EQ(read.digest(), config.digest());
}

TEST(StableIdentity, AFieldThatIsWrittenWithItsDefaultIsNoOtherConfiguration) {
  const Json complete = to_json(TrainConfig{});
  EXPECT_EQ(read_train_config(complete, "c.json").digest(), read_train_config(Json::object(), "c.json").digest());
}

TEST(StableIdentity, DigestsAreThoseOfTheStores) {
  EXPECT_EQ(TrainConfig{}.digest(), digest_of("{}"));
  TrainConfig config;
  config.schedule.num_steps = 100;
  config.run.stop_after = 100;
  EXPECT_EQ(config.digest(), digest_of(R"({"run":{"stop_after":100},"schedule":{"num_steps":100}})"));
  EXPECT_EQ(config.digest(), "027734ffc46745b11782dc27882ac2b6");
}

TEST(StableIdentity, AnOperationForAnEngineHoldsChangedSettingsAlone) {
  OperationSpec operation{.op = "attention", .metric = "time_ms"};
  operation.arms.push_back({.name = "after", .shapes = {{"T", 256}}, .config = {}});
  operation.arms.front().config.model.num_heads = 3;
  EXPECT_EQ(changed_settings(operation).at("arms")[0].at("config"), Json::parse(R"({"model": {"num_heads": 3}})"));
  EXPECT_TRUE(to_json(operation).at("arms")[0].at("config").contains("attention"));
}

}  // namespace
}  // namespace nanobench::core
