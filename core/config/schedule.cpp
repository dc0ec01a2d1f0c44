#include "core/config/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nanobench::core {
namespace {

constexpr double kLastPosition = 0.9999;  // of num_steps: the records' schedule during the extension

/// How much of a stage from `from` to `to` has passed, 0 to 1.
template <class Stage>
double passed(const Stage& stage, std::int64_t step) {
  const auto from = static_cast<double>(stage.from);
  return std::min((static_cast<double>(step) - from) / (stage.to - from), 1.0);
}

/// The trapezoid with stages: none of it is approximate, so the extension has exactly the floor.
double staged_rate_factor(const ScheduleConfig& schedule, std::int64_t step) {
  const LearningRateConfig& rate = schedule.learning_rate;
  const RateStage* stage = stage_at(rate.stages, step);
  const double factor = stage == nullptr ? 1.0 : stage->factor;
  const double remaining = static_cast<double>(schedule.num_steps - step);
  const double w = rate.cooldown_steps == 0.0 ? 1.0 : std::clamp(remaining / rate.cooldown_steps, 0.0, 1.0);
  return factor * w + (1.0 - w) * rate.floor;
}

double scheduled_rate_factor(const ScheduleConfig& schedule, std::int64_t step) {
  const LearningRateConfig& rate = schedule.learning_rate;
  if (step < rate.warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(rate.warmup_steps);
  const std::int64_t end = rate.covers_extension ? schedule.total_steps() : schedule.num_steps;
  auto position = static_cast<double>(step);
  if (schedule.extension_steps > 0 && !rate.covers_extension)
    position = std::min(position, kLastPosition * static_cast<double>(schedule.num_steps));
  const double remaining = static_cast<double>(end) - position;
  if (rate.shape == LearningRateShape::kCosine) {
    const double fraction = 1.0 - remaining / static_cast<double>(end - rate.warmup_steps);
    return rate.floor + (1.0 - rate.floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * fraction));
  }
  if (!rate.stages.empty()) return staged_rate_factor(schedule, step);
  if (remaining > rate.cooldown_steps || rate.cooldown_steps == 0.0) return 1.0;
  const double w = remaining / rate.cooldown_steps;
  return w + (1.0 - w) * rate.floor;
}

}  // namespace

double learning_rate_factor(const ScheduleConfig& schedule, std::int64_t step) {
  return schedule.rate_factor * scheduled_rate_factor(schedule, step);
}

double muon_momentum(const ScheduleConfig& schedule, std::int64_t step) {
  const MomentumConfig& momentum = schedule.muon_momentum;
  const std::int64_t cooling = step - (schedule.total_steps() - momentum.cooldown_steps);
  if (momentum.cooldown_steps > 0 && cooling > 0) {
    const double fraction = static_cast<double>(cooling) / static_cast<double>(momentum.cooldown_steps);
    return momentum.end - fraction * (momentum.end - momentum.start);
  }
  if (momentum.warmup_steps == 0) return momentum.end;
  const bool holds_last = momentum.hold == MomentumHold::kLastWarmupStep;
  const std::int64_t reached = std::min(step, momentum.warmup_steps - (holds_last ? 1 : 0));
  const double fraction = static_cast<double>(reached) / static_cast<double>(momentum.warmup_steps);
  return (1.0 - fraction) * momentum.start + fraction * momentum.end;
}

std::optional<std::int64_t> window_tokens(const WindowScheduleConfig& schedule, std::int64_t step,
                                          std::int64_t num_steps) {
  if (schedule.type == WindowScheduleType::kNone) return std::nullopt;
  if (schedule.type == WindowScheduleType::kConstant) return schedule.tokens;
  if (schedule.type == WindowScheduleType::kStages) return stage_at(schedule.stages, step)->long_tokens;
  if (schedule.type == WindowScheduleType::kList) {
    const auto count = static_cast<std::int64_t>(schedule.tokens_list.size());
    return schedule.tokens_list[static_cast<std::size_t>(std::min(count - 1, count * step / (num_steps + 1)))];
  }
  // (start + offset + (end - start) s / N) / quantum as one fraction of integers: no rounding at the steps where it is
  // whole.
  const __int128 numerator = static_cast<__int128>(schedule.start_tokens + schedule.offset_tokens) * num_steps +
                             static_cast<__int128>(schedule.end_tokens - schedule.start_tokens) * step;
  const __int128 denominator = static_cast<__int128>(schedule.quantum_tokens) * num_steps;
  if (schedule.rounding == WindowRounding::kFloor)
    return static_cast<std::int64_t>(numerator / denominator) * schedule.quantum_tokens;
  const auto ceiling = static_cast<std::int64_t>((numerator + denominator - 1) / denominator);
  return std::max<std::int64_t>(1, ceiling) * schedule.quantum_tokens;
}

