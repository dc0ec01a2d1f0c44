/// Merge patches over TrainConfig as JSON (internal to ablations). Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace nanobench::ablations {

/// RFC 7386, except that a null for an optional setting stays null ("off"), because deleting it would restore its
/// default.
core::Json merged(core::Json config, const core::Json& patch);

/// Does the patch leave this configuration unchanged?
bool leaves_unchanged(const core::Json& config, const core::Json& patch);

/// Do two patches set a common field?
bool overlap(const core::Json& a, const core::Json& b);

/// Are two JSON pointers equal, or does one name a group that contains the other?
bool covers(const std::string& a, const std::string& b);

/// JSON pointers of the settings that a patch writes.
std::vector<std::string> leaves_of(const core::Json& patch);

/// Does the patch write this setting, or one inside it?
bool touches(const core::Json& patch, const std::string& pointer);

/// Throws Error{kInvalidArgument} at `source`: `pointer`... for a key that is not a TrainConfig setting (with the
/// nearest name) or a value of the wrong shape.
void check_patch(const core::Json& patch, const std::string& source, const std::string& pointer);

}  // namespace nanobench::ablations
