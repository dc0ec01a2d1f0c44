/// What a GPU did while something was measured on it, and whose processes were there, asked for repeatedly by a thread
/// of its own. GpuMonitor is thread-safe.
#pragma once

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

/// Whether the process is `root`, or was started by it or by one that was. False for one that is gone.
bool is_of_family(std::int64_t pid, std::int64_t root);

/// Whether this process sees all processes under the numbers that a driver gives them: not in a container.
bool counts_as_driver();

/// Told which processes are on a GPU, again and again, it says who was there besides `root` and its descendants.
class GpuProcessWatch {
 public:
  GpuProcessWatch(std::int64_t root, bool counts_as_driver) : root_(root), is_sure_(counts_as_driver) {}

  void see(const std::vector<std::int64_t>& pids);

  /// Ascending. nullopt where it cannot be told: nothing was ever seen, or the driver counts processes otherwise than
  /// we do, as it may in a container, and none of ours was among them.
  std::optional<std::vector<std::int64_t>> others() const;

 private:
  std::int64_t root_;
  bool is_sure_;  ///< numbers mean the same here and to the driver
  bool has_seen_ = false;
  std::set<std::int64_t> own_;
  std::set<std::int64_t> others_;
};

/// Of the values that were seen.
struct GpuRange {
  double min = 0.0;
  double median = 0.0;
  double max = 0.0;
};

/// What was never told is absent.
struct GpuSummary {
  int samples = 0;  ///< times that the driver was asked
  std::optional<GpuRange> power_w;
  std::optional<GpuRange> sm_clock_mhz;
  std::optional<GpuRange> memory_clock_mhz;
  std::optional<GpuRange> temperature_c;
  std::optional<std::int64_t> most_used_bytes;               ///< of all processes together
  std::optional<std::set<std::string>> throttle_reasons;     ///< all that were seen
  std::optional<std::vector<std::int64_t>> other_processes;  ///< pids of others (gpu_process_watch.h)
};

struct GpuMonitorOptions {
  std::chrono::milliseconds interval{200};
  std::int64_t root = 0;  ///< process whose descendants are the measured ones; 0: this one
};

class GpuMonitor {
 public:
  /// Asks once at once, and then from its thread until stop() or the end.
  explicit GpuMonitor(GpuDevice device, GpuMonitorOptions options = {});
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// So far.
  GpuSummary summary() const;
  /// Asks a last time and ends the thread; later calls change nothing.
  GpuSummary stop();

 private:
  void work();
  void ask();
  void end_thread();

  const GpuDevice device_;
  const std::chrono::milliseconds interval_;

  mutable std::mutex mutex_;  ///< of all below, but the thread
  std::condition_variable wake_;
  bool is_stopping_ = false;
  int samples_ = 0;
  std::vector<double> power_w_, sm_clock_mhz_, memory_clock_mhz_, temperature_c_;
  std::optional<std::int64_t> most_used_bytes_;
  std::optional<std::set<std::string>> throttle_reasons_;
  GpuProcessWatch watch_;

  std::mutex stop_mutex_;  ///< one stops it
  std::thread thread_;
};

}  // namespace nanobench::core
