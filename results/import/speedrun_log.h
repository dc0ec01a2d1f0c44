/// A log of a speedrun trainer as values: the curves, the machine, the digest of the script that it holds, and what is
/// doubtful about it. The formats of all published records are read (speedrun_line.h); one file may hold several runs.
///
/// Logs come from strangers: any bytes give a SpeedrunLog, with its `problems`; nothing throws but std::bad_alloc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nanobench::results {

struct LoggedValidation {
  std::int64_t step = 0;
  double loss = 0.0;               ///< may be NaN or infinite
  std::optional<double> clock_ms;  ///< training clock; absent where none is printed
};

struct LoggedStep {
  std::int64_t step = 0;
  std::optional<double> loss;      ///< later records print none
  std::optional<double> clock_ms;  ///< training clock after the step
};

/// One training run of a log.
struct SpeedrunRun {
  std::optional<std::int64_t> planned_steps;  ///< the M of step:N/M; absent in the logs of llm.c
  std::vector<LoggedValidation> validations;  ///< ascending steps
  std::vector<LoggedStep> steps;              ///< ascending; those that print a loss or a clock
  std::optional<double> step_avg_ms;          ///< the last one printed
  std::optional<double> peak_allocated_mib;   ///< on one GPU
  std::optional<double> peak_reserved_mib;
  std::vector<std::string> problems;  ///< sentences

  /// The last step that the log speaks of; 0 without any.
  std::int64_t last_step() const;
  /// The validation at the run's last planned step (without a plan: at the last step of the log); nullopt when the log
  /// ends before it.
  std::optional<LoggedValidation> final_validation() const;
};

struct SpeedrunLog {
  std::uint64_t bytes = 0;
  std::string digest;         ///< of the file's bytes
  std::string script_digest;  ///< of the embedded script; empty when there is none
  std::uint64_t script_bytes = 0;
  std::string gpu;  ///< "NVIDIA H100 80GB HBM3"; empty when the log does not say
  std::optional<int> gpu_count;
  std::string driver;  ///< versions, empty when the log does not say
  std::string torch;
  std::string cuda;
  std::string python;
  std::vector<SpeedrunRun> runs;
  std::vector<std::string> notes;     ///< of the format: "no script", "times in seconds", ...
  std::vector<std::string> problems;  ///< of the file as a whole

  /// False for a file without any line or script of a trainer: a requirements.txt, a picture.
  bool is_log() const { return !runs.empty() || !script_digest.empty(); }
  /// "8x NVIDIA H100 80GB HBM3", or "unknown GPU".
  std::string hardware() const;
};

/// Cost: one pass, several hundred MB/s.
SpeedrunLog read_speedrun_log(std::string_view text);

}  // namespace nanobench::results
