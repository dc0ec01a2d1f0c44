/// The life of a trainer's process inside an adapter (external_engine.h, launched_engine.h): its output goes on to ours
/// and to a reader, signals reach it, nothing of it outlives the run. Internal to suites. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "suites/run/line_cutter.h"
#include "suites/run/log_follower.h"
#include "suites/run/trainer_process.h"

namespace nanobench::suites {

/// All of it, whatever it takes; stops where nobody reads any more.
void write_all(int fd, std::string_view bytes);

/// Call before the trainer starts. It gets the signals too and decides; we stay to tell how it ended. A handler, unlike
/// SIG_IGN, is not inherited. A runner that is killed takes the trainer's whole tree with it, not this process alone: a
/// launcher's workers would go on.
void set_adapter_signals();

class TrainerSession {
 public:
  /// `reader` gets what the trainer prints, as it is; null: nobody does. Neither is owned. `prints_on`: what it prints
  /// also goes to our standard output.
  TrainerSession(TrainerProcess& trainer, std::string mark, LogReader* reader, bool prints_on = true);

  /// Until the trainer has ended and all it printed is read; `on_tick(is_last)` comes about ten times a second and once
  /// more at the end. Returns the wait status.
  int wait(const std::function<void(bool is_last)>& on_tick);

  /// The last line that says something.
  const std::string& last_words() const { return last_words_; }

 private:
  void read_some();
  void take(std::string_view bytes);

  TrainerProcess& trainer_;
  std::string mark_;
  LogReader* reader_;
  bool prints_on_;
  int output_fd_;
  LineCutter lines_;
  std::string last_words_;
};

/// Ends this process as the trainer ended: by the same signal (does not return then), or with the exit code returned.
int end_like(int wait_status);

}  // namespace nanobench::suites
