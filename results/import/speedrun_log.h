/// A speedrun trainer's log as values: the curves, the machine, the digest of the embedded script, and any problems.
/// Reads the formats of all published records (speedrun_line.h); one file may hold several runs.
///
/// Logs are untrusted: any bytes give a SpeedrunLog, with its `problems`. Nothing throws except std::bad_alloc. Beside
/// the runs, at most kMaxScriptBytes are held: a script is looked for within them, and longer lines are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/import/script_identity.h"

namespace nanobench::results {

/// The scripts of the records have up to 110 KB.
inline constexpr std::size_t kMaxScriptBytes = std::size_t{16} << 20;

/// What is wrong with a log, or with one run of it.
enum class LogProblem {
  kTooManyRuns,   ///< the others are left out
  kPlanChanges,   ///< the planned number of steps, within a run
  kNoNumber,      ///< in a validation line
  kTwoLosses,     ///< of one step; the first one counts
  kUnordered,     ///< a run's steps
  kLongLine,      ///< left out
  kCutLine,       ///< the last line has no end, and is left out
  kNoValidation,  ///< of a run
  kNotFinite,     ///< a run's last validation loss
  kNoTime,        ///< of a run
  kClockBack,     ///< a run's training clock: it is not that of the whole run
  kNoStep,        ///< the file has a script only
  kCutScript,     ///< the file ends inside of it
  kLongScript,    ///< left out
  kDifferentGpus,
};

/// In words, without a full stop.
std::string words_of(LogProblem problem);
std::vector<std::string> words_of(const std::vector<LogProblem>& problems);

/// Where a log ends that has validations but not the final one. Whether it was cut or the run was meant to end there
/// cannot be told from one log.
struct LogEnd {
  std::int64_t last_validation = 0;  ///< its step
  std::int64_t last_step = 0;        ///< planned; without a plan the last one of the log

  friend bool operator==(const LogEnd&, const LogEnd&) = default;
};

/// "the last validation is at step 5 of 9".
std::string words_of(const LogEnd& end);

struct LoggedValidation {
  std::int64_t step = 0;
  double loss = 0.0;               ///< may be NaN or infinite
  std::optional<double> clock_ms;  ///< training clock; absent if not printed
  std::optional<double> ema_loss;  ///< of the averaged weights, if the trainer has them; may be NaN or infinite
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
  std::vector<LoggedStep> steps;              ///< ascending; only steps that print a loss or a clock
  std::optional<double> step_avg_ms;          ///< the last one printed
  std::optional<double> peak_allocated_mib;   ///< on one GPU
  std::optional<double> peak_reserved_mib;
  std::vector<LogProblem> problems;

  /// The last step that the log mentions; 0 if there is none.
  std::int64_t last_step() const;
  /// The validation at the run's last planned step (without a plan: at the last step of the log); nullopt if the log
  /// ends before it.
  std::optional<LoggedValidation> final_validation() const;
  /// The validation at exactly this step; nullopt if there is none.
  std::optional<LoggedValidation> validation_at(std::int64_t step) const;
  /// Where the log ends before its final validation; nullopt if it has that, or none.
  std::optional<LogEnd> early_end() const;
  /// True if a validation after the first steps has an earlier training clock than one before it, as where the logs of
  /// two runs are joined.
  bool clock_jumps_back() const;
};

struct SpeedrunLog {
  std::uint64_t bytes = 0;
  std::string digest;         ///< digest of the file's bytes
  std::string script_digest;  ///< digest of the embedded script; empty if there is none
  std::uint64_t script_bytes = 0;
  ScriptIdentity script;  ///< the script without what does not change the training; empty if there is none
  std::string gpu;        ///< "NVIDIA H100 80GB HBM3"; empty if not logged
  std::optional<int> gpu_count;
  std::string driver;  ///< versions; empty if not logged
  std::string torch;
  std::string cuda;
  std::string python;
  std::vector<SpeedrunRun> runs;
  std::vector<std::string> notes;    ///< about the format: "no script", "times in seconds", ...
  std::vector<LogProblem> problems;  ///< of the file as a whole

  /// False for a file without any line or script of a trainer: a requirements.txt, a picture.
  bool is_log() const { return !runs.empty() || !script_digest.empty(); }
  /// "8x NVIDIA H100 80GB HBM3", or "unknown GPU".
  std::string hardware() const;
};

/// Reads a log that arrives in pieces. Not thread-safe.
class SpeedrunLogReader {
 public:
  SpeedrunLogReader();
  ~SpeedrunLogReader();
  void add(std::string_view bytes);
  /// Ends the log; call it once.
  SpeedrunLog finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The same for a whole text. Cost: one pass, several hundred MB/s.
SpeedrunLog read_speedrun_log(std::string_view text);

}  // namespace nanobench::results
