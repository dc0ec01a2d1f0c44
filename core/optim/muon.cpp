#include "core/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "core/base/op_timer.h"
#include "core/ops/bfloat16.h"
#include "core/ops/orthogonalize.h"

namespace nanobench::core {

double muon_update_scale(UpdateScale scale, std::int64_t rows, std::int64_t columns) {
  const auto r = static_cast<double>(rows);
  const auto c = static_cast<double>(columns);
  switch (scale) {
    case UpdateScale::kNone: return 1.0;
    case UpdateScale::kSqrtRowsOverColumns: return std::sqrt(std::max(1.0, r / c));
    case UpdateScale::kSqrtLargestSide: return std::sqrt(std::max(r, c));
  }
  return 1.0;
}

Muon::Muon(const std::vector<MuonParameter>& parameters, const OptimizerGroupConfig& config)
    : parameters_(parameters), config_(config) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    const std::int64_t columns = tensor.size(-1);
    const std::int64_t rows = tensor.numel() / columns / parameters_[i].matrices;
    const auto same = std::find_if(batches_.begin(), batches_.end(),
                                   [&](const Batch& b) { return b.rows == rows && b.columns == columns; });
    Batch& batch = same != batches_.end() ? *same : batches_.emplace_back(Batch{rows, columns, {}, {}});
    batch.parameters.push_back(i);
  }
  for (Batch& batch : batches_) {
    std::int64_t count = 0;
    for (const std::size_t i : batch.parameters) count += parameters_[i].matrices;
    batch.buffer = at::zeros({count, batch.rows, batch.columns},
                             parameters_[batch.parameters.front()].tensor.options().requires_grad(false));
  }
}

at::Tensor Muon::gradients_of(const Batch& batch) const {
  std::vector<at::Tensor> pieces;
  for (const std::size_t i : batch.parameters) {
    const MuonParameter& parameter = parameters_[i];
    const at::Tensor gradient =
        parameter.tensor.grad().defined() ? parameter.tensor.grad() : at::zeros_like(parameter.tensor);
    pieces.push_back(gradient.reshape({parameter.matrices, batch.rows, batch.columns}));
  }
  return at::cat(pieces);
}

at::Tensor Muon::orthogonalize(const at::Tensor& updates) const {
  if (config_.orthogonalizer == Orthogonalizer::kSvd) return svd_orthogonalize(updates);
  return newton_schulz(updates, {.steps = config_.ns_steps,
                                 .eps = config_.ns_eps,
                                 .dtype = config_.ns_dtype,
                                 .form = config_.ns_form,
                                 .norm = config_.ns_norm});
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
    orthogonal.mul_(muon_update_scale(config_.update_scale, batch.rows, batch.columns));
    if (config_.ns_dtype == NewtonSchulzDtype::kBfloat16) round_to_bfloat16_(orthogonal);
  }
  return orthogonal;
}

void Muon::step(double lr_factor, double momentum) {
  const at::NoGradGuard no_grad;
  for (Batch& batch : batches_) {
    const at::Tensor update = update_of(batch, momentum);
    std::int64_t begin = 0;
    for (const std::size_t i : batch.parameters) {
      apply_muon_update(parameters_[i], update.narrow(0, begin, parameters_[i].matrices), config_, lr_factor);
      begin += parameters_[i].matrices;
    }
  }
}

at::Tensor Muon::single_update(double momentum) {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(parameters_.size() == 1, "single_update: this Muon has ", parameters_.size(), " parameters");
  return update_of(batches_.front(), momentum);
}

void apply_muon_update(const MuonParameter& parameter, const at::Tensor& update, const OptimizerGroupConfig& config,
                       double lr_factor) {
  const OpTimer timer("muon");
  const at::NoGradGuard no_grad;
  double rate = config.lr * lr_factor;
  if (config.scale_application == ScaleApplication::kRate) {
    const std::int64_t columns = parameter.tensor.size(-1);
    rate *= muon_update_scale(config.update_scale, parameter.tensor.numel() / columns / parameter.matrices, columns);
  }
  at::Tensor tensor = parameter.tensor;
  tensor.add_(update.reshape(tensor.sizes()), -rate);
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
