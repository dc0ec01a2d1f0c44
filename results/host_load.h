/// What else the machine did while a run was measured, and whether that disturbed it. Recording reads /proc and /sys;
/// judging is a pure function of what was recorded. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace nanobench::results {

/// Facts by name, as `run_facts` keeps them.
using Facts = std::map<std::string, std::string>;

/// The machine at this moment; keys get `prefix` ("start/", "end/"). What the system does not tell is absent:
///   time, uptime_s       time of day; seconds since boot
///   load_1m              processes that wanted to run, mean of a minute
///   cpu_ticks, idle_ticks, steal_ticks   of all processors since boot: whole, idle or waiting for disks, taken by the
///                        hypervisor
///   pressure_cpu_us      time since boot in which some process waited for a processor
///   throttled_us         time in which our control group had used up its quota
///   thermal_throttles    times that processors slowed down for heat
///   cpu_mhz              mean frequency of the processors
Facts load_facts(const std::string& prefix);

/// The few of these that cost next to nothing to ask, for a display: uptime_s, load_1m and the ticks; and beside them
///   memory_total_bytes, memory_available_bytes
Facts glance_facts(const std::string& prefix);

/// Share of the processors' time between "start/" and "end/" that the hypervisor took; nullopt where the ticks are not
/// known, or did not move.
std::optional<double> steal_share(const Facts& facts);
/// The same of the time in which processors worked for somebody of this machine.
std::optional<double> busy_share(const Facts& facts);

// A run is disturbed above these. They are judgement, not measurement: each is about what an idle machine stays below.
// The facts stay in `run_facts`, for other thresholds.
inline constexpr double kMaxSteal = 0.02;               ///< of all CPU time
inline constexpr double kMaxMissingProcessors = 0.1;    ///< of the run's threads: those that other programs kept busy
inline constexpr double kMaxThrottled = 0.01;           ///< of the wall time
inline constexpr double kMaxInvoluntarySwitches = 100;  ///< a second and thread
inline constexpr double kShortestJudged = 1.0;          ///< seconds: ticks are a hundredth

/// Why the times of a run with these facts are doubtful, in words that follow "because"; nullopt when nothing says so.
/// `threads` are those that the run wanted. On a GPU (core/hardware/gpu_report.h) every other process disturbs, and so
/// do clocks that fell for heat or by the board. Facts of older versions have the load at the start only: it is judged
/// then, and for runs shorter than kShortestJudged. The suite's own run before also counts in it, so the limit is 1.5 a
/// thread and one more.
std::optional<std::string> disturbance(const Facts& facts, int threads);

}  // namespace nanobench::results
