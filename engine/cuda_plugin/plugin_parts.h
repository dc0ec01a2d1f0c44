/// What the plugin is made of: recording GPU work with LibTorch's CUDAGraph, and the Communicator between GPUs (NCCL
/// for tensors on a GPU, the host's communicator for all others). Not thread-safe.
#pragma once

#include <functional>
#include <memory>

#include "engine/distributed/communicator.h"
#include "engine/train/cuda_plugin.h"

namespace nanobench::core::cuda {

/// CudaPlugin::capture. Waits for the whole device before and after.
std::unique_ptr<DeviceGraph> capture(const std::function<void()>& work);

/// NCCL does not sum in rank order: sums are the same from run to run, but their bits differ from the CPU's.
/// Collectives run on a separate stream, in the order of issue; waiting for one blocks the current stream, not the
/// host. A thread watches the other processes. When one dies, pending collectives are aborted, and waits for them fail
/// with PeerFailed. All processes call it together. Throws Error{kUnavailable}.
std::unique_ptr<Communicator> make_nccl_communicator(const DeviceGroup& group);

}  // namespace nanobench::core::cuda
