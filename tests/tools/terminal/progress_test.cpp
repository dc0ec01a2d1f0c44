#include <gtest/gtest.h>

#include "core/base/text.h"
#include "tools/terminal/run_meter.h"
#include "tools/terminal/suite_progress.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

core::TrainConfig config_of(std::int64_t steps) {
  core::TrainConfig config;
  config.run.stop_after = steps;
  config.data.sequence_length = 100;
  config.data.sequences_per_step = 2;
  return config;
}

core::StepEvent step_of(std::int64_t step, double step_ms) {
  core::StepEvent event;
  event.step = step;
  event.loss = 4.0;
  event.step_ms = step_ms;
  return event;
}

TEST(RunMeter, RateAndRemainingTime) {
  RunMeter progress(config_of(10), 0.0);
  EXPECT_FALSE(progress.remaining_s(1.0));
  EXPECT_FALSE(progress.tokens_per_s());
  for (int step = 0; step < 4; ++step) progress.on_event(step_of(step, 500), 1.0 + 0.5 * step);
  EXPECT_DOUBLE_EQ(*progress.tokens_per_s(), 400.0);
  EXPECT_DOUBLE_EQ(*progress.remaining_s(2.5), 3.0);
  EXPECT_DOUBLE_EQ(*progress.remaining_s(2.7), 2.8);
  EXPECT_DOUBLE_EQ(*progress.remaining_s(99.0), 2.5) << "a slow step does not eat the time of those after it";
  EXPECT_EQ(progress.text(), "step 4/10  loss 4.0000  400 tok/s");
}

TEST(RunMeter, AnOperationHasNoSteps) {
  core::RunSpec spec;
  spec.operation.emplace();
  RunMeter progress(spec, 0.0);
  progress.on_event(core::CounterEvent{"operation/after/time_ms", 1.0}, 1.0);
  EXPECT_EQ(progress.text(), "measuring, 1 values so far");
}

TEST(RunMeter, BarFitsOrGoes) {
  EXPECT_EQ(with_bar("label", 0.5, "rest", 200), "label  [##########..........]  rest");
  EXPECT_EQ(with_bar("label", 0.5, "rest", 26), "label  [#####.....]  rest");
  EXPECT_EQ(with_bar("label", 0.5, "rest", 17), "label  rest");
  EXPECT_EQ(with_bar("l", 7.0, "r", 200).find('.'), std::string::npos) << "never more than full";
}

TEST(StatusLines, RedrawsInPlaceAndKeepsLinesThatStay) {
  std::string out;
  {
    StatusLines lines([&](const std::string& text) { out += text; }, true);
    lines.show({"one", "two"}, 80);
    EXPECT_EQ(out, "one\ntwo");
    out.clear();
    lines.print("stays");
    EXPECT_EQ(out, "\r\x1b[1A\x1b[Jstays\n");
    out.clear();
    lines.show({std::string(100, 'x')}, 20);
    EXPECT_EQ(display_width(out), 19U) << "cut, so that the terminal does not wrap it";
    out.clear();
  }
  EXPECT_EQ(out, "\r\x1b[J") << "the redrawn line is taken away at the end";
}

TEST(StatusLines, WithoutATerminalOnlyLinesThatStay) {
  std::string out;
  StatusLines lines([&](const std::string& text) { out += text; }, false);
  lines.show({"one"}, 80);
  lines.print("stays");
  EXPECT_EQ(out, "stays\n");
}

class SuiteProgressTest : public testing::Test {
 protected:
  void SetUp() override {
    plan_.suite.name = "tiny";
    plan_.suite.scale = "smoke";
    plan_.data.name = "synthetic";
    plan_.matrix.cells.resize(1);
    plan_.matrix.cells[0].label = "record12";
    for (std::size_t i = 0; i < 2; ++i) {
      suites::PlannedRun run;
      run.position = i;
      run.seed = i + 1;
      run.spec.config = config_of(10);
      plan_.runs.push_back(run);
    }
    record_.result = results::RunResult{.outcome = core::RunOutcome::kCompleted};
  }
  SuiteProgress make(bool is_live) {
    return SuiteProgress({.write = [this](const std::string& text) { out_ += text; },
                          .now_s = [this] { return now_; },
                          .width = [] { return std::size_t{80}; },
                          .is_live = is_live},
                         [](const results::RunRecord&) { return std::string("val loss 3.2"); });
  }

