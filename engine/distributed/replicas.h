/// Are the processes' copies of the model still the same?
#pragma once

#include "engine/distributed/communicator.h"
#include "engine/nn/parameters.h"

namespace nanobench::core {

/// A collective: compares all parameters of all processes by digest, bit for bit. Throws Error{kInternal} when they
/// differ, which no setting of a run may bring about.
void check_replicas(const Parameters& parameters, Communicator& communicator);

}  // namespace nanobench::core
