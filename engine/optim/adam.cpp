#include "engine/optim/adam.h"

#include <cmath>

#include "core/base/op_timer.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/thread_pool.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {

Adam::Adam(std::vector<at::Tensor> parameters, const OptimizerGroupConfig& config, StoredPrecision storage,
           StoredPrecision moments)
    : parameters_(std::move(parameters)), config_(config), storage_(storage), moments_(moments) {
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : parameters_) {
    if (storage_ == StoredPrecision::kBfloat16) round_to_bfloat16_(parameter);
    first_moments_.push_back(at::zeros_like(parameter).detach());
    second_moments_.push_back(at::zeros_like(parameter).detach());
  }
  config_.fused = config_.fused && config_.cautious_decay == 0.0;
  uses_kernel_ = config_.fused && EngineContext::current().uses_kernels() && are_plain_floats(parameters_, at::kCPU);
  if (!uses_kernel_) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    kernel_parameters_.push_back({.first_moment = first_moments_[i].data_ptr<float>(),
                                  .second_moment = second_moments_[i].data_ptr<float>(),
                                  .count = parameters_[i].numel()});
}

std::vector<at::Tensor> Adam::gradients() const {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    // Must be contiguous: LibTorch's fused kernel ignores strides.
    const at::Tensor gradient = parameter.grad().defined() ? parameter.grad().contiguous() : at::zeros_like(parameter);
    gradients.push_back(storage_ == StoredPrecision::kBfloat16 ? round_to_bfloat16(gradient) : gradient);
  }
  return gradients;
}

/// eps as it enters the denominator sqrt(v / (1 - b2^t)) + eps.
double Adam::corrected_eps() const {
  if (config_.eps_position == EpsPosition::kCorrected) return config_.eps;
  return config_.eps / std::sqrt(1.0 - std::pow(config_.beta2, static_cast<double>(steps_)));
}

std::set<UpdatePath> Adam::paths() const {
  return {uses_kernel_ ? UpdatePath::kCpuKernels : UpdatePath::kOperations};
}

std::vector<at::Tensor> Adam::state_tensors() const {
  std::vector<at::Tensor> tensors = first_moments_;
  tensors.insert(tensors.end(), second_moments_.begin(), second_moments_.end());
  return tensors;
}

void Adam::launch() {
  if (parameters_.empty()) return;
  const OpTimer timer("adam");
  const at::NoGradGuard no_grad;
  const double rate = config_.lr * lr_factor_;
  if (uses_kernel_) {
    step_by_kernel(rate);
    return;
  }
  if (config_.fused) {
    step_fused(gradients(), rate);
  } else {
    step_by_operations(gradients(), rate);
  }
  const bool rounds_all = storage_ == StoredPrecision::kBfloat16;
  if (!rounds_all && moments_ == StoredPrecision::kFloat32) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    round_to_bfloat16_(first_moments_[i]);
    round_to_bfloat16_(second_moments_[i]);
    if (rounds_all) round_to_bfloat16_(parameters_[i]);
  }
}

void Adam::step_by_kernel(double rate) {
  std::int64_t numbers = 0;
  std::vector<at::Tensor> gradients;  // copies of those that are not contiguous
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].grad();
    gradients.push_back(gradient.defined() ? gradient.contiguous() : gradient);
    kernel_parameters_[i].parameter = parameters_[i].data_ptr<float>();
    kernel_parameters_[i].gradient = gradient.defined() ? gradients.back().const_data_ptr<float>() : nullptr;
    numbers += kernel_parameters_[i].count;
  }
  const OpTimer timer("adam", 0.0, 28.0 * static_cast<double>(numbers));
  adam_update(kernel_parameters_,
              {.rate = rate,
               .beta1 = config_.beta1,
               .beta2 = config_.beta2,
               .eps = config_.eps,
               .weight_decay = config_.weight_decay,
               .step = steps_,
               .is_eps_uncorrected = config_.eps_position == EpsPosition::kUncorrected,
               .rounds_to_bfloat16 = storage_ == StoredPrecision::kBfloat16,
               .rounds_moments = moments_ == StoredPrecision::kBfloat16},
              kernel_threads());
}

void Adam::step_fused(const std::vector<at::Tensor>& gradients, double rate) {
  // The kernel that decouples weight decay from the moments (AdamW); without decay it is plain Adam.
  const std::vector<at::Tensor> steps(
      parameters_.size(),
      at::full({}, static_cast<double>(steps_), parameters_.front().options().requires_grad(false).dtype(at::kFloat)));
  at::_fused_adamw_(parameters_, gradients, first_moments_, second_moments_, /*max_exp_avg_sqs=*/{}, steps, rate,
                    config_.beta1, config_.beta2, config_.weight_decay, corrected_eps(), /*amsgrad=*/false,
                    /*maximize=*/false);
}

void Adam::step_by_operations(const std::vector<at::Tensor>& gradients, double rate) {
  const auto count = static_cast<double>(steps_);
  const double correction1 = 1.0 - std::pow(config_.beta1, count);
  const double correction2 = 1.0 - std::pow(config_.beta2, count);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (config_.weight_decay != 0.0) parameters_[i].mul_(1.0 - rate * config_.weight_decay);
    first_moments_[i].lerp_(gradients[i], 1.0 - config_.beta1);
    second_moments_[i].mul_(config_.beta2).addcmul_(gradients[i], gradients[i], 1.0 - config_.beta2);
    const at::Tensor denominator =
        at::sqrt(second_moments_[i]).mul_(1.0 / std::sqrt(correction2)).add_(corrected_eps());
    if (config_.cautious_decay != 0.0) {
      apply_cautiously(parameters_[i], first_moments_[i] / denominator * (rate / correction1), rate);
    } else {
      parameters_[i].addcdiv_(first_moments_[i], denominator, -rate / correction1);
    }
  }
}

void Adam::apply_cautiously(at::Tensor parameter, const at::Tensor& update, double rate) const {
  at::Tensor product = update * parameter;
  const bool includes_zero = config_.cautious_condition == CautiousCondition::kNotNegative;
  const at::Tensor is_decayed = includes_zero ? product.ge_(0.0) : product.gt_(0.0);
  parameter.mul_(is_decayed.mul_(-rate * rate * config_.cautious_decay).add_(1.0)).sub_(update);
}

}  // namespace nanobench::core
