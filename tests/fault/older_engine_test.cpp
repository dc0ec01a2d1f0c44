// A runner of today and an engine that was released before: older_engine.py refuses what it does not know.
#include <fstream>

#include "results/metric.h"
#include "runner_fixture.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::RunOutcome;

class OlderEngineTest : public RunnerTest {
 protected:
  /// `unknown`: a setting that the engine lacks, as if it had been added since.
  static Engine older_engine(const std::string& unknown) {
    return {{std::string(NANOBENCH_SOURCE_DIR) + "/tests/fault/older_engine.py", "--without", unknown},
            "nanobench-train",
            "older"};
  }

  static Plan plan_of(const Engine& engine, std::int64_t arm, const Json& extra = Json::object()) {
    Json json = {{"name", "older"},
                 {"design", "history"},
                 {"records", {"record12", "record17"}},
                 {"scale", "smoke"},
                 {"threads", 1}};
    json.merge_patch(extra);
    const Suite suite = read_suite(json, "older.json");
    Matrix matrix = make_matrix(suite, ablations::Catalogue::embedded());
    for (Cell& cell : matrix.cells) cell.arm = arm;
    return make_plan(suite, matrix, {.name = "none", .digest = "none"}, engine, results::machine_info());
  }
};

TEST_F(OlderEngineTest, RunsWhatDoesNotUseTheNewSetting) {
  const SuiteRunResult result = run(plan_of(older_engine("/attention/block_order"), 0));
  EXPECT_EQ(result.completed, 2);
}

TEST_F(OlderEngineTest, RefusesTheNewSettingWithOneSentenceThatNamesIt) {
  const Json extra = {
      {"design", "leave_one_out"},
      {"records", nullptr},
      {"base", {{"record", "record17"}, {"patch", {{"attention", {{"block_order", "nearest_first"}}}}}}},
      {"features", {"qk_norm"}}};
  const SuiteRunResult result = run(plan_of(older_engine("/attention/block_order"), 0, extra));
  EXPECT_EQ(result.completed, 0);
  for (const results::RunRecord& record : observer_.records) {
    EXPECT_EQ(enum_name(record.result->outcome), "unsupported");
    EXPECT_NE(record.result->message.find("/attention/block_order: unknown key"), std::string::npos)
        << record.result->message;
    EXPECT_EQ(record.result->message.find('\n'), std::string::npos);
  }
}

TEST_F(OlderEngineTest, RunsInTurnWithAnEngineOfToday) {
  const Plan baseline = plan_of(older_engine("/attention/block_order"), 1);
  const Plan candidate = plan_of(older_engine(""), 2);
  results::Store store(file());
  const auto results = run_in_turn({&baseline, &candidate}, store, {.is_own_evidence = true}, observer_);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].completed + results[1].completed, 4);
  const results::PlanRecord before = store.plan(results[0].plan_id), now = store.plan(results[1].plan_id);
  for (std::size_t i = 0; i < before.cells.size(); ++i)
    EXPECT_EQ(before.cells[i].config_digest, now.cells[i].config_digest);
}

/// It is rebuilt while its first run computes.
TEST_F(OlderEngineTest, ARebuildDuringASuiteEndsIt) {
  const std::filesystem::path program = file().parent_path() / "engine.sh";
  std::ofstream(program) << "#!/bin/sh\nexec " << NANOBENCH_SOURCE_DIR
                         << "/tests/fault/older_engine.py --without '' \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Engine engine = native_engine(program);
  Plan plan = plan_of(engine, 0);
  plan.engine.version_of_run = [&, runs = 0](const std::string& executed) mutable {
    const std::string version = engine.version_of_run(executed);
    if (runs++ == 0) std::ofstream(program, std::ios::app) << "# rebuilt\n";
    return version;
  };
  results::Store store(file());
  try {
    run_plan(plan, store, {}, observer_);
    ADD_FAILURE() << "it did not end";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kIncomplete);
    EXPECT_NE(std::string(error.what()).find("engine.sh changed after the suite began"), std::string::npos)
        << error.what();
  }
  const std::vector<results::RunRecord> runs = store.runs();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_TRUE(runs[0].is_completed()) << runs[0].result->message;
  EXPECT_EQ(enum_name(runs[1].result->outcome), "interrupted");
  EXPECT_EQ(store.run_facts(runs[0].id).at(results::kEngineVersion), engine.version);
}

}  // namespace
}  // namespace nanobench::suites
