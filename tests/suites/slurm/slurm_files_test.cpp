// What a plan leaves in the folder that nodes share: the plan itself, the state of its submissions, results; and what
// becomes of tasks that are lost.
#include <gtest/gtest.h>

#include <fstream>

#include "ablations/catalogue.h"
#include "core/base/error.h"
#include "results/merge.h"
#include "results/provenance.h"
#include "suites/slurm/shared_folder.h"
#include "suites/slurm/slurm_runner.h"
#include "suites/slurm/task_files.h"
#include "suites/slurm/task_watch.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::Json;
using core::RunOutcome;

Plan small_plan() {
  const Json json = {{"name", "small"},
                     {"design", "history"},
                     {"records", {"record12", "record13"}},
                     {"seeds", {1, 2}},
                     {"scale", "smoke"},
                     {"threads", 1},
                     {"engine", {{"mock", {{"steps", 5}}}}},
                     {"limits", {{"seconds_per_run", 77.5}, {"silence_seconds", 5}}}};
  const Suite suite = read_suite(json, "small.json");
  core::DataSet data;
  data.name = "none";
  data.digest = "none";
  data.train = {"/data/train one.bin"};
  Matrix matrix = make_matrix(suite, ablations::Catalogue::embedded());
  matrix.cells[0].floor_nats = 1.25;
  return make_plan(suite, matrix, data, mock_engine({"/bin/engine", "mock-engine"}),
                   machine_of({.name = "main", .is_default = true, .cpus = 4}));
}

class SlurmFiles : public testing::Test {
 protected:
  SlurmFiles() {
    std::string pattern = (fs::temp_directory_path() / "nanobench-slurm-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~SlurmFiles() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
};

TEST(SlurmPlan, TheNodeReadsWhatWasPlanned) {
  const Plan plan = small_plan();
  EXPECT_EQ(plan.hardware, "slurm | partition main | 4 cores");
  const Plan read = read_plan(Json::parse(plan_text(plan)), "plan.json");
  EXPECT_EQ(read.digest, plan.digest);
  EXPECT_EQ(read.engine.command, plan.engine.command);
  EXPECT_EQ(read.suite.limits.seconds_per_run, 77.5);
  ASSERT_EQ(read.runs.size(), plan.runs.size());
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const results::NewRun a = stored_run(plan, plan.runs[i]), b = stored_run(read, read.runs[i]);
    EXPECT_EQ(a.digest, b.digest);
    EXPECT_EQ(a.config, b.config);
    EXPECT_EQ(a.config_digest, b.config_digest);
    EXPECT_EQ(a.cell, b.cell);
    EXPECT_EQ(a.record, b.record);
    EXPECT_EQ(a.seed, b.seed);
    EXPECT_EQ(a.data_floor_nats, b.data_floor_nats);
    EXPECT_EQ(a.threads, b.threads);
    EXPECT_EQ(a.position, b.position);
    EXPECT_EQ(core::to_json(read.runs[i].spec), core::to_json(plan.runs[i].spec));
  }
}

TEST(SlurmPlan, DamageIsSaid) {
  const Json whole = Json::parse(plan_text(small_plan()));
  for (const char* key : {"format", "runs", "cells", "engine", "limits", "digest"}) {
    Json damaged = whole;
    damaged.erase(key);
    EXPECT_THROW(read_plan(damaged, "plan.json"), Error) << key;
    damaged[key] = "x";
    if (std::string(key) == "digest") continue;
    EXPECT_THROW(read_plan(damaged, "plan.json"), Error) << key;
  }
  Json elsewhere = whole;
  elsewhere["runs"][0]["cell"] = 9;
  EXPECT_THROW(read_plan(elsewhere, "plan.json"), Error);
  Json newer = whole;
  newer["format"] = 3;
  EXPECT_THROW(read_plan(newer, "plan.json"), Error);
}

SlurmState two_submissions() {
  return {.plan_digest = "d",
          .plan_made_at = "2026-01-01T00:00:00.000Z",
          .is_fresh = true,
          .submissions = {
              {.number = 1, .name = "nanobench-0a-1", .job_id = "12", .is_abandoned = false, .tasks = {{0, 2}, {1}}},
              {.number = 2, .name = "nanobench-0a-2", .job_id = {}, .is_abandoned = true, .tasks = {{2}}}}};
}

TEST(SlurmState, ComesBackAsItWas) {
  const SlurmState state = read_state(to_json(two_submissions()), "state.json", 3);
  EXPECT_TRUE(state.is_fresh);
  ASSERT_EQ(state.submissions.size(), 2U);
  EXPECT_EQ(state.submissions[0].job_id, "12");
  EXPECT_EQ(state.submissions[0].tasks, (std::vector<std::vector<std::size_t>>{{0, 2}, {1}}));
  EXPECT_FALSE(state.submissions[1].job_id.has_value());
  EXPECT_EQ(state.times_submitted(2), 1) << "what was given up was not submitted";
}

TEST(SlurmState, HostileOnesAreRefused) {
  const Json whole = to_json(two_submissions());
  const auto changed = [&](const char* pointer, const Json& value) {
    Json json = whole;
    json[Json::json_pointer(pointer)] = value;
    return json;
  };
  const Json cases[] = {Json(nullptr),
                        Json::array(),
                        changed("/format", 9),
                        changed("/submissions", "x"),
                        changed("/submissions/0/tasks", Json::array()),
                        changed("/submissions/0/tasks/0", Json::array()),
                        changed("/submissions/0/tasks/0/0", -1),
                        changed("/submissions/0/tasks/0/0", 3),
                        changed("/submissions/0/tasks/0/0", 1.5),
                        changed("/submissions/0/tasks/0/0", 2),
                        changed("/submissions/0/number", 2),
                        changed("/submissions/0/job_id", "12; rm -rf /"),
                        changed("/submissions/0/job_id", ""),
                        changed("/submissions/0/name", "a,b"),
                        changed("/submissions/0/unknown", 1)};
  for (const Json& json : cases) {
    try {
      read_state(json, "state.json", 3);
      ADD_FAILURE() << json.dump();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kDataLoss) << error.what();
      EXPECT_NE(std::string(error.what()).find("state.json"), std::string::npos) << error.what();
    }
  }
}

