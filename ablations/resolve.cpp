#include "ablations/resolve.h"

#include <algorithm>
#include <map>
#include <set>

#include "ablations/patch.h"
#include "ablations/settle.h"
#include "ablations/wording.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::TrainConfig;

/// Features that the scale holds at a value other than the record's.
FeatureSettings changed_by_holding(const Catalogue& catalogue, const Settled& settled) {
  FeatureSettings changed;
  const Json without = with_settings(catalogue, settled.record, settled.settings);
  for (const auto& [id, value] : settled.held) {
    const Json& patch = catalogue.feature(id).value(value).patch;
    if (!leaves_unchanged(without, patch) && leaves_unchanged(settled.config, patch)) changed[id] = value;
  }
  return changed;
}

bool touches_any(const Json& patch, const std::vector<std::string>& pointers) {
  return std::any_of(pointers.begin(), pointers.end(),
                     [&](const std::string& pointer) { return touches(patch, pointer); });
}

/// Settings that were requested, pulled in, or held by the scale.
std::vector<std::string> guilty_settings(const Catalogue& catalogue, const ResolveRequest& request,
                                         const Settled& settled, const std::vector<std::string>& pointers) {
  std::vector<std::string> guilty;
  for (const auto& [id, value] : settled.settings) {
    if (touches_any(catalogue.feature(id).value(value).patch, pointers))
      guilty.push_back(described(settled, {id, value}));
  }
  for (const auto& [id, value] : settled.held) {
    const Json& patch = catalogue.feature(id).value(value).patch;
    if (touches_any(patch, pointers) && !leaves_unchanged(settled.record, patch)) {
      guilty.push_back(assignment(id, value) + " (which scale " + request.scale + " holds)");
    }
  }
  return guilty;
}

std::vector<std::string> guilty_participants(const ResolveRequest& request, const std::vector<std::string>& pointers) {
  static const Json ranks = {{"data", {{"ranks", 1}}}};
  static const Json processes = {{"distributed", {{"processes", 1}}}};
  std::vector<std::string> guilty;
  if (request.processes && (touches_any(processes, pointers) || (!request.ranks && touches_any(ranks, pointers)))) {
    guilty.push_back(std::to_string(*request.processes) + " processes");
  }
  if (request.ranks && touches_any(ranks, pointers)) guilty.push_back(std::to_string(*request.ranks) + " ranks");
  return guilty;
}

/// The record's own values there.
std::vector<std::string> record_values(const Catalogue& catalogue, const Settled& settled,
                                       const std::vector<std::string>& pointers) {
  std::vector<std::string> values;
  for (const Feature* feature : catalogue.features()) {
    const std::optional<std::string> value = value_at(settled.record, *feature);
    if (value && touches_any(feature->value(*value).patch, pointers)) values.push_back(assignment(feature->id, *value));
  }
  return values;
}

/// The error, followed by the settings, the patch or the numbers that wrote one of its places. If there are none, the
/// record's own feature value.
core::Refusal with_askers(const core::LocatedError& error, const Catalogue& catalogue, const ResolveRequest& request,
                          const Settled& settled) {
  const std::vector<std::string>& pointers = error.pointers();
  std::vector<std::string> askers = guilty_settings(catalogue, request, settled, pointers);
  if (touches_any(request.patch, pointers)) askers.push_back(request.patch_source);
  for (const std::string& participant : guilty_participants(request, pointers)) askers.push_back(participant);
  return blamed(error, askers, request.record, record_values(catalogue, settled, pointers));
}

/// Settings whose values differ.
std::vector<std::string> differing_pointers(const TrainConfig& a, const TrainConfig& b) {
  const Json one = core::to_plain_json(a).flatten();
  const Json two = core::to_plain_json(b).flatten();
  std::set<std::string> pointers;
  const auto collect = [&](const Json& from, const Json& other) {
    for (const auto& [pointer, value] : from.items()) {
      if (pointer != "/name" && (!other.contains(pointer) || other.at(pointer) != value)) pointers.insert(pointer);
    }
  };
  collect(one, two);
  collect(two, one);
  return {pointers.begin(), pointers.end()};
}

