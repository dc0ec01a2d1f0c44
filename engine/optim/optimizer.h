/// The common interface of all optimisers of a run, and float32 masters behind bfloat16 parameters (record #1). Not
/// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "core/base/enum_names.h"
#include "core/config/train_config.h"
#include "engine/nn/parameters.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// The code path of an update.
enum class UpdatePath { kCpuKernels, kGpuKernels, kOperations };
NB_ENUM_NAMES(UpdatePath, {UpdatePath::kCpuKernels, "CPU kernels"}, {UpdatePath::kGpuKernels, "GPU kernels"},
              {UpdatePath::kOperations, "operations"});

/// Steps without updates (OptimizerGroupConfig::pause_steps).
struct Pauses {
  std::vector<std::int64_t> first_steps;  ///< ascending
  std::int64_t length = 0;

  bool cover(std::int64_t step) const {
    const auto after = std::upper_bound(first_steps.begin(), first_steps.end(), step);
    return after != first_steps.begin() && step < *std::prev(after) + length;
  }
};

/// Copies of everything that an optimiser's steps have changed besides its parameters.
struct OptimizerState {
  std::vector<at::Tensor> tensors;
  std::int64_t steps = 0;
};

/// Updates its parameters from their gradients, which are already averaged.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update: prepare, then launch. `lr_factor` multiplies the base rate of a group; `momentum` is Muon's.
  void step(double lr_factor, double momentum = 0.0);
  /// Sets the numbers of a step. Enqueues the copies that a GPU's kernels read and does not wait.
  void prepare(double lr_factor, double momentum = 0.0);
  /// Sets numbers with which launch() changes nothing while gradients are zero. Does not count as a step.
  void prepare_idle();
  /// The update. Its GPU kernel launches are the same in every step, so that they can be captured and replayed.
  virtual void launch() = 0;
  /// Whether launch() consists only of such launches.
  virtual bool is_replayable() const { return false; }

  /// Updates only the steps s with k | s + 1 that are in no pause.
  void set_rhythm(std::int64_t k, Pauses pauses) {
    step_every_ = k;
    pauses_ = std::move(pauses);
  }
  bool is_due(std::int64_t step) const { return (step + 1) % step_every_ == 0 && !pauses_.cover(step); }

  virtual OptimizerType type() const = 0;
  /// Whether it updates this parameter and no other.
  virtual bool updates_only(const at::Tensor& /*parameter*/) const { return false; }
  /// Several paths if groups or matrices differ; empty if this process updates nothing.
  virtual std::set<UpdatePath> paths() const = 0;

  /// Momenta and moments: those tensors themselves.
  std::vector<at::Tensor> kept_tensors() const { return state_tensors(); }
  /// Momenta and moments, for copying from one optimiser to another of the same kind and shapes.
  OptimizerState state() const;
  /// The same without copying: the tensors are those that the next step changes.
  OptimizerState view() const { return {.tensors = state_tensors(), .steps = steps_}; }
  /// Restores a state() result.
  void restore(const OptimizerState& state);

 protected:
  /// Momenta and moments in a fixed order; they keep their addresses.
  virtual std::vector<at::Tensor> state_tensors() const = 0;
  /// Called by prepare once the members below hold the numbers of the step.
  virtual void send_numbers() {}

  double lr_factor_ = 0.0;
  double momentum_ = 0.0;
  std::int64_t steps_ = 0;  ///< updates so far, including the prepared one

 private:
  std::int64_t step_every_ = 1;
  Pauses pauses_;
};

/// Whether kernels for whole float32 tensors on `device` can take these tensors.
bool are_plain_floats(const std::vector<at::Tensor>& tensors, at::DeviceType device);

/// Optimisers update the masters. Forward and backward passes use them in bfloat16: stochastically rounded, so that
/// small updates are not lost on average, or cut off (PrecisionConfig::parameters). Deterministic: the random numbers
/// depend on (seed, number of updates, parameter).
class MasterWeights {
 public:
  /// Copies the parameters' current values as masters and rounds the parameters. Those that are cut off start rounded
  /// to the nearest, and so do their masters.
  ///   storage  not kFloat32
  MasterWeights(std::vector<at::Tensor> parameters, ParameterStorage storage, std::uint64_t seed);

  /// Call before the optimisers' step: restores the masters into the parameters.
  void unround();
  /// Call after the step: copies the parameters as masters and rounds them again.
  void round();

  /// Copies of everything that steps change besides the parameters.
  struct State {
    std::vector<at::Tensor> masters;
    std::uint64_t rounds = 0;
  };
  State state() const;
  State view() const { return {.masters = masters_, .rounds = rounds_}; }  ///< without copying
  void restore(const State& state);
  /// In the order of the parameters.
  const std::vector<at::Tensor>& masters() const { return masters_; }

 private:
  std::vector<at::Tensor> parameters_;
  ParameterStorage storage_;
  std::uint64_t seed_;
  std::uint64_t rounds_ = 0;
  std::vector<at::Tensor> masters_;
};

}  // namespace nanobench::core
