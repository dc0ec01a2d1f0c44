/// The GPU of a run, in a separate library: nanobench-train starts and trains without it and without any CUDA library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/device_marks.h"
#include "engine/distributed/communicator.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {

struct DeviceMemory {
  std::int64_t peak_allocated_bytes = 0;  ///< max bytes allocated by tensors
  std::int64_t peak_reserved_bytes = 0;   ///< max bytes reserved from the driver
  std::int64_t allocations = 0;           ///< tensors' memory handed out, from the allocator's reserve or the driver
  std::int64_t driver_allocations = 0;    ///< of these, times that the driver was asked
  std::int64_t retries = 0;               ///< times that the reserve was given back first, because memory was short
};

/// Device work that was recorded once. Not thread-safe.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Enqueues all of it on the current stream without waiting.
  virtual void replay() = 0;
};

/// Options for opening a GPU.
struct CudaOptions {
  int index = 0;
  bool expandable_segments = false;  ///< of LibTorch's allocator; always set, overriding the environment
  bool initial_backward = false;     ///< runs a backward pass through one number before any other setup
  cuda::DeviceAttentionProducts attention_products = cuda::DeviceAttentionProducts::kWarp;
};

/// The interface that libnanobench_cuda.so provides at kCudaPluginSymbol. Functions throw Error and c10::Error.
struct CudaPlugin {
  int version = 0;
  const char* libtorch = "";  ///< version it was built with
  int (*device_count)() = nullptr;
  /// Selects this process's GPU and warms up its libraries. Call it once, before anything is allocated. Throws
  /// Error{kUnavailable} if there is no driver, no such GPU, or it lacks the attention products.
  void (*open)(const CudaOptions& options) = nullptr;
  /// Facts on the open GPU: gpu, compute_capability, gpu_memory_bytes, cuda_runtime, cuda_driver, expandable_segments.
  std::map<std::string, std::string> (*facts)() = nullptr;
  void (*synchronize)() = nullptr;
  DeviceMemory (*memory)() = nullptr;
  std::unique_ptr<DeviceMarks> (*make_marks)() = nullptr;
  /// NCCL between the GPUs of all processes of the group; tensors on the CPU go through group.host. A collective
  /// operation.
  std::unique_ptr<Communicator> (*make_communicator)(const DeviceGroup& group) = nullptr;
  const CudaKernels* kernels = nullptr;
  /// Runs `work` a few times on a separate stream and then records it. Temporaries of `work` use memory that the graph
  /// owns for its lifetime; all other memory it reads or writes must keep its address. `work` must not read a value
  /// back, wait, or read changing host data. Throws Error and c10::Error if something in it cannot be recorded;
  /// recording has then stopped.
  std::unique_ptr<DeviceGraph> (*capture)(const std::function<void()>& work) = nullptr;
};

/// Increases with every change to the interfaces shared by the plugin and the engine.
inline constexpr int kCudaPluginVersion = 9;
inline constexpr const char* kCudaPluginSymbol = "nanobench_cuda_plugin";

/// Loads libnanobench_cuda.so, which is beside the program. Throws Error{kUnavailable} with the loader's own reason if
/// it is missing or has a different version.
const CudaPlugin& load_cuda_plugin();

}  // namespace nanobench::core