/// The scale's notes about these settings.
std::vector<std::string> notes_about(const ScaledConfig& scaled, const std::vector<std::string>& pointers) {
  std::vector<std::string> texts;
  for (const ScaleNote& note : scaled.notes) {
    const bool concerns = std::any_of(pointers.begin(), pointers.end(), [&](const std::string& pointer) {
      return std::any_of(note.settings.begin(), note.settings.end(),
                         [&](const std::string& setting) { return covers(setting, pointer); });
    });
    if (concerns) texts.push_back(note.text);
  }
  return texts;
}

class EffectCheck {
 public:
  EffectCheck(const Catalogue& catalogue, const ResolveRequest& request, const Settled& settled,
              const TrainConfig& official, const ScaledConfig& scaled)
      : catalogue_(catalogue),
        request_(request),
        settled_(settled),
        official_(official),
        scaled_(scaled),
        scaled_digest_(scaled.config.digest()) {
    for (const FeatureSettings* settings : {&settled.settings, &settled.held}) {
      for (const auto& [id, value] : *settings) count_leaves(catalogue.feature(id).value(value).patch);
    }
    count_leaves(request.patch);
  }

  void check_settings() const {
    for (const auto& [id, value] : request_.settings) {
      const Feature& feature = catalogue_.feature(id);
      const std::optional<std::string> own = value_at(settled_.record, feature);
      if (own == value || (own && is_plain_choice(feature.value(value).patch, feature.value(*own).patch))) continue;
      const std::optional<TrainConfig> other = without_setting(id, own);
      if (!other || !is_idle(*other)) continue;
      const bool comes_along = !own && request_.patch.empty() && other->digest() == official_.digest();
      if (comes_along) continue;  // it is the default of what it pulled in, which has an effect
      throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kNoEffect,
                          sentence(no_effect(assignment(id, value), *other, own)), assignment(id, value));
    }
  }

  /// Throws if the whole patch has no effect; otherwise returns one message for each part without effect.
  std::vector<core::Message> check_patch() const {
    std::vector<core::Message> messages;
    if (request_.patch.empty()) return messages;
    const std::optional<TrainConfig> without = with_patch(settled_.config, Json::object());
    if (without && without->digest() != official_.digest() && is_idle(*without)) {
      throw core::Refusal(ErrorCode::kUnavailable, core::Reason::kNoEffect,
                          sentence(no_effect(request_.patch_source, *without, std::nullopt)), request_.patch_source);
    }
    for (const std::string& leaf : leaves_of(request_.patch)) {
      Json rest = request_.patch;
      const Json::json_pointer place(leaf);
      rest.at(place.parent_pointer()).erase(place.back());
      const std::optional<TrainConfig> other = with_patch(settled_.config, rest);
      if (!other || other->digest() == official_.digest() || !is_idle(*other)) continue;
      messages.push_back({core::MessageKind::kNoEffect, leaf,
                          sentence(no_effect(request_.patch_source + ": " + leaf, *other, std::nullopt))});
    }
    return messages;
  }

 private:
  void count_leaves(const Json& patch) {
    for (const std::string& leaf : leaves_of(patch)) ++writers_[leaf];
  }

  /// Whether nothing else writes this leaf, or a group that holds it.
  bool is_only_writer(const std::string& leaf) const {
    if (writers_.at(leaf) != 1) return false;
    for (std::size_t end = leaf.rfind('/'); end != 0 && end != std::string::npos; end = leaf.rfind('/', end - 1)) {
      if (writers_.contains(leaf.substr(0, end))) return false;
    }
    return true;
  }

  /// Whether the values differ in a name or a flag that nothing else writes. Scales change numbers alone, so such a
  /// difference remains; the other configurations need not be read, which takes far longer.
  bool is_plain_choice(const Json& patch, const Json& own) const {
    const std::vector<std::string> leaves = leaves_of(patch);
    return std::any_of(leaves.begin(), leaves.end(), [&](const std::string& leaf) {
      const Json::json_pointer place(leaf);
      const Json& value = patch.at(place);
      const bool is_choice = value.is_string() || value.is_boolean();
      return is_choice && own.contains(place) && own.at(place).type() == value.type() && own.at(place) != value &&
             is_only_writer(leaf);
    });
  }

  /// The official configuration with the record's own value instead of the setting; nullopt if that is not valid.
  std::optional<TrainConfig> without_setting(const std::string& id, const std::optional<std::string>& own) const {
    FeatureSettings settings = settled_.settings;
    settings.erase(id);
    if (own) settings[id] = *own;
    return with_patch(with_settings(catalogue_, settled_.record, settings, settled_.held), request_.patch);
  }

  std::optional<TrainConfig> with_patch(const Json& config, const Json& patch) const {
    try {
      return core::read_train_config(merged(config, patch), "");
    } catch (const Error& error) {
      rethrow_internal(error);
      return std::nullopt;
    }
  }

  bool is_idle(const TrainConfig& other) const {
    try {
      const Participants participants{request_.ranks, request_.processes};
      return apply_scale(other, catalogue_.scale(request_.scale), participants).config.digest() == scaled_digest_;
    } catch (const Error& error) {
      rethrow_internal(error);
      return false;
    }
  }

  NoEffect no_effect(const std::string& what, const TrainConfig& other, const std::optional<std::string>& own) const {
    const std::vector<std::string> pointers = differing_pointers(official_, other);
    return {.what = what,
            .same_as = pointers.empty() ? std::optional(request_.patch_source) : std::nullopt,
            .scale = request_.scale,
            .scale_notes = notes_about(scaled_, pointers),
            .own_value = own};
  }

  const Catalogue& catalogue_;
  const ResolveRequest& request_;
  const Settled& settled_;
  const TrainConfig& official_;
  const ScaledConfig& scaled_;
  const std::string scaled_digest_;
  std::map<std::string, int> writers_;  ///< of each leaf: settings, held values and the patch
};

