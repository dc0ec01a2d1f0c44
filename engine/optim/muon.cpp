#include "engine/optim/muon.h"

#include <algorithm>

#include "core/base/op_timer.h"
#include "core/config/kernel_coverage.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/thread_pool.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/orthogonalize.h"

namespace nanobench::core {

Muon::Muon(const std::vector<MuonParameter>& parameters, const OptimizerGroupConfig& config)
    : parameters_(parameters), config_(config) {
  build_batches();
  build_device_batches();
  uses_kernel_ = !device_ && kernel_applies();
  if (uses_kernel_) build_kernel_matrices();
  if (config_.second_moment_beta2 && config_.blockwise) {
    blockwise_moment_.emplace(parameters_, config_);
  } else if (config_.second_moment_beta2) {
    second_moment_.emplace(parameters_, *config_.second_moment_beta2, config_.ns_dtype == NewtonSchulzDtype::kBfloat16);
  }
  round_stored();
}

void Muon::build_batches() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::int64_t rows = parameters_[i].rows(), columns = parameters_[i].columns();
    const auto same = std::find_if(batches_.begin(), batches_.end(),
                                   [&](const Batch& b) { return b.rows == rows && b.columns == columns; });
    Batch& batch = same != batches_.end()
                       ? *same
                       : batches_.emplace_back(Batch{rows, columns, {}, {}, muon_rate(config_, rows, columns)});
    batch.parameters.push_back(i);
  }
  for (Batch& batch : batches_) {
    std::int64_t count = 0;
    for (const std::size_t i : batch.parameters) count += parameters_[i].matrices;
    batch.buffer = at::zeros({count, batch.rows, batch.columns},
                             parameters_[batch.parameters.front()].tensor.options().requires_grad(false));
  }
}

/// For the case that a GPU's kernels take all batches.
void Muon::build_device_batches() {
  const bool has_parts = std::any_of(parameters_.begin(), parameters_.end(),
                                     [](const MuonParameter& parameter) { return parameter.whole.defined(); });
  if (batches_.empty() || has_parts) return;
  std::vector<DeviceMuonBatch> on_device;
  for (const Batch& batch : batches_) {
    on_device.push_back(
        {.rows = batch.rows, .columns = batch.columns, .parameters = {}, .buffer = batch.buffer, .rate = batch.rate});
    for (const std::size_t i : batch.parameters) on_device.back().parameters.push_back(parameters_[i].tensor);
  }
  if (std::all_of(on_device.begin(), on_device.end(),
                  [&](const DeviceMuonBatch& batch) { return fits_device_muon(batch, config_); }))
    device_.emplace(std::move(on_device), config_);
}

bool Muon::kernel_applies() const {
  std::vector<at::Tensor> tensors;
  for (const MuonParameter& parameter : parameters_) tensors.push_back(parameter.tensor);
  return EngineContext::current().uses_kernels() && muon_has_kernel(KernelDevice::kCpu, config_) &&
         are_plain_floats(tensors, at::kCPU);
}

void Muon::build_kernel_matrices() {
  // Sorted by approximate work.
  std::vector<const Batch*> by_size;
  for (const Batch& batch : batches_) by_size.push_back(&batch);
  std::stable_sort(by_size.begin(), by_size.end(), [](const Batch* a, const Batch* b) {
    return a->rows * a->columns * std::min(a->rows, a->columns) > b->rows * b->columns * std::min(b->rows, b->columns);
  });
  for (const Batch* const batch : by_size) {
    const std::int64_t numbers = batch->rows * batch->columns;
    float* momentum = batch->buffer.data_ptr<float>();
    for (const std::size_t i : batch->parameters) {
      for (std::int64_t index = 0; index < parameters_[i].matrices; ++index, momentum += numbers) {
        matrices_.push_back({.rows = batch->rows,
                             .columns = batch->columns,
                             .momentum = momentum,
                             .scale = static_cast<float>(batch->rate.update_scale)});
        places_.push_back({.parameter = i, .index = index, .numbers = numbers});
      }
    }
  }
}

