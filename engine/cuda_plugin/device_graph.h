/// Records GPU work with LibTorch's CUDAGraph. Not thread-safe.
#pragma once

#include <functional>
#include <memory>

#include "engine/train/cuda_plugin.h"

namespace nanobench::core::cuda {

/// CudaPlugin::capture. Waits for the whole device before and after.
std::unique_ptr<DeviceGraph> capture(const std::function<void()>& work);

}  // namespace nanobench::core::cuda
