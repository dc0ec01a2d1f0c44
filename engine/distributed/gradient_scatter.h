/// Sums each gradient only where it is needed (DistributedConfig::gradient_sums kOwners). Not thread-safe.
#pragma once

#include "engine/distributed/gradient_exchange.h"
#include "engine/distributed/update_owners.h"

namespace nanobench::core {

/// After the last backward pass of a step (record #24): a scattered sum for each round of Muon matrices, then one for
/// each sliced parameter, then all-reduces of those that every process updates. All are started before the first is
/// waited for. What a process does not own is unspecified afterwards.
class GradientScatter final : public GradientExchange {
 public:
  /// Keeps references.
  GradientScatter(Parameters& parameters, const TrainConfig& config, Communicator& communicator);

  void zero_gradients() override { parameters_.zero_gradients(); }
  void before_backward(SyncPoint) override {}
  void after_backward(SyncPoint point) override;

 private:
  std::vector<at::Tensor> parts_of_round(const std::vector<std::size_t>& round);
  std::vector<at::Tensor> parts_of_slices(std::size_t parameter);
  at::Tensor gradient(std::size_t parameter);

  Parameters& parameters_;
  Communicator& communicator_;
  UpdateOwners owners_;
};

}  // namespace nanobench::core
