#include "engine/train/eager_pass.h"

namespace nanobench::core {

double gradient_weight(const TrainConfig& config, std::int64_t length) {
  const std::int64_t parts =
      config.run.gradient_reduction == GradientReduction::kMean ? config.data.sequences_per_step : config.data.ranks;
  const std::int64_t tokens = config.run.loss_reduction == LossReduction::kSum ? length : 1;
  return static_cast<double>(tokens) / static_cast<double>(parts);
}

EagerPass::EagerPass(GPT& model, const TrainConfig& config, Communicator& communicator, StepPhases& phases)
    : model_(model), config_(config), phases_(phases) {
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
  backward(loss, weight_of(input.tokens.size(0)), sync);
  return loss.detach();
}

const at::Tensor& EagerPass::weight_of(std::int64_t length) {
  at::Tensor& weight = weights_[length];
  if (!weight.defined()) {
    const auto options = at::TensorOptions().dtype(model_.dtype()).device(model_.device());
    weight = at::full({}, gradient_weight(config_, length), options);
  }
  return weight;
}

void EagerPass::backward(const at::Tensor& loss, const at::Tensor& weight, SyncPoint sync) {
  {
    const PhaseTimer timer(phases_, "backward");
    if (exchange_) exchange_->before_backward(sync);
    loss.backward(weight);
  }
  if (!exchange_) return;
  const PhaseTimer timer(phases_, "communication");
  exchange_->after_backward(sync);
}

}  // namespace nanobench::core
