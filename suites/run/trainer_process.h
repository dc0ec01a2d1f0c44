/// Runs the command of an external trainer, or of a launcher, inside the adapter that stands in for an engine
/// (external_engine.h, launched_engine.h). Its output is forwarded to ours and to a reader, signals reach it, and none
/// of its processes outlives the run. Internal to suites. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/process/child_process.h"
#include "suites/run/log_follower.h"

namespace nanobench::suites {

/// The specification of an external run (external_settings).
struct TrainerSettings {
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::optional<std::vector<std::string>> inherit;  ///< absent: all our variables
  std::string folder;
  std::string log_file;
  std::vector<std::string> files;               ///< its sources, as seen from the folder
  std::string mark;                             ///< kTrainerMark
  std::string python_hook;                      ///< folder that PYTHONPATH begins with (PythonModules); may be empty
  std::map<std::string, std::string> identity;  ///< "revision", "seat", "tree": reported to the runner unchanged
  core::Json source;                            ///< of a ScratchTree; null: `folder` is there
};

/// Throws Error{kInvalidArgument}.
TrainerSettings read_trainer_settings(const core::Json& json);

/// The word of its command that names a program, or a script of Python, that is not there or cannot be executed; empty
/// if there is none. Only of what is certain: files of a `source` come with the run.
std::string missing_word(const TrainerSettings& settings);

/// Call before the trainer starts. The trainer gets these signals too and decides how to react; this process stays to
/// report how it ended. A handler, unlike SIG_IGN, is not inherited. If the runner is killed, the trainer's whole
/// process tree is killed, not just this process, because a launcher's workers would otherwise go on.
void set_adapter_signals();

/// Runs in our process group, so that the runner's signals reach it. It dies with this process; what it started is
/// killed by its mark (marked_processes.h).
class TrainerProcess {
 public:
  explicit TrainerProcess(const TrainerSettings& settings);

  /// errno of a command that could not be started, or 0.
  int start_error() const { return child_.start_error(); }

  /// Waits until the trainer has ended and all its output is read. `reader` gets its standard output; it may be null.
  /// `prints_on`: the output is also forwarded to ours. `on_tick(is_last)` is called about ten times a second and once
  /// more at the end.
  core::ProcessExit wait(LogReader* reader, bool prints_on, const std::function<void(bool is_last)>& on_tick);

  /// The last line that is not blank.
  const std::string& last_words() const { return last_words_; }

 private:
  void read_some(LogReader* reader, bool prints_on);

  std::string mark_;
  std::string hook_;
  core::ChildProcess child_;
  core::LineCutter lines_;
  std::string last_words_;
};

/// Ends this process as the trainer ended: by the same signal (then does not return), or returns the exit code to use.
int end_like(const core::ProcessExit& exit);

}  // namespace nanobench::suites
