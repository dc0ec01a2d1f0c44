/// What is known about a claim without any run: published figures of the records, and settings of their
/// configurations. Pure; thread-safe.
#pragma once

#include <optional>

#include "ablations/catalogue.h"
#include "ablations/claim.h"

namespace nanobench::ablations {

/// The number that the claim's rule judges, from the arms' resolved official configurations (config), the arms'
/// published figures (published_log; cells of plain records), else the value that the claim's file gives. nullopt when
/// none of them has it. Throws Error{kNotFound} for an arm's record, feature or value that does not exist.
std::optional<double> known_value(const Catalogue& catalogue, const Claim& claim);

}  // namespace nanobench::ablations
