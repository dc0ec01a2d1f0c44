/// Where a run computes: the CPU, or a GPU through libnanobench_cuda.so. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/config/train_config.h"
#include "core/hardware/gpu_monitor.h"
#include "core/protocol/run_choices.h"
#include "engine/train/cuda_plugin.h"

namespace nanobench::core {

class RunDevice {
 public:
  /// The CPU.
  RunDevice() = default;
  /// Throws Error{kUnavailable} when the device cannot be had.
  RunDevice(const DeviceChoice& choice, const HostShare& host, const GpuConfig& config);
  /// A GPU through this plugin, which must outlive the object.
  RunDevice(const CudaPlugin& plugin, const DeviceChoice& choice, const HostShare& host, const GpuConfig& config);

  at::Device device() const { return device_; }
  /// Null on the CPU.
  const CudaPlugin* plugin() const { return plugin_; }
  bool is_gpu() const { return plugin_ != nullptr; }

  /// For the record of the run.
  std::map<std::string, std::string> facts() const;
  /// Returns when everything that was enqueued is done.
  void synchronize() const;
  /// Nothing on the CPU.
  std::optional<DeviceMemory> memory() const;
  /// Null on the CPU.
  std::unique_ptr<DeviceMarks> make_marks() const;
  /// Asks the driver about the GPU until it is stopped; null on the CPU and where the driver tells nothing.
  std::unique_ptr<GpuMonitor> make_monitor() const;
  /// The communicator of a run whose tensors are here: `group.host` itself on the CPU, which must outlive this object.
  Communicator& communicator_for(const DeviceGroup& group);

 private:
  void open(const CudaPlugin& plugin, const DeviceChoice& choice, const HostShare& host, const GpuConfig& config);

  at::Device device_ = at::kCPU;
  const CudaPlugin* plugin_ = nullptr;
  std::optional<GpuDevice> gpu_;  ///< as the driver's library knows it
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace nanobench::core
