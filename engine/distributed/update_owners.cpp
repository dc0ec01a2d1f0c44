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
  struct Matrices {
    const OptimizerGroupConfig* settings;
    std::vector<at::Tensor> tensors;
    std::vector<std::size_t> places;  // among the parameters
  };
  std::vector<Matrices> muons;  // by their settings, for which there is a Muon each
  for (std::size_t i = 0; i < parameters.all().size(); ++i) {
    const Parameter& parameter = parameters.all()[i];
    const OptimizerGroupConfig& settings = settings_of(config.optimizer, parameter.group, parameter.name);
    if (settings.type == OptimizerType::kMuon) {
      auto muon = std::find_if(muons.begin(), muons.end(), [&](const Matrices& m) { return m.settings == &settings; });
      if (muon == muons.end()) muon = muons.insert(muons.end(), {.settings = &settings, .tensors = {}, .places = {}});
      muon->tensors.push_back(parameter.tensor);
      muon->places.push_back(i);
    } else if (is_sliced(parameter.tensor.numel(), processes)) {
      owners.sliced.push_back(i);
    } else {
      owners.replicated.push_back(i);
    }
  }
  const auto round_size = static_cast<std::size_t>(processes);
  for (const Matrices& muon : muons) {
    for (const std::vector<std::size_t>& group : muon_groups(muon.tensors, config.distributed.muon_groups)) {
      for (std::size_t begin = 0; begin < group.size(); begin += round_size) {
        std::vector<std::size_t>& round = owners.rounds.emplace_back();
        for (std::size_t i = begin; i < std::min(begin + round_size, group.size()); ++i)
          round.push_back(muon.places[group[i]]);
      }
    }
  }
  return owners;
}

bool has_update_owners(const TrainConfig& config, int processes) {
  return processes > 1 && config.distributed.gradient_sums == GradientSums::kOwners;
}

}  // namespace nanobench::core
