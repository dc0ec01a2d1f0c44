/// Processes that carry a mark in their environment, and the end of them: a process group does not hold those that make
/// sessions of their own, as launchers of several workers do. Linux; reads /proc.
#pragma once

#include <string>

namespace nanobench::suites {

/// The environment variable with the mark; children inherit it.
inline constexpr const char* kTrainerMark = "NANOBENCH_TRAINER";

/// A mark that no other run has.
std::string new_trainer_mark();

/// SIGKILL to every process with this mark, again and again until none is left: they may start others meanwhile. Gives
/// up after a second. What has cleared its environment is not seen.
void kill_marked(const std::string& mark);

/// Kills them with this object; an empty mark: nothing.
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
