/// What else the machine did while a run was measured, and whether that disturbed it. Recording reads /proc and /sys;
/// judging is a pure function of what was recorded. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace nanobench::results {

/// Facts by name, as stored in `run_facts`.
using Facts = std::map<std::string, std::string>;

/// The machine at this moment; keys get `prefix` ("start/", "end/"). What the system does not report is absent:
///   time, uptime_s       time of day; seconds since boot
///   load_1m              runnable processes, mean over a minute
///   cpu_ticks, idle_ticks, steal_ticks   of all processors since boot: total, idle or waiting for disks, taken by the
///                        hypervisor
///   pressure_cpu_us      time since boot during which some process waited for a processor
///   throttled_us         time during which our control group had used up its quota
///   thermal_throttles    number of times that processors slowed down because of heat
///   cpu_mhz              mean frequency of the processors
Facts load_facts(const std::string& prefix);

/// load_facts() at the start and the end of a run that has the machine in several spans, its turns. What counts up has
/// grown at the end by what it grew within the spans. Not thread-safe.
class SpanFacts {
 public:
  void begin();
  void end();
  /// Under "start/" and "end/". REQUIRES a span that has ended.
  Facts facts() const;

 private:
  Facts first_;  ///< at the first begin
  Facts begun_;  ///< at this span's
  Facts last_;   ///< at the last end
  std::map<std::string, double> growth_;
};

/// Seconds that a run had the machine: by its fact kUsedWall, else from its start to its end (ISO 8601). nullopt if
/// neither is known.
std::optional<double> used_seconds(const Facts& facts, const std::string& started_at, const std::string& finished_at);

/// Memory that programs can still have, of the machine and of our control group; nullopt if the system does not say.
std::optional<std::int64_t> available_memory_bytes();

/// The cheapest of these, for a display: uptime_s, load_1m and the ticks; and also memory_total_bytes and
/// memory_available_bytes.
Facts glance_facts(const std::string& prefix);

/// Share of the processors' time between "start/" and "end/" that the hypervisor took; nullopt if the ticks are unknown
/// or did not change.
std::optional<double> steal_share(const Facts& facts);
/// Likewise, the share in which the processors were busy with work of this machine.
std::optional<double> busy_share(const Facts& facts);

// A run is disturbed above these. They are judgement, not measurement: an idle machine stays below roughly these
// values. The facts stay in `run_facts`, for other thresholds.
inline constexpr double kMaxSteal = 0.02;               ///< share of all CPU time
inline constexpr double kMaxMissingProcessors = 0.1;    ///< share of threads that other programs displaced
inline constexpr double kMaxThrottled = 0.01;           ///< share of the wall time
inline constexpr double kMaxInvoluntarySwitches = 100;  ///< per second and thread
inline constexpr double kShortestJudged = 1.0;          ///< seconds, because ticks are a hundredth

/// Why the times of a run with these facts are doubtful, phrased to follow "because"; nullopt if nothing suggests so.
/// `threads` is the number that the run asked for. On a GPU (core/hardware/gpu_report.h) any other process is a
/// disturbance, and so are clocks lowered by heat or by the board. Facts of older versions have only the load at the
/// start: it is judged for them, and for runs shorter than kShortestJudged. That load includes the suite's previous
/// run, so the limit is 1.5 per thread plus one. A run beside others (kJobProcessors) has no times to doubt. Those of a
/// run that was continued from a checkpoint (kResumedStep) are of two parts.
std::optional<std::string> disturbance(const Facts& facts, int threads);

}  // namespace nanobench::results
