#include "ablations/config_difference.h"

#include <algorithm>
#include <set>

#include "ablations/patch.h"
#include "core/base/error.h"

namespace nanobench::ablations {
namespace {

using core::Json;
using core::TrainConfig;

Json plain(const TrainConfig& config) {
  Json json = core::to_plain_json(config);
  json.erase("name");
  return json;
}

const Json& member(const Json& group, const std::string& key) {
  static const Json null;
  const auto found = group.is_object() ? group.find(key) : group.end();
  return found == group.end() ? null : *found;
}

/// A list counts as one setting; groups are searched recursively.
void collect(const Json& a, const Json& b, const std::string& pointer, std::vector<SettingDifference>& found) {
  if (!a.is_object() && !b.is_object()) {
    if (a != b) found.push_back({pointer, a, b});
    return;
  }
  std::set<std::string> keys;
  for (const Json* side : {&a, &b}) {
    if (!side->is_object()) continue;
    for (const auto& [key, unused] : side->items()) keys.insert(key);
  }
  for (const std::string& key : keys) collect(member(a, key), member(b, key), pointer + "/" + key, found);
}

std::vector<SettingDifference> all_differences(const TrainConfig& a, const TrainConfig& b) {
  std::vector<SettingDifference> found;
  collect(plain(a), plain(b), "", found);
  return found;
}

std::set<std::string> pointers_of(const std::vector<SettingDifference>& differences) {
  std::set<std::string> pointers;
  for (const SettingDifference& item : differences) pointers.insert(item.pointer);
  return pointers;
}

FeatureSettings values_of(const Catalogue& catalogue, const ComparedSide& side) {
  return side.resolved ? side.resolved->effective : feature_values_at(catalogue, side.config);
}

std::vector<FeatureDifference> feature_differences(const Catalogue& catalogue, const ComparedSide& a,
                                                   const ComparedSide& b) {
  const FeatureSettings one = values_of(catalogue, a);
  const FeatureSettings two = values_of(catalogue, b);
  const auto value = [](const FeatureSettings& values, const std::string& id) {
    const auto found = values.find(id);
    return found == values.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  std::vector<FeatureDifference> differences;
  for (const Feature* feature : catalogue.features()) {
    const FeatureDifference item{feature->id, value(one, feature->id), value(two, feature->id)};
    if (item.a != item.b) differences.push_back(item);
  }
  return differences;
}

/// `a` with b's features, at a's scale.
std::optional<TrainConfig> mixture(const Catalogue& catalogue, const ComparedSide& a,
                                   const std::vector<FeatureDifference>& features) {
  FeatureSettings moved;
  for (const FeatureDifference& item : features) {
    if (item.b) moved[item.feature] = *item.b;
  }
  try {
    const TrainConfig official = with_features(catalogue, a.resolved->official, moved);
    const Participants participants{a.request.ranks, a.request.processes};
    return apply_scale(official, catalogue.scale(a.request.scale), participants).config;
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return std::nullopt;
  }
}

bool is_set_by(const Catalogue& catalogue, const std::vector<FeatureDifference>& features, const std::string& pointer) {
  return std::any_of(features.begin(), features.end(), [&](const FeatureDifference& item) {
    const Feature& feature = catalogue.feature(item.feature);
    return (item.a && touches(feature.value(*item.a).patch, pointer)) ||
           (item.b && touches(feature.value(*item.b).patch, pointer));
  });
}

}  // namespace

ConfigDifference config_difference(const Catalogue& catalogue, const ComparedSide& a, const ComparedSide& b) {
  ConfigDifference result{feature_differences(catalogue, a, b), all_differences(a.config, b.config)};
  std::optional<TrainConfig> mixed;
  if (a.resolved && b.resolved) mixed = mixture(catalogue, a, result.features);
  if (!mixed) {
    std::erase_if(result.settings,
                  [&](const SettingDifference& item) { return is_set_by(catalogue, result.features, item.pointer); });
    return result;
  }
  std::set<std::string> unexplained = pointers_of(all_differences(*mixed, b.resolved->config));
  unexplained.merge(pointers_of(all_differences(a.config, a.resolved->config)));
  unexplained.merge(pointers_of(all_differences(b.config, b.resolved->config)));
  std::erase_if(result.settings, [&](const SettingDifference& item) { return !unexplained.contains(item.pointer); });
  return result;
}

}  // namespace nanobench::ablations
