/// A context in which models and optimisers take no kernels, for tests and benchmarks.
#pragma once

#include "engine/kernels/engine_context.h"

namespace nanobench::core {

struct ReferenceOps : EngineContext {
  ReferenceOps() { set_uses_kernels(false); }
};

}  // namespace nanobench::core
