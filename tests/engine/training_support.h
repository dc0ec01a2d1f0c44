// Running the trainer inside a test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "engine/train/trainer.h"
#include "tests/engine/distributed/process_threads.h"

namespace nanobench::core::testing {

class EventLog : public MetricSink {
 public:
  void report(const RunEvent& event) override { events.push_back(event); }
  std::vector<RunEvent> events;
};

inline const std::atomic<bool> kNeverStop{false};

/// A trainer on the CPU: the only process of its run, or one of several.
class CpuTrainer {
 public:
  CpuTrainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop)
      : CpuTrainer(spec, sink, stop, nullptr) {}
  CpuTrainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop, Communicator& communicator)
      : CpuTrainer(spec, sink, stop, &communicator) {}
  RunOutcome run() { return trainer_.run(); }

 private:
  CpuTrainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop, Communicator* communicator)
      : trainer_(spec, sink, stop, communicator == nullptr ? alone_ : *communicator, processor_) {}

  SingleProcess alone_;
  RunDevice processor_;
  Trainer trainer_;
};

/// Trains in as many processes as `spec` says, played by threads. Returns what process 0 reported.
inline EventLog train_to_the_end(const RunSpec& spec) {
  EventLog log;
  const auto processes = static_cast<int>(spec.config.distributed.processes);
  if (processes == 1) {
    CpuTrainer(spec, log, kNeverStop).run();
    return log;
  }
  const std::vector<std::string> failures = play_processes(processes, [&](Communicator& communicator) {
    NullMetricSink nowhere;
    MetricSink& sink = communicator.rank() == 0 ? static_cast<MetricSink&>(log) : nowhere;
    CpuTrainer(spec, sink, kNeverStop, communicator).run();
  });
  NB_EXPECT_NO_FAILURE(failures);
  return log;
}

/// Losses of all steps.
inline std::vector<double> step_losses(const RunSpec& spec) {
  const EventLog log = train_to_the_end(spec);
  std::vector<double> losses;
  for (const RunEvent& event : log.events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.push_back(step->loss);
  }
  return losses;
}

}  // namespace nanobench::core::testing
