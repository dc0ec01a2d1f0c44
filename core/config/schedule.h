/// Values that change from step to step: learning rate, Muon momentum, attention window. Plain C++, pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/config/train_config.h"

namespace nanobench::core {

/// Factor on every group's base rate at step s. Trapezoid: (s + 1) / warmup, then 1, then a decrease over the cooldown
/// to `floor`. Cosine: after the warm-up, a half cosine from 1 to `floor` at num_steps.
double learning_rate_factor(const ScheduleConfig& schedule, std::int64_t step);

/// Muon momentum at step s: linear from start to end over warmup_steps.
double muon_momentum(const MomentumConfig& momentum, std::int64_t step);

/// Attention window in tokens at step s (also for s = num_steps, the last validation); nullopt: no window.
std::optional<std::int64_t> window_tokens(const WindowScheduleConfig& schedule, std::int64_t step,
                                          std::int64_t num_steps);

/// Window of the half_layers: max(1, n / 2) blocks when the other layers see n = window / block_size.
std::optional<std::int64_t> half_window_tokens(const AttentionConfig& attention, std::optional<std::int64_t> window);

}  // namespace nanobench::core
