#include "engine/optim/device_adam.h"

#include <algorithm>
#include <cmath>

#include "core/base/op_timer.h"
#include "engine/kernels/engine_context.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {
namespace {

std::vector<at::Tensor> parameters_of(const std::vector<AdamGroup>& groups) {
  std::vector<at::Tensor> all;
  for (const AdamGroup& group : groups) all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  TORCH_CHECK(!all.empty(), "Adam: no parameters");
  return all;
}

std::int64_t bytes_of(std::size_t entries, std::size_t entry) {
  return static_cast<std::int64_t>(entries * entry);
}

}  // namespace

bool fits_device_adam(const AdamGroup& group) {
  const CudaKernels* const kernels = cuda_kernels();
  const bool rounds_moments = group.moments == StoredPrecision::kBfloat16 && group.storage == StoredPrecision::kFloat32;
  return kernels != nullptr && EngineContext::current().uses_kernels() && group.config.fused &&
         group.config.cautious_decay == 0.0 && !rounds_moments && are_plain_floats(group.parameters, kernels->device);
}

DeviceAdam::DeviceAdam(std::vector<AdamGroup> groups)
    : groups_(std::move(groups)),
      parameters_(parameters_of(groups_)),
      gradients_(parameters_),
      table_(bytes_of(parameters_.size(), sizeof(cuda::AdamTensor)), parameters_.front().device()),
      factors_(bytes_of(groups_.size(), sizeof(cuda::AdamFactors)), parameters_.front().device()) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < groups_.size(); ++i) add_tensors(groups_[i], static_cast<std::int32_t>(i));
  items_ = cuda_kernels()->adam_items(tensors_);
}

void DeviceAdam::add_tensors(const AdamGroup& group, std::int32_t index) {
  const bool rounds = group.storage == StoredPrecision::kBfloat16;
  for (at::Tensor parameter : group.parameters) {
    if (rounds) round_to_bfloat16_(parameter);
    const at::TensorOptions options = parameter.options().requires_grad(false);
    const at::Tensor first = at::zeros(parameter.sizes(), rounds ? options.dtype(at::kBFloat16) : options);
    first_moments_.push_back(first);
    second_moments_.push_back(at::zeros_like(first));
    tensors_.push_back({.parameter = parameter.mutable_data_ptr(),
                        .first_moment = first.mutable_data_ptr(),
                        .second_moment = second_moments_.back().mutable_data_ptr(),
                        .count = parameter.numel(),
                        .type = rounds ? cuda::NumberType::kRoundedFloat32 : cuda::NumberType::kFloat32,
                        .group = index});
  }
}

std::vector<at::Tensor> DeviceAdam::state_tensors() const {
  std::vector<at::Tensor> tensors = first_moments_;
  tensors.insert(tensors.end(), second_moments_.begin(), second_moments_.end());
  return tensors;
}

void DeviceAdam::send_numbers() {
  std::vector<cuda::AdamFactors> factors;
  const std::int64_t step = std::max<std::int64_t>(steps_, 1);  // idle: before the first
  for (const AdamGroup& group : groups_) {
    const OptimizerGroupConfig& config = group.config;
    const bool is_corrected = config.eps_position == EpsPosition::kCorrected;
    const double root = is_corrected ? 1.0 : std::sqrt(1.0 - std::pow(config.beta2, static_cast<double>(step)));
    factors.push_back(cuda_kernels()->adam_factors({.rate = config.lr * lr_factor_,
                                                    .beta1 = config.beta1,
                                                    .beta2 = config.beta2,
                                                    .eps = config.eps / root,
                                                    .weight_decay = config.weight_decay,
                                                    .step = step}));
  }
  factors_.assign(factors);
  const std::vector<const float*> gradients = gradients_.addresses();
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].gradient = gradients[i];
  table_.assign(tensors_);
}

void DeviceAdam::launch() {
  const OpTimer timer("adam");
  const at::NoGradGuard no_grad;
  gradients_.gather();
  const CudaKernels& kernels = *cuda_kernels();
  kernels.adam_update(table_.data<cuda::AdamTensor>(), static_cast<std::int64_t>(tensors_.size()), items_,
                      factors_.data<cuda::AdamFactors>(), kernels.stream());
}

}  // namespace nanobench::core
