/// Settings of the mock engine: what it draws and how it fails. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/config/train_config.h"

namespace nanobench::suites {

/// What goes wrong, and before which step.
enum class MockFault {
  kNone,
  kSignal,           ///< raises `value` (default 11, SIGSEGV)
  kNoise,            ///< prints bytes that are no text, then exits with 1
  kExit,             ///< exits with `value` (default 1) without a last event
  kHang,             ///< says and does nothing more
  kGarbage,          ///< writes a line that is not JSON, and goes on
  kCutLine,          ///< ends with 0 in the middle of a line
  kFlood,            ///< `value` step events (default 1,000,000) as fast as possible, then the rest
  kNan,              ///< the loss is NaN from there on
  kSlow,             ///< each step takes `value` milliseconds more (default 100)
  kIgnoreSignals,    ///< SIGINT and SIGTERM do nothing from there on; each step takes `value` milliseconds more
  kOutOfMemory,      ///< says failed / out_of_memory
  kBadAlloc,         ///< ends as a program does whose allocation failed
  kUnsupported,      ///< says failed / unsupported
  kNoHello,          ///< leaves the first event out
  kWrongProtocol,    ///< says hello in protocol `value` (default 99)
  kRepeatedStep,     ///< tells the step before once more
  kLongLine,         ///< two megabytes without a newline
  kCloseEvents,      ///< closes the events and ends with 0
  kExitAfterFinish,  ///< finishes, then exits with `value` (default 3)
  kGrandchild        ///< leaves a process behind that keeps the pipes open
};

struct MockSettings {
  std::int64_t steps = 20;
  std::int64_t val_every = 5;
  std::int64_t untimed_steps = 2;
  double loss_start = 5.5;
  double loss_end = 3.3;  ///< what the final validation loss is about
  double loss_sigma = 0;  ///< run-to-run standard deviation of the loss
  double effect = 0;      ///< added to loss_end: what a cell changes
  double step_ms = 10;    ///< mean of the drawn times
  double step_cv = 0.02;  ///< their coefficient of variation
  double step_drift = 0;  ///< relative growth of the step time over the run: a host that slows down
  double sleep_ms = 0;    ///< really slept in each step
  double crash_rate = 0;  ///< chance that the run dies of SIGSEGV half-way
  std::int64_t arm = 0;   ///< of an A/A comparison: another arm draws other noise
  std::int64_t parameters = 1000;
  std::int64_t peak_bytes = 100'000'000;
  std::string no_kernel_for;  ///< told as a fact of its environment, as the real engine does; empty: not told
  MockFault fault = MockFault::kNone;
  std::int64_t fault_step = 0;
  std::optional<std::int64_t> fault_value;
};

/// `json` null or an object; absent steps, val_every and untimed_steps are the configuration's. Throws
/// Error{kInvalidArgument} with `source` and the JSON pointer.
MockSettings read_mock_settings(const core::Json& json, const core::TrainConfig& config, const std::string& source);

}  // namespace nanobench::suites
