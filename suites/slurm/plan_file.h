/// A plan as a file for the tasks on their nodes: everything that a runner needs of it, fully resolved, so that a node
/// needs neither the suite nor the catalogue. Internal to suites. Pure.
#pragma once

#include <string>

#include "core/base/json.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

/// Throws Error{kInvalidArgument} for a path that JSON cannot hold.
std::string plan_text(const Plan& plan);

/// The same plan without what only the submitting side needs: title, design, contrasts, messages, notes of the cells.
/// Throws Error: kDataLoss for a damaged file, kUnavailable for one of another version.
Plan read_plan(const core::Json& value, const std::string& source);

}  // namespace nanobench::suites
