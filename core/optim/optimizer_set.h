/// All optimisers of a run: one per parameter group, with what happens to gradients before and to parameters after. Not
/// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/config/train_config.h"
#include "core/nn/parameters.h"
#include "core/optim/adam.h"
#include "core/optim/master_weights.h"
#include "core/optim/muon.h"

namespace nanobench::core {

class OptimizerSet {
 public:
  /// Keeps references to both. Parameters that are stored in bfloat16 are rounded now. `seed` is the run's: stochastic
  /// rounding draws from it.
  OptimizerSet(Parameters& parameters, const TrainConfig& config, std::uint64_t seed);

  /// One update from the averaged gradients, with rates and momentum of `step`.
  void step(std::int64_t step);

 private:
  Parameters& parameters_;
  const TrainConfig& config_;
  std::vector<Adam> adams_;
  std::optional<Muon> muon_;
  std::optional<MasterWeights> masters_;
};

}  // namespace nanobench::core
