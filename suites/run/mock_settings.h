/// Settings of the mock engine: what it draws and how it fails. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/config/train_config.h"

namespace nanobench::suites {

/// What goes wrong, before step `fault_step`.
enum class MockFault {
  kNone,
  kSignal,           ///< raises `value` (default 11, SIGSEGV)
  kNoise,            ///< prints bytes that are not text, then exits with 1
  kExit,             ///< exits with `value` (default 1) without a final event
  kHang,             ///< stops sending events and hangs
  kGarbage,          ///< writes a line that is not JSON, then continues
  kCutLine,          ///< exits with 0 in the middle of a line
  kFlood,            ///< `value` step events (default 1,000,000) as fast as possible, then the rest
  kNan,              ///< the loss is NaN from that step on
  kSlow,             ///< each step takes `value` milliseconds more (default 100)
  kIgnoreSignals,    ///< ignores SIGINT and SIGTERM from that step on; each step takes `value` milliseconds more
  kOutOfMemory,      ///< reports failed / out_of_memory
  kBadAlloc,         ///< ends like a program whose allocation failed
  kUnsupported,      ///< reports failed / unsupported
  kNoHello,          ///< leaves the first event out
  kWrongProtocol,    ///< sends hello with protocol `value` (default 99)
  kRepeatedStep,     ///< repeats the previous step
  kLongLine,         ///< two megabytes without a newline
  kCloseEvents,      ///< closes the event pipe and exits with 0
  kExitAfterFinish,  ///< finishes, then exits with `value` (default 3)
  kGrandchild        ///< leaves a process behind that keeps the pipes open
};

/// A stretch of steps with a step time of its own, as larger windows or batches make them.
struct MockPhase {
  std::int64_t steps = 1;
  double step_ms = 10;  ///< as MockSettings::step_ms
};

struct MockSettings {
  std::int64_t steps = 20;
  std::int64_t val_every = 5;
  std::int64_t untimed_steps = 2;
  double loss_start = 5.5;
  double loss_end = 3.3;          ///< approximate final validation loss
  double loss_sigma = 0;          ///< run-to-run standard deviation of the loss
  double effect = 0;              ///< added to loss_end: the effect of a cell
  double step_ms = 10;            ///< mean of the drawn times
  std::vector<MockPhase> phases;  ///< in order, from step 0; the last one lasts to the end. Empty: step_ms throughout
  double step_cv = 0.02;          ///< their coefficient of variation
  double step_drift = 0;          ///< relative growth of the step time over the run: a host that slows down
  double sleep_ms = 0;            ///< real sleep in each step
  double crash_rate = 0;          ///< probability that the run dies of SIGSEGV half-way
  std::int64_t arm = 0;           ///< arm of an A/A comparison: each arm draws its own noise
  std::int64_t parameters = 1000;
  std::int64_t peak_bytes = 100'000'000;
  std::string no_kernel_for;  ///< reported as an environment fact, as the real engine does; empty: not reported
  std::string gpu_uuid;       ///< the GPU that it claims to use, likewise
  MockFault fault = MockFault::kNone;
  std::int64_t fault_step = 0;
  std::optional<std::int64_t> fault_value;

  /// Mean of the times that are drawn for this step: of its phase, with the drift.
  double mean_step_ms(std::int64_t step) const;
};

/// `json` is null or an object. Absent steps, val_every and untimed_steps come from the configuration. Throws
/// Error{kInvalidArgument} with `source` and the JSON pointer.
MockSettings read_mock_settings(const core::Json& json, const core::TrainConfig& config, const std::string& source);

}  // namespace nanobench::suites
