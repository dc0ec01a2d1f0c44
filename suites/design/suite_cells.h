/// The part of a suite file that says which cells there are (internal to suites): design, base, features, axes. Pure.
#pragma once

#include <string>

#include "core/base/json.h"
#include "suites/design/suite.h"

namespace nanobench::suites {

/// "design". Throws Error{kInvalidArgument} with the nearest name.
Design read_design(core::JsonObject& object);

/// The keys that belong to the suite's design; those of another design stay unknown keys. An external trainer is read
/// before.
void read_cells(core::JsonObject& object, Suite& suite);

/// The list at `key`, empty when absent.
const core::Json& list_at(core::JsonObject& object, const std::string& key);

}  // namespace nanobench::suites
