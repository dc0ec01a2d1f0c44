#include "ablations/resolve.h"

#include <algorithm>

#include "ablations/blame.h"
#include "ablations/effect.h"
#include "ablations/patch.h"
#include "ablations/settle.h"
#include "core/base/error.h"

namespace nanobench::ablations {
namespace {

using core::Json;
using core::TrainConfig;

std::string listed(const FeatureSettings& settings) {
  std::string text;
  for (const auto& [feature, value] : settings) text += (text.empty() ? "" : ", ") + assignment(feature, value);
  return text;
}

Json to_plain_json(const TrainConfig& config) {
  return Json(core::to_json(config));
}

/// What the scale holds and the record has otherwise.
FeatureSettings changed_by_holding(const Catalogue& catalogue, const Settled& settled) {
  FeatureSettings changed;
  const Json without = with_settings(catalogue, settled.record, settled.settings);
  for (const auto& [id, value] : settled.held) {
    const Json& patch = catalogue.feature(id).value(value).patch;
    if (!leaves_unchanged(without, patch) && leaves_unchanged(settled.config, patch)) changed[id] = value;
  }
  return changed;
}

std::string held_note(const Catalogue& catalogue, const Settled& settled, const FeatureSettings& held) {
  std::string text;
  for (const auto& [id, value] : held) {
    const std::optional<std::string> own = value_at(settled.record, catalogue.feature(id));
    text += (text.empty() ? "" : ", ") + assignment(id, value) + (own ? " (officially " + *own + ")" : "");
  }
  return "held by the scale: " + text;
}

/// The steps of resolve() after the settings are settled; errors about fields name who asked for them.
class Resolution {
 public:
  Resolution(const Catalogue& catalogue, const ResolveRequest& request)
      : catalogue_(catalogue),
        request_(request),
        scale_(catalogue.scale(request.scale)),
        settled_(settle(catalogue, request.record, request.settings, scale_.holds)),
        name_(request.record + (settled_.settings.empty() ? "" : " with " + listed(settled_.settings))) {}

  Resolved run() {
    const ScaledConfig scaled = shrink();
    check_needs(catalogue_, request_, settled_, scaled.config);
    check_effects(catalogue_, request_, settled_, resolved_.official, scaled, resolved_.messages);
    finish(scaled);
    return std::move(resolved_);
  }

 private:
  ScaledConfig shrink() {
    resolved_.messages = settled_.messages;
    try {
      resolved_.official = core::read_train_config(settled_.config, name_);
      if (!request_.patch.empty()) {
        resolved_.official = apply_patch(resolved_.official, request_.patch, name_ + " and " + request_.patch_source);
      }
      resolved_.official.name = name_;
      return apply_scale(resolved_.official, scale_, {request_.ranks, request_.processes});
    } catch (const core::LocatedError& error) {
      throw blamed(error, catalogue_, request_, settled_);
    }
  }

  void finish(const ScaledConfig& scaled) {
    resolved_.config = scaled.config;
    resolved_.config.name = name_ + " (" + scale_.id + ")";
    resolved_.effective = feature_values_at(catalogue_, resolved_.official);
    resolved_.settings = settled_.settings;
    resolved_.held = changed_by_holding(catalogue_, settled_);
    if (!resolved_.held.empty()) {
      resolved_.scale_notes.push_back(held_note(catalogue_, settled_, resolved_.held));
    }
    for (const ScaleNote& note : scaled.notes) resolved_.scale_notes.push_back(note.text);
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
  return Resolution(catalogue, request).run();
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

TrainConfig with_features(const Catalogue& catalogue, const TrainConfig& config, const FeatureSettings& settings) {
  return core::read_train_config(with_settings(catalogue, to_plain_json(config), settings), config.name);
}

}  // namespace nanobench::ablations
