/// Forward and backward pass of one sequence, operation by operation. Not thread-safe.
#pragma once

#include <functional>
#include <memory>

#include "engine/distributed/gradient_exchange.h"
#include "engine/nn/gpt.h"
#include "engine/train/phase_timer.h"

namespace nanobench::core {

/// Adds to the gradients of the parameters; with several processes, also sums them. Does not wait for GPU work.
class EagerPass {
 public:
  /// `weight`: factor of a sequence's loss in the gradients. Keeps references.
  EagerPass(GPT& model, const TrainConfig& config, double weight, Communicator& communicator, StepPhases& phases);

  void zero_gradients();
  /// Returns the loss. `between` is called after the forward pass.
  at::Tensor run(const SequenceInput& input, SyncPoint sync, const ActivationSink& sink,
                 const std::function<void()>& between);

 private:
  void backward(const at::Tensor& loss, SyncPoint sync);

  GPT& model_;
  StepPhases& phases_;
  at::Tensor weight_;
  std::unique_ptr<GradientExchange> exchange_;  ///< only with several processes
};

}  // namespace nanobench::core
