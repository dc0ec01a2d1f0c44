#include "ablations/settle.h"

#include <algorithm>
#include <set>

#include "ablations/patch.h"
#include "ablations/wording.h"
#include "core/base/error.h"
#include "core/config/train_config.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;

/// Visits a feature's requirements before the feature.
class PatchOrder {
 public:
  PatchOrder(const Catalogue& catalogue, const FeatureSettings& settings)
      : catalogue_(catalogue), settings_(settings) {}

  void visit(const std::string& id) {
    if (!seen_.insert(id).second) return;
    for (const FeatureRelation& requirement : catalogue_.feature(id).requirements) {
      if (settings_.contains(requirement.feature)) visit(requirement.feature);
    }
    order.push_back(id);
  }

  std::vector<std::string> order;

 private:
  const Catalogue& catalogue_;
  const FeatureSettings& settings_;
  std::set<std::string> seen_;
};

/// Settings of another optimiser or schedule get defaults only when the whole configuration is read. A configuration
/// that is not valid yet stays unchanged.
Json with_defaults(const Json& config) {
  try {
    return core::to_plain_json(core::read_train_config(config, ""));
  } catch (const Error& error) {
    rethrow_internal(error);
    return config;
  }
}

class Settler {
 public:
  Settler(const Catalogue& catalogue, std::string record, const FeatureSettings& requested,
          const FeatureSettings& holds)
      : catalogue_(catalogue), record_(std::move(record)), requested_(requested), holds_(holds) {
    for (const auto& [id, value] : requested) catalogue.feature(id).value(value);  // kNotFound before anything else
    settled_.record = record_json(catalogue, record_);
    settled_.settings = requested;
  }

  Settled settle() {
    note_idle_settings();
    do hold();
    while (pull_in_one());
    settled_.config = current_;
    check_conflicts();
    check_all_hold();
    return std::move(settled_);
  }

 private:
  /// A setting that keeps a value that the scale would change is not idle.
  void note_idle_settings() {
    for (const auto& [id, value] : requested_) {
      const auto hold = holds_.find(id);
      if (hold != holds_.end() && hold->second != value) continue;
      if (value_at(settled_.record, catalogue_.feature(id)) == value) {
        settled_.already_set.push_back({id, value});
      }
    }
  }

  std::optional<std::string> current_value(const std::string& id) const {
    const auto set = settled_.settings.find(id);
    return set != settled_.settings.end() ? set->second : value_at(complete_, catalogue_.feature(id));
  }

  /// Applies what the scale holds, unless a setting sets it or excludes it, or its requirements are not met; they pull
  /// nothing in. Dropping one may invalidate others, so this repeats until nothing changes.
  void hold() {
    FeatureSettings& held = settled_.held;
    held = holds_;
    std::erase_if(held, [&](const auto& entry) { return settled_.settings.contains(entry.first); });
    do {
      current_ = with_settings(catalogue_, settled_.record, settled_.settings, held);
      complete_ = with_defaults(current_);
    } while (std::erase_if(held, [&](const auto& entry) { return !can_hold(entry.first, entry.second); }) > 0);
  }

  bool can_hold(const std::string& id, const std::string& value) const {
    const Feature& feature = catalogue_.feature(id);
    for (const FeatureRelation& requirement : feature.requirements) {
      if (!requirement.concerns(value)) continue;
      const std::optional<std::string> other = current_value(requirement.feature);
      if (!other || !requirement.names(*other)) return false;
    }
    return std::none_of(feature.conflicts.begin(), feature.conflicts.end(), [&](const FeatureRelation& conflict) {
      const auto set = settled_.settings.find(conflict.feature);
      return conflict.concerns(value) && set != settled_.settings.end() && conflict.names(set->second);
    });
  }

  /// Adds the first unmet requirement; false if all hold. Each call adds one feature, so the loop ends.
  bool pull_in_one() {
    for (const auto& [id, value] : settled_.settings) {
      for (const FeatureRelation& requirement : catalogue_.feature(id).requirements) {
        if (!requirement.concerns(value)) continue;
        const std::optional<std::string> other = current_value(requirement.feature);
        if (other && requirement.names(*other)) continue;
        if (settled_.settings.contains(requirement.feature))
          throw unmet_requirement(settled_, {id, value}, requirement, {requirement.feature, *other});
        pull_in({id, value}, requirement, other);
        return true;
      }
    }
    return false;
  }

