/// How the gradients of several processes come together. Not thread-safe.
#pragma once

#include <memory>

#include "core/config/train_config.h"
#include "engine/distributed/communicator.h"
#include "engine/distributed/rank_share.h"
#include "engine/nn/parameters.h"

namespace nanobench::core {

/// For every sequence, call before_backward, backward, after_backward. After that of the last sequence, each gradient
/// that this process updates from is the sum, in rank order, of the processes' accumulated gradients.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  /// Sets all gradients to zero at the start of a step.
  virtual void zero_gradients() = 0;
  virtual void before_backward(SyncPoint point) = 0;
  virtual void after_backward(SyncPoint point) = 0;
};

/// The exchange of DistributedConfig::gradient_sums. Keeps references to all three. REQUIRES several processes.
std::unique_ptr<GradientExchange> make_gradient_exchange(Parameters& parameters, const TrainConfig& config,
                                                         Communicator& communicator);

}  // namespace nanobench::core
