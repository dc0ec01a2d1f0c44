/// What differs between two configurations: the features, and the settings that no feature explains. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ablations/resolve.h"

namespace nanobench::ablations {

/// One of two configurations.
struct ComparedSide {
  core::TrainConfig config;          ///< the requested configuration, or the one that ran
  ResolveRequest request;            ///< record, settings and scale behind it, if known
  std::optional<Resolved> resolved;  ///< what they resolve to; absent if unknown: features are then read from `config`
};

struct FeatureDifference {
  std::string feature;
  std::optional<std::string> a;  ///< absent: the feature has no value
  std::optional<std::string> b;
};

struct SettingDifference {
  std::string pointer;  ///< JSON pointer into TrainConfig
  core::Json a;         ///< also null if the setting does not exist
  core::Json b;
};

struct ConfigDifference {
  std::vector<FeatureDifference> features;  ///< in the catalogue's order
  std::vector<SettingDifference> settings;  ///< settings that the features do not explain; by pointer
};

/// A setting is explained when `a` with b's features, at a's scale, has b's value there. If that cannot be determined
/// (a side is not resolved, or the mixture is not a valid configuration), it is explained if a differing feature sets
/// it.
ConfigDifference config_difference(const Catalogue& catalogue, const ComparedSide& a, const ComparedSide& b);

}  // namespace nanobench::ablations
