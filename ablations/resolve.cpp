#include "ablations/resolve.h"

#include <algorithm>
#include <set>

#include "ablations/patch.h"
#include "core/base/error.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::TrainConfig;

std::string assignment(const std::string& feature, const std::string& value) {
  return feature + "=" + value;
}

std::string listed(const FeatureSettings& settings) {
  std::string text;
  for (const auto& [feature, value] : settings) text += (text.empty() ? "" : ", ") + assignment(feature, value);
  return text;
}

Json to_plain_json(const TrainConfig& config) {
  return Json(core::to_json(config));
}

std::optional<std::string> value_at(const Json& config, const Feature& feature) {
  for (const FeatureValue& value : feature.values) {
    if (leaves_unchanged(config, value.patch)) return value.name;
  }
  return std::nullopt;
}

void visit_in_order(const Catalogue& catalogue, const FeatureSettings& settings, const std::string& id,
                    std::set<std::string>& seen, std::vector<std::string>& order) {
  if (!seen.insert(id).second) return;
  for (const FeatureRelation& requirement : catalogue.feature(id).requirements) {
    if (settings.contains(requirement.feature)) visit_in_order(catalogue, settings, requirement.feature, seen, order);
  }
  order.push_back(id);
}

/// What others require comes first: "muon" before a setting of Muon.
std::vector<std::string> application_order(const Catalogue& catalogue, const FeatureSettings& settings) {
  std::set<std::string> seen;
  std::vector<std::string> order;
  for (const auto& [id, unused] : settings) visit_in_order(catalogue, settings, id, seen, order);
  return order;
}

Json with_settings(const Catalogue& catalogue, Json config, const FeatureSettings& settings) {
  for (const std::string& id : application_order(catalogue, settings)) {
    config = merged(std::move(config), catalogue.feature(id).value(settings.at(id)).patch);
  }
  return config;
}

/// The record as JSON; a root begins from nothing, so that absent settings take their defaults when it is read.
Json record_json(const Catalogue& catalogue, const std::string& id) {
  Json config = Json::object();
  for (const Record* record : catalogue.lineage(id)) {
    config = merged(with_settings(catalogue, std::move(config), record->features), record->patch);
    const TrainConfig checked = core::read_train_config(config, record->source);
    config = to_plain_json(checked);
  }
  return config;
}

/// Settings applied to one base: pulls in what they require and refuses what excludes each other.
class Settler {
 public:
  Settler(const Catalogue& catalogue, std::string record, Json base, const FeatureSettings& requested)
      : catalogue_(catalogue), record_(std::move(record)), base_(std::move(base)), requested_(requested) {
    for (const auto& [id, value] : requested) catalogue.feature(id).value(value);  // kNotFound before anything else
    settings = requested;
  }

  void settle() {
    note_idle_settings();
    while (pull_in_one()) {
    }
    config = with_settings(catalogue_, base_, settings);
    check_conflicts();
    check_all_hold();
  }

  FeatureSettings settings;
  Json config;
  std::vector<std::string> messages;

 private:
  void note_idle_settings() {
    for (const auto& [id, value] : requested_) {
      if (value_at(base_, catalogue_.feature(id)) == value) {
        messages.push_back(assignment(id, value) + " is what " + record_ + " already has");
      }
    }
  }

  std::optional<std::string> current_value(const Json& current, const std::string& id) const {
    const auto set = settings.find(id);
    return set != settings.end() ? set->second : value_at(current, catalogue_.feature(id));
  }

  /// Adds the first requirement that does not hold; false when all hold. Each call adds one feature, so it ends.
  bool pull_in_one() {
    const Json current = with_settings(catalogue_, base_, settings);
    for (const auto& [id, value] : settings) {
      for (const FeatureRelation& requirement : catalogue_.feature(id).requirements) {
        if (!requirement.concerns(value)) continue;
        const std::optional<std::string> other = current_value(current, requirement.feature);
        if (other && requirement.names(*other)) continue;
        if (settings.contains(requirement.feature)) refuse_requirement(id, value, requirement, *other);
        const std::string& wanted = requirement.values.front();
        messages.push_back(assignment(id, value) + " needs " + assignment(requirement.feature, wanted) + ", so " +
                           requirement.feature + " is set too" + (other ? " (it was " + *other + ")" : ""));
        settings[requirement.feature] = wanted;
        return true;
      }
    }
    return false;
  }