/// Micro-steps follow from the batch, which no option changes.
std::int64_t micro_steps(const TrainConfig& scaled) {
  const core::DataConfig& data = scaled.data;
  return data.sequences_per_step / (data.ranks * data.loader.sequences_per_read);
}

void require(const std::string& setting, const std::string& what, std::int64_t needed,
             const std::optional<std::int64_t>& got) {
  if (got && *got < needed) throw too_few(setting, what, needed, *got);
}

bool is_on_cpu(const ResolveRequest& request) {
  return request.device && !request.device->is_gpu;
}

/// Throws Error{kUnavailable} for a requested setting that takes effect only with more ranks, processes or threads than
/// this run has. Values that the record already has are not checked.
void check_needs(const Catalogue& catalogue, const ResolveRequest& request, const Settled& settled,
                 const TrainConfig& scaled) {
  for (const auto& [id, value] : request.settings) {
    const Feature& feature = catalogue.feature(id);
    if (value_at(settled.record, feature) == value) continue;
    const std::string setting = assignment(id, value);
    require(setting, "processes", feature.needs.processes, scaled.distributed.processes);
    require(setting, "ranks", feature.needs.ranks, scaled.data.ranks);
    require(setting, "threads", feature.needs.threads, request.threads);
    if (const std::int64_t got = micro_steps(scaled); got < feature.needs.micro_steps)
      throw too_few_micro_steps(setting, feature.needs.micro_steps, got);
    if (feature.needs.gpu && is_on_cpu(request)) throw needs_gpu(setting);
  }
  if (request.patch.contains("gpu") && is_on_cpu(request)) throw needs_gpu(request.patch_source + ": /gpu");
}

/// Throws Error{kUnavailable} for a requested setting, or an inline patch, that changes the official configuration but
/// not the scaled one, with the reason. Returns a message for each such part of the patch.
std::vector<core::Message> check_effects(const Catalogue& catalogue, const ResolveRequest& request,
                                         const Settled& settled, const TrainConfig& official,
                                         const ScaledConfig& scaled) {
  const EffectCheck check(catalogue, request, settled, official, scaled);
  check.check_settings();
  return check.check_patch();
}