TEST_F(SlurmFiles, TheFirstResultWins) {
  std::ofstream(folder_ / "a") << "first";
  std::ofstream(folder_ / "b") << "second";
  EXPECT_TRUE(publish(folder_ / "a", folder_ / "result"));
  EXPECT_FALSE(publish(folder_ / "b", folder_ / "result"));
  std::string text;
  std::ifstream(folder_ / "result") >> text;
  EXPECT_EQ(text, "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 3) << "nothing half is left";
  EXPECT_THROW(publish(folder_ / "a", folder_ / "nowhere" / "result"), Error);
}

TEST_F(SlurmFiles, LastWordsArePlain) {
  std::ofstream(folder_ / "log") << std::string(5000, 'x') << "\n\x1b[2Jslurmstepd: error\r\n\n";
  const std::string words = last_words(folder_ / "log");
  EXPECT_LE(words.size(), 400U);
  EXPECT_TRUE(words.ends_with(" [2Jslurmstepd: error")) << words;
  EXPECT_EQ(last_words(folder_ / "none"), "");
}

TEST_F(SlurmFiles, OneSubmitterAtATime) {
  {
    SubmitterLock first(folder_ / "lock");
    EXPECT_THROW(SubmitterLock(folder_ / "lock"), Error);
  }
  SubmitterLock again(folder_ / "lock");
  again.remove();
  EXPECT_FALSE(fs::exists(folder_ / "lock"));
  EXPECT_NO_THROW(SubmitterLock(folder_ / "lock"));
}

TEST_F(SlurmFiles, AResultIsCollectedOnceAndAnswersThePlan) {
  const Plan plan = small_plan();
  results::Store store(folder_ / "main.db");
  store.ensure_plan(stored_plan(plan, {}));  // so that numbers differ between the files
  const std::int64_t plan_id = store.ensure_plan(stored_plan(plan, {"nanobench"}), true);
  const PlanFolder plan_folder(folder_ / "plan");
  const SubmissionFolder submission(plan_folder.submission(1));
  submission.make();
  results::copy_plan(plan_folder.plan_store(), store.file(), plan_id);
  results::make_movable(plan_folder.plan_store());
  ASSERT_TRUE(publish_end(plan, plan.runs[2], {.outcome = RunOutcome::kTimedOut, .message = "late"}, submission));
  EXPECT_FALSE(publish_end(plan, plan.runs[2], {.outcome = RunOutcome::kCrashed, .message = "later"}, submission));
  EXPECT_EQ(Collector::available(submission, {0, 1, 2}), std::vector<std::size_t>{2});

  Collector collector(plan, plan_id, store);
  const results::RunRecord once = collector.collect(submission, 2);
  const results::RunRecord twice = collector.collect(submission, 2);
  EXPECT_EQ(once.id, twice.id);
  EXPECT_EQ(once.plan_id, plan_id);
  EXPECT_EQ(once.result->outcome, RunOutcome::kTimedOut);
  EXPECT_EQ(store.runs().size(), 1U);
  EXPECT_EQ(store.plans().size(), 2U);
  EXPECT_EQ(store.plan(plan_id).lines[2].run_id, once.id);

  // A run's next result answers in its place.
  const SubmissionFolder second(plan_folder.submission(2));
  second.make();
  ASSERT_TRUE(publish_end(plan, plan.runs[2], {.outcome = RunOutcome::kCrashed, .message = "again"}, second));
  EXPECT_EQ(store.plan(plan_id).lines[2].run_id, once.id);
  EXPECT_EQ(collector.collect(second, 2).result->message, "again");
  EXPECT_NE(store.plan(plan_id).lines[2].run_id, once.id);
}

TEST_F(SlurmFiles, AResultOfAnotherRunIsRefused) {
  const Plan plan = small_plan();
  results::Store store(folder_ / "main.db");
  const std::int64_t plan_id = store.ensure_plan(stored_plan(plan, {}));
  const PlanFolder plan_folder(folder_ / "plan");
  const SubmissionFolder submission(plan_folder.submission(1));
  submission.make();
  results::copy_plan(plan_folder.plan_store(), store.file(), plan_id);
  publish_end(plan, plan.runs[0], {.outcome = RunOutcome::kTimedOut, .message = "x"}, submission);
  fs::rename(submission.result(0), submission.result(1));
  const results::RunRecord run = Collector(plan, plan_id, store).collect(submission, 1);
  EXPECT_EQ(run.digest, plan.runs[1].digest);
  EXPECT_EQ(run.result->outcome, RunOutcome::kCrashed);
  EXPECT_TRUE(fs::exists(submission.result(1).string() + ".damaged")) << run.result->message;
}

struct LostCase {
  const char* what;
  LostTask task;
  RunOutcome outcome;
  bool is_first_stored, is_first_again, are_others_stored;
};

TEST(SlurmLost, WhoseFaultItWasDecides) {
  const auto task = [](const char* state, bool has_begun_any, bool has_begun_first, bool was_gone_before = false,
                       int times = 1) {
    return LostTask{.name = "Slurm task 1_0",
                    .state = state,
                    .node = "n1",
                    .has_begun_any = has_begun_any,
                    .has_begun_first = has_begun_first,
                    .was_gone_before = was_gone_before,
                    .times_submitted = times};
  };
  const LostCase cases[] = {
      {"over time", task("TIMEOUT", true, true), RunOutcome::kTimedOut, true, false, false},
      {"no memory", task("OUT_OF_MEMORY", true, true), RunOutcome::kOutOfMemory, true, false, false},
      {"failed in a run", task("FAILED", true, true), RunOutcome::kCrashed, true, false, false},
      {"failed between runs", task("FAILED", true, false), RunOutcome::kCrashed, false, true, false},
      {"failed at once", task("FAILED", false, false), RunOutcome::kCrashed, true, false, true},
      {"no result", task("COMPLETED", true, true), RunOutcome::kCrashed, true, false, false},
      {"given up", task("COMPLETED", false, false), RunOutcome::kInterrupted, false, true, false},
      {"node lost in a run", task("NODE_FAIL", true, true), RunOutcome::kInterrupted, true, true, false},
      {"node lost before", task("NODE_FAIL", false, false), RunOutcome::kInterrupted, false, true, false},
      {"preempted", task("PREEMPTED", true, true), RunOutcome::kInterrupted, true, true, false},
      {"lost a third time", task("NODE_FAIL", true, true, false, 3), RunOutcome::kCrashed, true, false, false},
      {"never began, third time", task("NODE_FAIL", false, false, false, 3), RunOutcome::kCrashed, true, false, true},
      {"cancelled now", task("CANCELLED", true, true), RunOutcome::kInterrupted, true, false, true},
      {"cancelled before", task("CANCELLED", true, true, true), RunOutcome::kInterrupted, true, true, false},
      {"cancelled before it began", task("CANCELLED", false, false, true), RunOutcome::kInterrupted, false, true,
       false},
      {"nobody knows", task("", true, true), RunOutcome::kInterrupted, true, true, false},
  };
  for (const LostCase& item : cases) {
    const LostEnd end = end_of(item.task);
    EXPECT_EQ(end.outcome, item.outcome) << item.what;
    EXPECT_EQ(end.is_first_stored, item.is_first_stored) << item.what;
    EXPECT_EQ(end.is_first_again, item.is_first_again) << item.what;
    EXPECT_EQ(end.are_others_stored, item.are_others_stored) << item.what;
    EXPECT_TRUE(end.is_first_stored || end.is_first_again) << item.what << ": a run is forgotten";
    EXPECT_EQ(end.message.rfind("Slurm task 1_0 on n1 ", 0), 0U) << end.message;
  }
}

}  // namespace
}  // namespace nanobench::suites
