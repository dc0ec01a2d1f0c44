/// The process of an external trainer's command (internal to suites). Not thread-safe.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "suites/run/child_process.h"

namespace nanobench::suites {

/// What the specification of an external run says (external_settings).
struct TrainerSettings {
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::optional<std::vector<std::string>> inherit;  ///< absent: all variables of ours
  std::string folder;
  std::string log_file;
  std::string mark;                             ///< kTrainerMark
  std::map<std::string, std::string> identity;  ///< "revision", "tree": told to the runner as they are
};

/// Throws Error{kInvalidArgument}.
TrainerSettings read_trainer_settings(const core::Json& json);

/// The running command, in our process group, so that the runner's signals reach it. It dies with us; what it started
/// is killed by its mark (marked_processes.h).
class TrainerProcess {
 public:
  explicit TrainerProcess(const TrainerSettings& settings);
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  int output_fd() const { return output_.get(); }   ///< its standard output; non-blocking
  int start_error() const { return start_error_; }  ///< errno of a command that could not be started, or 0
  /// The wait status, once it has ended.
  std::optional<int> poll_status();

 private:
  pid_t pid_ = -1;
  Fd output_;
  int start_error_ = 0;
  std::optional<int> status_;
};

}  // namespace nanobench::suites
