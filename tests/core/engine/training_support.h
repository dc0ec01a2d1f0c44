// Running the trainer inside a test.
#pragma once

#include <atomic>
#include <vector>

#include "core/train/trainer.h"

namespace nanobench::core::testing {

class EventLog : public MetricSink {
 public:
  void report(const RunEvent& event) override { events.push_back(event); }
  std::vector<RunEvent> events;
};

inline const std::atomic<bool> kNeverStop{false};

/// Losses of all steps.
inline std::vector<double> step_losses(const RunSpec& spec) {
  EventLog log;
  Trainer(spec, log, kNeverStop).run();
  std::vector<double> losses;
  for (const RunEvent& event : log.events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.push_back(step->loss);
  }
  return losses;
}

}  // namespace nanobench::core::testing
