/// The second stage of sums over many blocks. Plain C++: includes no CUDA header. Thread-safe.
///
/// A kernel that sums over all its rows leaves one partial sum a block, and these are added in the order of the blocks:
/// no atomics, so the bits do not depend on which block was first.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// Blocks that leave partial sums at most: workspaces are of this size, whatever the device.
inline constexpr std::int64_t kPartialBlocks = 1024;

/// sums[i] = factor * (partials[i, 0] + ... + partials[i, count - 1]), summed in float64.
///   partials  [sums, count] float32, device
///   to        [sums] float32, device
///   adds      to what `to` holds, instead of overwriting it
/// Enqueues on `stream`, does not synchronise. Throws CudaError.
void sum_partials(std::int64_t sums, std::int64_t count, const float* partials, float factor, bool adds, float* to,
                  Stream stream);

}  // namespace nanobench::core::cuda
