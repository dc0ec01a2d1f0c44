#include "engine/distributed/update_owners.h"

#include <algorithm>
#include <map>

#include "core/config/parameter_list.h"

namespace nanobench::core {
std::vector<std::vector<std::size_t>> muon_groups(const std::vector<at::Tensor>& matrices, MuonGroups grouping) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<std::vector<std::int64_t>, std::size_t> places;  // of the groups, by key
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const auto [place, is_new] = places.emplace(muon_group_key(matrices[i].sizes(), grouping), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(i);
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
