/// Which process updates which parameter when gradients are scattered. Pure functions of the configuration and the
/// shapes: all processes compute the same.
#pragma once

#include <cstddef>
#include <vector>

#include "core/config/train_config.h"
#include "engine/nn/parameters.h"

namespace nanobench::core {

/// Muon's groups (DistributedConfig::muon_groups), in order of their first matrix: indices into `matrices`. A group is
/// shared out in rounds: the i-th of a group belongs to process i mod P.
std::vector<std::vector<std::size_t>> muon_groups(const std::vector<at::Tensor>& matrices, MuonGroups grouping);

/// Indices into Parameters::all(); each parameter is in one of the three.
struct UpdateOwners {
  std::vector<std::vector<std::size_t>> rounds;  ///< Muon: process r owns the r-th of each round, which may be shorter
  std::vector<std::size_t> sliced;               ///< process r of P owns the elements [r n / P, (r + 1) n / P)
  std::vector<std::size_t> replicated;           ///< updated by every process: its elements do not divide evenly
};
UpdateOwners update_owners(const Parameters& parameters, const TrainConfig& config, int processes);

/// Whether the updates of this run have owners: several processes, and DistributedConfig::gradient_sums kOwners.
bool has_update_owners(const TrainConfig& config, int processes);

}  // namespace nanobench::core
