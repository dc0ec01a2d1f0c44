// Identities of runs and plans, and what becomes of those that an older version stored.
#include "results/identity.h"

#include <algorithm>

#include "core/base/digest.h"
#include "results/check.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

NewRun some_run() {
  NewRun run;
  run.config_digest = "c";
  run.seed = 3;
  run.data_digest = "d";
  run.dtype = "float32";
  run.threads = 2;
  run.engine = "nanobench-train";
  run.engine_version = "v";
  run.hardware = "h";
  return run;
}

TEST(Identity, OfARunIsThatOfTheStores) {
  EXPECT_EQ(run_digest(some_run()),
            core::digest_of(R"({"config":"c","data":"d","dtype":"float32","engine":"nanobench-train",)"
                            R"("engine_version":"v","hardware":"h","seed":3,"threads":2})"));
}

TEST(Identity, DependsOnEachPartAndOnNoLabel) {
  const std::string base = run_digest(some_run());
  const auto changed = [](const std::function<void(NewRun&)>& change) {
    NewRun run = some_run();
    change(run);
    return run_digest(run);
  };
  EXPECT_NE(changed([](NewRun& run) { run.config_digest = "x"; }), base);
  EXPECT_NE(changed([](NewRun& run) { run.seed = 4; }), base);
  EXPECT_NE(changed([](NewRun& run) { run.engine_version = "x"; }), base);
  EXPECT_NE(changed([](NewRun& run) { run.kernels = core::KernelChoice::kReference; }), base);
  EXPECT_NE(changed([](NewRun& run) { run.device = core::kGpuDevice; }), base);
  EXPECT_NE(changed([](NewRun& run) { run.arm = 1; }), base);
  EXPECT_NE(changed([](NewRun& run) { run.mock = R"({"steps": 4})"; }), base);
  EXPECT_EQ(changed([](NewRun& run) { run.device = core::kCpuDevice; }), base);
  EXPECT_EQ(changed([](NewRun& run) { run.cell = run.suite = run.scale = "x"; }), base);
}

class RenewedStore : public StoreTest {
 protected:
  RenewedStore() { make_store_of_schema_2(file()); }
};

TEST_F(RenewedStore, RunsHaveTheDigestsThatPlanningGives) {
  const Store store(file());
  const std::vector<RunRecord> runs = store.runs();
  ASSERT_EQ(runs.size(), 7U);
  for (const RunRecord& run : runs) {
    EXPECT_EQ(run.config_digest, core::read_train_config(core::parse_json(run.config, "run"), "run").digest());
    if (run.engine == "mock") continue;
    EXPECT_EQ(run.digest, run_digest(run)) << run.id;
    EXPECT_EQ(run.device, core::kCpuDevice);
  }
  EXPECT_EQ(runs[0].arm, 0);
  EXPECT_EQ(runs[5].arm, 1) << "the gate's baseline";
  EXPECT_EQ(runs[6].arm, 2) << "the gate's candidate";
  EXPECT_EQ(runs[3].engine, "nanobench-train");
  EXPECT_EQ(runs[3].kernels, core::KernelChoice::kReference);
  EXPECT_EQ(runs[3].engine_text(), "nanobench-train, reference kernels");
}

TEST_F(RenewedStore, RunsThatCannotBeComputedKeepTheirDigest) {
  const Store store(file());
  EXPECT_EQ(store.run(6).engine, "mock");
  EXPECT_EQ(store.run(6).digest, "0264fb89d33a30c6f285dbf8225ee09f");
}

TEST_F(RenewedStore, PlansAreFoundAgainAlsoWhenALineWasNeverRun) {
  const Store store(file());
  const PlanRecord plan = store.plan(1);
  EXPECT_EQ(plan.digest, plan_digest(plan));
  EXPECT_NE(plan.digest, "ad92ed5d6e5d9e7a30211495a6a1095e");
  ASSERT_EQ(plan.lines.size(), 4U);
  EXPECT_FALSE(plan.lines[3].run_id);
  NewRun missing = store.run(*plan.lines[1].run_id);  // of the same cell, and another seed
  missing.seed = plan.lines[3].seed;
  EXPECT_EQ(plan.lines[3].digest, run_digest(missing));
}

TEST_F(RenewedStore, EvidenceIsReusedAndTheStoreIsSound) {
  {
    Store store(file());
    const NewRun again = store.run(1);
    const RunClaim claim = store.claim_run(again, this_process());
    ASSERT_TRUE(std::holds_alternative<AlreadyDone>(claim));
    EXPECT_EQ(std::get<AlreadyDone>(claim).run.id, 1);
  }
  const StoreCheck check = check_store(file());
  EXPECT_EQ(check.schema, kSchemaVersion);
  for (const StoreProblem& problem : check.problems)
    EXPECT_TRUE(problem.rule != "plan_lines" && problem.rule != "foreign_keys") << problem.text;
}

TEST_F(RenewedStore, FormerDigestsAreThoseOfOlderBaselineFiles) {
  const Store store(file());
  const core::TrainConfig config = core::read_train_config(core::parse_json(store.run(1).config, "run"), "run");
  EXPECT_EQ(former::config_digest(config), "7516b7d879ebf2a96a6bd1b09f34ba1f");
}

}  // namespace
}  // namespace nanobench::results
