/// Finds and kills processes that carry a mark in their environment. A process group misses processes that create their
/// own sessions, as launchers of several workers do. Linux; reads /proc.
#pragma once

#include <string>

namespace nanobench::suites {

/// The environment variable with the mark; children inherit it.
inline constexpr const char* kTrainerMark = "NANOBENCH_TRAINER";

/// A mark unique to one run.
std::string new_trainer_mark();

/// Sends SIGKILL to every process with this mark, repeatedly until none is left, because they may start others
/// meanwhile. Gives up after a second. Does not see processes that cleared their environment.
void kill_marked(const std::string& mark);

/// Kills the marked processes on destruction; does nothing for an empty mark.
class MarkedProcesses {
 public:
  explicit MarkedProcesses(std::string mark) : mark_(std::move(mark)) {}
  ~MarkedProcesses() {
    if (!mark_.empty()) kill_marked(mark_);
  }
  MarkedProcesses(const MarkedProcesses&) = delete;
  MarkedProcesses& operator=(const MarkedProcesses&) = delete;

  const std::string& mark() const { return mark_; }

 private:
  std::string mark_;
};

}  // namespace nanobench::suites
