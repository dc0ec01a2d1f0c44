#include "core/config/settings_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/config/train_config.h"

namespace nanobench::core {
namespace {

const SettingReference* settings_reference_find(const std::string& pointer) {
  const auto& settings = settings_reference();
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const auto& setting) { return setting.pointer == pointer; });
  return found == settings.end() ? nullptr : &*found;
}

bool is_within(const OrderedJson& value, const SettingRange& range) {
  return value >= range.low && (range.includes_high ? value <= range.high : value < range.high);
}

TEST(SettingsReference, EverySettingHasOneSentenceOfMeaning) {
  std::set<std::string> pointers;
  for (const SettingReference& setting : settings_reference()) {
    EXPECT_TRUE(pointers.insert(setting.pointer).second) << setting.pointer << " appears twice";
    ASSERT_GE(setting.meaning.size(), 8U) << setting.pointer;
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(setting.meaning.front())) != 0) << setting.pointer;
    EXPECT_EQ(setting.meaning.back(), '.') << setting.pointer;
  }
}

TEST(SettingsReference, DefaultsAreThoseOfTheConfigurationAndLieInTheirRange) {
  const Json defaults = to_json(TrainConfig());
  for (const SettingReference& setting : settings_reference()) {
    const Json::json_pointer pointer(setting.pointer);
    if (setting.type == SettingType::kGroup) {
      EXPECT_TRUE(!defaults.contains(pointer) || defaults.at(pointer).is_object()) << setting.pointer;
      continue;
    }
    if (defaults.contains(pointer)) {
      EXPECT_EQ(Json(setting.default_value), defaults.at(pointer)) << setting.pointer;
    }
    EXPECT_TRUE(defaults.contains(pointer) || !setting.conditions.empty()) << setting.pointer << " is never written";
    if (setting.type == SettingType::kEnumeration) {
      EXPECT_NE(std::find(setting.values.begin(), setting.values.end(), setting.default_value.get<std::string>()),
                setting.values.end());
    }
    if (!setting.range) continue;
    const OrderedJson values =
        setting.default_value.is_array() ? setting.default_value : OrderedJson::array({setting.default_value});
    for (const OrderedJson& value : values) {
      EXPECT_TRUE(value.is_null() ? setting.is_optional : is_within(value, *setting.range)) << setting.pointer;
    }
  }
}

TEST(SettingsReference, ListsEveryFieldThatAConfigurationWrites) {
  const Json flat = Json(to_json(TrainConfig())).flatten();
  for (const auto& [pointer, value] : flat.items()) {
    const bool is_known =
        std::any_of(train_config_pointers().begin(), train_config_pointers().end(),
                    [&](const std::string& known) { return pointer == known || pointer.starts_with(known + "/"); });
    EXPECT_TRUE(is_known) << pointer;
  }
}

TEST(SettingsReference, ConditionsNameValuesOfEnumerations) {
  for (const SettingReference& setting : settings_reference()) {
    for (const SettingCondition& condition : setting.conditions) {
      const SettingReference* sibling = settings_reference_find(condition.pointer);
      ASSERT_NE(sibling, nullptr) << condition.pointer;
      EXPECT_NE(std::find(sibling->values.begin(), sibling->values.end(), condition.value), sibling->values.end())
          << setting.pointer << " asks for " << condition.value;
    }
  }
}

TEST(SettingsReference, KnowsTypesUnitsRangesAndConditions) {
  const SettingReference* steps = settings_reference_find("/schedule/num_steps");
  ASSERT_NE(steps, nullptr);
  EXPECT_EQ(steps->type, SettingType::kInteger);
  EXPECT_EQ(steps->unit, "steps");
  EXPECT_EQ(steps->range.value().low, 1);
  EXPECT_TRUE(steps->conditions.empty());

  const SettingReference* cap = settings_reference_find("/model/logit_softcap");
  ASSERT_NE(cap, nullptr);
  EXPECT_EQ(cap->type, SettingType::kNumber);
  EXPECT_TRUE(cap->is_optional);

  const SettingReference* map = settings_reference_find("/model/value_embeddings/layer_map");
  ASSERT_NE(map, nullptr);
  EXPECT_EQ(map->type, SettingType::kIntegerList);
  EXPECT_TRUE(map->is_optional) << "its entries may be null";

  const SettingReference* betas = settings_reference_find("/optimizer/lm_head/betas");
  ASSERT_NE(betas, nullptr);
  EXPECT_FALSE(betas->range.value().includes_high);
  ASSERT_EQ(betas->conditions.size(), 1U);
  EXPECT_EQ(betas->conditions[0].pointer, "/optimizer/lm_head/type");
  EXPECT_EQ(betas->conditions[0].value, "adam");

  const SettingReference* scale = settings_reference_find("/precision/fp8/x_scale");
  ASSERT_NE(scale, nullptr);
  ASSERT_EQ(scale->conditions.size(), 1U) << "a group hands its condition down";
  EXPECT_EQ(scale->conditions[0].value, "fp8");
}

}  // namespace
}  // namespace nanobench::core
