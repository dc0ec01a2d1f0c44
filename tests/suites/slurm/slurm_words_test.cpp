// What is said to Slurm and what it says: scripts, options, queues, states. All of it may be hostile.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "suites/slurm/queue.h"
#include "suites/slurm/submitter.h"
#include "suites/slurm/task_watch.h"

namespace nanobench::suites {
namespace {

/// What a shell makes of a word.
std::string echoed(const std::string& word) {
  const core::CommandResult result = core::run_command({"/bin/sh", "-c", "printf %s " + shell_words({word})});
  EXPECT_TRUE(result.is_success()) << result.err;
  return result.out;
}

TEST(SlurmScript, NoPathBreaksOut) {
  for (const std::string word :
       {"a b", "it's", "\"", "$(touch x)", "`x`", "a\nb", "\\", "'", "''\\''", "%a;#&|<>*?", ""})
    EXPECT_EQ(echoed(word), word);
}

TEST(SlurmScript, RunsTheProgramWithFolderAndIndex) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "nano 'bench' $HOME `id` \"x\"";
  std::filesystem::create_directories(folder);
  const std::filesystem::path program = folder / "pro gram'";
  std::ofstream(program) << "#!/bin/sh\nprintf '%s|' \"$@\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::filesystem::path script = folder / "job.sh";
  std::ofstream(script) << job_script(program, folder);
  const core::CommandResult result =
      core::run_command({"/usr/bin/env", "SLURM_ARRAY_TASK_ID=7", "/bin/sh", script.string()});
  EXPECT_EQ(result.out, "slurm-task|" + folder.string() + "|7|") << result.err;
  std::filesystem::remove(program);
  const core::CommandResult missing = core::run_command({"/bin/sh", script.string()});
  EXPECT_EQ(missing.exit.exit_code, 127);
  EXPECT_NE(missing.err.find(program.string() + " is not on "), std::string::npos) << missing.err;
  std::filesystem::remove_all(folder);
}

TEST(SlurmScript, SbatchGetsEveryWordWhole) {
  const std::vector<std::string> words = sbatch_command({.name = "nanobench-0-1",
                                                         .partition = "main",
                                                         .folder = "/shared/50% a",
                                                         .tasks = 3,
                                                         .max_at_once = 2,
                                                         .cpus = 4,
                                                         .options = {"--time=1:00", "--comment=a b;c"}});
  const auto has = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  EXPECT_TRUE(has("--array=0-2%2"));
  EXPECT_TRUE(has("--output=/shared/50%% a/log/%a")) << "Slurm replaces patterns in names of files";
  EXPECT_TRUE(has("--comment=a b;c"));
  EXPECT_TRUE(has("--exclusive"));
  EXPECT_EQ(words.back(), "/shared/50% a/job.sh");
}

TEST(SlurmScript, ASeatIsAPartOfANode) {
  const std::vector<std::string> words = sbatch_command(
      {.name = "n", .partition = "gpu", .folder = "/f", .cpus = 4, .share = SeatShare{.gpus = 2}, .options = {}});
  const auto has = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  EXPECT_TRUE(has("--gres=gpu:2"));
  EXPECT_TRUE(has("--cpus-per-task=4"));
  EXPECT_FALSE(has("--exclusive"));
}

TEST(SlurmScript, OptionsThatAreOursOrNone) {
  EXPECT_NO_THROW(check_sbatch_options({"--time=2:00", "-t5", "--gres=gpu:1", "--mem=0"}));
  for (const std::string option :
       {"", "-", "--", "time=2", "--array=0-9", "-a1", "--parsable", "-J x", "--wrap=id", "-p gpu"})
    EXPECT_THROW(check_sbatch_options({option}), core::Error) << option;
}

TEST(SlurmQueue, LinesOfTasks) {
  const auto tasks = parse_queue("12|0|RUNNING|node1|None\n 12|1|PENDING||(Resources) a|b \n\n");
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].job_id, "12");
  EXPECT_EQ(tasks[0].node, "node1");
  EXPECT_FALSE(tasks[0].is_over());
  EXPECT_EQ(tasks[1].index, 1);
  EXPECT_TRUE(tasks[1].is_pending());
  EXPECT_EQ(tasks[1].reason, "(Resources) a|b");
}

TEST(SlurmQueue, WhatIsNoTaskIsPassedOver) {
  for (const char* text : {"slurm_load_jobs error: Unable to contact", "12|N/A|RUNNING|n|r", "12|1|running|n|r",
                           "|1|RUNNING|n|r", "12|-1|RUNNING|n|r", "12|99999999999999999999|RUNNING|n|r", "12|1|RUNNING",
                           "12_1|1|RUNNING|n|r", "x|1|RUNNING|n|r", "\0\0|1|A|b|c"})
    EXPECT_TRUE(parse_queue(text).empty()) << text;
}

TEST(SlurmQueue, AnyBytesAreSurvived) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (unsigned i = 0; i < random() % 200; ++i) text += "|\n*+0129 APENDIG_\0\xff"[random() % 20];
    parse_queue(text);
    parse_partitions(text);
    parse_accounting(text);
  }
}

