/// The GPU of a run, in a library of its own: nanobench-train starts and trains without it and without any library of
/// CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/distributed/communicator.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {

struct DeviceMemory {
  std::int64_t peak_allocated_bytes = 0;  ///< by tensors
  std::int64_t peak_reserved_bytes = 0;   ///< from the driver
};

/// Times between marks on the device's stream; nothing is waited for before elapsed_ms. Not thread-safe.
class DeviceMarks {
 public:
  virtual ~DeviceMarks() = default;
  /// Enqueues a mark; returns its number, 0, 1, ... since the last reset.
  virtual int mark() = 0;
  /// Between two marks. Waits for the second one, which costs nothing after the device has been waited for.
  virtual double elapsed_ms(int from, int to) = 0;
  virtual void reset() = 0;
};

/// Work of a device that was recorded once. Not thread-safe.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Enqueues all of it on the current stream; waits for nothing.
  virtual void replay() = 0;
};

/// What a GPU is opened with.
struct CudaOptions {
  int index = 0;
  bool expandable_segments = false;  ///< of LibTorch's allocator; said either way, whatever the environment says
  bool initial_backward = false;     ///< a backward pass through one number, before anything else is set up
  cuda::AttentionProducts attention_products = cuda::AttentionProducts::kWarp;
};

/// What libnanobench_cuda.so gives at kCudaPluginSymbol. Functions throw Error and c10::Error.
struct CudaPlugin {
  int version = 0;
  const char* libtorch = "";  ///< version that it was built with
  int (*device_count)() = nullptr;
  /// Makes a GPU the one of this process and warms its libraries up; to be called once, before anything is allocated.
  /// Throws Error{kUnavailable} without a driver, without such a GPU, or for products that it has not.
  void (*open)(const CudaOptions& options) = nullptr;
  /// Of the open GPU: gpu, compute_capability, gpu_memory_bytes, cuda_runtime, cuda_driver, expandable_segments.
  std::map<std::string, std::string> (*facts)() = nullptr;
  void (*synchronize)() = nullptr;
  DeviceMemory (*memory)() = nullptr;
  std::unique_ptr<DeviceMarks> (*make_marks)() = nullptr;
  /// NCCL between the GPUs of all processes of the group; tensors on the CPU go through group.host. A collective
  /// operation.
  std::unique_ptr<Communicator> (*make_communicator)(const DeviceGroup& group) = nullptr;
  const CudaKernels* kernels = nullptr;
  /// Does `work` a few times on a stream of its own and then records it. Everything that `work` makes and drops comes
  /// from memory that is the graph's as long as that lives; what it reads and writes besides must stay where it is. It
  /// must not ask for a value, wait, or read what changes on the host. Throws Error and c10::Error when something in it
  /// cannot be recorded; nothing is being recorded then.
  std::unique_ptr<DeviceGraph> (*capture)(const std::function<void()>& work) = nullptr;
};

/// Goes up with every change of the interfaces that the plugin and the engine share.
inline constexpr int kCudaPluginVersion = 5;
inline constexpr const char* kCudaPluginSymbol = "nanobench_cuda_plugin";

/// Loads libnanobench_cuda.so, which lies beside the program. Throws Error{kUnavailable} with the loader's own reason
/// when there is none, or one of another version.
const CudaPlugin& load_cuda_plugin();

}  // namespace nanobench::core
