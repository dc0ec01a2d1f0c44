/// The parts of parameters that this process updates when Adam is shared out. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/config/train_config.h"
#include "engine/distributed/communicator.h"
#include "engine/nn/parameters.h"

namespace nanobench::core {

/// With DistributedConfig::gradient_sums kOwners, process r of P updates the r-th of P equal slices of each parameter
/// whose elements divide evenly (update_owners), keeps the state of that slice only, and gets the others' slices
/// afterwards. Otherwise this holds nothing.
class ParameterSlices {
 public:
  /// Keeps references.
  ParameterSlices(const Parameters& parameters, const TrainConfig& config, Communicator& communicator);

  /// What an optimiser updates of parameter `index` of Parameters::all(): the slice, [n / P], or the whole parameter.
  at::Tensor updated_part(std::size_t index) const;

  /// Gives each slice its part of the parameter's gradient. Call when the step's gradients are complete.
  void bind_gradients();
  /// Collective: after the updates of `step`, gathers the parameters that were updated (step_every).
  void gather(std::int64_t step);

 private:
  struct Slice {
    at::Tensor part;          ///< shares the parameter's memory
    at::Tensor whole;         ///< [P, n / P], shares the parameter's memory
    std::int64_t step_every;  ///< of its group
  };

  const Parameters& parameters_;
  Communicator& communicator_;
  std::map<std::size_t, Slice> slices_;  ///< by index
};

}  // namespace nanobench::core
