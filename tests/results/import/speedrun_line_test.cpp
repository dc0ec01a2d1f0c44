#include "results/import/speedrun_line.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nanobench::results {
namespace {

using Kind = SpeedrunLine::Kind;

TEST(SpeedrunLine, ReadsAValidation) {
  const auto line = parse_speedrun_line("step:125/1490 val_loss:4.3745 train_time:15123ms step_avg:131.50ms");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->kind, Kind::kValidation);
  EXPECT_EQ(line->step, 125);
  EXPECT_EQ(line->planned_steps, 1490);
  EXPECT_EQ(line->loss, 4.3745);
  EXPECT_EQ(line->clock_ms, 15123.0);
  EXPECT_EQ(line->step_avg_ms, 131.5);
  EXPECT_TRUE(line->is_whole);
}

TEST(SpeedrunLine, ReadsSecondsAndFurtherFields) {
  const auto line = parse_speedrun_line(
      "step:2850/2900 val_loss:3.27897 val_ema_loss:9.9 train_time:2137.538s step_avg:750.01ms ema_beta:0 "
      "ref_step:2375");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->loss, 3.27897);
  EXPECT_EQ(line->ema_loss, 9.9);
  EXPECT_DOUBLE_EQ(line->clock_ms.value(), 2137538.0);
  EXPECT_EQ(line->step_avg_ms, 750.01);
}

TEST(SpeedrunLine, ReadsTrainingWithAndWithoutALoss) {
  const auto old = parse_speedrun_line("step:5/6200 train_loss:9.1234 train_time:300ms step_avg:nanms\r");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->kind, Kind::kTraining);
  EXPECT_EQ(old->loss, 9.1234);
  EXPECT_FALSE(old->step_avg_ms) << "nanms is no time";
  EXPECT_TRUE(old->is_whole);
  const auto later = parse_speedrun_line("[rank0]: step:5/6200 train_time:300ms step_avg:60.00ms");
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->loss);
  EXPECT_EQ(later->clock_ms, 300.0);
}

TEST(SpeedrunLine, ReadsTheShortForm) {
  const auto validation = parse_speedrun_line("s:250 tel:6.1710");
  ASSERT_TRUE(validation);
  EXPECT_EQ(validation->kind, Kind::kValidation);
  EXPECT_EQ(validation->loss, 6.171);
  EXPECT_FALSE(validation->planned_steps);
  const auto training = parse_speedrun_line("s:0 trl:11.0091 lr:0.000001 norm:15.37");
  ASSERT_TRUE(training);
  EXPECT_EQ(training->kind, Kind::kTraining);
  EXPECT_EQ(training->loss, 11.0091);
}

TEST(SpeedrunLine, ReadsMemory) {
  const auto later = parse_speedrun_line("peak memory allocated: 29898 MiB reserved: 44552 MiB");
  ASSERT_TRUE(later);
  EXPECT_EQ(later->kind, Kind::kMemory);
  EXPECT_EQ(later->allocated_mib, 29898.0);
  EXPECT_EQ(later->reserved_mib, 44552.0);
  const auto older = parse_speedrun_line("peak memory consumption: 34239 MiB");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->allocated_mib, 34239.0);
  EXPECT_FALSE(older->reserved_mib);
}

TEST(SpeedrunLine, KeepsALossThatIsNoNumber) {
  const auto line = parse_speedrun_line("step:9/9 val_loss:nan train_time:1ms step_avg:1.00ms");
  ASSERT_TRUE(line && line->loss);
  EXPECT_TRUE(std::isnan(*line->loss));
  const auto broken = parse_speedrun_line("step:9/9 val_loss:3.2x train_time:-1ms step_avg:1.00ms");
  ASSERT_TRUE(broken);
  EXPECT_FALSE(broken->loss);
  EXPECT_FALSE(broken->clock_ms) << "no time is negative";
}

TEST(SpeedrunLine, SeesACutLine) {
  for (const char* text :
       {"step:9/9 val_loss:3.2", "step:9/9 val_loss:3.2765 train_time:12", "step:9/9 step_avg:1.5"}) {
    const auto line = parse_speedrun_line(text);
    ASSERT_TRUE(line) << text;
    EXPECT_FALSE(line->is_whole) << text;
  }
}

TEST(SpeedrunLine, LeavesOtherLinesAlone) {
  for (const char* text :
       {"", "step", "step:", "step:x/9 val_loss:3", "step:-1/9 val_loss:3", "step:1/x val_loss:3", "step:5val_loss:3",
        "step:99999999999999999999/9 val_loss:3", "s:", "s:12", "s:12 foo:3", "peak memory use: 3 MiB",
        "peak memory allocated: many MiB", "  step:1/9 val_loss:3", "[", "[rank0", "step 12/13 loss 3"}) {
    EXPECT_FALSE(parse_speedrun_line(text)) << text;
  }
}

}  // namespace
}  // namespace nanobench::results
