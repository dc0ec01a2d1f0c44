/// Divides a step's time among its phases, and implements the records' clock. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/op_timer.h"
#include "engine/distributed/communicator.h"
#include "engine/train/cuda_plugin.h"

namespace nanobench::core {

/// The phases of consecutive steps. On a GPU they are measured between marks on its stream, so that nothing waits
/// during a step; complete() adds them up after a synchronisation.
class StepPhases {
 public:
  /// `marks`: those of the computing GPU; null: the host's clock. Must outlive this object.
  explicit StepPhases(DeviceMarks* marks) : marks_(marks) { begin_step(); }

  void begin_step() {
    ms_ = {{"data", 0.0}, {"forward", 0.0}, {"backward", 0.0}, {"optimizer", 0.0}, {"communication", 0.0}};
    spans_.clear();
    if (marks_ != nullptr) marks_->reset();
  }
  /// Call when the device has finished the step.
  void complete() {
    for (const Span& span : spans_) ms_[span.phase] += marks_->elapsed_ms(span.from, span.to);
    spans_.clear();
    for (const auto& [phase, ms] : ms_) total_ms_[phase] += ms;
    ++steps_;
  }
  /// Mean over the complete steps so far.
  std::map<std::string, double> mean_ms() const {
    std::map<std::string, double> mean;
    for (const auto& [phase, ms] : total_ms_) mean[phase] = ms / static_cast<double>(steps_);
    return mean;
  }
  double& operator[](const char* phase) { return ms_[phase]; }
  const std::map<std::string, double>& ms() const { return ms_; }

 private:
  friend class PhaseTimer;
  struct Span {
    const char* phase;
    int from;
    int to;
  };
  DeviceMarks* marks_;
  std::map<std::string, double> ms_;
  std::vector<Span> spans_;
  std::map<std::string, double> total_ms_;
  std::int64_t steps_ = 0;
};

/// Adds the milliseconds of its scope to a phase, and to a phase of the profile if there is one.
class PhaseTimer {
 public:
  PhaseTimer(StepPhases& phases, const char* phase)
      : scope_(SpanKind::kPhase, phase),
        phases_(phases),
        phase_(phase),
        from_(phases.marks_ == nullptr ? 0 : phases.marks_->mark()),
        start_(std::chrono::steady_clock::now()) {}
  ~PhaseTimer() {
    if (phases_.marks_ != nullptr) {
      phases_.spans_.push_back({phase_, from_, phases_.marks_->mark()});
    } else {
      phases_[phase_] += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  OpTimer scope_;
  StepPhases& phases_;
  const char* phase_;
  int from_;
  std::chrono::steady_clock::time_point start_;
};

/// Moves the communicator's waiting time during its scope from one phase to another.
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

/// The records' clock: steps before `untimed_steps` do not count, and validation stops it.
class TrainingClock {
 public:
  explicit TrainingClock(std::int64_t untimed_steps) : untimed_steps_(untimed_steps) {}

  void start_step(std::int64_t step) {
    is_timed_ = step >= untimed_steps_;
    step_start_ = std::chrono::steady_clock::now();
  }

  /// Milliseconds of the step that ends here.
  double end_step() {
    const double step_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - step_start_).count();
    if (is_timed_) {
      total_ms_ += step_ms;
      ++timed_steps_;
    }
    return step_ms;
  }

  /// Training milliseconds so far; nullopt until a step has been timed.
  std::optional<double> train_ms() const { return timed_steps_ > 0 ? std::optional<double>(total_ms_) : std::nullopt; }
  std::int64_t timed_steps() const { return timed_steps_; }
  /// Continues a clock that has counted so much.
  void restore(double train_ms, std::int64_t timed_steps) {
    total_ms_ = train_ms;
    timed_steps_ = timed_steps;
  }

 private:
  std::int64_t untimed_steps_;
  std::int64_t timed_steps_ = 0;
  bool is_timed_ = false;
  double total_ms_ = 0.0;
  std::chrono::steady_clock::time_point step_start_;
};

}  // namespace nanobench::core
