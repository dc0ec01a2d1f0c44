/// Adam over a group of parameters. Not thread-safe: one thread steps an optimiser.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/train_config.h"
#include "engine/kernels/adam.h"
#include "engine/optim/optimizer.h"

namespace nanobench::core {

/// Bias-corrected, dense: p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps), after p -= lr weight_decay p.
/// With eps_position kUncorrected eps is divided by sqrt(1 - b2^t). With cautious_decay c, entries that the update u
/// moves towards zero (CautiousCondition) lose lr^2 c p too. Moments start at 0, in the parameter's dtype.
///
/// config.fused without cautious decay: one pass over all parameters (engine/kernels/adam.h for contiguous float32
/// tensors, else LibTorch's fused kernel); false: a sequence of tensor operations. Both agree except for rounding.
class Adam final : public Optimizer {
 public:
  /// `parameters` are leaves; step() reads their .grad(). An undefined gradient counts as zero. With `storage`
  /// kBfloat16, gradients, moments and parameters are rounded as bfloat16 tensors would be. The arithmetic of a step is
  /// not rounded, as in the fused kernels. `moments` kBfloat16: only the moments are rounded.
  Adam(std::vector<at::Tensor> parameters, const OptimizerGroupConfig& config,
       StoredPrecision storage = StoredPrecision::kFloat32, StoredPrecision moments = StoredPrecision::kFloat32);

  void launch() override;
  OptimizerType type() const override { return OptimizerType::kAdam; }
  bool updates_only(const at::Tensor& parameter) const override {
    return parameters_.size() == 1 && parameters_.front().is_same(parameter);
  }
  std::set<UpdatePath> paths() const override;

  const std::vector<at::Tensor>& first_moments() const { return first_moments_; }
  const std::vector<at::Tensor>& second_moments() const { return second_moments_; }
  bool uses_kernel() const { return uses_kernel_; }

 protected:
  std::vector<at::Tensor> state_tensors() const override;

 private:
  std::vector<at::Tensor> gradients() const;
  double corrected_eps() const;
  void step_by_kernel(double rate);
  void step_fused(const std::vector<at::Tensor>& gradients, double rate);
  void step_by_operations(const std::vector<at::Tensor>& gradients, double rate);
  void apply_cautiously(at::Tensor parameter, const at::Tensor& update, double rate) const;

  std::vector<at::Tensor> parameters_;
  OptimizerGroupConfig config_;
  StoredPrecision storage_, moments_;
  std::vector<at::Tensor> first_moments_;
  std::vector<at::Tensor> second_moments_;
  bool uses_kernel_ = false;
  std::vector<AdamParameter> kernel_parameters_;
};

}  // namespace nanobench::core