  suites::Plan plan_;
  results::RunRecord record_;
  std::string out_;
  double now_ = 100.0;
};

TEST_F(SuiteProgressTest, PlainLinesAreFew) {
  SuiteProgress progress = make(false);
  progress.on_plan(plan_, 1, {false, false});
  progress.on_run_started(plan_, plan_.runs[0], 1);
  for (int i = 0; i < 1000; ++i) {
    now_ += 0.025;
    progress.on_event(plan_, plan_.runs[0], step_of(i % 10, 25));
  }
  progress.on_run_finished(plan_, plan_.runs[0], record_, false);
  // The head, the start, one line every ten of 25 seconds, the end.
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 5) << out_;
  EXPECT_EQ(out_.find('\x1b'), std::string::npos);
  EXPECT_NE(out_.find("[1/2] record12 seed 1  val loss 3.2  25 s"), std::string::npos) << out_;
}

TEST_F(SuiteProgressTest, EstimatesTheSuiteFromFinishedRuns) {
  SuiteProgress progress = make(true);
  progress.on_plan(plan_, 1, {false, false});
  progress.on_run_started(plan_, plan_.runs[0], 1);
  now_ += 60;
  out_.clear();
  progress.on_run_finished(plan_, plan_.runs[0], record_, false);
  EXPECT_NE(out_.find("1 of 2 runs done"), std::string::npos) << out_;
  EXPECT_NE(out_.find("about 1 min 00 s left"), std::string::npos) << out_;
}

TEST_F(SuiteProgressTest, OfASearchItSaysHowFarTheWholeIs) {
  for (const bool is_live : {false, true}) {
    out_.clear();
    SuiteProgress progress = make(is_live);
    progress.set_whole([this] { return "look 2, " + format_duration(now_ - 60.0) + " of 10m spent"; });
    progress.on_plan(plan_, 1, {false, false});
    progress.on_run_started(plan_, plan_.runs[0], 1);
    now_ += 11.0;
    progress.on_event(plan_, plan_.runs[0], step_of(0, 500));
    EXPECT_NE(out_.find("look 2, " + format_duration(now_ - 60.0) + " of 10m spent"), std::string::npos) << out_;
  }
}

TEST_F(SuiteProgressTest, PilotsAreShownAndSayHowLongTheSuiteTakes) {
  SuiteProgress progress = make(true);
  progress.on_plan(plan_, 1, {false, false});
  out_.clear();
  progress.on_pilot(plan_, "record12");
  EXPECT_NE(out_.find("the first steps of each cell: record12"), std::string::npos) << out_;
  out_.clear();
  progress.on_expected(plan_, {{"record12", 45.0}});
  EXPECT_EQ(out_.find("first steps"), std::string::npos) << out_;
  EXPECT_NE(out_.find("about 1 min 30 s left"), std::string::npos) << out_;
}

TEST_F(SuiteProgressTest, AWarmUpIsShownUntilTheRunBegins) {
  SuiteProgress progress = make(true);
  progress.on_plan(plan_, 1, {false, false});
  out_.clear();
  progress.on_warmup(plan_, "record12");
  EXPECT_NE(out_.find("warm-up of record12"), std::string::npos) << out_;
  out_.clear();
  progress.on_run_started(plan_, plan_.runs[0], 1);
  EXPECT_EQ(out_.find("warm-up"), std::string::npos) << out_;
}

TEST_F(SuiteProgressTest, ARunThatIsLeftOutIsDoneWithoutAResult) {
  SuiteProgress progress = make(true);
  progress.on_plan(plan_, 1, {false, false});
  out_.clear();
  progress.on_run_left_out(plan_, plan_.runs[0]);
  EXPECT_NE(out_.find("1 of 2 runs done, 1 failed"), std::string::npos) << out_;
}

