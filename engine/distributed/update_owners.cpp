#include "engine/distributed/update_owners.h"

#include <algorithm>

#include "core/config/parameter_list.h"

namespace nanobench::core {
namespace {

bool belong_together(const at::Tensor& a, const at::Tensor& b, MuonGroups grouping) {
  return grouping == MuonGroups::kElements ? a.numel() == b.numel() : a.sizes() == b.sizes();
}

}  // namespace

std::vector<std::vector<std::size_t>> muon_groups(const std::vector<at::Tensor>& matrices, MuonGroups grouping) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<std::size_t>& one) {
      return belong_together(matrices[one.front()], matrices[i], grouping);
    });
    if (group == groups.end()) group = groups.insert(groups.end(), std::vector<std::size_t>());
    group->push_back(i);
  }
  return groups;
}

UpdateOwners update_owners(const Parameters& parameters, const TrainConfig& config, int processes) {
  UpdateOwners owners;
  std::vector<at::Tensor> matrices;
  std::vector<std::size_t> places;  // of `matrices` among the parameters
  for (std::size_t i = 0; i < parameters.all().size(); ++i) {
    const Parameter& parameter = parameters.all()[i];
    if (group_config(config.optimizer, parameter.group).type == OptimizerType::kMuon) {
      matrices.push_back(parameter.tensor);
      places.push_back(i);
    } else if (is_sliced(parameter.tensor.numel(), processes)) {
      owners.sliced.push_back(i);
    } else {
      owners.replicated.push_back(i);
    }
  }
  const auto round_size = static_cast<std::size_t>(processes);
  for (const std::vector<std::size_t>& group : muon_groups(matrices, config.distributed.muon_groups)) {
    for (std::size_t begin = 0; begin < group.size(); begin += round_size) {
      std::vector<std::size_t>& round = owners.rounds.emplace_back();
      for (std::size_t i = begin; i < std::min(begin + round_size, group.size()); ++i)
        round.push_back(places[group[i]]);
    }
  }
  return owners;
}

bool has_update_owners(const TrainConfig& config, int processes) {
  return processes > 1 && config.distributed.gradient_sums == GradientSums::kOwners;
}

}  // namespace nanobench::core
