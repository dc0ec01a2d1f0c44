/// The GPUs of a run of several processes, which take one each: what every process saw of its own, brought together.
/// Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/hardware/gpu_monitor.h"

namespace nanobench::core {

/// What one process saw.
struct ProcessGpu {
  int process = 0;                    ///< of the run
  std::int64_t pid = 0;               ///< as its own host counts
  std::int64_t host = 0;              ///< the same number on one host, another one elsewhere
  std::int64_t gpu = -1;              ///< number of its GPU on that host, as CUDA counts
  std::optional<GpuSummary> summary;  ///< absent where the driver tells nothing of it
};

/// Of the host that this process counts processes on, small enough for a double: containers count on their own.
std::int64_t host_number();

/// As numbers to be sent to the other processes: always kPackedGpu of them. Of many foreign processes the first ones.
std::vector<double> packed(const ProcessGpu& gpu);
ProcessGpu unpacked(const std::vector<double>& values);
inline constexpr int kMaxPackedProcesses = 32;
inline constexpr int kPackedGpu = 24 + kMaxPackedProcesses;

/// The run's other processes are no foreign ones, whichever GPUs of their host they are on.
void forgive_own_processes(std::vector<ProcessGpu>& gpus);

/// The names of gpu_counters() for the run as a whole: power summed up over the GPUs, clocks of the one whose clock
/// fell lowest, temperature of the hottest, any reason for lower clocks, the foreign processes of all, the most memory
/// in use on one, and the fewest samples. Besides `gpu/watched`, and of each GPU `gpu/process_N/...` with what
/// gpu_counters() says of it. Empty where no process has a driver's library to ask.
std::map<std::string, double> run_gpu_counters(const std::vector<ProcessGpu>& gpus);

/// As gpu_warning(), and which GPUs: "another process was on GPU 3 (12), GPU 5 slowed down (hw_thermal_slowdown): ...".
/// Also says which could not be watched.
std::optional<std::string> run_gpu_warning(const std::vector<ProcessGpu>& gpus);

}  // namespace nanobench::core
