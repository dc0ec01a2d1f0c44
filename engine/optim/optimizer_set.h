/// All optimisers of a run: one per parameter group, with what happens to gradients before and to parameters after. Not
/// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/train_config.h"
#include "engine/distributed/communicator.h"
#include "engine/nn/parameters.h"
#include "engine/optim/adam.h"
#include "engine/optim/device_adam.h"
#include "engine/optim/master_weights.h"
#include "engine/optim/muon.h"
#include "engine/optim/sharded_muon.h"

namespace nanobench::core {

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

  /// What the updates go through, by "adam" and "muon" where there is one: "GPU kernels", "CPU kernels" or
  /// "operations"; several where groups differ.
  std::map<std::string, std::string> paths() const;
  /// Whether groups of Adam that are to be fused, or Newton-Schulz iterations, go through operations all the same.
  bool lacks_adam_kernel() const;
  bool lacks_muon_kernel() const;

 private:
  void add_adams(std::vector<AdamGroup> groups);

  Parameters& parameters_;
  const TrainConfig& config_;
  std::vector<Adam> adams_;
  std::optional<DeviceAdam> device_adam_;  ///< the groups that a GPU's kernel takes
  std::optional<Muon> muon_;
  std::optional<ShardedMuon> sharded_muon_;  ///< in its place with several processes
  std::optional<MasterWeights> masters_;
  double lr_factor_ = 0.0;
  double momentum_ = 0.0;
};

}  // namespace nanobench::core
