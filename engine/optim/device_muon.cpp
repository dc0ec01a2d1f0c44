#include "engine/optim/device_muon.h"

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/newton_schulz.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/device_newton_schulz.h"
#include "engine/ops/kernels.h"
#include "engine/optim/optimizer.h"

namespace nanobench::core {
namespace {

std::vector<at::Tensor> parameters_of(const std::vector<DeviceMuonBatch>& batches) {
  std::vector<at::Tensor> all;
  for (const DeviceMuonBatch& batch : batches) all.insert(all.end(), batch.parameters.begin(), batch.parameters.end());
  return all;
}

std::int64_t matrices_of(const std::vector<DeviceMuonBatch>& batches) {
  std::int64_t count = 0;
  for (const DeviceMuonBatch& batch : batches) count += batch.buffer.size(0);
  return count;
}

std::int64_t address_bytes(const std::vector<DeviceMuonBatch>& batches) {
  return matrices_of(batches) * static_cast<std::int64_t>(sizeof(void*));
}

at::Device device_of(const std::vector<DeviceMuonBatch>& batches) {
  TORCH_CHECK(!batches.empty(), "Muon: no matrices");
  return batches.front().buffer.device();
}

/// Adds the addresses of `count` consecutive matrices of `numbers` numbers; null stays null.
template <class Pointer>
void add_addresses(std::vector<Pointer>& addresses, Pointer first, std::int64_t count, std::int64_t numbers) {
  for (std::int64_t i = 0; i < count; ++i) addresses.push_back(first == nullptr ? first : first + i * numbers);
}

}  // namespace

bool fits_device_muon(const DeviceMuonBatch& batch, const OptimizerGroupConfig& config) {
  const CudaKernels* const kernels = cuda_kernels();
  return kernels != nullptr && EngineContext::current().uses_kernels() && muon_has_kernel(KernelDevice::kGpu, config) &&
         fits_device_newton_schulz(batch.rows, batch.columns) && are_plain_floats(batch.parameters, kernels->device);
}

DeviceMuon::DeviceMuon(std::vector<DeviceMuonBatch> batches, const OptimizerGroupConfig& config)
    : batches_(std::move(batches)),
      config_(config),
      gradients_(parameters_of(batches_)),
      factors_(static_cast<std::int64_t>(batches_.size() * sizeof(cuda::MuonFactors)), device_of(batches_)),
      gradient_addresses_(address_bytes(batches_), device_of(batches_)),
      parameter_addresses_(address_bytes(batches_), device_of(batches_)) {
  std::int64_t first = 0;
  std::vector<float*> addresses;
  for (const DeviceMuonBatch& batch : batches_) {
    first_matrix_.push_back(first);
    first += batch.buffer.size(0);
    const std::int64_t numbers = batch.rows * batch.columns;
    for (const at::Tensor& parameter : batch.parameters) {
      matrices_.push_back(parameter.numel() / numbers);
      add_addresses(addresses, parameter.data_ptr<float>(), matrices_.back(), numbers);
    }
  }
  parameter_addresses_.assign(addresses);
}

void DeviceMuon::prepare(double lr_factor, double momentum) {
  std::vector<cuda::MuonFactors> factors;
  for (const DeviceMuonBatch& batch : batches_)
    factors.push_back(cuda_kernels()->muon_factors(momentum, batch.rate.at(lr_factor)));
  factors_.assign(factors);
  const std::vector<const float*> gradients = gradients_.addresses();
  std::vector<const float*> addresses;
  std::size_t parameter = 0;
  for (const DeviceMuonBatch& batch : batches_) {
    for (std::size_t i = 0; i < batch.parameters.size(); ++i, ++parameter)
      add_addresses(addresses, gradients[parameter], matrices_[parameter], batch.rows * batch.columns);
  }
  gradient_addresses_.assign(addresses);
}

cuda::MuonShape DeviceMuon::shape_of(std::size_t batch) const {
  return {.matrices = batches_[batch].buffer.size(0), .numbers = batches_[batch].rows * batches_[batch].columns};
}

/// Applies momentum and returns the unscaled orthogonal matrices in bfloat16.
at::Tensor DeviceMuon::orthogonal_update(std::size_t index) {
  const DeviceMuonBatch& batch = batches_[index];
  const CudaKernels& kernels = *cuda_kernels();
  const cuda::MuonShape shape = shape_of(index);
  const cuda::MuonMomentum form = {.accumulates = config_.momentum_form == MomentumForm::kAccumulate,
                                   .is_nesterov = config_.nesterov};
  const cuda::MuonFactors* const factors = factors_.data<cuda::MuonFactors>() + index;
  const float* const* const gradients = gradient_addresses_.data<const float*>() + first_matrix_[index];
  float* const buffer = batch.buffer.data_ptr<float>();
  const bool is_polar_express = config_.orthogonalizer == Orthogonalizer::kPolarExpress;
  const cuda::MuonDivisor divisor = {.eps = static_cast<float>(config_.ns_eps),
                                     .norm_factor = static_cast<float>(is_polar_express ? kPolarExpressNorm : 1.0)};
  const at::Tensor sums = at::empty({shape.matrices, cuda::kMuonPartials}, batch.buffer.options());
  float* const partials = sums.data_ptr<float>();
  const at::Tensor x = at::empty(batch.buffer.sizes(), batch.buffer.options().dtype(at::kBFloat16));
  if (config_.ns_norm == NewtonSchulzNorm::kRounded) {
    kernels.muon_momentum(shape, form, factors, gradients, buffer, bf16_data(x), partials, kernels.stream());
    kernels.muon_normalize(shape, bf16_data(x), partials, divisor, bf16_data(x), kernels.stream());
  } else {
    const at::Tensor update = at::empty_like(batch.buffer);
    kernels.muon_momentum_float(shape, form, factors, gradients, buffer, update.data_ptr<float>(), partials,
                                kernels.stream());
    kernels.muon_normalize_float(shape, update.const_data_ptr<float>(), partials, divisor, bf16_data(x),
                                 kernels.stream());
  }
  return device_newton_schulz(x, newton_schulz_options(config_));
}

void DeviceMuon::launch() {
  const OpTimer timer("muon");
  const at::NoGradGuard no_grad;
  gradients_.gather();
  const CudaKernels& kernels = *cuda_kernels();
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    const at::Tensor update = orthogonal_update(i);
    kernels.muon_apply(shape_of(i), bf16_data(update), static_cast<float>(batches_[i].rate.update_scale),
                       factors_.data<cuda::MuonFactors>() + i, parameter_addresses_.data<float*>() + first_matrix_[i],
                       /*copies=*/nullptr, kernels.stream());
  }
}

at::Tensor DeviceMuon::update_of(std::size_t batch) {
  const OpTimer timer("muon");
  const at::NoGradGuard no_grad;
  if (batch == 0) gradients_.gather();
  at::Tensor update = orthogonal_update(batch).to(at::kFloat);
  const double scale = batches_[batch].rate.update_scale;
  if (scale == 1.0) return update;
  update.mul_(scale);
  round_to_bfloat16_(update);
  return update;
}

}  // namespace nanobench::core
