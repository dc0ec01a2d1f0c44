#include "engine/optim/sharded_muon.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "engine/distributed/update_owners.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {
namespace {

at::TensorOptions options_of(const MuonParameter& parameter) {
  return parameter.tensor.options().requires_grad(false);
}

}  // namespace

ShardedMuon::ShardedMuon(std::vector<MuonParameter> parameters, const OptimizerGroupConfig& config,
                         const DistributedConfig& distributed, Communicator& communicator)
    : parameters_(std::move(parameters)), config_(config), distributed_(distributed), communicator_(communicator) {
  for (MuonParameter& parameter : parameters_) {
    const at::NoGradGuard no_grad;
    if (parameter.storage == StoredPrecision::kBfloat16) round_to_bfloat16_(parameter.tensor);
  }
  if (distributed_.muon == MuonSharding::kAllGather) build_groups();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (owns(i)) own_.emplace(i, Muon({parameters_[i]}, config_));
    total += parameters_[i].tensor.numel();
  }
  if (distributed_.muon != MuonSharding::kAllReduce || parameters_.empty()) return;
  flat_ = at::zeros({total}, options_of(parameters_.front()));
  std::int64_t begin = 0;
  for (const MuonParameter& parameter : parameters_) {
    flat_views_.push_back(flat_.narrow(0, begin, parameter.tensor.numel()));
    begin += parameter.tensor.numel();
  }
}

std::set<UpdatePath> ShardedMuon::paths() const {
  std::set<UpdatePath> paths;
  for (const auto& [parameter, muon] : own_) paths.insert(muon.path());
  return paths;
}

std::vector<at::Tensor> ShardedMuon::state_tensors() const {
  std::vector<at::Tensor> buffers;
  for (const auto& [parameter, muon] : own_) {
    buffers.push_back(muon.momentum_buffer(0));
    if (muon.second_moments(0).defined()) buffers.push_back(muon.second_moments(0));
  }
  return buffers;
}

void ShardedMuon::build_groups() {
  const std::int64_t processes = communicator_.size();
  std::vector<at::Tensor> matrices;
  for (const MuonParameter& parameter : parameters_) matrices.push_back(parameter.tensor);
  position_.resize(parameters_.size());
  for (std::vector<std::size_t>& members : muon_groups(matrices, distributed_.muon_groups)) {
    for (std::size_t i = 0; i < members.size(); ++i) position_[members[i]] = i;
    const std::int64_t elements = matrices[members.front()].numel();
    groups_.push_back(
        {.elements = elements, .parameters = std::move(members), .contiguous = {}, .separate = {}, .spare = {}});
  }
  check_groups();
  for (Group& group : groups_) {
    const at::TensorOptions options = options_of(parameters_[group.parameters.front()]);
    if (distributed_.gradient_sums == GradientSums::kOwners) {
      if (group.parameters.size() % static_cast<std::size_t>(processes) != 0)
        group.spare = at::zeros({processes, group.elements}, options);
    } else if (distributed_.gather_buffer == GatherBuffer::kContiguous) {
      group.contiguous = at::zeros({processes, group.elements}, options);
      group.separate = group.contiguous.unbind(0);
    } else {
      for (std::int64_t process = 0; process < processes; ++process)
        group.separate.push_back(at::zeros({group.elements}, options));
    }
  }
}

void ShardedMuon::check_groups() const {
  if (distributed_.ragged_groups) return;
  const auto processes = static_cast<std::size_t>(communicator_.size());
  for (const Group& group : groups_) {
    if (group.parameters.size() % processes == 0) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "distributed/ragged_groups is false, but the " + std::to_string(group.parameters.size()) +
                    " parameters of " + std::to_string(group.elements) + " elements do not divide among " +
                    std::to_string(processes) + " processes; set it to true or change distributed/processes");
  }
}

