/// Model inputs from sequences of tokens: the tensors, and the attention plans of the windows. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/config/schedule.h"
#include "engine/nn/gpt.h"

namespace nanobench::core {

class SequenceInputs {
 public:
  /// Keeps a reference to `config`. `dtype`: of the model; `device`: the model's.
  SequenceInputs(const TrainConfig& config, at::ScalarType dtype, at::Device device)
      : config_(config), dtype_(dtype), device_(device) {}

  /// `raw`: T tokens, which `tokens` and `targets` [T] hold on the device.
  SequenceInput make(std::span<const std::uint16_t> raw, const at::Tensor& tokens, const at::Tensor& targets,
                     const StepWindows& windows) const;
  /// `raw`: T + 1 tokens; copies them to the device, and waits for it.
  SequenceInput make(std::span<const std::uint16_t> raw, const StepWindows& windows) const;

  /// [T] tokens in ordinary memory: tokens of the loader's type and targets of int64 that share it where they can.
  struct Tokens {
    at::Tensor tokens, targets;
  };
  /// Inputs and targets of T + 1 tokens, on the CPU.
  static Tokens shifted(std::span<const std::uint16_t> raw, at::ScalarType type);
  /// data.loader.token_dtype.
  at::ScalarType token_type() const;

 private:
  std::shared_ptr<const AttentionPlan> make_plan(std::span<const std::uint16_t> tokens,
                                                 std::optional<std::int64_t> window) const;
  std::shared_ptr<const AttentionPlan> make_plan(std::span<const std::uint16_t> tokens,
                                                 std::optional<std::int64_t> window,
                                                 WindowGranularity granularity) const;
  std::shared_ptr<const AttentionPlan> make_paired_plan(std::span<const std::uint16_t> tokens,
                                                        std::optional<std::int64_t> window) const;

  const TrainConfig& config_;
  at::ScalarType dtype_;
  at::Device device_;
};

}  // namespace nanobench::core