std::optional<std::int64_t> half_window_tokens(const AttentionConfig& attention, std::optional<std::int64_t> window) {
  if (!window) return std::nullopt;
  return std::max<std::int64_t>(1, *window / attention.block_size / 2) * attention.block_size;
}

std::int64_t first_key_of_window(WindowGranularity granularity, std::int64_t window_tokens, std::int64_t block_size,
                                 std::int64_t query) {
  const std::int64_t blocks = (window_tokens + block_size - 1) / block_size;  // kBlock: exact division
  const std::int64_t by_blocks = (query / block_size - blocks + 1) * block_size;
  switch (granularity) {
    case WindowGranularity::kToken: return query - window_tokens + 1;
    case WindowGranularity::kTokenBlockClipped: return std::max(query - window_tokens + 1, by_blocks);
    case WindowGranularity::kTokenInclusive: return query - window_tokens;
    case WindowGranularity::kBlock: break;
  }
  return by_blocks;
}

StepWindows step_windows(const AttentionConfig& attention, const ScheduleConfig& schedule, std::int64_t step) {
  const WindowConfig& window = attention.window;
  const bool is_final = step >= schedule.total_steps();
  StepWindows windows{.whole = window_tokens(window.schedule, step, schedule.num_steps), .half = {}, .listed = {}};
  if (is_final && window.final_validation_tokens) windows.whole = window.final_validation_tokens;
  if (!window.half_layers.empty()) windows.half = half_window_tokens(attention, windows.whole);
  if (!window.short_layers.empty()) windows.half = stage_at(window.schedule.stages, step)->short_tokens;
  if (is_final && !window.final_validation_layers.empty()) windows.listed = window.final_validation_layers_tokens;
  return windows;
}

std::vector<std::int64_t> window_history(const AttentionConfig& attention, const ScheduleConfig& schedule,
                                         std::int64_t step) {
  std::vector<std::int64_t> history;
  const WindowScheduleConfig& windows = attention.window.schedule;
  const bool has_stages = windows.type == WindowScheduleType::kStages;
  for (std::int64_t s = 0; s <= step; ++s) {
    const std::optional<std::int64_t> window =
        has_stages ? window_tokens(windows, s, schedule.num_steps) : step_windows(attention, schedule, s).whole;
    if (window && (history.empty() || history.back() != *window)) history.push_back(*window);
  }
  return history;
}

std::vector<std::int64_t> change_steps(const TrainConfig& config) {
  std::vector<std::int64_t> changes;
  const auto windows = [&](std::int64_t step) { return step_windows(config.attention, config.schedule, step); };
  for (std::int64_t step = 1; step < config.schedule.total_steps(); ++step) {
    const bool is_resized = config.data.length_of_step(step) != config.data.length_of_step(step - 1);
    if (is_resized || windows(step) != windows(step - 1)) changes.push_back(step);
  }
  return changes;
}

double grown_attention_scale(const ModelConfig& model, const std::vector<std::int64_t>& history) {
  double scale = model.attention_scale.value_or(1.0 / std::sqrt(static_cast<double>(model.head_dim())));
  for (std::size_t i = 1; i < history.size(); ++i) {
    const double ratio = static_cast<double>(history[i]) / static_cast<double>(history[i - 1]);
    scale *= model.attention_scale_growth * std::log(ratio) + 1.0;
  }
  return scale;
}

std::vector<double> target_weights(const LossConfig& loss, std::int64_t step) {
  const TargetStage* stage = stage_at(loss.multi_token, step);
  if (stage == nullptr) return {1.0};
  std::vector<double> weights;
  for (std::size_t i = 0; i < stage->start.size(); ++i)
    weights.push_back(stage->start[i] + (stage->end[i] - stage->start[i]) * passed(*stage, step));
  return weights;
}

double prefix_weight(const LossConfig& loss, std::int64_t step) {
  const WeightStage* stage = stage_at(loss.prefix, step);
  return stage == nullptr ? 0.0 : stage->start + (stage->end - stage->start) * passed(*stage, step);
}

bool window_changes_attention(const ModelConfig& model) {
  return model.rope.window_scaling != RopeWindowScaling::kNone || model.attention_scale_growth != 0.0;
}

}  // namespace nanobench::core
