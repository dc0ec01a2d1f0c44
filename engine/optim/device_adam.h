/// Adam with the GPU kernel: all tensors of all groups in one launch. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/train_config.h"
#include "engine/cuda/adam.h"
#include "engine/optim/device_memory.h"
#include "engine/optim/optimizer.h"

namespace nanobench::core {

/// The arguments of one Adam (engine/optim/adam.h).
struct AdamGroup {
  std::vector<at::Tensor> parameters;
  OptimizerGroupConfig config;
  StoredPrecision storage = StoredPrecision::kFloat32;
  StoredPrecision moments = StoredPrecision::kFloat32;  ///< kBfloat16: the moments alone are rounded too
};

/// Whether the kernel can update this group on its device: a GPU with kernels, config.fused, and contiguous float32
/// parameters.
bool fits_device_adam(const AdamGroup& group);

/// The update of Adam with config.fused, for several groups. A group stored in bfloat16 has bfloat16 moments; its
/// parameters are float32 tensors of bfloat16 values.
class DeviceAdam final : public Optimizer {
 public:
  /// REQUIRES fits_device_adam(group) for each group, one common device, and at least one parameter.
  explicit DeviceAdam(std::vector<AdamGroup> groups);

  /// Reads everything that changes between steps from memory that prepare() fills.
  void launch() override;
  bool is_replayable() const override { return true; }
  OptimizerType type() const override { return OptimizerType::kAdam; }
  std::set<UpdatePath> paths() const override { return {UpdatePath::kGpuKernels}; }

  /// Moments of the parameters of all groups, in order.
  const std::vector<at::Tensor>& first_moments() const { return first_moments_; }
  const std::vector<at::Tensor>& second_moments() const { return second_moments_; }
  /// Copies to the device so far.
  std::int64_t copies() const { return table_.copies() + factors_.copies(); }

 protected:
  std::vector<at::Tensor> state_tensors() const override;
  /// Enqueues copies of the step's factors, and of any gradient addresses that changed.
  void send_numbers() override;

 private:
  void add_tensors(const AdamGroup& group, std::int32_t index);

  std::vector<AdamGroup> groups_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> first_moments_;
  std::vector<at::Tensor> second_moments_;
  DeviceGradients gradients_;
  std::vector<cuda::AdamTensor> tensors_;
  std::int64_t items_ = 0;
  DeviceTable table_;    ///< tensors_
  DeviceTable factors_;  ///< one cuda::AdamFactors per group
};

}  // namespace nanobench::core
