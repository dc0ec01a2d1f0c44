#include "engine/optim/optimizer.h"

#include <algorithm>

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {

void Optimizer::step(double lr_factor, double momentum) {
  prepare(lr_factor, momentum);
  launch();
}

void Optimizer::prepare(double lr_factor, double momentum) {
  lr_factor_ = lr_factor;
  momentum_ = momentum;
  ++steps_;
  send_numbers();
}

void Optimizer::prepare_idle() {
  lr_factor_ = momentum_ = 0.0;
  send_numbers();
}

OptimizerState Optimizer::state() const {
  OptimizerState state{.tensors = {}, .steps = steps_};
  for (const at::Tensor& tensor : state_tensors()) state.tensors.push_back(tensor.detach().clone());
  return state;
}

void Optimizer::restore(const OptimizerState& state) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> tensors = state_tensors();
  TORCH_CHECK(tensors.size() == state.tensors.size(), "restore: ", state.tensors.size(),
              " tensors for an optimiser of ", tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].copy_(state.tensors[i]);
  steps_ = state.steps;
}

bool are_plain_floats(const std::vector<at::Tensor>& tensors, at::DeviceType device) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
    return tensor.device().type() == device && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
  });
}

MasterWeights::MasterWeights(std::vector<at::Tensor> parameters, ParameterStorage storage, std::uint64_t seed)
    : parameters_(std::move(parameters)), storage_(storage), seed_(seed) {
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : parameters_) {
    if (storage_ == ParameterStorage::kBfloat16Truncated) round_to_bfloat16_(parameter);
    masters_.push_back(at::empty_like(parameter));
  }
  round();
}

void MasterWeights::unround() {
  const OpTimer timer("master_weights");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < masters_.size(); ++i) parameters_[i].copy_(masters_[i]);
}

void MasterWeights::round() {
  const OpTimer timer("master_weights");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < masters_.size(); ++i) {
    masters_[i].copy_(parameters_[i]);
    if (storage_ == ParameterStorage::kBfloat16Truncated) {
      truncate_to_bfloat16_(parameters_[i]);
    } else {
      round_stochastically_(parameters_[i], seed_, rounds_ * masters_.size() + i);
    }
  }
  ++rounds_;
}

MasterWeights::State MasterWeights::state() const {
  State state{.masters = {}, .rounds = rounds_};
  for (const at::Tensor& master : masters_) state.masters.push_back(master.clone());
  return state;
}

void MasterWeights::restore(const State& state) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < masters_.size(); ++i) masters_[i].copy_(state.masters[i]);
  rounds_ = state.rounds;
}

}  // namespace nanobench::core
