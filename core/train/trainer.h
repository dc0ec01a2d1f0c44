/// One training run: data, forward, backward, update, validation, clock. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/data/data_loader.h"
#include "core/distributed/communicator.h"
#include "core/distributed/gradient_reducer.h"
#include "core/distributed/rank_share.h"
#include "core/nn/gpt.h"
#include "core/optim/adam.h"
#include "core/optim/muon.h"
#include "core/optim/sharded_muon.h"
#include "core/protocol/run_spec.h"
#include "core/train/metric_sink.h"
#include "core/train/trace.h"
#include "core/train/training_clock.h"

namespace nanobench::core {

/// Writes only to its MetricSink (and the trace file that the spec names). Deterministic: the same spec on the same
/// type of machine with the same number of threads reports the same losses, bit for bit.
///
/// Of a run of several processes, each has a Trainer with its own Communicator: it trains the sequences of its ranks,
/// keeps its own copy of model and optimisers, and takes the same steps as all others, bit for bit. All of them know
/// all losses; only rank 0 writes a trace, and only its sink needs to go anywhere. Every process initialises alike,
/// from the seed or from the same file, so nothing is broadcast.
class Trainer {
 public:
  /// Sets the process's number of threads, opens the shards, builds and initialises the model. Keeps references to
  /// `spec`, `sink`, `stop` and `communicator`. Throws Error for shards, init file or configuration that do not fit
  /// together, and when the communicator has not distributed.processes processes. `stop` is looked at before every
  /// step.
  Trainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop, Communicator& communicator);
  /// The only process of a run.
  Trainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop);

  /// Trains to the end, a divergence, or `stop` (of any process); reports hello, steps, validations and, last, finished
  /// or failed. The same outcome in all processes. Throws PeerFailed when another process failed.
  RunOutcome run();

 private:
  void set_threads() const;
  void report_hello();
  void load_parameters();
  void build_optimizers();
  SequenceInput make_input(const DataLoader& loader, const SequenceRef& sequence,
                           std::optional<std::int64_t> window) const;
  std::shared_ptr<const AttentionPlan> make_plan(std::span<const std::uint16_t> tokens,
                                                 std::optional<std::int64_t> window) const;
  double validate(std::int64_t step);
  double train_step(std::int64_t step);
  void zero_gradients();
  std::int64_t peak_bytes() const;
  void trace_gradients(std::int64_t step);
  void update(std::int64_t step);
  double gradient_weight() const;
  RunOutcome finish(std::int64_t steps, double val_loss);
  RunOutcome fail(RunOutcome outcome, const std::string& message);

  const RunSpec& spec_;
  const TrainConfig& config_;
  MetricSink& sink_;
  const std::atomic<bool>& stop_;
  Communicator& communicator_;
  RankShare share_;
  GPT model_;
  std::optional<GradientReducer> reducer_;  ///< of several processes
  std::vector<Adam> adams_;
  std::optional<Muon> muon_;
  std::optional<ShardedMuon> sharded_muon_;  ///< in its place with several processes
  DataLoader train_loader_;
  DataLoader val_loader_;
  TrainingClock clock_;
  std::optional<Trace> trace_;
};

}  // namespace nanobench::core
