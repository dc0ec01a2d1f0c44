/// Newton-Schulz iterations with the GPU kernels, in bfloat16 storage. Stateless.
#pragma once

#include <cstdint>

#include "core/config/train_config.h"
#include "engine/ops/orthogonalize.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Whether the kernels take matrices with these sides: multiples of 8.
bool fits_device_newton_schulz(std::int64_t rows, std::int64_t columns);

/// The iterations of newton_schulz (engine/ops/orthogonalize.h) with dtype kBfloat16.
///   x        [n, rows, columns] bfloat16, contiguous, divided by its norms; overwritten
///   returns  [n, rows, columns] bfloat16, contiguous
/// REQUIRES x on a GPU with kernels (engine/ops/kernels.h), and fits_device_newton_schulz(). Enqueues its work and does
/// not wait.
///
/// Gram matrices are symmetric products, of which only half is computed. Tall matrices are transposed once before and
/// once after, so that the same holds for them. Rounds where newton_schulz does: with rounding kFused, b A + c A A is
/// one symmetric product too; with kEachOperation (c A) A is the library's, as round(c A) is another matrix than A.
at::Tensor device_newton_schulz(at::Tensor x, const NewtonSchulzOptions& options);

}  // namespace nanobench::core