bool ShardedMuon::owns(std::size_t parameter) const {
  const auto processes = static_cast<std::size_t>(communicator_.size());
  const auto rank = static_cast<std::size_t>(communicator_.rank());
  switch (distributed_.muon) {
    case MuonSharding::kReplicated: return true;
    case MuonSharding::kAllReduce: return parameter % processes == rank;
    case MuonSharding::kAllGather: return position_[parameter] % processes == rank;
  }
  return true;
}

at::Tensor ShardedMuon::update_of(std::size_t parameter) {
  return own_.at(parameter).single_update(momentum_).reshape({-1}).contiguous();
}

void ShardedMuon::apply(std::size_t parameter, const at::Tensor& update) {
  apply_muon_update(parameters_[parameter], update, config_, lr_factor_);
}

void ShardedMuon::launch() {
  const at::NoGradGuard no_grad;
  switch (distributed_.muon) {
    case MuonSharding::kReplicated: step_replicated(); break;
    case MuonSharding::kAllReduce: step_all_reduce(); break;
    case MuonSharding::kAllGather:
      for (Group& group : groups_) {
        if (distributed_.gradient_sums == GradientSums::kOwners) {
          step_owners(group);
        } else {
          step_all_gather(group);
        }
      }
      break;
  }
}

void ShardedMuon::step_replicated() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) apply(i, update_of(i));
}

void ShardedMuon::step_all_reduce() {
  if (parameters_.empty()) return;
  flat_.zero_();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (owns(i)) flat_views_[i].copy_(update_of(i));
  }
  communicator_.all_reduce_sum(flat_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) apply(i, flat_views_[i]);
}

void ShardedMuon::step_all_gather(Group& group) {
  const auto processes = static_cast<std::size_t>(communicator_.size());
  const auto rank = static_cast<std::size_t>(communicator_.rank());
  at::Tensor update = at::zeros({group.elements}, options_of(parameters_[group.parameters.front()]));
  std::optional<Round> previous;
  for (std::size_t begin = 0; begin < group.parameters.size(); begin += processes) {
    if (begin + rank < group.parameters.size()) update = update_of(group.parameters[begin + rank]);
    if (previous) finish_round(group, *previous);
    previous = Round{.begin = begin, .work = start_round(group, update)};
    if (distributed_.all_gather == GatherTiming::kBlocking) previous->work->wait();
  }
  if (previous) finish_round(group, *previous);
}

void ShardedMuon::step_owners(const Group& group) {
  const auto processes = static_cast<std::size_t>(communicator_.size());
  const auto rank = static_cast<std::size_t>(communicator_.rank());
  std::vector<WorkHandle> works;
  for (std::size_t begin = 0; begin < group.parameters.size(); begin += processes) {
    std::vector<at::Tensor> matrices;
    for (std::size_t i = 0; i < processes; ++i) {
      const bool has_matrix = begin + i < group.parameters.size();
      matrices.push_back(has_matrix ? parameters_[group.parameters[begin + i]].tensor.detach().view({-1})
                                    : group.spare[static_cast<std::int64_t>(i)]);
    }
    if (begin + rank < group.parameters.size()) {
      const std::size_t own = group.parameters[begin + rank];
      apply(own, update_of(own));
    }
    works.push_back(communicator_.start_all_gather(matrices, matrices[rank]));
    if (distributed_.all_gather == GatherTiming::kBlocking) works.back()->wait();
  }
  for (const WorkHandle& work : works) work->wait();
}

WorkHandle ShardedMuon::start_round(Group& group, const at::Tensor& update) {
  return group.contiguous.defined() ? communicator_.start_all_gather(group.contiguous, update)
                                    : communicator_.start_all_gather(group.separate, update);
}

void ShardedMuon::finish_round(Group& group, const Round& round) {
  round.work->wait();
  const std::size_t count =
      std::min(group.parameters.size() - round.begin, static_cast<std::size_t>(communicator_.size()));
  for (std::size_t i = 0; i < count; ++i) apply(group.parameters[round.begin + i], group.separate[i]);
}

}  // namespace nanobench::core
