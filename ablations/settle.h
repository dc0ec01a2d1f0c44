/// Applies settings to one record: pulls in what they require, refuses settings that exclude each other, and applies
/// the scale's settings beneath them (internal to ablations). Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ablations/resolve.h"
#include "core/base/json.h"

namespace nanobench::ablations {

struct Settled {
  core::Json record;                        ///< the official configuration without any setting
  core::Json config;                        ///< with the settings and those that the scale holds
  FeatureSettings settings;                 ///< requested settings and those that they pulled in
  FeatureSettings held;                     ///< imposed by the scale, including those that the record already has
  std::vector<FeatureSetting> already_set;  ///< requested settings that the record already has
  std::vector<PulledIn> pulled_in;          ///< in the order in which they were set

  /// nullptr for a feature that was requested or not set.
  const PulledIn* find_pulled_in(const std::string& feature) const;
};

/// Throws like resolve() for errors in the settings alone; the configuration is not read yet.
Settled settle(const Catalogue& catalogue, const std::string& record, const FeatureSettings& requested,
               const FeatureSettings& holds);

/// The record's official configuration as JSON.
core::Json record_json(const Catalogue& catalogue, const std::string& record);

/// `config` with the patches of `held` and, on top, those of `settings`. Required settings come first: "muon" before a
/// setting of Muon.
core::Json with_settings(const Catalogue& catalogue, core::Json config, const FeatureSettings& settings,
                         const FeatureSettings& held = {});

/// The value whose patch leaves this official configuration unchanged.
std::optional<std::string> value_at(const core::Json& config, const Feature& feature);

}  // namespace nanobench::ablations
