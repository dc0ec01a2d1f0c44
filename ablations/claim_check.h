/// Relations of a claim to the rest of the catalogue (internal to ablations). Pure; thread-safe.
#pragma once

#include "ablations/catalogue.h"

namespace nanobench::ablations {

/// The record, features and values that the claim names exist. Throws Error{kInvalidArgument} at the claim's file.
void check_claim(const Catalogue& catalogue, const Claim& claim);

}  // namespace nanobench::ablations
