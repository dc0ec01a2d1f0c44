/// The descriptions of all settings in train_config_fields.cpp as values, for documentation, suggestions and patches.
/// Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::core {

enum class SettingType {
  kGroup,
  kBoolean,
  kInteger,
  kNumber,
  kText,
  kEnumeration,
  kIntegerList,
  kNumberPair,
  kNumberList,
  kGroups
};

NB_ENUM_NAMES(SettingType, {SettingType::kGroup, "group"}, {SettingType::kBoolean, "boolean"},
              {SettingType::kInteger, "integer"}, {SettingType::kNumber, "number"}, {SettingType::kText, "text"},
              {SettingType::kEnumeration, "enumeration"}, {SettingType::kIntegerList, "list of integers"},
              {SettingType::kNumberPair, "two numbers"}, {SettingType::kNumberList, "list of numbers"},
              {SettingType::kGroups, "groups"});

struct SettingRange {
  OrderedJson low, high;  ///< numbers
  bool includes_high = true;
};

/// A setting takes effect only while another setting has this value.
struct SettingCondition {
  std::string pointer;
  std::string value;
};

/// One field of TrainConfig, or a group of them.
struct SettingReference {
  std::string pointer;  ///< "/model/rope/base"
  SettingType type = SettingType::kGroup;
  std::string meaning;                       ///< one sentence
  std::string unit;                          ///< empty: none
  std::optional<SettingRange> range;         ///< for numbers, and for list entries
  std::vector<std::string> values;           ///< for an enumeration
  OrderedJson default_value;                 ///< null for groups too
  bool is_optional = false;                  ///< may be null; for a list: its entries may be null
  std::vector<std::string> members;          ///< of each of several groups: the names of its fields
  std::vector<SettingCondition> conditions;  ///< all must hold; empty: the setting always takes effect
};

/// All settings in the order of TrainConfig; each group precedes its members.
const std::vector<SettingReference>& settings_reference();

/// JSON pointers of all fields, without the groups.
const std::vector<std::string>& train_config_pointers();

/// The settings of the first stored configurations (schema 2) with their defaults, by JSON pointer. Defaults never
/// change: tests compare these with the current ones.
const std::map<std::string, Json>& first_settings();

}  // namespace nanobench::core
