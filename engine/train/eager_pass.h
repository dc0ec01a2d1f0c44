/// Forward and backward of one sequence, one operation after the other. Not thread-safe.
#pragma once

#include <functional>
#include <optional>

#include "engine/distributed/gradient_reducer.h"
#include "engine/nn/gpt.h"
#include "engine/train/phase_timer.h"

namespace nanobench::core {

/// Adds to the gradients of the parameters; of several processes, sums them. Waits for nothing that a GPU computes.
class EagerPass {
 public:
  /// `weight`: what a sequence's loss counts for in the gradients. Keeps references.
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
  std::optional<GradientReducer> reducer_;  ///< of several processes
};

}  // namespace nanobench::core