/// The steps of resolve() after the settings are settled. Errors about fields name the settings that asked for them.
class Resolution {
 public:
  Resolution(const Catalogue& catalogue, const ResolveRequest& request)
      : catalogue_(catalogue),
        request_(request),
        scale_(catalogue.scale(request.scale)),
        settled_(settle(catalogue, request.record, request.settings, scale_.holds)),
        name_(request.record + (settled_.settings.empty() ? "" : " with " + assignments(settled_.settings))) {}

  Resolved run() {
    const ScaledConfig scaled = shrink();
    check_needs(catalogue_, request_, settled_, scaled.config);
    for (core::Message& message : check_effects(catalogue_, request_, settled_, resolved_.official, scaled))
      resolved_.messages.push_back(std::move(message));
    finish(scaled);
    return std::move(resolved_);
  }

 private:
  ScaledConfig shrink() {
    for (const FeatureSetting& setting : settled_.already_set)
      resolved_.messages.push_back(already_set(setting, request_.record));
    for (const PulledIn& item : settled_.pulled_in) resolved_.messages.push_back(set_too(item));
    try {
      resolved_.official = core::read_train_config(settled_.config, name_);
      if (!request_.patch.empty()) {
        resolved_.official = apply_patch(resolved_.official, request_.patch, name_ + " and " + request_.patch_source);
      }
      resolved_.official.name = name_;
      return apply_scale(resolved_.official, scale_, {request_.ranks, request_.processes});
    } catch (const core::LocatedError& error) {
      throw with_askers(error, catalogue_, request_, settled_);
    }
  }

  void finish(const ScaledConfig& scaled) {
    resolved_.config = scaled.config;
    resolved_.config.name = name_ + " (" + scale_.id + ")";
    resolved_.effective = feature_values_at(catalogue_, resolved_.official);
    resolved_.settings = settled_.settings;
    resolved_.pulled_in = settled_.pulled_in;
    resolved_.held = changed_by_holding(catalogue_, settled_);
    if (!resolved_.held.empty()) resolved_.scale_notes.push_back(held_note(with_own_values(resolved_.held)));
    for (const ScaleNote& note : scaled.notes) resolved_.scale_notes.push_back(note.text);
  }

  std::vector<std::pair<FeatureSetting, std::optional<std::string>>> with_own_values(
      const FeatureSettings& settings) const {
    std::vector<std::pair<FeatureSetting, std::optional<std::string>>> list;
    for (const auto& [id, value] : settings)
      list.push_back({{id, value}, value_at(settled_.record, catalogue_.feature(id))});
    return list;
  }

  const Catalogue& catalogue_;
  const ResolveRequest& request_;
  const Scale& scale_;
  const Settled settled_;
  const std::string name_;
  Resolved resolved_;
};

}  // namespace

Resolved resolve(const Catalogue& catalogue, const ResolveRequest& request) {
  check_patch(request.patch, request.patch_source, "");
  ResolveRequest named = request;
  for (auto& [id, value] : named.settings) value = catalogue.feature(id).value(value).name;
  return Resolution(catalogue, named).run();
}

TrainConfig resolve_record(const Catalogue& catalogue, const std::string& record) {
  TrainConfig config = core::read_train_config(record_json(catalogue, record), record);
  config.name = record;
  return config;
}

std::optional<std::string> feature_value_at(const TrainConfig& config, const Feature& feature) {
  return value_at(core::to_plain_json(config), feature);
}

FeatureSettings feature_values_at(const Catalogue& catalogue, const TrainConfig& config) {
  const Json json = core::to_plain_json(config);
  FeatureSettings values;
  for (const Feature* feature : catalogue.features()) {
    if (const std::optional<std::string> value = value_at(json, *feature)) values[feature->id] = *value;
  }
  return values;
}

TrainConfig apply_patch(const TrainConfig& config, const Json& patch, const std::string& source) {
  return core::read_train_config(merged(core::to_plain_json(config), patch), source);
}

TrainConfig with_features(const Catalogue& catalogue, const TrainConfig& config, const FeatureSettings& settings) {
  return core::read_train_config(with_settings(catalogue, core::to_plain_json(config), settings), config.name);
}

}  // namespace nanobench::ablations
