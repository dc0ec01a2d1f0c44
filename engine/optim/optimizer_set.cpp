#include "engine/optim/optimizer_set.h"

#include <algorithm>
#include <set>

#include "core/config/schedule.h"
#include "engine/optim/gradient_clip.h"

namespace nanobench::core {
namespace {

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

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
  std::vector<AdamGroup> adams = {{embeddings, config.optimizer.embeddings, config.precision.embeddings},
                                  {lm_head, config.optimizer.lm_head},
                                  {scalars, config.optimizer.scalars, config.precision.scalars}};
  const OptimizerGroupConfig& hidden_config = config.optimizer.hidden_matrices;
  if (hidden_config.type != OptimizerType::kMuon) {
    adams.push_back({hidden, hidden_config});
  } else if (communicator.size() > 1) {
    sharded_muon_.emplace(matrices, hidden_config, config.distributed, communicator);
  } else {
    muon_.emplace(matrices, hidden_config);
  }
  add_adams(std::move(adams));
  if (config.precision.parameters == ParameterStorage::kBfloat16Stochastic) masters_.emplace(parameters, seed);
}

void OptimizerSet::add_adams(std::vector<AdamGroup> groups) {
  std::vector<AdamGroup> on_device;
  for (AdamGroup& group : groups) {
    if (group.parameters.empty()) continue;
    if (fits_device_adam(group)) {
      on_device.push_back(std::move(group));
    } else {
      adams_.emplace_back(std::move(group.parameters), group.config, group.storage);
    }
  }
  if (!on_device.empty()) device_adam_.emplace(std::move(on_device));
}

void OptimizerSet::step(std::int64_t step) {
  prepare(step);
  launch();
}

void OptimizerSet::prepare(std::int64_t step) {
  lr_factor_ = learning_rate_factor(config_.schedule, step);
  momentum_ = muon_momentum(config_.schedule.muon_momentum, step);
  if (device_adam_) device_adam_->prepare(lr_factor_);
  if (muon_) muon_->prepare(lr_factor_, momentum_);
}

void OptimizerSet::prepare_idle() {
  if (device_adam_) device_adam_->prepare_idle();
  if (muon_) muon_->prepare(/*lr_factor=*/0.0, /*momentum=*/0.0);
}

void OptimizerSet::launch() {
  clip_gradients(parameters_, config_.optimizer.gradient_clip);
  if (masters_) masters_->restore();
  for (Adam& adam : adams_) adam.step(lr_factor_);
  if (device_adam_) device_adam_->launch();
  if (muon_) muon_->launch();
  if (sharded_muon_) sharded_muon_->step(lr_factor_, momentum_);
  if (masters_) masters_->round();
}

bool OptimizerSet::is_replayable() const {
  return adams_.empty() && (!muon_ || muon_->uses_device_kernels()) && !sharded_muon_ && !masters_;
}

std::map<std::string, std::string> OptimizerSet::paths() const {
  std::set<std::string> adam;
  if (device_adam_) adam.insert("GPU kernels");
  for (const Adam& group : adams_) adam.insert(group.uses_kernel() ? "CPU kernels" : "operations");
  std::map<std::string, std::string> paths = {{"adam", joined(adam)}};
  if (muon_) paths["muon"] = muon_->path();
  if (sharded_muon_) paths["muon"] = joined(sharded_muon_->paths());
  return paths;
}

bool OptimizerSet::lacks_adam_kernel() const {
  return std::any_of(adams_.begin(), adams_.end(),
                     [](const Adam& group) { return group.is_to_be_fused() && !group.uses_kernel(); });
}

bool OptimizerSet::lacks_muon_kernel() const {
  const auto paths_by_part = paths();
  const auto muon = paths_by_part.find("muon");
  return muon != paths_by_part.end() && muon->second.find("operations") != std::string::npos &&
         config_.optimizer.hidden_matrices.orthogonalizer == Orthogonalizer::kNewtonSchulz;
}

}  // namespace nanobench::core
