/// Events of an engine process: one JSON object per line on its event file descriptor. FORMAT.md documents them for
/// authors of other engines. Times are milliseconds of the training clock unless named otherwise; NaN travels as null.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/json.h"
#include "core/protocol/run_choices.h"

namespace nanobench::core {

/// Parts of a training step, by name: "blocks", "muon".
using StepParts = std::set<std::string>;

/// The fact `no_kernel_for` of an engine's environment: "blocks, muon", or "none".
std::string text_of(const StepParts& parts);
/// The parts in that text; nullopt for an empty text, which means that the engine omitted it.
std::optional<StepParts> read_step_parts(const std::string& text);

/// First line of a run.
struct HelloEvent {
  std::string engine;                              ///< "nanobench-train"
  std::string engine_version;                      ///< version and revision
  std::map<std::string, std::string> environment;  ///< libtorch, compiler, device, cpu_capability, ...
  int threads = 0;
  std::int64_t parameters = 0;  ///< number of trained numbers
  /// Steps that the engine will take, each in a turn that the runner grants; absent: it does not wait for turns.
  std::optional<std::int64_t> turn_steps;
};

/// One optimiser step. `phases_ms`: data, forward, backward, optimizer, communication.
struct StepEvent {
  std::int64_t step = 0;
  double loss = 0.0;               ///< mean over the sequences of the step, before its update
  double step_ms = 0.0;            ///< wall time of the step
  std::optional<double> train_ms;  ///< training clock after the step; absent while untimed
  std::int64_t window_tokens = 0;  ///< 0: no window
  double learning_rate_factor = 1.0;
  std::map<std::string, double> phases_ms;
  bool has_loss = true;  ///< false: the engine reports no loss for this step, and `loss` is meaningless
};

/// One validation, before the update of `step`.
struct EvalEvent {
  std::int64_t step = 0;
  double loss = 0.0;
  std::optional<double> train_ms;
  std::int64_t tokens = 0;
};

struct MemoryEvent {
  std::int64_t step = 0;
  /// Peak resident set; on a GPU the peak of what its tensors have allocated. Summed over the run's processes.
  std::int64_t peak_bytes = 0;
};

/// A named number about the run as a whole: "parameters", "attention/path/dense", ...
struct CounterEvent {
  std::string name;
  double value = 0.0;
};

/// A metric of a validation by buckets: only where the run was asked for it (RunSpec::metrics). Lists are by bucket.
struct BucketsEvent {
  std::string metric;  ///< "loss_at_position"
  std::int64_t step = 0;
  std::vector<double> means;   ///< NaN where the count is 0
  std::vector<double> counts;  ///< what each mean is the mean of
};

struct WarningEvent {
  std::string message;
};

/// The engine waits for a turn that covers `step`.
struct TurnEvent {
  std::int64_t step = 0;
};

struct CheckpointEvent {
  std::int64_t step = 0;
  std::string file;
  std::int64_t bytes = 0;  ///< of the file; 0: unknown
  std::string digest;      ///< digest_of_file() of it; empty: unknown
};

/// The model's answer to one item of an evaluation, in ascending order of items.
struct ChoiceEvent {
  std::string evaluation;
  std::int64_t item = 0;  ///< index in the file, from 0
  /// Whether the right ending has the smallest sum of its tokens' losses, and the smallest mean.
  bool is_correct = false, is_correct_norm = false;
};

/// The result of an evaluation, after its items.
struct EvaluationEvent {
  std::string evaluation;
  std::int64_t step = 0;  ///< steps that the model was trained for
  std::int64_t items = 0;
  double accuracy = 0.0;       ///< share of items that are right by the sum
  double accuracy_norm = 0.0;  ///< by the mean
  double chance = 0.0;         ///< expected of guesses
  std::optional<double> best_accuracy;
};

/// Last line of a run that reached its end.
struct FinishedEvent {
  std::int64_t steps = 0;
  std::int64_t timed_steps = 0;
  std::optional<double> train_ms;  ///< whole training clock; absent when no step was timed
  std::optional<double> final_val_loss;
  std::int64_t peak_bytes = 0;
};

/// Last line of a run that failed.
struct FailedEvent {
  RunOutcome outcome = RunOutcome::kCrashed;
  std::string message;
};

using RunEvent = std::variant<HelloEvent, StepEvent, EvalEvent, BucketsEvent, MemoryEvent, CounterEvent, WarningEvent,
                              TurnEvent, CheckpointEvent, ChoiceEvent, EvaluationEvent, FinishedEvent, FailedEvent>;

/// The event as one line, without the newline.
std::string to_line(const RunEvent& event);

/// Throws Error{kDataLoss} for anything that is not one complete event of this protocol version, including garbage and
/// truncated lines.
RunEvent parse_event_line(std::string_view line);

/// Reader for a line that is one flat step event, in which each key appears once and none is unknown; nullopt for
/// any other line. When it succeeds, the general reader returns the same event, bit for bit.
std::optional<StepEvent> read_step_line(std::string_view line);

}  // namespace nanobench::core
