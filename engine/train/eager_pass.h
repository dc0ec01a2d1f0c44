/// Forward and backward pass of one sequence, operation by operation. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "engine/distributed/gradient_exchange.h"
#include "engine/nn/gpt.h"
#include "engine/train/phase_timer.h"

namespace nanobench::core {

/// Weight of the mean loss of a sequence of `length` tokens in the gradients of a step.
double gradient_weight(const TrainConfig& config, std::int64_t length);

/// Adds to the gradients of the parameters; with several processes, also sums them. Does not wait for GPU work.
class EagerPass {
 public:
  /// Keeps references.
  EagerPass(GPT& model, const TrainConfig& config, Communicator& communicator, StepPhases& phases);

  void zero_gradients();
  /// Returns the loss. `between` is called after the forward pass.
  at::Tensor run(const SequenceInput& input, SyncPoint sync, const ActivationSink& sink,
                 const std::function<void()>& between);

 private:
  void backward(const at::Tensor& loss, const at::Tensor& weight, SyncPoint sync);
  const at::Tensor& weight_of(std::int64_t length);

  GPT& model_;
  const TrainConfig& config_;
  StepPhases& phases_;
  std::map<std::int64_t, at::Tensor> weights_;  ///< by length
  std::unique_ptr<GradientExchange> exchange_;  ///< only with several processes
};

}  // namespace nanobench::core
