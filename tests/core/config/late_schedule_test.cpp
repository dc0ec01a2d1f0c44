// Stages of windows, rates, batches and targets (records #42 on), by the published script's numbers.
#include <gtest/gtest.h>

#include "core/config/schedule.h"
#include "core/config/train_config.h"

namespace nanobench::core {
namespace {

/// Today's script: 1270 + 15 steps.
TrainConfig today() {
  TrainConfig config;
  config.schedule.num_steps = 1270;
  config.schedule.extension_steps = 15;
  config.schedule.learning_rate.cooldown_steps = 762;
  config.schedule.learning_rate.floor = 0.15;
  config.schedule.learning_rate.stages = {{0, 1.0}, {423, 1.52}, {847, 1.73}};
  WindowConfig& window = config.attention.window;
  window.short_layers = {0, 1, 2};
  window.schedule.type = WindowScheduleType::kStages;
  window.schedule.stages = {{0, 384, 128}, {423, 896, 384}, {847, 1408, 640}, {1270, 1664, 768}};
  window.final_validation_tokens = 2560;
  config.data.stages = {{0, 16384, 896}, {423, 32768, 2048}, {847, 49152, 2048}};
  config.data.sequence_length = 49152;
  config.loss.multi_token = {
      {0, 423, {1, 0.5, 0.25}, {1, 0.5, 0}}, {423, 847, {1, 0.5}, {1, 0}}, {847, 1285, {1}, {1}}};
  return config;
}

TEST(LateSchedule, TheRateHasAFactorByStageAndItsFloorInTheExtension) {
  const ScheduleConfig schedule = today().schedule;
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 422), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 423), 1.52);
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 508), 1.52);
  EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, 889), 1.73 * 0.5 + 0.15 * 0.5);
  for (const std::int64_t step : {1270, 1284}) EXPECT_DOUBLE_EQ(learning_rate_factor(schedule, step), 0.15);
}

TEST(LateSchedule, WindowsChangeWithStagesAndTheLastValidationIsNoChangeOfTheirs) {
  const TrainConfig config = today();
  const StepWindows second = step_windows(config.attention, config.schedule, 423);
  EXPECT_EQ(second.whole, 896);
  EXPECT_EQ(second.half, 384);
  const StepWindows last = step_windows(config.attention, config.schedule, 1285);
  EXPECT_EQ(last.whole, 2560);
  EXPECT_EQ(last.half, 768);
  EXPECT_EQ(window_history(config.attention, config.schedule, 1285), (std::vector<std::int64_t>{384, 896, 1408, 1664}));
}

TEST(LateSchedule, ChangesAreThoseOfWindowsAndOfTheBatchInTraining) {
  TrainConfig config = today();
  EXPECT_EQ(change_steps(config), (std::vector<std::int64_t>{423, 847, 1270}));
  config.data.stages[1].from = 500;
  EXPECT_EQ(change_steps(config), (std::vector<std::int64_t>{423, 500, 847, 1270}));
}

TEST(LateSchedule, WeightsOfTargetsFallLinearlyWithinAStage) {
  const LossConfig loss = today().loss;
  EXPECT_EQ(target_weights({}, 7), std::vector<double>{1.0});
  EXPECT_EQ(target_weights(loss, 0), (std::vector<double>{1.0, 0.5, 0.25}));
  EXPECT_DOUBLE_EQ(target_weights(loss, 141)[2], 0.25 * (1 - 1.0 / 3));
  EXPECT_EQ(target_weights(loss, 423), (std::vector<double>{1.0, 0.5}));
  EXPECT_EQ(target_weights(loss, 1000), std::vector<double>{1.0});
}

TEST(LateSchedule, TheWeightOfThePrefixFallsInItsStage) {
  LossConfig loss;
  EXPECT_EQ(prefix_weight(loss, 7), 0.0);
  loss.prefix = {{0, 423, 0.25, 0.25}, {423, 847, 0.25, 0}, {847, 1285, 0, 0}};
  EXPECT_EQ(prefix_weight(loss, 422), 0.25);
  EXPECT_DOUBLE_EQ(prefix_weight(loss, 635), 0.125);
  EXPECT_EQ(prefix_weight(loss, 2000), 0.0);
}

TEST(LateSchedule, BatchesGrowAndTheirTokensAreCounted) {
  const DataConfig data = today().data;
  EXPECT_EQ(data.length_of_step(422), 16384);
  EXPECT_EQ(data.length_of_step(423), 32768);
  EXPECT_EQ(data.tokens_until(1285), 8 * (423 * 16384 + 424 * 32768 + (1285 - 847) * 49152));
  EXPECT_EQ(DataConfig{}.tokens_until(3), 3 * DataConfig{}.tokens_per_step());
}

}  // namespace
}  // namespace nanobench::core