TEST_F(SuiteProgressTest, RunsAtOnceShareTheRest) {
  plan_.runs.resize(4, plan_.runs[1]);
  SuiteProgress progress(
      {.write = [this](const std::string& text) { out_ += text; },
       .now_s = [this] { return now_; },
       .width = [] { return std::size_t{80}; },
       .is_live = true},
      [](const results::RunRecord&) { return std::string(); }, 2);
  progress.on_plan(plan_, 1, {false, false, false, false});
  progress.on_expected(plan_, {{"record12", 60.0}});
  progress.on_run_started(plan_, plan_.runs[0], 1);
  out_.clear();
  progress.on_run_started(plan_, plan_.runs[1], 2);
  EXPECT_NE(out_.find("2 runs at once"), std::string::npos) << out_;
  EXPECT_NE(out_.find("about 2 min 00 s left"), std::string::npos) << "four minutes of runs, by two";
}

TEST_F(SuiteProgressTest, FailuresAreCountedAndNamed) {
  SuiteProgress progress = make(true);
  progress.on_plan(plan_, 1, {false, false});
  progress.on_run_started(plan_, plan_.runs[0], 1);
  record_.result = results::RunResult{.outcome = core::RunOutcome::kCrashed, .message = "signal 11 \x1b[2J"};
  out_.clear();
  progress.on_run_finished(plan_, plan_.runs[0], record_, false);
  EXPECT_NE(out_.find("crashed: signal 11"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("\x1b[2J"), std::string::npos) << "an engine's words cannot steer the terminal";
  EXPECT_NE(out_.find("1 failed"), std::string::npos) << out_;
}

TEST_F(SuiteProgressTest, LinesAreBrokenBetweenWords) {
  SuiteProgress progress = make(true);
  progress.on_message("a run in progress is made again, because its trainer was stopped when the terminal was closed");
  EXPECT_NE(out_.find("because its trainer was stopped when the\n  terminal was closed"), std::string::npos) << out_;
  plan_.matrix.cells[0].label = "a_rather_long_label_of_some_cell_of_a_suite";
  progress.on_run_started(plan_, plan_.runs[0], 1);
  record_.result = results::RunResult{.outcome = core::RunOutcome::kCrashed, .message = "the engine ended by itself"};
  out_.clear();
  progress.on_run_finished(plan_, plan_.runs[0], record_, false);
  EXPECT_NE(out_.find("suite seed 1\n  crashed: the engine ended by itself\n"), std::string::npos) << out_;
}

TEST_F(SuiteProgressTest, AnInterruptedRunIsNoLine) {
  SuiteProgress progress = make(false);
  progress.on_run_started(plan_, plan_.runs[0], 1);
  record_.result = results::RunResult{.outcome = core::RunOutcome::kInterrupted, .message = "stopped by the user"};
  out_.clear();
  progress.on_run_finished(plan_, plan_.runs[0], record_, false);
  EXPECT_EQ(out_, "");
}

TEST_F(SuiteProgressTest, SidesOfAGateAreNamed) {
  SuiteProgress progress({.write = [this](const std::string& text) { out_ += text; },
                          .now_s = [this] { return now_; },
                          .width = [] { return std::size_t{80}; },
                          .is_live = false},
                         [](const results::RunRecord&) { return std::string("val loss 3.2"); }, 1,
                         {{&plan_, "baseline"}});
  progress.on_plan(plan_, 1, {false, false});
  progress.on_run_finished(plan_, plan_.runs[0], record_, false);
  EXPECT_NE(out_.find("baseline: tiny at scale smoke"), std::string::npos) << out_;
  EXPECT_NE(out_.find("baseline record12 seed 1  val loss"), std::string::npos) << out_;
}

TEST(Sentences, AreBrokenOnlyWhereTheyDoNotFit) {
  EXPECT_EQ(broken_to_fit("a  b", 4), "a  b");
  EXPECT_EQ(broken_to_fit("aa    bb    cc", 10), "aa bb cc") << "blanks that align go first";
  EXPECT_EQ(broken_to_fit("one two three four five six seven", 24), "one two three four\n  five six seven");
}

TEST_F(SuiteProgressTest, ReusedRunsTakeNoTime) {
  SuiteProgress progress = make(true);
  progress.on_plan(plan_, 1, {true, true});
  progress.on_run_finished(plan_, plan_.runs[0], record_, true);
  progress.on_run_finished(plan_, plan_.runs[1], record_, true);
  EXPECT_NE(out_.find("2 are stored\n  already and reused"), std::string::npos) << out_;
  EXPECT_NE(out_.find("2 of 2 runs done"), std::string::npos) << out_;
}

}  // namespace
}  // namespace nanobench::tools
