/// Keys that take some dimensions from the key before them (records #49 on). Stateless, thread-safe.
#pragma once

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// out[t, h, d] = k[t - 1, h, d] in the dimensions that `dims` names for t >= 1, else k[t, h, d]. With kShifted all are
/// read before any is written; with kInPlace out[t, h, d] = out[t - 1, h, d], so all are the first key's.
///   k        [T, H, E], E a multiple of 4
///   returns  [T, H, E]; differentiable
/// Source: record #49 (kQuarters), #62 (kUpperHalf). Its assignment in place is a shift as compiled, and kInPlace as
/// LibTorch runs it operation by operation.
at::Tensor offset_keys(const at::Tensor& k, KeyOffsetDims dims, KeyOffsetCopy copy);

}  // namespace nanobench::core
