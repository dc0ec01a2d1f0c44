/// NVIDIA GPUs as reported by the driver's management library (NVML, libnvidia-ml.so.1). The library is loaded on first
/// use. Without it, or without a driver, the result is a reason and no GPU, never an error. Thread-safe.
///
/// $NANOBENCH_NVML names another library, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nanobench::core {

/// Properties of a GPU that stay constant during a run. Values that the driver does not report are absent.
struct GpuFacts {
  std::string name;         ///< "NVIDIA H100 80GB HBM3"
  std::string uuid;         ///< "GPU-4c2f..."; empty if not reported
  std::string driver;       ///< "570.86.15"
  std::string cuda_driver;  ///< newest CUDA version the driver supports: "12.8"
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> power_limit_w;
  std::optional<double> max_sm_clock_mhz;
  std::optional<double> max_memory_clock_mhz;
  std::optional<bool> has_ecc;
  std::optional<bool> is_persistent;  ///< the driver stays loaded while the GPU is unused
  std::optional<bool> has_mig;        ///< split into instances
};

struct GpuProcess {
  std::int64_t pid = 0;  ///< the driver's PID, which may differ from ours in a container
  std::optional<std::int64_t> used_bytes;
};

/// Properties that change during a run.
struct GpuState {
  std::optional<std::int64_t> used_bytes;
  std::optional<double> power_w;
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_c;
  std::optional<double> utilization_percent;         ///< of the time, in which a kernel ran
  std::optional<double> memory_utilization_percent;  ///< of the time, in which memory was read or written
  std::optional<double> pcie_sent_mb_per_s;          ///< by the GPU, over the bus
  std::optional<double> pcie_received_mb_per_s;
  /// Why the clocks are below their maximum: "idle", "power_cap", "hw_thermal_slowdown", ... (nvml_abi.h).
  std::optional<std::vector<std::string>> throttle_reasons;
  std::optional<std::vector<GpuProcess>> processes;  ///< compute processes
};

class NvmlLibrary;

/// One GPU. Copies refer to the same GPU; the library stays open while any copy exists.
class GpuDevice {
 public:
  GpuDevice(std::shared_ptr<const NvmlLibrary> library, void* handle);
  /// Queries the driver on each call, which takes milliseconds; state() about 50, as the bus is sampled.
  GpuFacts facts() const;
  GpuState state() const;

 private:
  std::shared_ptr<const NvmlLibrary> library_;
  void* handle_;
};

/// Why a GPU cannot be used through NVML.
enum class GpuTrouble {
  kNone,
  kNoLibrary,    ///< NVML cannot be loaded
  kNoFunctions,  ///< what was loaded is not NVML
  kNotStarted,
  kNotCounted,
  kNoGpu,       ///< the driver sees none
  kNoAnswer,    ///< of one GPU
  kNoSuchName,  ///< the driver cannot look GPUs up so
  kNotFound,
};

/// The GPUs of this machine in the driver's order, which is not always CUDA's.
struct GpuList {
  std::vector<GpuDevice> devices;
  std::string problem;  ///< why there are none, or fewer than expected, in words; empty if there is no problem
  GpuTrouble trouble = GpuTrouble::kNone;
};
GpuList list_gpus();

struct GpuLookup {
  std::optional<GpuDevice> device;
  std::string problem;  ///< why it was not found, in words
  GpuTrouble trouble = GpuTrouble::kNone;
};
/// Finds a GPU by UUID ("GPU-4c2f...", as CUDA also reports it), PCI address ("0000:65:00.0") or index in list_gpus().
GpuLookup find_gpu(const std::string& id);

/// Memory of the GPU that nobody uses now, in bytes; nullopt if there is no such GPU or its driver does not say.
std::optional<std::int64_t> free_gpu_bytes(const std::string& id);

}  // namespace nanobench::core
