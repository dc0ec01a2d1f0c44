/// Newton-Schulz iterations by the GPU's kernels, in bfloat16 storage. Stateless.
#pragma once

#include <cstdint>

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the kernels take matrices of these sides: multiples of 8.
bool fits_device_newton_schulz(std::int64_t rows, std::int64_t columns);

/// The iterations of newton_schulz (engine/ops/orthogonalize.h) with dtype kBfloat16.
///   x        [n, rows, columns] bfloat16, contiguous, divided by its norms; overwritten
///   returns  [n, rows, columns] bfloat16, contiguous
/// REQUIRES a GPU with kernels (engine/ops/kernels.h), where x lies, and fits_device_newton_schulz(). Enqueues,
/// waits for nothing.
///
/// Gram matrices are symmetric products, of which half is computed; tall matrices are transposed once before and once
/// after, so that theirs are too. Rounds where newton_schulz does, with one exception: kGrouped's b A + c A A is one
/// symmetric product, summed in float32 and rounded once, not four times. That is nearer to the exact polynomial.
at::Tensor device_newton_schulz(at::Tensor x, std::int64_t steps, NewtonSchulzForm form);

}  // namespace nanobench::core
