#include "suites/external/external_engine.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nanobench::suites {
namespace {

std::vector<core::RunEvent> feed(SpeedrunEvents& events, const std::vector<std::string>& lines) {
  std::vector<core::RunEvent> all;
  for (const std::string& line : lines) {
    for (const core::RunEvent& event : events.on_line(line)) all.push_back(event);
  }
  return all;
}

TEST(LinesIn, AreCutWhereALineOfAnotherRankBegins) {
  using Lines = std::vector<std::string_view>;
  EXPECT_EQ(lines_in(""), Lines{""});
  EXPECT_EQ(lines_in("step:1/4 train_time:1ms step_avg:1.00ms"), Lines{"step:1/4 train_time:1ms step_avg:1.00ms"});
  EXPECT_EQ(lines_in("loadingstep:1/4 train_time:1msstep:2/4 val_loss:3.1peak memory allocated: 3 MiB"),
            (Lines{"loading", "step:1/4 train_time:1ms", "step:2/4 val_loss:3.1", "peak memory allocated: 3 MiB"}));
  for (const char* whole : {"best of step:1/4", "print(f\"step:{step}/4\")", "laststep:{step}/4", "\"step:1/4\""})
    EXPECT_EQ(lines_in(whole), Lines{whole});
}

TEST(SpeedrunEvents, TellsValidationsAndTheEnd) {
  SpeedrunEvents events;
  const auto all =
      feed(events, {"loading", "step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms",
                    "step:1/4 train_time:600ms step_avg:600.00ms", "step:2/4 train_time:1200ms step_avg:600.00ms",
                    "step:4/4 val_loss:3.25 train_time:2400ms step_avg:600.00ms",
                    "peak memory allocated: 10 MiB reserved: 20 MiB"});
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(std::get<core::EvalEvent>(all[0]).loss, 10.8);
  const auto& step = std::get<core::StepEvent>(all[1]);
  EXPECT_EQ(step.step, 2);
  EXPECT_FALSE(step.has_loss);
  EXPECT_EQ(step.step_ms, 600.0);
  EXPECT_EQ(step.train_ms, 1200.0);
  EXPECT_EQ(std::get<core::StepEvent>(all[2]).step, 4) << "a validation ends a stretch";
  EXPECT_EQ(std::get<core::EvalEvent>(all[3]).step, 4);
  EXPECT_EQ(std::get<core::MemoryEvent>(all[4]).peak_bytes, 10 * 1024 * 1024);
  const auto end = std::get<core::FinishedEvent>(events.end(5, ""));
  EXPECT_EQ(end.steps, 4);
  EXPECT_EQ(end.timed_steps, 4);
  EXPECT_EQ(end.train_ms, 2400.0);
  EXPECT_EQ(end.final_val_loss, 3.25);
  EXPECT_EQ(end.peak_bytes, 10 * 1024 * 1024);
}

TEST(SpeedrunEvents, TellsEveryTrainingLoss) {
  SpeedrunEvents events;
  const auto all = feed(events, {"step:1/2 train_loss:9.5 train_time:10ms step_avg:nanms",
                                 "step:1/2 train_loss:9.5 train_time:10ms step_avg:nanms",
                                 "step:2/2 train_loss:9.0 train_time:20ms step_avg:10.00ms"});
  ASSERT_EQ(all.size(), 2U) << "a line that is printed twice is told once";
  EXPECT_EQ(std::get<core::StepEvent>(all[1]).loss, 9.0);
  EXPECT_TRUE(std::isnan(std::get<core::StepEvent>(all[1]).step_ms)) << "ten milliseconds are too coarse to tell";
}

TEST(SpeedrunEvents, AClockThatStartsAnewMakesNoTime) {
  SpeedrunEvents events;
  const auto all =
      feed(events, {"step:1/30 train_time:9000ms step_avg:nanms", "step:11/30 train_time:100ms step_avg:100.0ms",
                    "step:21/30 train_time:1100ms step_avg:100.0ms"});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(std::get<core::StepEvent>(all[0]).step_ms, 100.0);
}

TEST(SpeedrunEvents, AnEndBeforeTheLastStepIsAFailure) {
  const auto message = [](const std::vector<std::string>& lines) {
    SpeedrunEvents events;
    feed(events, lines);
    return std::get<core::FailedEvent>(events.end(0, "bye")).message;
  };
  EXPECT_EQ(message({"hello"}),
            "the trainer ended without any line of a speedrun log (step:N/M val_loss:X train_time:Yms ...); its last "
            "words: bye");
  EXPECT_EQ(message({"step:1/9 train_time:1ms step_avg:1.0ms"}),
            "the trainer ended without a validation loss; its last words: bye");
  EXPECT_EQ(message({"step:1/9 val_loss:3 train_time:1ms step_avg:1.0ms"}),
            "the trainer ended early: its last validation is at step 1 of 9; its last words: bye");
}

}  // namespace
}  // namespace nanobench::suites
