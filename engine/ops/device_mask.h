/// Attention masks that the GPU makes from tokens and a window that lie there. Not thread-safe.
#pragma once

#include <memory>

#include "engine/ops/attention_plan.h"
#include "engine/ops/kernels.h"

namespace nanobench::core {

/// What BlockMask is on the host, for one length: the same ranges, and no value passes through the host, so that a
/// recorded step serves every sequence and every window.
class DeviceMask {
 public:
  /// Allocates on `device`. `tokens` int32 [T] and `window_tokens` int32 [1] (0: no window) are read at every fill,
  /// from where they are now. REQUIRES cuda_kernels() for that device.
  DeviceMask(const AttentionConfig& config, const at::Tensor& tokens, const at::Tensor& window_tokens);

  /// Enqueues the kernels that write the plan's ranges.
  void fill() const;
  /// The same plan always; its ranges are those of the last fill.
  const std::shared_ptr<const AttentionPlan>& plan() const { return plan_; }

 private:
  at::Tensor tokens_;
  at::Tensor window_tokens_;
  cuda::AttentionMaskInputs inputs_;
  std::shared_ptr<const AttentionPlan> plan_;
};

/// As core/config has them in AttentionConfig.
AttentionPlanOptions plan_options(const AttentionConfig& config);

}  // namespace nanobench::core
