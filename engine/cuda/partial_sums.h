/// The second stage of sums over many blocks. Plain C++: includes no CUDA header. Thread-safe.
///
/// A kernel that sums over all its rows leaves one partial sum per block. These are added in block order, without
/// atomics, so the bits do not depend on which block finished first.
#pragma once

#include <cstdint>

#include "engine/cuda/types.h"

namespace nanobench::core::cuda {

/// Max number of blocks that leave partial sums; workspaces have this size on every device.
inline constexpr std::int64_t kPartialBlocks = 1024;

/// sums[i] = factor * (partials[i, 0] + ... + partials[i, count - 1]), summed in float64.
///   partials  [sums, count] float32, device
///   to        [sums] float32, device
///   adds      adds to the contents of `to` instead of overwriting them
/// Enqueues on `stream`, does not synchronise. Throws CudaError.
void sum_partials(std::int64_t sums, std::int64_t count, const float* partials, float factor, bool adds, float* to,
                  Stream stream);

}  // namespace nanobench::core::cuda
