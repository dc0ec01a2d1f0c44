/// NVIDIA GPUs as their driver's management library (NVML, libnvidia-ml.so.1) tells of them. The library is looked for
/// when it is asked for: without it, or without a driver, there is a reason and no GPU, and never an error.
/// Thread-safe.
///
/// $NANOBENCH_NVML names another library, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::core {

/// What of a GPU stays the same during a run. What its driver does not tell is absent.
struct GpuFacts {
  std::string name;         ///< "NVIDIA H100 80GB HBM3"
  std::string uuid;         ///< "GPU-4c2f..."; empty when it is not told
  std::string driver;       ///< "570.86.15"
  std::string cuda_driver;  ///< newest CUDA that the driver runs: "12.8"
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> power_limit_w;
  std::optional<double> max_sm_clock_mhz;
  std::optional<double> max_memory_clock_mhz;
  std::optional<bool> has_ecc;
  std::optional<bool> is_persistent;  ///< the driver stays loaded while nobody uses the GPU
  std::optional<bool> has_mig;        ///< split into instances
};

struct GpuProcess {
  std::int64_t pid = 0;  ///< as the driver counts: inside a container it may be another number than ours
  std::optional<std::int64_t> used_bytes;
};

/// What changes.
struct GpuState {
  std::optional<std::int64_t> used_bytes;
  std::optional<double> power_w;
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;
  /// Why the clocks are not at their highest: "idle", "power_cap", "hw_thermal_slowdown", ... (nvml_abi.h).
  std::optional<std::vector<std::string>> throttle_reasons;
  std::optional<std::vector<GpuProcess>> processes;  ///< those that compute
};

class NvmlLibrary;

/// One GPU. Copies are the same one; the library stays open as long as any lives.
class GpuDevice {
 public:
  GpuDevice(std::shared_ptr<const NvmlLibrary> library, void* handle);
  /// Asks the driver each time: milliseconds.
  GpuFacts facts() const;
  GpuState state() const;

 private:
  std::shared_ptr<const NvmlLibrary> library_;
  void* handle_;
};

/// Those of this machine, in the driver's order, which is not always CUDA's.
struct GpuList {
  std::vector<GpuDevice> devices;
  std::string problem;  ///< why there are none, or less than there might be; empty when all is well
};
GpuList list_gpus();

struct GpuLookup {
  std::optional<GpuDevice> device;
  std::string problem;  ///< why it is not found
};
/// By UUID ("GPU-4c2f...", as CUDA tells it too), PCI address ("0000:65:00.0") or number in list_gpus().
GpuLookup find_gpu(const std::string& id);

}  // namespace nanobench::core
