/// Records a GPU's state during a measurement, and whose processes used it. A dedicated thread polls the driver.
/// GpuMonitor is thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/hardware/nvml.h"

namespace nanobench::core {

/// Whether the process is `root` or a descendant of it. False for a process that has ended.
bool is_of_family(std::int64_t pid, std::int64_t root);

/// Whether this process sees all processes under the PIDs that the driver uses; false in a container.
bool counts_as_driver();

/// Collects the processes seen on a GPU and reports those other than `root` and its descendants.
class GpuProcessWatch {
 public:
  GpuProcessWatch(std::int64_t root, bool counts_as_driver) : root_(root), is_sure_(counts_as_driver) {}

  void see(const std::vector<std::int64_t>& pids);

  /// PIDs, ascending. nullopt if unknown: nothing was ever seen, or the driver numbers processes differently (possible
  /// in a container) and none of ours was among them.
  std::optional<std::vector<std::int64_t>> others() const;

 private:
  std::int64_t root_;
  bool is_sure_;  ///< PIDs here match those of the driver
  bool has_seen_ = false;
  std::set<std::int64_t> own_;
  std::set<std::int64_t> others_;
};

/// Range of the sampled values.
struct GpuRange {
  double min = 0.0;
  double median = 0.0;
  double max = 0.0;
};

/// Values that the driver never reported are absent.
struct GpuSummary {
  int samples = 0;  ///< number of driver queries
  std::optional<GpuRange> power_w;
  std::optional<GpuRange> sm_clock_mhz;
  std::optional<GpuRange> memory_clock_mhz;
  std::optional<GpuRange> temperature_c;
  std::optional<GpuRange> utilization_percent, memory_utilization_percent;
  std::optional<GpuRange> pcie_sent_mb_per_s, pcie_received_mb_per_s;
  std::optional<std::int64_t> most_used_bytes;               ///< max total of all processes
  std::optional<std::set<std::string>> throttle_reasons;     ///< all reasons seen
  std::optional<std::vector<std::int64_t>> other_processes;  ///< PIDs of others (GpuProcessWatch)
};

/// How the range of several GPUs follows from theirs: the sum, or that of the GPU where it is worst.
enum class GpuRangeOfAll { kSum, kLowest, kHighest };

/// A sampled value: where it comes from, where its range goes, and the name of its counters, "gpu/NAME/min".
struct GpuSampled {
  const char* name;
  std::optional<double> GpuState::*state;
  std::optional<GpuRange> GpuSummary::*range;
  GpuRangeOfAll of_all;
};
inline constexpr std::array kGpuSampled = {
    GpuSampled{"power_w", &GpuState::power_w, &GpuSummary::power_w, GpuRangeOfAll::kSum},
    GpuSampled{"sm_clock_mhz", &GpuState::sm_clock_mhz, &GpuSummary::sm_clock_mhz, GpuRangeOfAll::kLowest},
    GpuSampled{"memory_clock_mhz", &GpuState::memory_clock_mhz, &GpuSummary::memory_clock_mhz, GpuRangeOfAll::kLowest},
    GpuSampled{"temperature_c", &GpuState::temperature_c, &GpuSummary::temperature_c, GpuRangeOfAll::kHighest},
    GpuSampled{"utilization_percent", &GpuState::utilization_percent, &GpuSummary::utilization_percent,
               GpuRangeOfAll::kLowest},
    GpuSampled{"memory_utilization_percent", &GpuState::memory_utilization_percent,
               &GpuSummary::memory_utilization_percent, GpuRangeOfAll::kLowest},
    GpuSampled{"pcie_sent_mb_per_s", &GpuState::pcie_sent_mb_per_s, &GpuSummary::pcie_sent_mb_per_s,
               GpuRangeOfAll::kSum},
    GpuSampled{"pcie_received_mb_per_s", &GpuState::pcie_received_mb_per_s, &GpuSummary::pcie_received_mb_per_s,
               GpuRangeOfAll::kSum}};

struct GpuMonitorOptions {
  std::chrono::milliseconds interval{200};
  std::int64_t root = 0;  ///< process whose descendants are measured; 0: this process
};

class GpuMonitor {
 public:
  /// Queries the driver once immediately, then from its thread until stop() or destruction.
  explicit GpuMonitor(GpuDevice device, GpuMonitorOptions options = {});
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// Summary so far.
  GpuSummary summary() const;
  /// Queries a last time and ends the thread; later calls have no effect.
  GpuSummary stop();

 private:
  void work();
  void ask();
  void end_thread();

  const GpuDevice device_;
  const std::chrono::milliseconds interval_;

  mutable std::mutex mutex_;  ///< guards everything below except the thread
  std::condition_variable wake_;
  bool is_stopping_ = false;
  int samples_ = 0;
  std::array<std::vector<double>, kGpuSampled.size()> sampled_;  ///< as in kGpuSampled
  std::optional<std::int64_t> most_used_bytes_;
  std::optional<std::set<std::string>> throttle_reasons_;
  GpuProcessWatch watch_;

  std::mutex stop_mutex_;  ///< serialises stop()
  std::thread thread_;
};

}  // namespace nanobench::core