at::Tensor Muon::gradients_of(const Batch& batch) const {
  std::vector<at::Tensor> pieces;
  for (const std::size_t i : batch.parameters) {
    const MuonParameter& parameter = parameters_[i];
    const at::Tensor own = parameter.gradient();
    const at::Tensor gradient = own.defined() ? own : at::zeros_like(parameter.tensor);
    pieces.push_back(gradient.reshape({parameter.matrices, batch.rows, batch.columns}));
  }
  return at::cat(pieces);
}

at::Tensor Muon::orthogonalize(const at::Tensor& updates) const {
  if (config_.orthogonalizer == Orthogonalizer::kSvd) return svd_orthogonalize(updates);
  return newton_schulz(updates, newton_schulz_options(config_));
}

at::Tensor Muon::update_of(Batch& batch, double momentum) const {
  const OpTimer timer("muon");
  at::Tensor update = gradients_of(batch);
  if (config_.momentum_form == MomentumForm::kLerp) {
    batch.buffer.lerp_(update, 1.0 - momentum);
    update = config_.nesterov ? update.lerp_(batch.buffer, momentum) : batch.buffer;
  } else {
    batch.buffer.mul_(momentum).add_(update);
    update = config_.nesterov ? update.add_(batch.buffer, momentum) : batch.buffer;
  }
  at::Tensor orthogonal = orthogonalize(update);
  if (config_.scale_application == ScaleApplication::kUpdate) {
    orthogonal.mul_(batch.rate.update_scale);
    if (config_.ns_dtype == NewtonSchulzDtype::kBfloat16) round_to_bfloat16_(orthogonal);
  }
  return orthogonal;
}

NewtonSchulzSettings Muon::kernel_settings(double momentum) const {
  return {.steps = config_.ns_steps,
          .eps = config_.ns_eps,
          .momentum = momentum,
          .accumulates = config_.momentum_form == MomentumForm::kAccumulate,
          .is_nesterov = config_.nesterov,
          .by_terms = config_.ns_form == NewtonSchulzForm::kTerms,
          .is_polar_express = config_.orthogonalizer == Orthogonalizer::kPolarExpress};
}

/// Uses the current gradients; matrices_ holds the destinations.
void Muon::run_kernel(double momentum) {
  std::vector<at::Tensor> gradients(parameters_.size());  // copies of those that are not contiguous
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = parameters_[i].gradient();
    if (gradient.defined()) gradients[i] = gradient.contiguous();
  }
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const Place& place = places_[i];
    const at::Tensor& gradient = gradients[place.parameter];
    matrices_[i].gradient =
        gradient.defined() ? gradient.const_data_ptr<float>() + place.index * place.numbers : nullptr;
  }
  const NewtonSchulzSettings settings = kernel_settings(momentum);
  const OpTimer timer("muon", newton_schulz_flops(matrices_, settings));
  newton_schulz_update(matrices_, settings, kernel_threads());
}

void Muon::step_by_kernel() {
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const Place& place = places_[i];
    const MuonParameter& parameter = parameters_[place.parameter];
    matrices_[i].parameter = parameter.tensor.data_ptr<float>() + place.index * place.numbers;
    matrices_[i].rate = static_cast<float>(muon_rate(config_, parameter).at(lr_factor_));
  }
  run_kernel(momentum_);
}

void Muon::step_by_operations() {
  for (Batch& batch : batches_) {
    const at::Tensor update = update_of(batch, momentum_);
    std::int64_t begin = 0;
    for (const std::size_t i : batch.parameters) {
      apply_muon_update(parameters_[i], update.narrow(0, begin, parameters_[i].matrices), config_, lr_factor_);
      begin += parameters_[i].matrices;
    }
  }
}

UpdatePath Muon::path() const {
  if (device_) return UpdatePath::kGpuKernels;
  return uses_kernel_ ? UpdatePath::kCpuKernels : UpdatePath::kOperations;
}

std::vector<at::Tensor> Muon::state_tensors() const {
  std::vector<at::Tensor> buffers;
  for (const Batch& batch : batches_) buffers.push_back(batch.buffer);
  if (second_moment_) buffers.insert(buffers.end(), second_moment_->moments().begin(), second_moment_->moments().end());
  if (blockwise_moment_)
    buffers.insert(buffers.end(), blockwise_moment_->moments().begin(), blockwise_moment_->moments().end());
  return buffers;
}

