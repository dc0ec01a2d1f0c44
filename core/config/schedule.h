/// Values that change from step to step: learning rate, Muon momentum, attention window. Plain C++, pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/config/train_config.h"

namespace nanobench::core {

/// Factor on every group's base rate at step s. Trapezoid: (s + 1) / warmup, then 1, then a decrease over the cooldown
/// to `floor`. Cosine: after the warm-up, a half cosine from 1 to `floor` at num_steps. Extension steps count as step
/// 0.9999 num_steps, unless the schedule covers them and so ends with them. All of it is multiplied by
/// schedule.rate_factor.
double learning_rate_factor(const ScheduleConfig& schedule, std::int64_t step);

/// Muon momentum at step s: linear from start to end over warmup_steps, and back over the last cooldown_steps of all
/// steps.
double muon_momentum(const ScheduleConfig& schedule, std::int64_t step);

/// Attention window in tokens at step s (also for s = num_steps, the last validation); nullopt: no window.
std::optional<std::int64_t> window_tokens(const WindowScheduleConfig& schedule, std::int64_t step,
                                          std::int64_t num_steps);

/// Window of the half_layers: max(1, n / 2) blocks when the other layers see n = window / block_size.
std::optional<std::int64_t> half_window_tokens(const AttentionConfig& attention, std::optional<std::int64_t> window);

/// The first key in the window of query q, which may be negative (core/data/block_mask.h has the granularities).
std::int64_t first_key_of_window(WindowGranularity granularity, std::int64_t window_tokens, std::int64_t block_size,
                                 std::int64_t query);

/// The windows of a step, in tokens; nullopt: no window.
struct StepWindows {
  std::optional<std::int64_t> whole;  ///< of most layers
  std::optional<std::int64_t> half;   ///< of half_layers or short_layers; nullopt too if there are none
  /// The window of final_validation_layers in the last validation; nullopt: they have those of the others.
  std::optional<std::int64_t> listed;

  auto operator<=>(const StepWindows&) const = default;
};

/// Windows of step s and of the validation before it. s = num_steps + extension_steps is the last validation.
StepWindows step_windows(const AttentionConfig& attention, const ScheduleConfig& schedule, std::int64_t step);

/// The window of most layers at step 0 and after each of its changes up to step s, in order; empty without window.
/// With stages the window of the last validation is no change.
/// Source: YaRN and the attention scale of #31 change with it.
std::vector<std::int64_t> window_history(const AttentionConfig& attention, const ScheduleConfig& schedule,
                                         std::int64_t step);

/// The steps after step 0 up to the last whose windows or sequence length are not those of the step before.
std::vector<std::int64_t> change_steps(const TrainConfig& config);

/// The attention scale after the changes of `history`; REQUIRES model.attention_scale if it grows.
double grown_attention_scale(const ModelConfig& model, const std::vector<std::int64_t>& history);

/// Weights of the targets of a token at step s: of the next token, of the one after it, and so on. {1} without
/// loss.multi_token.
std::vector<double> target_weights(const LossConfig& loss, std::int64_t step);

/// Weight of the prefix of the next token at step s; 0 without loss.prefix.
double prefix_weight(const LossConfig& loss, std::int64_t step);

/// Whether anything but the mask changes with the window (model.rope.window_scaling, model.attention_scale_growth).
bool window_changes_attention(const ModelConfig& model);

}  // namespace nanobench::core
