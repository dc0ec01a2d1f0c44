/// Turns names into one complete TrainConfig: record + feature settings + patch, then the scale. The engine gets only
/// the result and never sees a feature. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "core/base/json.h"
#include "core/base/message.h"
#include "core/config/train_config.h"
#include "core/protocol/run_choices.h"

namespace nanobench::ablations {

struct ResolveRequest {
  std::string record = "record17";
  FeatureSettings settings;
  std::string scale = "official";
  /// Merge patch over the official configuration, applied after the features and before the scale.
  core::Json patch = core::Json::object();
  std::string patch_source = "the inline patch";  ///< names the patch in messages, e.g. "suite.json: /base/patch"
  std::optional<std::int64_t> ranks;              ///< replaces the scale's
  std::optional<std::int64_t> processes;          ///< absent: the record's; without `ranks`: as many ranks
  std::optional<std::int64_t> threads;            ///< threads of the run, if known: some features need two
  std::optional<core::DeviceChoice> device;       ///< device of the run, if known: some features need a GPU
};

/// One value of one feature.
struct FeatureSetting {
  std::string feature;
  std::string value;

  friend bool operator==(const FeatureSetting&, const FeatureSetting&) = default;
};

/// A setting that another one pulled in.
struct PulledIn {
  FeatureSetting setting;
  FeatureSetting needed_by;  ///< the setting that requires it
  FeatureSetting asked;      ///< the requested setting at the start of the chain: `needed_by`, or what pulled that in
  std::optional<std::string> before;  ///< the feature's previous value; absent: it had none
};

struct Resolved {
  core::TrainConfig config;              ///< complete, checked, scaled; its name contains record, scale and settings
  core::TrainConfig official;            ///< the same before scaling, with the settings that the scale holds
  FeatureSettings settings;              ///< requested settings and those that they pulled in
  FeatureSettings held;                  ///< what the scale changed in the record, unless a setting overrides it
  FeatureSettings effective;             ///< value of every feature that has one in this configuration
  std::vector<std::string> scale_notes;  ///< what the scale held, shrank and could not keep
  std::vector<PulledIn> pulled_in;       ///< settings that were not requested, in the order set
  std::vector<core::Message> messages;   ///< requirements pulled in, settings and patches that change nothing
};

/// Throws Error{kNotFound} (unknown record, feature, value or scale, with the nearest name), Error{kConflict} (settings
/// that exclude each other, naming both and what to do), Error{kInvalidArgument} (the result is not a valid
/// configuration; names the settings responsible), Error{kUnavailable} (a setting that cannot be set, or would change
/// nothing here).
Resolved resolve(const Catalogue& catalogue, const ResolveRequest& request);

/// The record at its official size. Throws like resolve.
core::TrainConfig resolve_record(const Catalogue& catalogue, const std::string& record);

/// The value whose patch leaves this *official* (unscaled) configuration unchanged; nullopt if none does, as with
/// Muon's features under Adam.
std::optional<std::string> feature_value_at(const core::TrainConfig& config, const Feature& feature);

/// Values of all features that have one in this official configuration.
FeatureSettings feature_values_at(const Catalogue& catalogue, const core::TrainConfig& config);

/// `config` with a merge patch (RFC 7386). null removes a setting: an optional one becomes null ("off"), a field of the
/// other optimizer or schedule type is deleted, and any other returns to its default. Throws Error{kInvalidArgument}
/// with `source` if the result is not a valid configuration.
core::TrainConfig apply_patch(const core::TrainConfig& config, const core::Json& patch, const std::string& source);

/// `config` with these feature values, ignoring their requirements. Throws Error if the result is not a valid
/// configuration.
core::TrainConfig with_features(const Catalogue& catalogue, const core::TrainConfig& config,
                                const FeatureSettings& settings);

}  // namespace nanobench::ablations
