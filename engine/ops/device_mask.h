/// Attention masks that the GPU builds from tokens and a window in its memory. Not thread-safe.
#pragma once

#include <memory>

#include "engine/ops/attention_plan.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {

/// The device counterpart of BlockMask, for one length: the same ranges, but no value passes through the host. A
/// recorded step therefore serves every sequence and window.
class DeviceMask {
 public:
  /// Allocates on `device`. `tokens` int32 [T] and `window_tokens` int32 [1] (0: no window) are read at every fill,
  /// from their current addresses. REQUIRES cuda_kernels() for that device.
  DeviceMask(const AttentionConfig& config, const at::Tensor& tokens, const at::Tensor& window_tokens);

  /// Enqueues the kernels that write the plan's ranges.
  void fill() const;
  /// Always the same plan; its ranges are those of the last fill.
  const std::shared_ptr<const AttentionPlan>& plan() const { return plan_; }

 private:
  at::Tensor tokens_;
  at::Tensor window_tokens_;
  cuda::AttentionMaskInputs inputs_;
  std::shared_ptr<const AttentionPlan> plan_;
};

/// The options given by an AttentionConfig.
AttentionPlanOptions plan_options(const AttentionConfig& config);

}  // namespace nanobench::core
