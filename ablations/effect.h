/// Nothing that was asked for may silently do nothing (internal to ablations). Pure; thread-safe.
#pragma once

#include <vector>

#include "ablations/resolve.h"
#include "ablations/scale.h"
#include "ablations/settle.h"

namespace nanobench::ablations {

/// Throws Error{kUnavailable} for a requested setting that acts only with more ranks, processes or threads than this
/// run has. What the record has anyway is not asked.
void check_needs(const Catalogue& catalogue, const ResolveRequest& request, const Settled& settled,
                 const core::TrainConfig& scaled);

/// Throws Error{kUnavailable} for a requested setting, or an inline patch, that changes the official configuration but
/// not the scaled one, with the reason. Returns a message for each part of the patch that does so.
std::vector<core::Message> check_effects(const Catalogue& catalogue, const ResolveRequest& request,
                                         const Settled& settled, const core::TrainConfig& official,
                                         const ScaledConfig& scaled);

}  // namespace nanobench::ablations
