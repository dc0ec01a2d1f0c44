/// Pairwise connections between the processes of a run, and why a run of several processes cannot continue. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "core/protocol/run_choices.h"

namespace nanobench::core {

/// The outcome that a run gets when a process fails, and the reason for people.
struct ProcessFailure {
  RunOutcome outcome = RunOutcome::kCrashed;
  std::string message;
};

/// Thrown when a process waits for others and one of them has failed.
class PeerFailed : public std::runtime_error {
 public:
  explicit PeerFailed(const ProcessFailure& failure) : std::runtime_error(failure.message), outcome_(failure.outcome) {}
  RunOutcome outcome() const { return outcome_; }

 private:
  RunOutcome outcome_;
};

/// "process 2 of 4 (the first is 0)".
inline std::string process_name(int rank, int size) {
  return "process " + std::to_string(rank) + " of " + std::to_string(size) + " (the first is 0)";
}

/// "process 0 of 4 (the first is 0) received nothing from process 2: ", which its reason follows.
inline std::string silence_of(int rank, int size, int other) {
  return process_name(rank, size) + " received nothing from process " + std::to_string(other) + ": ";
}

/// What is said of a process whose connection ends.
inline std::string silent_end_of(int rank, int size) {
  return process_name(rank, size) + " has ended without a word";
}

/// Used by one thread at a time.
class Mesh {
 public:
  virtual ~Mesh() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;

  /// Sends outgoing[p] to every other process p and fills incoming[p] from it; the process's own entry is ignored. All
  /// processes call it together, with the same `tag` and matching sizes. Throws PeerFailed when a process has ended, or
  /// when two processes disagree, which would be a bug in this program.
  virtual void exchange(std::uint32_t tag, std::span<const std::span<const std::byte>> outgoing,
                        std::span<const std::span<std::byte>> incoming) = 0;
};

/// Returns the failure to report instead of `found`: the first known failure of the run.
using FirstFailure = std::function<ProcessFailure(const ProcessFailure& found)>;

}  // namespace nanobench::core
