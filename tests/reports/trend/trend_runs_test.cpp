#include "reports/trend/trend_runs.h"

#include <algorithm>

#include "results/merge.h"
#include "tests/reports/trend/trend_store.h"
#include "tests/reports/trend/trend_support.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

class TrendRuns : public results::StoreTest {
 protected:
  std::vector<TrendRun> read(const std::string& suite = "weekly") const {
    return read_trend_runs(results::Store(file(), results::OpenMode::kReadOnly), suite);
  }
};

TEST_F(TrendRuns, KnowWhatTheStoreKeeps) {
  fill_trend_store(file(), {{.revision = "abc", .is_dirty = true, .at = time_at(3), .seed = 7, .load = "9.0"}});
  const std::vector<TrendRun> runs = read();
  ASSERT_EQ(runs.size(), 1U);
  const TrendRun& run = runs.front();
  EXPECT_EQ(run.cell, "record12");
  EXPECT_EQ(run.seed, 7U);
  EXPECT_EQ(run.source.name, "abc");
  EXPECT_TRUE(run.source.is_dirty);
  EXPECT_EQ(run.started_at, time_at(3));
  EXPECT_EQ(run.conditions.host, "here");
  EXPECT_EQ(run.conditions.threads, 2);
  EXPECT_EQ(run.loss, 3.28);
  EXPECT_EQ(run.step_ms, 100.0);
  EXPECT_EQ(run.peak_bytes, 1e8);
  EXPECT_TRUE(run.disturbance);
  EXPECT_TRUE(read("another").empty());
}

TEST_F(TrendRuns, AlsoThoseOfAnotherSuiteThatAnswerThePlan) {
  results::Store store(file());
  const std::int64_t other = add_run(store, {.revision = "abc", .at = "", .suite = "other", .cell = "base"});
  const std::int64_t own = add_run(store, {.revision = "abc", .at = "", .seed = 2});
  results::NewPlan plan;
  plan.digest = "plan";
  plan.suite = "weekly";
  plan.scale = "smoke";
  plan.cells = {{.label = "record12"}};
  plan.lines = {{.position = 0, .cell = "record12", .seed = 1, .digest = "a", .run_id = other},
                {.position = 1, .cell = "record12", .seed = 2, .digest = "b", .run_id = own}};
  store.ensure_plan(plan);
  results::Database(file(), file().string(), SQLITE_OPEN_READWRITE)
      .execute(("UPDATE plan_lines SET run_id = position + " + std::to_string(other)).c_str());
  const std::vector<TrendRun> runs = read();
  ASSERT_EQ(runs.size(), 2U) << "each once";
  EXPECT_EQ(runs[0].id, other);
  EXPECT_EQ(runs[0].cell, "record12") << "as the plan calls it";
}

TEST_F(TrendRuns, OneThatEndedTooEarlyIsOfItsProgramsRevision) {
  fill_trend_store(file(), {{.revision = "abc", .at = time_at(1), .program = "p1"},
                            {.revision = "",
                             .at = time_at(2),
                             .program = "p1",
                             .outcome = core::RunOutcome::kCrashed,
                             .has_environment = false},
                            {.revision = "",
                             .at = time_at(3),
                             .program = "p2",
                             .outcome = core::RunOutcome::kCrashed,
                             .has_environment = false}});
  const std::vector<TrendRun> runs = read();
  EXPECT_EQ(runs[1].source.name, "abc");
  EXPECT_TRUE(runs[1].is_failed());
  EXPECT_FALSE(runs[1].loss);
  EXPECT_FALSE(runs[2].source.is_known());
}

TEST_F(TrendRuns, AnExternalTrainersFilesAreItsRevision) {
  const auto config = [](const std::string& digest, const std::string& flag) {
    return R"({"command": ["python3", "train.py", ")" + flag +
           R"("], "env": {}, "folder": "/a", "files": {"train.py": ")" + digest + "\"}}";
  };
  fill_trend_store(
      file(), {{.revision = "r", .at = time_at(1), .program = "v1", .engine = "external", .config = config("1", "-a")},
               {.revision = "r", .at = time_at(2), .program = "v2", .engine = "external", .config = config("2", "-a")},
               {.revision = "r", .at = time_at(3), .program = "v2", .engine = "external", .config = config("2", "-b")},
               {.revision = "r", .at = time_at(4), .program = "v2", .engine = "external", .config = "no JSON"}});
  const std::vector<TrendRun> runs = read();
  EXPECT_EQ(runs[0].conditions.config, runs[1].conditions.config);
  EXPECT_NE(runs[1].conditions.config, runs[2].conditions.config) << "another argument is another configuration";
  EXPECT_NE(runs[3].conditions.config, runs[2].conditions.config);
  EXPECT_FALSE(runs[0].source.is_known()) << "the revision is that of the program that ran it";
}

TEST_F(TrendRuns, MergedDatabasesMakeOneSeriesOfLossesAndTwoOfTimes) {
  std::vector<StoredRun> here, there;
  for (int week = 0; week < 6; ++week) {
    const std::string revision = revision_name(week);
    here.push_back({.revision = revision, .at = time_at(7 * week), .seed = 1});
    there.push_back({.revision = revision, .at = time_at(7 * week + 1), .seed = 2, .host = "there"});
  }
  there.pop_back();
  fill_trend_store(file(), here);
  const std::filesystem::path other = folder_ / "other.db";
  fill_trend_store(other, there);
  results::merge_store(file(), other);
  const SeriesSet set = make_series(read(), only({TrendMetric::kLoss, TrendMetric::kStepTime}));
  EXPECT_EQ(set.revisions.size(), 6U);
  EXPECT_EQ(set.series[0].revisions[0].values.size(), 2U);
  EXPECT_EQ(set.series[1].revisions[0].values.size(), 1U);
  ASSERT_EQ(set.left_out.size(), 1U);
  EXPECT_EQ(set.left_out[0].others, (std::vector<OtherCondition>{{OtherCondition::Kind::kHost, "there"}}));
  EXPECT_EQ(set.left_out[0].runs, 5);
}

}  // namespace
}  // namespace nanobench::reports
