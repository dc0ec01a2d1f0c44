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
  /// Throws Error{kUnavailable} if the device is not available.
  RunDevice(const DeviceChoice& choice, const HostShare& host, const GpuConfig& config);
  /// A GPU through this plugin, which must outlive the object.
  RunDevice(const CudaPlugin& plugin, const DeviceChoice& choice, const HostShare& host, const GpuConfig& config);

  at::Device device() const { return device_; }
  /// Null on the CPU.
  const CudaPlugin* plugin() const { return plugin_; }
  bool is_gpu() const { return plugin_ != nullptr; }

  /// Facts for the record of the run.
  std::map<std::string, std::string> facts() const;
  /// Returns when all enqueued work is done.
  void synchronize() const;
  /// nullopt on the CPU.
  std::optional<DeviceMemory> memory() const;
  /// Null on the CPU.
  std::unique_ptr<DeviceMarks> make_marks() const;
  /// Monitor that polls the driver until stopped; null on the CPU and if the driver reports nothing. For a run that
  /// takes turns, the engines that the same runner started are no strangers: they wait while this one computes.
  std::unique_ptr<GpuMonitor> make_monitor(bool takes_turns) const;
  /// The communicator for tensors on this device; on the CPU, `group.host` itself, which must outlive this object.
  Communicator& communicator_for(const DeviceGroup& group);

 private:
  void open(const CudaPlugin& plugin, const DeviceChoice& choice, const HostShare& host, const GpuConfig& config);

  at::Device device_ = at::kCPU;
  const CudaPlugin* plugin_ = nullptr;
  std::optional<GpuDevice> gpu_;  ///< the GPU in the driver's library
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace nanobench::core