TEST(SlurmQueue, AStateThatNobodyKnowsIsNoEnd) {
  EXPECT_FALSE(QueuedTask{.state = "REQUEUE_HOLD"}.is_over());
  EXPECT_FALSE(QueuedTask{.state = "COMPLETING"}.is_over());
  EXPECT_TRUE(QueuedTask{.state = "NODE_FAIL"}.is_over());
}

TEST(SlurmQueue, PartitionsOnceWithTheirSmallestNode) {
  const auto partitions = parse_partitions("main*|8\nmain*|4+\ngpu|16\nbad|0\nworse|x\n|3\n*\n");
  ASSERT_EQ(partitions.size(), 2U);
  EXPECT_EQ(partitions[0].name, "main");
  EXPECT_TRUE(partitions[0].is_default);
  EXPECT_EQ(partitions[0].cpus, 4);
  EXPECT_FALSE(partitions[1].is_default);
}

TEST(SlurmQueue, AccountingSaysWhoCancelled) {
  EXPECT_EQ(parse_accounting("CANCELLED by 1000\n"), "CANCELLED");
  EXPECT_EQ(parse_accounting("\n  OUT_OF_MEMORY\nFAILED\n"), "OUT_OF_MEMORY");
  EXPECT_EQ(parse_accounting("Slurm accounting storage is disabled"), std::nullopt);
}

TEST(SlurmCommand, FailuresAreToldInItsOwnWords) {
  const core::CommandResult result = call_slurm({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 20);
  EXPECT_EQ(core::failure_text({"x"}, result), "err");
  EXPECT_TRUE(call_slurm({"/bin/sh", "-c", "sleep 100"}, 0.2).is_timed_out);
}

class WatchTest : public testing::Test {
 protected:
  static QueuedTask task(std::int64_t index, const std::string& state, const std::string& reason = "None") {
    return {.job_id = "7", .index = index, .state = state, .node = state == "PENDING" ? "" : "n1", .reason = reason};
  }
  const std::vector<ExpectedTask> expected_ = {{.submission = 1, .job_id = "7", .index = 0},
                                               {.submission = 1, .job_id = "7", .index = 1}};
  TaskWatch watch_{10};
};

TEST_F(WatchTest, ATaskIsGivenTimeToSettleAndThenToldOnce) {
  EXPECT_TRUE(watch_.look(expected_, {task(0, "RUNNING"), task(1, "RUNNING")}, 0).empty());
  EXPECT_TRUE(watch_.look(expected_, {task(0, "TIMEOUT"), task(1, "RUNNING")}, 5).empty());
  EXPECT_TRUE(watch_.look(expected_, {task(1, "RUNNING")}, 14).empty());
  const auto gone = watch_.look(expected_, {task(1, "RUNNING")}, 15);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].task.index, 0);
  EXPECT_EQ(gone[0].state, "TIMEOUT") << "the last word counts after Slurm has forgotten the task";
  EXPECT_EQ(gone[0].node, "n1");
  EXPECT_FALSE(gone[0].was_gone_before);
  EXPECT_TRUE(watch_.look(expected_, {task(1, "RUNNING")}, 100).empty());
}

TEST_F(WatchTest, ATaskThatSlurmStartsAgainIsNotGone) {
  watch_.look(expected_, {task(0, "PREEMPTED"), task(1, "RUNNING")}, 0);
  EXPECT_TRUE(watch_.look(expected_, {task(0, "PENDING"), task(1, "RUNNING")}, 9).empty());
  EXPECT_TRUE(watch_.look(expected_, {task(0, "FAILED"), task(1, "RUNNING")}, 12).empty());
  EXPECT_EQ(watch_.look(expected_, {task(0, "FAILED"), task(1, "RUNNING")}, 22).size(), 1U);
}

TEST_F(WatchTest, WhatVanishedWhileItRanHasNoLastWord) {
  watch_.look(expected_, {task(0, "RUNNING"), task(1, "RUNNING")}, 0);
  watch_.look(expected_, {}, 1);
  const auto gone = watch_.look(expected_, {}, 11);
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_EQ(gone[0].state, "");
}

TEST_F(WatchTest, WhatWasOverBeforeIsKnown) {
  std::vector<ExpectedTask> former = expected_;
  for (ExpectedTask& item : former) item.is_former = true;
  watch_.look(former, {task(0, "CANCELLED"), task(1, "RUNNING")}, 0);
  watch_.look(former, {task(0, "CANCELLED"), task(1, "CANCELLED")}, 5);
  const auto gone = watch_.look(former, {task(0, "CANCELLED"), task(1, "CANCELLED")}, 20);
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_TRUE(gone[0].was_gone_before);
  EXPECT_FALSE(gone[1].was_gone_before);
}

TEST_F(WatchTest, Summary) {
  watch_.look(expected_, {task(0, "RUNNING"), task(1, "PENDING", "Resources")}, 0);
  EXPECT_EQ(watch_.summary(), "1 task running, 1 waiting (Resources)");
  watch_.look(expected_, {task(0, "PENDING", "Priority"), task(1, "PENDING", "Resources")}, 0);
  EXPECT_EQ(watch_.summary(), "2 tasks waiting (Priority, Resources)");
  watch_.look(expected_, {}, 0);
  EXPECT_EQ(watch_.summary(), "");
}

}  // namespace
}  // namespace nanobench::suites
