/// Muon over several processes: which process orthogonalises which matrix, and how all processes get the updates. Not
/// thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/distributed/communicator.h"
#include "engine/optim/muon.h"

namespace nanobench::core {

/// Each parameter's update is computed independently, and every process applies the same update to its copy. All
/// settings therefore give the same bits for any number of processes.
///
///   kReplicated  every process computes every update.
///   kAllReduce   (records #6 to #14) parameter i belongs to process i mod P, which alone keeps its momentum. One flat
///                vector of all updates, zero for parameters of other processes, is summed over the processes.
///   kAllGather   (from record #15) parameters with equal element counts form a group, in rounds of P; process r
///                computes the r-th of a round. While a round is gathered, the next one's update is computed; then the
///                gathered round is applied. If the last round is not full, the remaining processes resend their
///                previous update.
/// With gradient_sums kOwners (record #24 on), a process updates its own matrices and the rounds gather the matrices
/// themselves; the gradients of the others need not be there.
class ShardedMuon final : public Optimizer {
 public:
  /// Keeps a reference to `communicator`. Throws Error{kInvalidArgument} if `distributed` forbids groups that are not a
  /// multiple of the processes, and there is such a group.
  ShardedMuon(std::vector<MuonParameter> parameters, const OptimizerGroupConfig& config,
              const DistributedConfig& distributed, Communicator& communicator);

  void launch() override;
  OptimizerType type() const override { return OptimizerType::kMuon; }
  /// Paths of the updates that this process computes.
  std::set<UpdatePath> paths() const override;

 protected:
  /// Momentum of the updates that this process computes.
  std::vector<at::Tensor> state_tensors() const override;

 private:
  /// Parameters with equal element counts.
  struct Group {
    std::int64_t elements = 0;
    std::vector<std::size_t> parameters;
    at::Tensor contiguous;             ///< [P, elements], or undefined
    std::vector<at::Tensor> separate;  ///< P of [elements], or none; rows of `contiguous` otherwise
    at::Tensor spare;                  ///< kOwners: [P, elements], in place of matrices that the last round lacks
  };
  /// A round in progress: parameters [begin, begin + P) of a group.
  struct Round {
    std::size_t begin = 0;
    WorkHandle work;
  };

  void build_groups();
  void check_groups() const;
  bool owns(std::size_t parameter) const;
  at::Tensor update_of(std::size_t parameter);
  void apply(std::size_t parameter, const at::Tensor& update);
  void step_replicated();
  void step_all_reduce();
  void step_all_gather(Group& group);
  void step_owners(const Group& group);
  WorkHandle start_round(Group& group, const at::Tensor& update);
  void finish_round(Group& group, const Round& round);

  std::vector<MuonParameter> parameters_;
  OptimizerGroupConfig config_;
  DistributedConfig distributed_;
  Communicator& communicator_;
  std::map<std::size_t, Muon> own_;     ///< by parameter: the updates that this process computes
  std::vector<Group> groups_;           ///< kAllGather
  std::vector<std::size_t> position_;   ///< kAllGather: by parameter, its place in its group
  at::Tensor flat_;                     ///< kAllReduce: all updates, concatenated
  std::vector<at::Tensor> flat_views_;  ///< by parameter
};

}  // namespace nanobench::core
