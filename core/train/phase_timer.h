/// How a step's time is divided among its phases. Not thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "core/base/op_timer.h"
#include "core/distributed/communicator.h"

namespace nanobench::core {

/// Adds the milliseconds of its scope to a phase; a phase of the profile too, when there is one.
class PhaseTimer {
 public:
  PhaseTimer(std::map<std::string, double>& phases_ms, const char* phase)
      : scope_(SpanKind::kPhase, phase), total_ms_(phases_ms[phase]), start_(std::chrono::steady_clock::now()) {}
  ~PhaseTimer() {
    total_ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  OpTimer scope_;
  double& total_ms_;
  std::chrono::steady_clock::time_point start_;
};

/// Moves what the communicator waits during its scope from one phase to another.
class CommunicationTimer {
 public:
  CommunicationTimer(const Communicator& communicator, double& phase_ms, double& communication_ms)
      : communicator_(communicator),
        phase_ms_(phase_ms),
        communication_ms_(communication_ms),
        start_ms_(communicator.waited_ms()) {}
  ~CommunicationTimer() {
    const double waited_ms = communicator_.waited_ms() - start_ms_;
    phase_ms_ -= waited_ms;
    communication_ms_ += waited_ms;
  }
  CommunicationTimer(const CommunicationTimer&) = delete;
  CommunicationTimer& operator=(const CommunicationTimer&) = delete;

 private:
  const Communicator& communicator_;
  double& phase_ms_;
  double& communication_ms_;
  double start_ms_;
};

}  // namespace nanobench::core
