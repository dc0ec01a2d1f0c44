/// One training run: data, forward, backward, update, validation, clock. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/run_spec.h"
#include "core/protocol/turn_gate.h"
#include "engine/distributed/communicator.h"
#include "engine/distributed/rank_share.h"
#include "engine/nn/gpt.h"
#include "engine/optim/optimizer_set.h"
#include "engine/train/batch_source.h"
#include "engine/train/checkpoint_keeper.h"
#include "engine/train/eager_pass.h"
#include "engine/train/phase_timer.h"
#include "engine/train/run_counters.h"
#include "engine/train/run_device.h"
#include "engine/train/run_profile.h"
#include "engine/train/step_graph.h"

namespace nanobench::core {

/// Writes only to its MetricSink and to the trace and profile files named in the spec. Deterministic: the same spec on
/// the same type of machine with the same number of threads reports the same losses, bit for bit.
///
/// In a run of several processes, each has a Trainer with its own Communicator. It trains the sequences of its ranks,
/// keeps its own copy of model and optimisers, and takes the same steps as all others, bit for bit. Every process knows
/// all losses; only rank 0 writes a trace or profile, and only its sink needs to write anything. All processes
/// initialise identically, from the seed or from the same file, so nothing is broadcast.
class Trainer {
 public:
  /// Sets the number of threads of the current EngineContext, opens the shards, builds and initialises the model. Keeps
  /// references to `spec`, `sink`, `stop`, `communicator` and `device`. Throws Error for shards, init file or
  /// configuration that do not fit together, and when the communicator does not have distributed.processes processes.
  /// `stop` is checked before every step. `turns`: null, or where a run of one process waits for its turns; a run that
  /// is continued from a checkpoint takes none.
  Trainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop, Communicator& communicator,
          const RunDevice& device, TurnGate* turns = nullptr);

  /// Trains until the end, a divergence, or `stop` in any process; reports hello, steps, validations and, last,
  /// finished or failed. All processes return the same outcome. Throws PeerFailed when another process failed.
  RunOutcome run();

 private:
  void set_threads() const;
  void report_hello();
  void load_parameters();
  /// Returns when `step` may be taken; false: the run is to stop.
  bool wait_for_turn(std::int64_t step);
  void warm_up();
  double validate(std::int64_t step);
  double train_step(std::int64_t step);
  /// Losses that this process computed, for the sequences at `places` out of `count`.
  struct OwnLosses {
    std::vector<at::Tensor> losses;
    std::vector<std::size_t> places;
    std::size_t count = 0;
  };
  OwnLosses accumulate(std::int64_t step);
  std::vector<double> read_losses(const OwnLosses& own);
  ActivationSink activation_sink(std::int64_t step, std::size_t sequence);
  void zero_gradients();
  void capture_update();
  void update(std::int64_t step);
  at::Tensor replay(const SequenceInput& input, const StepWindows& windows);
  void report_profile();
  void report_gpu(const std::optional<DeviceMemory>& memory);
  void report_gpus();
  void report_calls();
  void measure_gpu();
  std::int64_t peak_bytes() const;
  void refuse_partial_trace() const;
  void trace_gradients(std::int64_t step);
  void save_checkpoint(std::int64_t step);
  StepWindows windows_of(std::int64_t step) const;
  void follow_windows(std::int64_t step);
  bool evaluate(std::int64_t steps);
  RunOutcome finish(std::int64_t steps, double val_loss);
  RunOutcome fail(RunOutcome outcome, const std::string& message);

  const RunSpec& spec_;
  const TrainConfig& config_;
  EventHistory sink_;
  const std::atomic<bool>& stop_;
  Communicator& communicator_;
  const RunDevice& device_;
  TurnGate* turns_;  ///< null: every step may be taken
  RankShare share_;
  GPT model_;
  BatchSource batches_;
  std::unique_ptr<DeviceMarks> marks_;  ///< GPU only
  StepPhases phases_;
  EagerPass pass_;
  GraphChoice<StepGraph> graph_;  ///< replaces pass_ if a GPU replays the micro-step
  std::optional<OptimizerSet> optimizers_;
  GraphChoice<UpdateGraph> update_graph_;  ///< optimiser update, if a GPU replays it
  TrainingClock clock_;
  std::optional<Trace> trace_;
  std::optional<RunProfile> profile_;
  CostMeter cost_;
  CommunicationMeter communication_;
  std::optional<CheckpointKeeper> checkpoints_;  ///< only where some are written or read
  std::optional<double> gpu_gflops_;             ///< GPU only, after training
  std::unique_ptr<GpuMonitor> monitor_;          ///< GPU only, during training
};

}  // namespace nanobench::core
