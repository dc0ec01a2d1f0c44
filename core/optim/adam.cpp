#include "core/optim/adam.h"

#include <optional>

namespace nanobench::core {

Adam::Adam(std::vector<at::Tensor> parameters, const OptimizerGroupConfig& config)
    : parameters_(std::move(parameters)), config_(config) {
  for (const at::Tensor& parameter : parameters_) {
    first_moments_.push_back(at::zeros_like(parameter).detach());
    second_moments_.push_back(at::zeros_like(parameter).detach());
    steps_.push_back(at::zeros({}, at::kFloat));
  }
}

void Adam::step(double lr_factor) {
  if (parameters_.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter));
  }
  for (at::Tensor& count : steps_) count.add_(1);
  at::_fused_adam_(parameters_, gradients, first_moments_, second_moments_, /*max_exp_avg_sqs=*/{}, steps_,
                   config_.lr * lr_factor, config_.beta1, config_.beta2, /*weight_decay=*/0.0, config_.eps,
                   /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace nanobench::core
