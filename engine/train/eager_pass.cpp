#include "engine/train/eager_pass.h"

namespace nanobench::core {

EagerPass::EagerPass(GPT& model, const TrainConfig& config, double weight, Communicator& communicator,
                     StepPhases& phases)
    : model_(model),
      phases_(phases),
      weight_(at::full({}, weight, at::TensorOptions().dtype(model.dtype()).device(model.device()))) {
  if (communicator.size() > 1) reducer_.emplace(model.parameters(), config.distributed, communicator);
}

void EagerPass::zero_gradients() {
  if (reducer_) {
    reducer_->zero_gradients();
  } else {
    model_.parameters().zero_gradients();
  }
}

at::Tensor EagerPass::run(const SequenceInput& input, SyncPoint sync, const ActivationSink& sink,
                          const std::function<void()>& between) {
  at::Tensor loss;
  {
    const PhaseTimer timer(phases_, "forward");
    loss = model_.loss(input, Pass::kTraining, sink);
  }
  between();
  backward(loss, sync);
  return loss.detach();
}

void EagerPass::backward(const at::Tensor& loss, SyncPoint sync) {
  {
    const PhaseTimer timer(phases_, "backward");
    if (reducer_) reducer_->before_backward(sync);
    loss.backward(weight_);
  }
  if (!reducer_) return;
  const PhaseTimer timer(phases_, "communication");
  reducer_->after_backward(sync);
}

}  // namespace nanobench::core
