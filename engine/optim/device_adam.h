/// Adam by the GPU's kernel: all tensors of all groups in one launch. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/train_config.h"
#include "engine/cuda/adam.h"
#include "engine/ops/device_table.h"
#include "engine/ops/torch.h"
#include "engine/optim/device_gradients.h"

namespace nanobench::core {

/// What one Adam is made of (engine/optim/adam.h).
struct AdamGroup {
  std::vector<at::Tensor> parameters;
  OptimizerGroupConfig config;
  StoredPrecision storage = StoredPrecision::kFloat32;
};

/// Whether the kernel computes what the group asks for, where its parameters lie: a GPU with kernels, config.fused, and
/// contiguous float32 parameters.
bool fits_device_adam(const AdamGroup& group);

/// The update of Adam with config.fused, for several groups. Moments of a group that is stored in bfloat16 are bfloat16
/// tensors; its parameters are float32 tensors of such values.
class DeviceAdam {
 public:
  /// REQUIRES fits_device_adam(group) of each, and one device. At least one parameter.
  explicit DeviceAdam(std::vector<AdamGroup> groups);

  /// Begins a step with base rates config.lr * lr_factor: enqueues copies of its factors, and of the gradients'
  /// addresses where those changed. Waits for nothing.
  void prepare(double lr_factor);
  /// Factors with which launch() changes nothing while gradients are zero. Not a step.
  void prepare_idle() { assign(0.0, 1); }
  /// The update. Everything that differs between steps is read from memory that prepare() fills.
  void launch();
  void step(double lr_factor) {
    prepare(lr_factor);
    launch();
  }

  /// Of the parameters of all groups, in order.
  const std::vector<at::Tensor>& first_moments() const { return first_moments_; }
  const std::vector<at::Tensor>& second_moments() const { return second_moments_; }
  /// Copies to the device until now.
  std::int64_t copies() const { return table_.copies() + factors_.copies(); }

 private:
  void assign(double lr_factor, std::int64_t step);
  void add_tensors(const AdamGroup& group, std::int32_t index);

  std::vector<AdamGroup> groups_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> first_moments_;
  std::vector<at::Tensor> second_moments_;
  DeviceGradients gradients_;
  std::vector<cuda::AdamTensor> tensors_;
  std::int64_t items_ = 0;
  std::int64_t steps_ = 0;
  DeviceTable table_;    ///< tensors_
  DeviceTable factors_;  ///< one cuda::AdamFactors a group
};

}  // namespace nanobench::core
