/// Keys that take some dimensions from the key before them (records #49 on). Stateless, thread-safe.
#pragma once

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// out[t, h, d] = k[t - 1, h, d] in the dimensions that `dims` names for t >= 1, else k[t, h, d]. All are read before
/// any is written: a copy in place that runs upwards would smear the first key over the sequence.
///   k        [T, H, E], E a multiple of 4
///   returns  [T, H, E]; differentiable
/// Source: record #49 (kQuarters), #62 (kUpperHalf).
at::Tensor offset_keys(const at::Tensor& k, KeyOffsetDims dims);

}  // namespace nanobench::core
