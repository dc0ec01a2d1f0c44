/// One engine process in its own process group, with its events and output on pipes, and the classification of its end:
/// a RunOutcome and one sentence. The process dies with this one.
///
/// Not thread-safe. The starting thread must outlive the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/process/child_process.h"
#include "core/protocol/run_event.h"
#include "suites/design/seats.h"

namespace nanobench::suites {

/// How an engine shares the machine.
struct EnginePlace {
  bool takes_turns = false;     ///< it is given a pipe on which it may wait for its turns
  std::vector<int> processors;  ///< the only ones that it may use; empty: all of ours
  bool is_cold = false;         ///< its caches may be empty, because a warm-up failed

  std::optional<Seat> seat{};  ///< of an external trainer

  /// Whether other runs compute at the same time and may slow it down, which makes its times worthless.
  bool is_beside_others() const { return !takes_turns && !processors.empty() && !seat; }
  bool gives_times() const { return !is_beside_others() && !is_cold; }
};

class EngineProcess {
 public:
  /// Starts `command --spec FILE --events-fd N`. The spec is an anonymous file in memory, so nothing is left on disk
  /// whatever happens. Throws Error{kUnavailable} when the program cannot be started.
  EngineProcess(const std::vector<std::string>& command, const std::string& spec_text, const EnginePlace& place = {});

  core::Fd& output() { return child_.pipe(0); }  ///< standard output
  core::Fd& errors() { return child_.pipe(1); }  ///< standard error
  core::Fd& events() { return child_.pipe(2); }

  /// Waits until the engine writes, `other_fd` is readable, or a tenth of a second has passed. An exit is noticed with
  /// the same delay if a child of the engine keeps its pipes open.
  void wait(int other_fd = -1);
  /// Lets the engine take the steps before `until`. An engine that has gone is noticed by poll_exit().
  void grant_turn(std::int64_t until) const;
  /// The file that is executed (ChildProcess::executable).
  std::string executable() const { return child_.executable(); }
  /// Signals the whole group.
  void signal(int number) const { child_.signal(number); }
  /// The exit, once it has happened. All that the engine wrote is then in the pipes, and its group is dead.
  std::optional<core::ProcessExit> poll_exit() { return child_.poll_exit(); }

 private:
  EngineProcess(const std::vector<std::string>& command, const std::string& spec_text, const EnginePlace& place,
                std::optional<core::Pipe> turns);

  core::Fd turns_;  ///< write end; closed where the engine takes no turns
  core::ChildProcess child_;
};

/// Why the runner itself stopped an engine.
enum class StopReason { kNone, kInterrupted, kTimeLimit, kSilence, kBrokenEvents, kNotFinite };

struct RunEnd {
  StopReason stop = StopReason::kNone;
  std::string stop_message;  ///< set unless `stop` is kNone
  std::optional<core::FinishedEvent> finished;
  std::optional<core::FailedEvent> failed;
  std::optional<std::string> not_finite;  ///< where the first non-finite loss occurred
  core::ProcessExit exit;
  bool has_hello = true;        ///< the engine sent its hello event
  bool was_oom_killed = false;  ///< the kernel's counter of such kills rose meanwhile
  bool has_cut_line = false;    ///< the events end in the middle of a line
  std::string output_tail;      ///< the engine's last words
};

struct Classification {
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;  ///< empty when completed
};

/// How an engine ended that did not end as it should. The words are a part of what is said of its run.
enum class EarlyEnd {
  kUnsaid,        ///< before it said that it had finished
  kCutLine,       ///< within an event line
  kLongLine,      ///< after an event line that was too long
  kUnusableLine,  ///< after an event line that cannot be read, or makes no sense there
  kAfterFinish,   ///< badly, after it had said that it had finished
};
const char* words_of(EarlyEnd end);

Classification classify(const RunEnd& end);

/// The number of processes that the kernel has killed for lack of memory (in this cgroup, else on the machine); nullopt
/// if the kernel does not report it.
std::optional<std::int64_t> oom_kills();

}  // namespace nanobench::suites