/// The kernel's updates of all parameters, without normalisation and rate, in the shapes of the parameters.
std::vector<at::Tensor> Muon::kernel_updates() {
  std::vector<at::Tensor> updates;
  for (const MuonParameter& parameter : parameters_)
    updates.push_back(at::empty_like(parameter.tensor, parameter.tensor.options().requires_grad(false)));
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const Place& place = places_[i];
    matrices_[i].parameter = nullptr;
    matrices_[i].update = updates[place.parameter].data_ptr<float>() + place.index * place.numbers;
  }
  run_kernel(momentum_);
  return updates;
}

/// By parameter, before normalisation.
std::vector<at::Tensor> Muon::orthogonal_updates() {
  if (uses_kernel_) return kernel_updates();
  std::vector<at::Tensor> updates(parameters_.size());
  std::size_t index = 0;
  for (Batch& batch : batches_) {
    const at::Tensor update = device_ ? device_->update_of(index++) : update_of(batch, momentum_);
    std::int64_t begin = 0;
    for (const std::size_t i : batch.parameters) {
      updates[i] = update.narrow(0, begin, parameters_[i].matrices).contiguous();
      begin += parameters_[i].matrices;
    }
  }
  return updates;
}

void Muon::step_normalized() {
  std::vector<at::Tensor> updates = orthogonal_updates();
  std::vector<double> rates;
  for (const MuonParameter& parameter : parameters_) rates.push_back(muon_rate(config_, parameter).at(lr_factor_));
  if (second_moment_->normalize_(updates, rates)) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    apply_muon_update(parameters_[i], updates[i], config_, lr_factor_);
}

/// What normalises each matrix, or decays.
void Muon::step_blockwise() {
  std::vector<at::Tensor> updates = orthogonal_updates();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (blockwise_moment_) blockwise_moment_->normalize_(i, updates[i]);
    apply_muon_update(parameters_[i], updates[i], config_, lr_factor_);
  }
}

/// Rounds the parameters that are stored in bfloat16, and their momentum.
void Muon::round_stored() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].storage == StoredPrecision::kFloat32) continue;
    at::Tensor momentum = momentum_buffer(i);
    round_to_bfloat16_(parameters_[i].tensor);
    round_to_bfloat16_(momentum);
  }
}

void Muon::send_numbers() {
  if (device_) device_->prepare(lr_factor_, momentum_);
}

void Muon::launch() {
  const at::NoGradGuard no_grad;
  if (config_.blockwise) {
    step_blockwise();
  } else if (second_moment_) {
    step_normalized();
  } else if (device_) {
    device_->launch();
  } else if (uses_kernel_) {
    step_by_kernel();
  } else {
    step_by_operations();
  }
  round_stored();
}

at::Tensor Muon::single_update(double momentum) {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(parameters_.size() == 1, "single_update: this Muon has ", parameters_.size(), " parameters");
  momentum_ = momentum;
  if (device_) device_->prepare(/*lr_factor=*/1.0, momentum);
  std::vector<at::Tensor> updates = orthogonal_updates();
  if (second_moment_) second_moment_->normalize_(updates);
  if (blockwise_moment_) blockwise_moment_->normalize_(0, updates.front());
  round_stored();
  return updates.front().view(batches_.front().buffer.sizes());
}

at::Tensor Muon::second_moments(std::size_t parameter) const {
  if (blockwise_moment_) return blockwise_moment_->moments()[parameter];
  return second_moment_ ? second_moment_->moments()[parameter] : at::Tensor();
}

at::Tensor Muon::momentum_buffer(std::size_t parameter) const {
  for (const Batch& batch : batches_) {
    std::int64_t begin = 0;
    for (const std::size_t i : batch.parameters) {
      if (i == parameter)
        return batch.buffer.narrow(0, begin, parameters_[i].matrices).reshape(parameters_[i].tensor.sizes());
      begin += parameters_[i].matrices;
    }
  }
  return at::Tensor();
}

}  // namespace nanobench::core
