#include "reports/trend/series.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "results/import/log_import.h"
#include "tests/reports/trend/trend_support.h"

namespace nanobench::reports {
namespace {

std::vector<TrendRun> some_runs(int revisions, const std::function<void(TrendRun&)>& change = {}) {
  std::vector<TrendRun> runs;
  for (int i = 0; i < revisions; ++i) {
    runs.push_back(trend_run(i, 1, 3.2, 100.0));
    if (change) change(runs.back());
  }
  return runs;
}

void append(std::vector<TrendRun>& runs, const std::vector<TrendRun>& more) {
  runs.insert(runs.end(), more.begin(), more.end());
}

TEST(Series, OtherConditionsAreNamedAndLeftOut) {
  using enum OtherCondition::Kind;
  struct Case {
    std::function<void(TrendRun&)> change;
    OtherCondition other;
  };
  const std::vector<Case> cases = {
      {[](TrendRun& run) { run.conditions.config = "other"; }, {kConfiguration, ""}},
      {[](TrendRun& run) { run.conditions.data = "other"; }, {kData, ""}},
      {[](TrendRun& run) { run.conditions.hardware = "a laptop"; }, {kHardware, "a laptop"}},
      {[](TrendRun& run) { run.conditions.threads = 1; }, {kThreads, "1"}},
      {[](TrendRun& run) { run.conditions.dtype = "bfloat16"; }, {kDtype, "bfloat16"}},
      {[](TrendRun& run) { run.conditions.engine = run.conditions.config = "mock"; }, {kEngine, "mock"}},
      {[](TrendRun& run) { run.conditions.scale = run.conditions.config = "smoke"; }, {kScale, "smoke"}}};
  for (const Case& item : cases) {
    std::vector<TrendRun> runs = some_runs(3);
    append(runs, some_runs(2, item.change));
    const SeriesSet set = make_series(runs, only({TrendMetric::kLoss, TrendMetric::kStepTime}));
    ASSERT_EQ(set.series.size(), 2U);
    EXPECT_EQ(set.series[0].revisions.size(), 3U) << item.other.value;
    ASSERT_EQ(set.left_out.size(), 1U) << item.other.value << ": both metrics in one line";
    EXPECT_EQ(set.left_out[0].others, std::vector<OtherCondition>{item.other}) << item.other.value;
    EXPECT_EQ(set.left_out[0].runs, 2);
    EXPECT_EQ(set.left_out[0].metrics.size(), 2U);
    EXPECT_FALSE(set.left_out[0].is_newer);
  }
}

TEST(Series, TimesNeedOneHostLossesDoNot) {
  std::vector<TrendRun> runs = some_runs(3);
  append(runs, some_runs(2, [](TrendRun& run) {
           run.conditions.host = "there";
           run.seed = 2;
         }));
  const SeriesSet set = make_series(runs, only(all_trend_metrics()));
  ASSERT_EQ(set.series.size(), 4U);
  EXPECT_EQ(set.series[0].revisions[0].values.size(), 2U) << "loss";
  EXPECT_EQ(set.series[1].revisions[0].values.size(), 1U) << "step time";
  EXPECT_EQ(set.series[3].revisions[0].values.size(), 2U) << "memory";
  ASSERT_EQ(set.left_out.size(), 1U);
  EXPECT_EQ(set.left_out[0].metrics, (std::vector{TrendMetric::kStepTime, TrendMetric::kTrainTime}));
  EXPECT_EQ(set.left_out[0].others, (std::vector<OtherCondition>{{OtherCondition::Kind::kHost, "there"}}));

  SeriesChoice there = only({TrendMetric::kStepTime});
  there.host = "there";
  EXPECT_EQ(make_series(runs, there).series[0].revisions.size(), 2U);
}

TEST(Series, TimesNeedOneGpuAndDriver) {
  std::vector<TrendRun> runs =
      some_runs(3, [](TrendRun& run) { run.conditions.gpu = "NVIDIA H100 (GPU-1), driver 570"; });
  append(runs, some_runs(2, [](TrendRun& run) {
           run.conditions.gpu = "NVIDIA H100 (GPU-1), driver 580";
           run.seed = 2;
         }));
  const SeriesSet set = make_series(runs, only({TrendMetric::kLoss, TrendMetric::kStepTime}));
  ASSERT_EQ(set.series.size(), 2U);
  EXPECT_EQ(set.series[0].revisions[0].values.size(), 2U) << "loss";
  EXPECT_EQ(set.series[1].revisions[0].values.size(), 1U) << "step time";
  ASSERT_EQ(set.left_out.size(), 1U);
  EXPECT_EQ(set.left_out[0].others,
            (std::vector<OtherCondition>{{OtherCondition::Kind::kGpu, "NVIDIA H100 (GPU-1), driver 580"}}));
}

TEST(Series, TheMostRunsWinAndNewerOnesAreSaid) {
  std::vector<TrendRun> runs = some_runs(5);
  append(runs, some_runs(2, [](TrendRun& run) {
           run.conditions.config = "new";
           run.started_at = time_at(300);
         }));
  const SeriesSet set = make_series(runs, only({TrendMetric::kLoss}));
  EXPECT_EQ(set.series[0].revisions.size(), 5U);
  ASSERT_EQ(set.left_out.size(), 1U);
  EXPECT_TRUE(set.left_out[0].is_newer);
}

TEST(Series, ALossCountsEachSeedOfARevisionOnce) {
  std::vector<TrendRun> runs = some_runs(2);
  append(runs, some_runs(2, [](TrendRun& run) { run.loss = 3.4; }));
  append(runs, some_runs(2, [](TrendRun& run) { run.seed = 2; }));
  const SeriesSet set = make_series(runs, only({TrendMetric::kLoss, TrendMetric::kStepTime}));
  const SeriesRevision& loss = set.series[0].revisions[0];
  EXPECT_EQ(loss.completed, 3);
  ASSERT_EQ(loss.values.size(), 2U);
  EXPECT_DOUBLE_EQ(loss.values[0].value, 3.3);
  EXPECT_EQ(set.series[1].revisions[0].values.size(), 3U) << "times are measured each time";
}

TEST(Series, FailedAndUnfinishedRunsAreCounted) {
  std::vector<TrendRun> runs = some_runs(2);
  append(runs, some_runs(1, [](TrendRun& run) {
           run.outcome = core::RunOutcome::kDiverged;
           run.loss = run.step_ms = std::nullopt;
         }));
  append(runs, some_runs(1, [](TrendRun& run) { run.outcome = core::RunOutcome::kInterrupted; }));
  append(runs, some_runs(1, [](TrendRun& run) { run.outcome = std::nullopt; }));
  append(runs, some_runs(1, [](TrendRun& run) { run.disturbance = "the load was 9"; }));
  const SeriesRevision revision = make_series(runs, only({TrendMetric::kStepTime})).series[0].revisions[0];
  EXPECT_EQ(revision.completed, 2);
  EXPECT_EQ(revision.failed, 1);
  EXPECT_EQ(revision.failure, "diverged");
  EXPECT_EQ(revision.unfinished, 2);
  EXPECT_EQ(revision.disturbed, 1);
  EXPECT_EQ(revision.values.size(), 2U);
}

TEST(Series, ImportedLogsHaveNoOrderOfTime) {
  std::vector<TrendRun> runs = some_runs(2);
  append(runs, some_runs(3, [](TrendRun& run) { run.conditions.engine = results::kSpeedrunLogEngine; }));
  const SeriesSet set = make_series(runs, only({TrendMetric::kLoss}));
  EXPECT_EQ(set.series[0].revisions.size(), 2U);
  ASSERT_EQ(set.left_out.size(), 1U);
  EXPECT_EQ(set.left_out[0].runs, 3);
  EXPECT_EQ(set.left_out[0].others, (std::vector<OtherCondition>{{.kind = OtherCondition::Kind::kImported}}));
}

TEST(Series, TheNewestRevisionsOfTheChosenCells) {
  std::vector<TrendRun> runs = some_runs(5);
  append(runs, some_runs(9, [](TrendRun& run) { run.cell = "record13"; }));
  SeriesChoice choice = only({TrendMetric::kLoss});
  choice.cells = {"record12"};
  choice.last_revisions = 2;
  const SeriesSet set = make_series(runs, choice);
  ASSERT_EQ(set.series.size(), 1U);
  ASSERT_EQ(set.revisions.size(), 2U);
  EXPECT_EQ(set.revisions[0].name, revision_name(3));
  EXPECT_EQ(set.series[0].revisions[1].revision, 1U);
}

TEST(Series, UnknownMetricsAreRefusedWithTheNearestName) {
  EXPECT_EQ(parse_trend_metric("peak_memory"), TrendMetric::kPeakMemory);
  for (const TrendMetric metric : all_trend_metrics()) EXPECT_EQ(parse_trend_metric(enum_name(metric)), metric);
  try {
    parse_trend_metric("step_tim");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInvalidArgument);
    const std::string nearest = core::suggestion("step_tim", {enum_name(TrendMetric::kStepTime)});
    EXPECT_NE(std::string(error.what()).find(nearest), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nanobench::reports
