// A runner of today and an engine that was released before: older_engine.py refuses what it does not know.
#include <filesystem>
#include <fstream>
#include <functional>

#include "results/metric.h"
#include "runner_fixture.h"
#include "tests/core/base/refusal_support.h"

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
    EXPECT_NE(record.result->message.find("/attention/block_order: "), std::string::npos) << record.result->message;
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

class RebuiltEngineTest : public OlderEngineTest {
 protected:
  std::filesystem::path program() const { return file().parent_path() / "engine"; }

  enum class Rebuild { kBeforeItIsRead, kAfterwards };

  /// Runs two cells by `engine`, of which `rebuild` makes another one while the first cell computes: before or after
  /// the runner reads what is executed.
  void expect_end(const Engine& engine, Rebuild when, const std::function<void()>& rebuild) {
    Plan plan = plan_of(engine, 0);
    plan.engine.version_of_run = [&, runs = 0](const std::string& executed) mutable {
      const bool is_first = runs++ == 0;
      if (is_first && when == Rebuild::kBeforeItIsRead) rebuild();
      const std::string version = engine.version_of_run(executed);
      if (is_first && when == Rebuild::kAfterwards) rebuild();
      return version;
    };
    results::Store store(file());
    const core::Refused refused = core::refusal_of([&] { run_plan(plan, store, {}, observer_); });
    EXPECT_REFUSED_AS(refused, core::ErrorCode::kIncomplete, core::Reason::kChanged, "");
    const std::vector<results::RunRecord> runs = store.runs();
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_TRUE(runs[0].is_completed()) << runs[0].result->message;
    EXPECT_EQ(enum_name(runs[1].result->outcome), "interrupted");
    EXPECT_EQ(store.run_facts(runs[0].id).at(results::kEngineVersion), engine.version) << "it was executed before";
  }
};

TEST_F(RebuiltEngineTest, AScriptEndsTheSuite) {
  std::ofstream(program()) << "#!/bin/sh\nexec " << NANOBENCH_SOURCE_DIR
                           << "/tests/fault/older_engine.py --without '' \"$@\"\n";
  std::filesystem::permissions(program(), std::filesystem::perms::owner_all);
  expect_end(native_engine(program()), Rebuild::kAfterwards,
             [&] { std::ofstream(program(), std::ios::app) << "# rebuilt\n"; });
}

/// The build replaces the file by another one: what the process executes has no name any more.
TEST_F(RebuiltEngineTest, AProgramThatIsReplacedEndsTheSuite) {
  const std::filesystem::path python = std::filesystem::canonical("/usr/bin/python3");
  std::filesystem::copy_file(python, program());
  Engine engine = native_engine(program());
  engine.command.insert(engine.command.end(),
                        {std::string(NANOBENCH_SOURCE_DIR) + "/tests/fault/older_engine.py", "--without", ""});
  expect_end(engine, Rebuild::kBeforeItIsRead, [&] {
    const std::filesystem::path made = file().parent_path() / "engine.new";
    std::filesystem::copy_file(python, made);
    std::ofstream(made, std::ios::app | std::ios::binary) << "rebuilt";
    std::filesystem::rename(made, program());
  });
}

}  // namespace
}  // namespace nanobench::suites
