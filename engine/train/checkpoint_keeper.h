/// Writes the checkpoints of a run (RunSpec::save_file), and continues a run from one (RunSpec::resume_file): from
/// there on each loss is, to the bit, that of a run that was never interrupted. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/distributed/communicator.h"
#include "engine/nn/gpt.h"
#include "engine/optim/optimizer_set.h"
#include "engine/train/batch_source.h"
#include "engine/train/checkpoint.h"
#include "engine/train/phase_timer.h"
#include "engine/train/run_counters.h"
#include "engine/train/run_state.h"

namespace nanobench::core {

/// The beginning of the warning about a checkpoint that could not be written, which the reason follows.
std::string unwritten_checkpoint(std::int64_t step);

/// Passes events on, and keeps the steps, validations, peaks of memory and asked metrics among them for checkpoints: a
/// continued run reports them again, so that whoever reads its events has the whole run.
class EventHistory final : public MetricSink {
 public:
  /// Keeps a reference. Keeps events only if `keeps`.
  EventHistory(MetricSink& sink, bool keeps) : sink_(sink), keeps_(keeps) {}

  void report(const RunEvent& event) override;
  /// One line each.
  const std::string& lines() const { return lines_; }

 private:
  MetricSink& sink_;
  bool keeps_;
  std::string lines_;
};

/// Name of the counter of a continued run: the step from which it was continued.
inline constexpr const char* kResumedAtStep = "resumed_at_step";

class CheckpointKeeper {
 public:
  /// What a run consists of; all outlive the keeper.
  struct Parts {
    const RunSpec& spec;
    GPT& model;
    OptimizerSet& optimizers;
    BatchSource& batches;
    TrainingClock& clock;
    CostMeter& cost;
    CommunicationMeter& communication;
    Communicator& communicator;
    EventHistory& events;
  };

  /// Reads the checkpoint to continue from, if there is one. Throws Error for a file that is cut, of a newer version,
  /// or of another run.
  explicit CheckpointKeeper(const Parts& parts);

  /// Where training begins.
  struct Start {
    std::int64_t step = 0;
    bool is_validated = false;       ///< the validation of that step has been reported
    std::optional<double> val_loss;  ///< of the last validation before
  };
  /// Restores everything and reports the events up to the checkpoint again. Without a checkpoint: the first step. Call
  /// once, after the hello event and the warm-up.
  Start start();

  /// Before the update of `step`: writes a checkpoint if the run has a file for it. All processes call it; process 0
  /// writes. A file that cannot be written is reported as a warning, and the run goes on. The training clock must not
  /// run.
  void save(std::int64_t step);
  /// Whether a checkpoint of the first step, which follows from the seed, is wanted too.
  bool keeps_each() const;

 private:
  NamedTensors own_state() const;
  void restore_own(StateReader& reader);
  void check_same_run(const Checkpoint& checkpoint) const;
  void write(std::int64_t step, NamedTensors state);
  std::optional<std::int64_t> replay(const std::string& lines, Start& start);

  Parts parts_;
  std::optional<Checkpoint> resumed_;
};

}  // namespace nanobench::core
