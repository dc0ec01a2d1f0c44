/// Heads in pairs that share their keys: half as many heads over a sequence twice as long (records #58 on). Stateless,
/// thread-safe.
#pragma once

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Head h of token t becomes row 2 t + h / (H / 2), column h mod (H / 2) with kHalves, which is the order of memory, or
/// row 2 t + h mod 2, column h / 2 with kNeighbours.
///   x        [T, H, E], H even
///   returns  [2 T, H / 2, E]; differentiable
/// Source: record #58, whose comments describe kNeighbours and whose views do kHalves.
at::Tensor paired_heads(const at::Tensor& x, HeadPairing order);

/// The inverse: [2 T, H / 2, E] -> [T, H, E].
at::Tensor unpaired_heads(const at::Tensor& x, HeadPairing order);

}  // namespace nanobench::core
