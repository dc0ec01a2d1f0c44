/// All optimisers of a run, with what happens to gradients before and to parameters after an update. Not thread-safe.
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
#include "engine/optim/master_weights.h"
#include "engine/optim/optimizer.h"

namespace nanobench::core {

/// Changes the gradients in place (TrainConfig::optimizer.gradient_clip). Undefined gradients count as zero.
///   kGlobalNorm    all times min(1, max_norm / (norm + 1e-6)), with the norm of all gradients together (record #1)
///   kPerParameter  each divided by (its own norm + 1e-6) (record #2)
void clip_gradients(const Parameters& parameters, const GradientClipConfig& config);

/// The optimisers of the parameters' groups, each parameter in one of them. Groups of Adam that a GPU's kernel takes
/// share one. Of several processes, each makes these and steps them with the others; keeps a reference to
/// `communicator`.
std::vector<std::unique_ptr<Optimizer>> make_optimizers(const Parameters& parameters, const TrainConfig& config,
                                                        Communicator& communicator);

class OptimizerSet {
 public:
  /// Keeps references to all three. Parameters that are stored in bfloat16 are rounded now. `seed` is the run's:
  /// stochastic rounding draws from it. Of several processes, each has one of these and steps it with the others.
  OptimizerSet(Parameters& parameters, const TrainConfig& config, std::uint64_t seed, Communicator& communicator);

  /// One update from the averaged gradients, the same in all processes, with rates and momentum of `step`: prepare,
  /// then launch.
  void step(std::int64_t step);

  /// Takes the numbers of `step`; the gradients lie where launch() is to find them. What a GPU's kernels read is on its
  /// way to the GPU after this; nothing is waited for.
  void prepare(std::int64_t step);
  /// Numbers with which launch() changes nothing while gradients are zero, to try it out. REQUIRES is_replayable().
  void prepare_idle();
  /// The update.
  void launch();
  /// Whether launch() enqueues the same work in every step, so that it can be captured once and replayed after each
  /// prepare(): all groups go through a GPU's kernels, in one process, without master weights. The gradients that it
  /// was captured with have to stay.
  bool is_replayable() const;

  /// The parameters, and everything that steps change: copies.
  struct State {
    std::vector<at::Tensor> parameters;
    std::vector<OptimizerState> optimizers;
    std::optional<MasterWeights::State> masters;
  };
  State state() const;
  /// Undoes the steps since then.
  void restore(const State& state);

  /// The code that the updates run through, by "adam" and "muon" where there is one (to_string(UpdatePath)); several
  /// where groups differ.
  std::map<std::string, std::string> paths() const;

 private:
  Parameters& parameters_;
  const TrainConfig& config_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::optional<MasterWeights> masters_;
};

}  // namespace nanobench::core