  /// Pulls in the record's own value if the scale changed it and it satisfies the requirement; else the first value
  /// that the requirement names.
  void pull_in(const FeatureSetting& needed_by, const FeatureRelation& requirement,
               const std::optional<std::string>& now) {
    const PulledIn* const root = settled_.find_pulled_in(needed_by.feature);
    const FeatureSetting asked = root == nullptr ? needed_by : root->asked;
    const std::optional<std::string> own = value_at(settled_.record, catalogue_.feature(requirement.feature));
    const std::string& wanted = own && requirement.names(*own) ? *own : requirement.values.front();
    settled_.pulled_in.push_back({{requirement.feature, wanted}, needed_by, asked, now});
    settled_.settings[requirement.feature] = wanted;
  }

  void check_conflicts() const {
    for (const auto& [id, value] : settled_.settings) {
      for (const FeatureRelation& conflict : catalogue_.feature(id).conflicts) {
        if (!conflict.concerns(value)) continue;
        const std::optional<std::string> other = current_value(conflict.feature);
        if (!other || !conflict.names(*other)) continue;
        throw exclusion(settled_, {id, value}, {conflict.feature, *other},
                        settled_.settings.contains(conflict.feature));
      }
    }
  }

  /// Two settings that write different values to the same field cannot both hold.
  void check_all_hold() const {
    for (const auto& [id, value] : settled_.settings) {
      const Json& patch = catalogue_.feature(id).value(value).patch;
      if (leaves_unchanged(current_, patch)) continue;
      for (const auto& [other, other_value] : settled_.settings) {
        if (other == id || !overlap(patch, catalogue_.feature(other).value(other_value).patch)) continue;
        throw same_place(settled_, {id, value}, {other, other_value});
      }
      throw Error(ErrorCode::kInternal, assignment(id, value) + " did not take effect");
    }
  }

  const Catalogue& catalogue_;
  std::string record_;
  const FeatureSettings& requested_;
  const FeatureSettings& holds_;
  Json current_;
  Json complete_;  ///< the same, with defaults where a setting left gaps
  Settled settled_;
};

}  // namespace

const PulledIn* Settled::find_pulled_in(const std::string& feature) const {
  const auto found = std::find_if(pulled_in.begin(), pulled_in.end(),
                                  [&](const PulledIn& item) { return item.setting.feature == feature; });
  return found == pulled_in.end() ? nullptr : &*found;
}

Settled settle(const Catalogue& catalogue, const std::string& record, const FeatureSettings& requested,
               const FeatureSettings& holds) {
  return Settler(catalogue, record, requested, holds).settle();
}

/// A root starts from an empty configuration, so absent settings take their defaults when it is read.
Json record_json(const Catalogue& catalogue, const std::string& id) {
  catalogue.lineage(id);  // throws for a cycle
  return catalogue.cached(id, [&] {
    const Record& record = catalogue.record(id);
    Json config = record.parent ? record_json(catalogue, *record.parent) : Json::object();
    config = merged(with_settings(catalogue, std::move(config), record.features), record.patch);
    return core::to_plain_json(core::read_train_config(config, record.source));
  });
}

Json with_settings(const Catalogue& catalogue, Json config, const FeatureSettings& settings,
                   const FeatureSettings& held) {
  FeatureSettings all = settings;
  all.insert(held.begin(), held.end());
  PatchOrder patches(catalogue, all);
  for (const auto& [id, unused] : held) patches.visit(id);
  for (const auto& [id, unused] : settings) patches.visit(id);
  for (const std::string& id : patches.order) {
    config = merged(std::move(config), catalogue.feature(id).value(all.at(id)).patch);
  }
  return config;
}

std::optional<std::string> value_at(const Json& config, const Feature& feature) {
  for (const FeatureValue& value : feature.values) {
    if (leaves_unchanged(config, value.patch)) return value.name;
  }
  return std::nullopt;
}

}  // namespace nanobench::ablations
