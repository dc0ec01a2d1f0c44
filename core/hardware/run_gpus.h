/// Combines the GPU observations of a run of several processes, each of which uses one GPU. Pure functions,
/// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/hardware/gpu_monitor.h"

namespace nanobench::core {

/// Observations of one process.
struct ProcessGpu {
  int process = 0;                    ///< number of the process in the run
  std::int64_t pid = 0;               ///< PID on its own host
  std::int64_t host = 0;              ///< equal on one host, different on other hosts
  std::int64_t gpu = -1;              ///< CUDA index of its GPU on that host
  std::optional<GpuSummary> summary;  ///< absent if the driver reports nothing
};

/// Number of the host on which this process's PIDs are counted, small enough for a double. Containers count PIDs
/// separately and are hosts of their own.
std::int64_t host_number();

/// Encodes the observations as exactly kPackedGpu numbers for the other processes. Only the first kMaxPackedProcesses
/// foreign processes are kept.
std::vector<double> packed(const ProcessGpu& gpu);
ProcessGpu unpacked(const std::vector<double>& values);
inline constexpr int kMaxPackedProcesses = 32;
inline constexpr int kPackedGpu = 36 + kMaxPackedProcesses;

/// Removes the run's own processes from the foreign processes, whichever GPU of their host they use.
void exclude_own_processes(std::vector<ProcessGpu>& gpus);

/// The counters of gpu_counters() for the run as a whole: sampled values as kGpuSampled says (power summed
/// over the GPUs, clocks of the GPU whose clock fell lowest, temperature of the hottest), all reasons for lower clocks,
/// all foreign processes, max memory in use on one GPU, and min samples. Also `gpu/watched`, and the gpu_counters() of
/// each GPU as `gpu/process_N/...`. Empty if no process has a driver library.
std::map<std::string, double> run_gpu_counters(const std::vector<ProcessGpu>& gpus);

/// Like gpu_warning(), with the GPUs named: "another process was on GPU 3 (12), GPU 5 slowed down
/// (hw_thermal_slowdown): ...". Also names GPUs that could not be watched.
std::optional<std::string> run_gpu_warning(const std::vector<ProcessGpu>& gpus);

}  // namespace nanobench::core
