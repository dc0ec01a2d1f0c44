#include "engine/train/eager_pass.h"

namespace nanobench::core {

EagerPass::EagerPass(GPT& model, const TrainConfig& config, double weight, Communicator& communicator,
                     StepPhases& phases)
    : model_(model),
      phases_(phases),
      weight_(at::full({}, weight, at::TensorOptions().dtype(model.dtype()).device(model.device()))) {
  if (communicator.size() > 1) exchange_ = make_gradient_exchange(model.parameters(), config, communicator);
}

void EagerPass::zero_gradients() {
  if (exchange_) {
    exchange_->zero_gradients();
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
    if (exchange_) exchange_->before_backward(sync);
    loss.backward(weight_);
  }
  if (!exchange_) return;
  const PhaseTimer timer(phases_, "communication");
  exchange_->after_backward(sync);
}

}  // namespace nanobench::core
