/// Which kernels an op takes.
#pragma once

#include "engine/kernels/engine_context.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the CPU's vector kernels may take this tensor: where it lies and what the run asked for allow it.
inline bool may_use_cpu_kernels(const at::Tensor& x) {
  return x.is_cpu() && EngineContext::current().uses_kernels();
}

}  // namespace nanobench::core
