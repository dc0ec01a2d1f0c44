// What the shared folder shows of a plan.
#include "suites/slurm/glance.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/atomic_write.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

TEST(SlurmGlance, APlansFolderIsFoundWhereverItIs) {
  const core::TemporaryFolder folder("slurm-glance");
  const fs::path database = folder.path() / "results.db";
  const std::string digest(64, 'd');
  EXPECT_FALSE(has_plan_folders(database));
  EXPECT_FALSE(find_plan_folder(database, "my suite", digest));
  EXPECT_EQ(plan_folder_name("my suite", digest), "my_suite-dddddddddddd");
  const fs::path elsewhere = folder.path() / "scratch" / "plan";
  make_shared_folder(elsewhere);
  make_shared_folder(exchange_folder(database));
  fs::create_directory_symlink(elsewhere,
                               scratch_link(exchange_folder(database), plan_folder_name("my suite", digest)));
  EXPECT_FALSE(find_plan_folder(database, "my suite", digest)) << "it holds no state yet";
  write_whole(PlanFolder(elsewhere).state_file(), "{}");
  EXPECT_TRUE(has_plan_folders(database));
  ASSERT_TRUE(find_plan_folder(database, "my suite", digest));
  EXPECT_EQ(find_plan_folder(database, "my suite", digest)->path(), elsewhere);
  EXPECT_FALSE(glance_at(PlanFolder(elsewhere), digest, "then", 3)) << "no state of ours";
}

TEST(SlurmGlance, HasRunsJobsAndTheSubmitter) {
  const core::TemporaryFolder folder("slurm-glance");
  const PlanFolder plan(folder.path() / "plan");
  SlurmState state{.plan_digest = "d", .plan_made_at = "then", .is_fresh = false, .submissions = {}};
  state.submissions = {
      {.number = 1, .name = "nanobench-0a-1", .job_id = "12", .is_abandoned = false, .tasks = {{0, 2}, {1}}},
      {.number = 2, .name = "nanobench-0a-2", .job_id = "13", .is_abandoned = false, .tasks = {{2}}},
      {.number = 3, .name = "nanobench-0a-3", .job_id = {}, .is_abandoned = true, .tasks = {{0}}}};
  for (int number = 1; number <= 3; ++number) SubmissionFolder(plan.submission(number)).make();
  const SubmissionFolder first(plan.submission(1));
  write_whole(first.started(0), "12 nano1\n");
  write_whole(first.started(2), "12 nano1\n");
  write_whole(first.result(0), "x");
  write_whole(first.result(2), "x");  // interrupted, and handed over again
  write_whole(plan.state_file(), to_json(state).dump());
  write_whole(plan.queue_file(), "1 task waiting (Priority)\n");
  const auto glance = glance_at(plan, "d", "then", 3);
  ASSERT_TRUE(glance);
  ASSERT_EQ(glance->runs.size(), 3U);
  EXPECT_EQ(glance->runs[0].stage, GlancedStage::kResult);
  EXPECT_EQ(glance->runs[1].stage, GlancedStage::kQueued);
  EXPECT_EQ(glance->runs[2].stage, GlancedStage::kQueued) << "the newest job that it is in counts";
  EXPECT_EQ(glance->job_ids, (std::vector<std::string>{"12", "13"}));
  EXPECT_EQ(glance->queue, "1 task waiting (Priority)");
  EXPECT_FALSE(glance->submitter);
  write_whole(SubmissionFolder(plan.submission(2)).started(2), "13 nano2\n");
  {
    const SubmitterLock lock(plan.lock_file());
    const auto held = glance_at(plan, "d", "then", 3);
    ASSERT_TRUE(held && held->submitter);
    EXPECT_EQ(held->submitter->pid, getpid());
    EXPECT_EQ(held->runs[2].stage, GlancedStage::kStarted);
  }
  EXPECT_FALSE(glance_at(plan, "d", "another row of the plan", 3));
  EXPECT_FALSE(glance_at(plan, "d", "then", 2)) << "a state of more runs than the plan has";
}

}  // namespace
}  // namespace nanobench::suites
