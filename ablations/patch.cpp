#include "ablations/patch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/config/settings_reference.h"

namespace nanobench::ablations {
namespace {

using core::Json;

/// The pointers of the settings that may be null.
const std::set<std::string>& optional_pointers() {
  static const std::set<std::string> pointers = [] {
    std::set<std::string> found;
    for (const core::SettingReference& setting : core::settings_reference()) {
      if (setting.is_optional && setting.type != core::SettingType::kIntegerList) found.insert(setting.pointer);
    }
    return found;
  }();
  return pointers;
}

/// Child names of each group of settings; a setting itself has an empty entry.
const std::map<std::string, std::vector<std::string>>& setting_tree() {
  static const std::map<std::string, std::vector<std::string>> tree = [] {
    std::map<std::string, std::set<std::string>> children;
    for (const std::string& pointer : core::train_config_pointers()) {
      for (std::size_t slash = 0; slash != std::string::npos;) {
        const std::size_t next = pointer.find('/', slash + 1);
        children[pointer.substr(0, slash)].insert(pointer.substr(slash + 1, next - slash - 1));
        slash = next;
      }
      children[pointer];
    }
    std::map<std::string, std::vector<std::string>> sorted;
    for (const auto& [pointer, names] : children) sorted[pointer] = {names.begin(), names.end()};
    return sorted;
  }();
  return tree;
}

void restore_nulls(Json& config, const Json& patch, const std::string& pointer) {
  if (!patch.is_object()) return;
  for (const auto& [key, value] : patch.get_ref<const Json::object_t&>()) {
    if (!value.is_null() && !value.is_object()) continue;
    const std::string place = pointer + "/" + key;
    if (value.is_null() && optional_pointers().contains(place)) config[key] = nullptr;
    if (value.is_object()) restore_nulls(config[key], value, place);
  }
}

/// Whether `patch` changes nothing: merged(config, patch) == config, but that a null also stands for an absent
/// optional.
bool holds_already(const Json& config, const Json& patch, const std::string& pointer) {
  static const Json kNothing = Json::object();
  if (!patch.is_object()) return config == patch;
  if (!config.is_object()) return false;
  for (const auto& [key, value] : patch.get_ref<const Json::object_t&>()) {
    const auto place = [&, &name = key] { return pointer + "/" + name; };  // seldom needed, and this is called often
    const auto member = config.find(key);
    if (value.is_null()) {  // absent; or the null of an optional, which is absent where its type has no such setting
      if (member != config.end() && !(member->is_null() && optional_pointers().contains(place()))) return false;
    } else if (!value.is_object()) {
      if (member == config.end() || *member != value) return false;
    } else if (!holds_already(member == config.end() ? kNothing : *member, value, place())) {
      return false;  // an object of nulls asks for nothing of what is absent
    }
  }
  return true;
}

void list_leaves(const Json& patch, const std::string& pointer, std::vector<std::string>& leaves) {
  if (!patch.is_object()) return leaves.push_back(pointer);
  for (const auto& [key, value] : patch.get_ref<const Json::object_t&>())
    list_leaves(value, pointer + "/" + key, leaves);
}

/// The fields of a setting that is several groups by name; null for any other setting.
const std::vector<std::string>* fields_of_groups(const std::string& setting) {
  const std::vector<core::SettingReference>& settings = core::settings_reference();
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const core::SettingReference& one) { return one.pointer == setting; });
  const bool has_names =
      found != settings.end() && found->type == core::SettingType::kGroups && found->default_value.is_object();
  return has_names ? &found->members : nullptr;
}

/// The fields of each group of a setting that is several groups by name.
void check_groups(const Json& groups, const std::vector<std::string>& fields, const std::string& source,
                  const std::string& pointer) {
  for (const auto& [name, group] : groups.items()) {
    if (group.is_null()) continue;
    const std::string place = pointer + "/" + name;
    if (!group.is_object()) {
      throw core::Error(core::ErrorCode::kInvalidArgument,
                        core::json_location(source, place) + ": expected an object of settings, got " + group.dump());
    }
    for (const auto& [key, value] : group.items()) {
      if (std::find(fields.begin(), fields.end(), key) != fields.end()) continue;
      throw core::Refusal(
          core::ErrorCode::kInvalidArgument, core::Reason::kUnknownKey,
          core::json_location(source, place + "/" + key) + ": no such setting" + core::suggestion(key, fields),
          place + "/" + key);
    }
  }
}

void check_keys(const Json& patch, const std::string& source, const std::string& pointer, const std::string& setting) {
  const auto fail = [&](const std::string& where, core::Reason reason, const std::string& message) {
    throw core::Refusal(core::ErrorCode::kInvalidArgument, reason, core::json_location(source, where) + ": " + message,
                        where);
  };
  if (!patch.is_object())
    fail(pointer, core::Reason::kWrongType, "expected an object of settings to change, got " + patch.dump());
  const std::vector<std::string>& known = setting_tree().at(setting);
  for (const auto& [key, value] : patch.items()) {
    const auto child = setting_tree().find(setting + "/" + key);
    if (child == setting_tree().end() || key.find('/') != std::string::npos) {
      fail(pointer + "/" + key, core::Reason::kUnknownKey, "no such setting" + core::suggestion(key, known));
    }
    if (!child->second.empty() && !value.is_null()) {  // null removes a whole group, such as that of an fp8 head
      check_keys(value, source, pointer + "/" + key, child->first);
    } else if (const auto* fields = fields_of_groups(child->first); fields != nullptr && value.is_object()) {
      check_groups(value, *fields, source, pointer + "/" + key);
    } else if (value.is_object()) {
      fail(pointer + "/" + key, core::Reason::kWrongType, "expected a value, got an object");
    }
  }
}

}  // namespace

Json merged(Json config, const Json& patch) {
  config.merge_patch(patch);
  restore_nulls(config, patch, "");
  return config;
}

bool leaves_unchanged(const Json& config, const Json& patch) {
  return holds_already(config, patch, "");
}

bool covers(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  return longer.starts_with(shorter) && (longer.size() == shorter.size() || longer[shorter.size()] == '/');
}

bool touches(const Json& patch, const std::string& pointer) {
  const std::vector<std::string> leaves = leaves_of(patch);
  return std::any_of(leaves.begin(), leaves.end(), [&](const std::string& leaf) { return covers(leaf, pointer); });
}

std::vector<std::string> leaves_of(const Json& patch) {
  std::vector<std::string> leaves;
  list_leaves(patch, "", leaves);
  return leaves;
}

bool overlap(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object()) return true;
  for (const auto& [key, value] : a.items()) {
    if (b.contains(key) && overlap(value, b.at(key))) return true;
  }
  return false;
}

void check_patch(const Json& patch, const std::string& source, const std::string& pointer) {
  check_keys(patch, source, pointer, "");
}

}  // namespace nanobench::ablations
