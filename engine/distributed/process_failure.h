/// Why a run of several processes cannot continue. Plain C++.
#pragma once

#include <stdexcept>
#include <string>

#include "core/protocol/run_choices.h"

namespace nanobench::core {

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

}  // namespace nanobench::core
