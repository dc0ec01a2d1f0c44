#include "core/optim/optimizer_set.h"

#include "core/config/schedule.h"
#include "core/optim/gradient_clip.h"

namespace nanobench::core {

OptimizerSet::OptimizerSet(Parameters& parameters, const TrainConfig& config, std::uint64_t seed,
                           Communicator& communicator)
    : parameters_(parameters), config_(config) {
  std::vector<at::Tensor> embeddings, lm_head, scalars, hidden;
  std::vector<MuonParameter> matrices;
  for (const Parameter& parameter : parameters.all()) {
    switch (parameter.group) {
      case ParameterGroup::kEmbeddings: embeddings.push_back(parameter.tensor); break;
      case ParameterGroup::kLmHead: lm_head.push_back(parameter.tensor); break;
      case ParameterGroup::kScalars: scalars.push_back(parameter.tensor); break;
      case ParameterGroup::kHiddenMatrices:
        hidden.push_back(parameter.tensor);
        matrices.push_back({parameter.tensor, parameter.matrices});
        break;
    }
  }
  adams_.emplace_back(embeddings, config.optimizer.embeddings, config.precision.embeddings);
  adams_.emplace_back(lm_head, config.optimizer.lm_head);
  adams_.emplace_back(scalars, config.optimizer.scalars, config.precision.scalars);
  const OptimizerGroupConfig& hidden_config = config.optimizer.hidden_matrices;
  if (hidden_config.type != OptimizerType::kMuon) {
    adams_.emplace_back(hidden, hidden_config);
  } else if (communicator.size() > 1) {
    sharded_muon_.emplace(matrices, hidden_config, config.distributed, communicator);
  } else {
    muon_.emplace(matrices, hidden_config);
  }
  if (config.precision.parameters == ParameterStorage::kBfloat16Stochastic) masters_.emplace(parameters, seed);
}

void OptimizerSet::step(std::int64_t step) {
  clip_gradients(parameters_, config_.optimizer.gradient_clip);
  if (masters_) masters_->restore();
  const double factor = learning_rate_factor(config_.schedule, step);
  for (Adam& adam : adams_) adam.step(factor);
  const double momentum = muon_momentum(config_.schedule.muon_momentum, step);
  if (muon_) muon_->step(factor, momentum);
  if (sharded_muon_) sharded_muon_->step(factor, momentum);
  if (masters_) masters_->round();
}

}  // namespace nanobench::core
