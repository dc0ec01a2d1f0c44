/// All optimisers of a run, with the processing of gradients before and of parameters after an update. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/train_config.h"
#include "engine/distributed/communicator.h"
#include "engine/nn/parameters.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/parameter_slices.h"

namespace nanobench::core {

/// Changes the gradients in place (TrainConfig::optimizer.gradient_clip). Undefined gradients count as zero.
///   kGlobalNorm    all multiplied by min(1, max_norm / (norm + 1e-6)); norm is over all gradients (record #1)
///   kPerParameter  each divided by (its own norm + 1e-6) (record #2)
void clip_gradients(const Parameters& parameters, const GradientClipConfig& config);

/// The optimisers of the parameter groups; each parameter belongs to one. Adam groups that the GPU kernel supports
/// share one optimiser. With several processes, each creates these and steps them with the others. An Adam updates
/// `slices` where a parameter has them. Keeps a reference to `communicator`.
std::vector<std::unique_ptr<Optimizer>> make_optimizers(const Parameters& parameters, const TrainConfig& config,
                                                        const ParameterSlices& slices, Communicator& communicator);

class OptimizerSet {
 public:
  /// Keeps references to all three. Rounds parameters that are stored in bfloat16. `seed` is the run's; stochastic
  /// rounding draws from it. With several processes, each has one OptimizerSet and steps it with the others.
  OptimizerSet(Parameters& parameters, const TrainConfig& config, std::uint64_t seed, Communicator& communicator);

  /// Adds the gradients of the steps since the last update to those of the groups that are not updated at each step
  /// (step_every), and gives slices of parameters their part (ParameterSlices). Call once a step, when all gradients
  /// are there and before they are read.
  void gather_gradients(std::int64_t step);

  /// One update from the averaged gradients, the same in all processes, with the rates and momentum of `step`: prepare,
  /// then launch.
  void step(std::int64_t step);

  /// Sets the numbers of `step`; the gradients must already be at the addresses that launch() will read. Enqueues the
  /// copies that a GPU's kernels read and does not wait.
  void prepare(std::int64_t step);
  /// Sets numbers with which launch() changes nothing while gradients are zero, for trial runs. REQUIRES
  /// is_replayable().
  void prepare_idle();
  /// The update.
  void launch();
  /// Whether launch() enqueues the same work in every step, so that it can be captured once and replayed after each
  /// prepare(): all groups use GPU kernels, in one process, without master weights. The gradients it was captured with
  /// must keep their addresses.
  bool is_replayable() const;

  /// What the optimisers update, in the order of the parameters: these themselves, or their masters.
  std::vector<at::Tensor> weights() const;
  /// Bytes of everything that the optimisers keep from step to step, in this process, by what it is.
  struct StateBytes {
    std::int64_t moments = 0;  ///< momenta and moments
    std::int64_t masters = 0;  ///< float32 masters of bfloat16 parameters
  };
  StateBytes state_bytes() const;

  /// Copies of the parameters and of everything that steps change.
  struct State {
    std::vector<at::Tensor> parameters;
    std::vector<OptimizerState> optimizers;
    std::optional<MasterWeights::State> masters;
    std::vector<at::Tensor> held;  ///< of groups that wait for several steps; undefined: nothing is held
  };
  State state() const;
  /// The same without copying: the tensors are those that the next step changes.
  State view() const;
  /// By State::held: the parameters that may have something held.
  std::vector<at::Tensor> held_parameters() const;
  /// Undoes the steps since state().
  void restore(const State& state);

  /// The code paths of the updates (enum_name(UpdatePath)), under "adam" and "muon" if present; several paths if groups
  /// differ.
  std::map<std::string, std::string> paths() const;

 private:
  /// A parameter that waits for several steps, or has pauses.
  struct HeldGradient {
    at::Tensor parameter;
    std::int64_t step_every = 1;
    Pauses pauses;
    at::Tensor held;  ///< sum of the steps since the last update; undefined: none
  };

  /// Head and token table of model.untie_step, each with an optimiser of its own.
  struct TiedPair {
    at::Tensor head, table;
    Optimizer* head_optimizer = nullptr;
    Optimizer* table_optimizer = nullptr;
  };
  void find_tied_pair();
  bool is_tied(std::int64_t step) const { return pair_ && step <= *config_.model.untie_step; }
  void join_gradients();
  void follow_head();
  bool updates(const Optimizer& optimizer, std::int64_t step) const;

  Parameters& parameters_;
  const TrainConfig& config_;
  ParameterSlices slices_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::optional<MasterWeights> masters_;
  std::vector<HeldGradient> held_;
  std::optional<TiedPair> pair_;
  std::int64_t step_ = 0;  ///< of the last prepare
};

}  // namespace nanobench::core