  [[noreturn]] void refuse_requirement(const std::string& id, const std::string& value,
                                       const FeatureRelation& requirement, const std::string& other) const {
    throw Error(
        ErrorCode::kConflict, assignment(id, value) + " needs " + requirement.feature + " to be " +
                                  [&] {
                                    std::string list;
                                    for (const std::string& name : requirement.values) {
                                      list += (list.empty() ? "" : " or ") + name;
                                    }
                                    return list;
                                  }() +
                                  ", but it is set to " + other + "; leave one of the two settings out");
  }

  void check_conflicts() const {
    for (const auto& [id, value] : settings) {
      for (const FeatureRelation& conflict : catalogue_.feature(id).conflicts) {
        if (!conflict.concerns(value)) continue;
        const std::optional<std::string> other = current_value(config, conflict.feature);
        if (!other || !conflict.names(*other)) continue;
        throw Error(
            ErrorCode::kConflict,
            assignment(id, value) + " excludes " + assignment(conflict.feature, *other) + "; " +
                (settings.contains(conflict.feature) ? "leave one of the two settings out"
                                                     : "set " + conflict.feature + " to another value as well"));
      }
    }
  }

  /// Two settings that write the same field with different values cannot both hold.
  void check_all_hold() const {
    for (const auto& [id, value] : settings) {
      const Json& patch = catalogue_.feature(id).value(value).patch;
      if (leaves_unchanged(config, patch)) continue;
      for (const auto& [other, other_value] : settings) {
        if (other == id || !overlap(patch, catalogue_.feature(other).value(other_value).patch)) continue;
        throw Error(ErrorCode::kConflict, assignment(id, value) + " and " + assignment(other, other_value) +
                                              " change the same setting; leave one of them out");
      }
      throw Error(ErrorCode::kInternal, assignment(id, value) + " did not take effect");
    }
  }

  const Catalogue& catalogue_;
  std::string record_;
  Json base_;
  const FeatureSettings& requested_;
};

}  // namespace

Resolved resolve(const Catalogue& catalogue, const ResolveRequest& request) {
  const Scale& scale = catalogue.scale(request.scale);
  check_patch(request.patch, request.patch_source, "");
  Settler settler(catalogue, request.record, record_json(catalogue, request.record), request.settings);
  settler.settle();
  const std::string name = request.record + (settler.settings.empty() ? "" : " with " + listed(settler.settings));
  TrainConfig official = core::read_train_config(settler.config, name);
  if (!request.patch.empty()) official = apply_patch(official, request.patch, name + " and " + request.patch_source);
  Resolved resolved;
  resolved.effective = feature_values_at(catalogue, official);
  official.name = name;
  ScaledConfig scaled = apply_scale(official, scale);
  resolved.config = std::move(scaled.config);
  resolved.config.name = name + " (" + scale.id + ")";
  resolved.settings = std::move(settler.settings);
  resolved.scale_notes = std::move(scaled.notes);
  resolved.messages = std::move(settler.messages);
  return resolved;
}

TrainConfig resolve_record(const Catalogue& catalogue, const std::string& record) {
  TrainConfig config = core::read_train_config(record_json(catalogue, record), record);
  config.name = record;
  return config;
}

std::optional<std::string> feature_value_at(const TrainConfig& config, const Feature& feature) {
  return value_at(to_plain_json(config), feature);
}

FeatureSettings feature_values_at(const Catalogue& catalogue, const TrainConfig& config) {
  const Json json = to_plain_json(config);
  FeatureSettings values;
  for (const Feature* feature : catalogue.features()) {
    if (const std::optional<std::string> value = value_at(json, *feature)) values[feature->id] = *value;
  }
  return values;
}

TrainConfig apply_patch(const TrainConfig& config, const Json& patch, const std::string& source) {
  return core::read_train_config(merged(to_plain_json(config), patch), source);
}

}  // namespace nanobench::ablations
