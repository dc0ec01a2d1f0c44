/// What every optimiser of a run can do, whatever it updates its parameters by. Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// The code that an update runs through.
enum class UpdatePath { kCpuKernels, kGpuKernels, kOperations };
const char* to_string(UpdatePath path);  ///< "CPU kernels", "GPU kernels", "operations"

/// What the steps of an optimiser have changed besides its parameters: copies.
struct OptimizerState {
  std::vector<at::Tensor> tensors;
  std::int64_t steps = 0;
};

/// Updates the parameters that it was made for from their gradients, which are averaged already.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One update: prepare, then launch. `lr_factor` multiplies the base rate of a group; `momentum` is Muon's.
  void step(double lr_factor, double momentum = 0.0);
  /// Takes the numbers of a step. What a GPU's kernels read is on its way to the GPU after this; nothing is waited for.
  void prepare(double lr_factor, double momentum = 0.0);
  /// Numbers with which launch() changes nothing while gradients are zero. Not a step.
  void prepare_idle();
  /// The update. What a GPU's kernels launch is the same in every step, so that it can be captured and replayed.
  virtual void launch() = 0;
  /// Whether all of launch() is such launches.
  virtual bool is_replayable() const { return false; }

  virtual OptimizerType type() const = 0;
  /// Several where groups or matrices differ; empty where this process updates nothing.
  virtual std::set<UpdatePath> paths() const = 0;

  OptimizerState state() const;
  /// Puts back what state() gave.
  void restore(const OptimizerState& state);

 protected:
  /// Momenta and moments, in a fixed order: they stay where they are.
  virtual std::vector<at::Tensor> state_tensors() const = 0;
  /// Called by prepare, when the members below hold the numbers of the step.
  virtual void send_numbers() {}

  double lr_factor_ = 0.0;
  double momentum_ = 0.0;
  std::int64_t steps_ = 0;  ///< until now, the prepared one included
};

/// Whether kernels that take whole float32 tensors of `device` can take these.
bool are_plain_floats(const std::vector<at::Tensor>& tensors, at::DeviceType device);

}  // namespace nanobench::core
