#include "core/config/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nanobench::core {

double learning_rate_factor(const ScheduleConfig& schedule, std::int64_t step) {
  const LearningRateConfig& rate = schedule.learning_rate;
  if (step < rate.warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(rate.warmup_steps);
  const auto remaining = static_cast<double>(schedule.num_steps - step);
  if (rate.shape == LearningRateShape::kCosine) {
    const double fraction = 1.0 - remaining / static_cast<double>(schedule.num_steps - rate.warmup_steps);
    return rate.floor + (1.0 - rate.floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * fraction));
  }
  if (remaining > rate.cooldown_steps || rate.cooldown_steps == 0.0) return 1.0;
  const double w = remaining / rate.cooldown_steps;
  return w + (1.0 - w) * rate.floor;
}

double muon_momentum(const MomentumConfig& momentum, std::int64_t step) {
  if (momentum.warmup_steps == 0) return momentum.end;
  const double fraction = std::min(static_cast<double>(step) / static_cast<double>(momentum.warmup_steps), 1.0);
  return (1.0 - fraction) * momentum.start + fraction * momentum.end;
}

std::optional<std::int64_t> window_tokens(const WindowScheduleConfig& schedule, std::int64_t step,
                                          std::int64_t num_steps) {
  if (schedule.type == WindowScheduleType::kNone) return std::nullopt;
  if (schedule.type == WindowScheduleType::kConstant) return schedule.tokens;
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

}  // namespace nanobench::core
