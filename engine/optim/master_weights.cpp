#include "engine/optim/master_weights.h"

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {

MasterWeights::MasterWeights(Parameters& parameters, std::uint64_t seed) : parameters_(parameters), seed_(seed) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters_.all()) masters_.push_back(at::empty_like(parameter.tensor));
  round();
}

void MasterWeights::unround() {
  const OpTimer timer("master_weights");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < masters_.size(); ++i) parameters_.all()[i].tensor.copy_(masters_[i]);
}

void MasterWeights::round() {
  const OpTimer timer("master_weights");
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < masters_.size(); ++i) {
    masters_[i].copy_(parameters_.all()[i].tensor);
    round_stochastically_(parameters_.all()[i].tensor, seed_, rounds_ * masters_.size() + i);
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
