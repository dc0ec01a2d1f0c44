/// Who asked for what cannot be (internal to ablations). Pure; thread-safe.
#pragma once

#include <string>

#include "ablations/resolve.h"
#include "ablations/settle.h"

namespace nanobench::ablations {

/// The error's message, and behind it the settings, the patch or the numbers that wrote one of its places; without any,
/// the record's own value of a feature.
core::Error blamed(const core::LocatedError& error, const Catalogue& catalogue, const ResolveRequest& request,
                   const Settled& settled);

}  // namespace nanobench::ablations
