/// All optimisers of a run: one per parameter group, with what happens to gradients before and to parameters after. Not
/// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/config/train_config.h"
#include "core/distributed/communicator.h"
#include "core/nn/parameters.h"
#include "core/optim/adam.h"
#include "core/optim/master_weights.h"
#include "core/optim/muon.h"
#include "core/optim/sharded_muon.h"

namespace nanobench::core {

class OptimizerSet {
 public:
  /// Keeps references to all three. Parameters that are stored in bfloat16 are rounded now. `seed` is the run's:
  /// stochastic rounding draws from it. Of several processes, each has one of these and steps it with the others.
  OptimizerSet(Parameters& parameters, const TrainConfig& config, std::uint64_t seed, Communicator& communicator);

  /// One update from the averaged gradients, the same in all processes, with rates and momentum of `step`.
  void step(std::int64_t step);

 private:
  Parameters& parameters_;
  const TrainConfig& config_;
  std::vector<Adam> adams_;
  std::optional<Muon> muon_;
  std::optional<ShardedMuon> sharded_muon_;  ///< in its place with several processes
  std::optional<MasterWeights> masters_;
};

}  // namespace nanobench::core
