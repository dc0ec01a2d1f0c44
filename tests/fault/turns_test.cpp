// Several plans in turn, and plans whose evidence is their own.
#include "runner_fixture.h"

namespace nanobench::suites {
namespace {

using results::Store;

class TurnsTest : public RunnerTest {
 protected:
  /// The same cells under another name of the mock engine's settings, so that no run answers for another.
  Plan plan_of(double effect) const {
    return mock_plan(engine(), {{"steps", 4}, {"effect", effect}},
                     {{"seeds", {1, 2}}, {"records", {"record12", "record13"}}});
  }

  std::vector<SuiteRunResult> run_all(const std::vector<const Plan*>& plans, bool is_own = true) {
    Store store(file());
    observer_ = {};
    return run_in_turn(plans, store, {.is_own_evidence = is_own, .wait_poll_seconds = 0.02}, observer_);
  }
};

TEST_F(TurnsTest, EachRunStandsBesideItsCounterpartAndTheOrderAlternates) {
  const Plan a = plan_of(0.0), b = plan_of(0.1);
  const std::vector<SuiteRunResult> results = run_all({&a, &b});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_NE(results[0].plan_id, results[1].plan_id);
  EXPECT_EQ(results[0].completed, 4);
  EXPECT_EQ(results[1].completed, 4);
  ASSERT_EQ(observer_.records.size(), 8U);
  for (std::size_t i = 0; i < 8; i += 2) {
    const results::RunRecord &first = observer_.records[i], &second = observer_.records[i + 1];
    EXPECT_EQ(first.cell, second.cell);
    EXPECT_EQ(first.seed, second.seed);
    EXPECT_EQ(*first.plan_id, i % 4 == 0 ? results[0].plan_id : results[1].plan_id);
    EXPECT_EQ(*second.plan_id, i % 4 == 0 ? results[1].plan_id : results[0].plan_id);
  }
}

TEST_F(TurnsTest, AFinishedPlanBeginsAnewAndAnUnfinishedOneGoesOn) {
  const Plan plan = plan_of(0.0);
  run(plan);  // evidence of another plan's making does not count
  const std::vector<SuiteRunResult> first = run_all({&plan});
  EXPECT_EQ(first[0].completed, 4);
  const std::vector<SuiteRunResult> second = run_all({&plan});
  EXPECT_EQ(second[0].completed, 4);
  EXPECT_NE(first[0].plan_id, second[0].plan_id);

  // As a kill leaves it: a new plan with half of its runs.
  std::int64_t cut = 0;
  {
    Store store(file());
    results::NewPlan begun = stored_plan(plan, {});
    begun.digest = store.plan(second[0].plan_id).digest;
    cut = store.ensure_plan(begun, /*is_fresh=*/true);
    for (std::size_t i = 0; i < 2; ++i) {
      results::NewRun row = stored_run(plan, plan.runs[i]);
      row.plan_id = cut;
      const auto claim = std::get<results::Claimed>(store.claim_run(row, results::this_process(), true));
      store.finish_run(claim.run_id, {.outcome = core::RunOutcome::kCompleted, .final_val_loss = 1.0});
    }
  }
  const std::vector<SuiteRunResult> third = run_all({&plan});
  EXPECT_EQ(third[0].plan_id, cut);
  EXPECT_EQ(third[0].completed, 2);
  EXPECT_EQ(third[0].reused, 2);
  EXPECT_EQ(observer_.reusable, (std::vector<bool>{true, true, false, false}));
}

/// As a kill leaves it that comes when one side has all its runs and the other has one to go.
TEST_F(TurnsTest, AFinishedSideWaitsForTheOther) {
  const Plan a = plan_of(0.0), b = plan_of(0.1);
  const std::vector<SuiteRunResult> first = run_all({&a, &b});
  std::vector<std::int64_t> cut;
  {
    Store store(file());
    std::vector<results::NewPlan> begun = {stored_plan(a, {}), stored_plan(b, {})};
    for (std::size_t side = 0; side < 2; ++side) begun[side].digest = store.plan(first[side].plan_id).digest;
    cut = store.ensure_plans(begun, /*is_fresh=*/true);
    for (std::size_t side = 0; side < 2; ++side) {
      const Plan& plan = side == 0 ? a : b;
      for (std::size_t i = 0; i < (side == 0 ? 4U : 3U); ++i) {
        results::NewRun row = stored_run(plan, plan.runs[i]);
        row.plan_id = cut[side];
        const auto claim = std::get<results::Claimed>(store.claim_run(row, results::this_process(), true));
        store.finish_run(claim.run_id, {.outcome = core::RunOutcome::kCompleted, .final_val_loss = 1.0});
      }
    }
  }
  const std::vector<SuiteRunResult> second = run_all({&a, &b});
  for (std::size_t side = 0; side < 2; ++side) EXPECT_EQ(second[side].plan_id, cut[side]);
  EXPECT_EQ(second[0].completed, 0);
  EXPECT_EQ(second[1].completed, 1);
}

TEST_F(TurnsTest, AnotherCounterpartIsAnotherPlan) {
  const Plan a = plan_of(0.0), b = plan_of(0.1), c = plan_of(0.2);
  const std::int64_t beside_b = run_all({&a, &b})[0].plan_id;
  const std::vector<SuiteRunResult> beside_c = run_all({&a, &c});
  EXPECT_NE(beside_c[0].plan_id, beside_b);
  EXPECT_EQ(beside_c[0].completed, 4) << "runs in turn with b say nothing beside c";
}

TEST_F(TurnsTest, PlansOfDifferentLengthsAreRefused) {
  const Plan a = plan_of(0.0);
  Plan b = plan_of(0.1);
  b.runs.pop_back();
  EXPECT_THROW(run_all({&a, &b}), core::Error);
}

}  // namespace
}  // namespace nanobench::suites
