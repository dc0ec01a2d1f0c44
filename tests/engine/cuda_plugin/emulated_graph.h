/// What a CUDA graph does, for tensors on the CPU: the host's side of some work is frozen when it is recorded, and only
/// tensors are as they are when it is replayed. A process forked at the recording keeps the frozen side; tensors lie in
/// memory that it shares. So a number that the work reads from the host stays what it was, and a tensor that was
/// replaced is read where it lay. Linux, one thread.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include <functional>
#include <memory>

#include "engine/train/cuda_plugin.h"

namespace nanobench::core::testing {

/// The priority of the allocators that tests put in the place of LibTorch's for the CPU; each puts that back.
inline constexpr std::uint8_t kTestAllocatorPriority = 1;

/// LibTorch's tensors on the CPU lie in memory that forked processes share, as long as this lives. One at a time.
class SharedTensors {
 public:
  SharedTensors();
  ~SharedTensors();
  SharedTensors(const SharedTensors&) = delete;
  SharedTensors& operator=(const SharedTensors&) = delete;
};

/// REQUIRES SharedTensors since before the first tensor that the work uses, and one thread for LibTorch and kernels.
class EmulatedGraph : public DeviceGraph {
 public:
  /// Does `work` once to see whether it asks a tensor for a value, as no graph may: throws Error{kUnavailable} with the
  /// operation. Then records it.
  explicit EmulatedGraph(const std::function<void()>& work);
  ~EmulatedGraph() override;
  /// Returns when it is done.
  void replay() override;

 private:
  pid_t recorder_ = 0;
  int orders_ = -1, answers_ = -1;
};

}  // namespace nanobench::core::testing
