/// What differs between two configurations: the features, and the settings that no feature explains. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ablations/resolve.h"

namespace nanobench::ablations {

/// One of two configurations.
struct ComparedSide {
  core::TrainConfig config;          ///< what was asked for, or what ran
  ResolveRequest request;            ///< record, settings and scale that gave it, where they are known
  std::optional<Resolved> resolved;  ///< what they give; absent: not known, then features are read off `config`
};

struct FeatureDifference {
  std::string feature;
  std::optional<std::string> a;  ///< absent: the feature has no value there
  std::optional<std::string> b;
};

struct SettingDifference {
  std::string pointer;  ///< JSON pointer into TrainConfig
  core::Json a;         ///< null also where the setting does not exist
  core::Json b;
};

struct ConfigDifference {
  std::vector<FeatureDifference> features;  ///< in the catalogue's order
  std::vector<SettingDifference> settings;  ///< that are not what the features make of them; by pointer
};

/// A setting is explained when `a` with b's features, at a's scale, has b's value there. Where that cannot be said (a
/// side is not resolved, or the mixture is no valid configuration) it is explained when a feature that differs sets it.
ConfigDifference config_difference(const Catalogue& catalogue, const ComparedSide& a, const ComparedSide& b);

}  // namespace nanobench::ablations
