/// Forward and backward of one sequence on tensors that stay where they are, so that a device can record it once and
/// replay it for every sequence. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/nn/gpt.h"
#include "engine/ops/device_mask.h"

namespace nanobench::core {

/// load() puts a sequence in; run() takes nothing from the host: tokens, targets and the attention window are data of
/// the device, which makes the mask itself. run() adds to the gradients of the parameters, so these must be defined,
/// and stay where they are, for a recording of it to be replayed.
class MicroStep {
 public:
  /// `weight`: what a sequence's loss counts for in the gradients. Begins with tokens 0 and a window of one block.
  /// Keeps references. Throws Error{kUnavailable} where no device has kernels.
  MicroStep(const GPT& model, const TrainConfig& config, double weight);

  /// Enqueues copies; waits for nothing. `tokens` and `targets` [T] on the model's device; `window` in tokens.
  void load(const at::Tensor& tokens, const at::Tensor& targets, std::optional<std::int64_t> window);
  void run();
  /// Of the last run; written anew by the next one.
  const at::Tensor& loss() const { return loss_; }

 private:
  void set_window(std::int64_t mask, std::optional<std::int64_t> window);

  const GPT& model_;
  const AttentionConfig& attention_;
  at::Tensor tokens_;       ///< [T] as the model takes them
  at::Tensor mask_tokens_;  ///< [T] int32, as the mask takes them
  at::Tensor targets_;      ///< [T] int64
  at::Tensor windows_;      ///< [2] int32: of most layers, and of those with half a window; 0: none
  at::Tensor weight_, loss_;
  std::vector<DeviceMask> masks_;                    ///< one, or two with half windows
  std::vector<std::optional<std::int64_t>> loaded_;  ///< windows that are there
  SequenceInput input_;
};

}  // namespace nanobench::core
