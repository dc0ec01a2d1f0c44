#include "results/store.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "results/metric.h"
#include "results/sqlite.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

using core::ErrorCode;
using core::RunOutcome;

TEST_F(StoreTest, OnlyEvidenceWithTheNeededFactsIsReused) {
  Store store(file());
  const NewRun run = new_run();
  const EvidenceNeed need{.facts = {{"eval/swag/items", "abc"}}};
  const std::int64_t plain = claim(store, run);
  store.finish_run(plain, completed());
  EXPECT_EQ(store.find_evidence(run.digest), plain);
  EXPECT_FALSE(store.find_evidence(run.digest, need));
  const RunClaim again = store.claim_run(run, this_process(), false, false, need);
  ASSERT_TRUE(std::holds_alternative<Claimed>(again)) << "it is measured again";
  const std::int64_t answered = std::get<Claimed>(again).run_id;
  store.finish_run(answered, completed(), {.samples = {}, .messages = {}, .facts = need.facts});
  EXPECT_EQ(store.find_evidence(run.digest, need), answered);
  EXPECT_FALSE(store.find_evidence(run.digest, {.facts = {{"eval/swag/items", "other items"}}}));
  EXPECT_TRUE(std::holds_alternative<AlreadyDone>(store.claim_run(run, this_process(), false, false, need)));
}

TEST_F(StoreTest, KeepsEveryColumnOfARun) {
  Store store(file());
  NewRun run = new_run();
  run.data_floor_nats = 2.75;
  run.seed = 9223372036854775807ULL;
  const std::int64_t id = claim(store, run);
  EXPECT_TRUE(store.run(id).is_running());
  EXPECT_FALSE(store.run(id).finished_at.has_value());
  store.finish_run(id, completed());

  const RunRecord record = store.run(id);
  EXPECT_EQ(record.id, id);
  EXPECT_EQ(record.digest, run.digest);
  EXPECT_EQ(record.suite, run.suite);
  EXPECT_EQ(record.cell, run.cell);
  EXPECT_EQ(record.record, run.record);
  EXPECT_EQ(record.scale, run.scale);
  EXPECT_EQ(record.seed, run.seed);
  EXPECT_EQ(record.config, run.config);
  EXPECT_EQ(record.config_digest, run.config_digest);
  EXPECT_EQ(record.data_name, run.data_name);
  EXPECT_EQ(record.data_digest, run.data_digest);
  EXPECT_EQ(record.data_floor_nats, 2.75);
  EXPECT_EQ(record.dtype, run.dtype);
  EXPECT_EQ(record.threads, 2);
  EXPECT_EQ(record.engine, run.engine);
  EXPECT_EQ(record.engine_version, run.engine_version);
  EXPECT_EQ(record.hardware, run.hardware);
  EXPECT_EQ(record.owner.pid, getpid());
  ASSERT_TRUE(record.is_completed());
  EXPECT_EQ(record.result->final_val_loss, 3.25);
  EXPECT_EQ(record.result->train_ms, 1000.5);
  EXPECT_EQ(record.result->steps, 100);
  EXPECT_EQ(record.result->timed_steps, 90);
  EXPECT_EQ(record.result->peak_bytes, 123456789);
  EXPECT_EQ(record.result->exit_code, 0);
  EXPECT_LE(record.started_at, *record.finished_at);
}

TEST_F(StoreTest, KeepsTheBitsOfDoubles) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {0.1, 3.2790001630783081, 1e-310, 0.0, 1.7976931348623157e308, 1.0 / 3.0, nan};
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  std::vector<NewSample> samples;
  for (std::size_t i = 0; i < values.size(); ++i)
    samples.push_back({kTrainLoss, static_cast<std::int64_t>(i), values[i]});
  store.add_samples(id, samples);
  const Store reader(file(), OpenMode::kReadOnly);
  const std::vector<Sample> read = reader.samples(id, kTrainLoss);
  ASSERT_EQ(read.size(), values.size());
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    EXPECT_EQ(read[i].value, values[i]);
  }
  EXPECT_TRUE(std::isnan(read.back().value));
}

TEST_F(StoreTest, NeverOverwritesASampleAndWritesNothingOfThatBatch) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  store.add_samples(id, {{kTrainLoss, 1, 5.0}});
  EXPECT_REFUSED(refused_as(ErrorCode::kConflict,
                            [&] {
                              store.add_samples(id, {{kTrainLoss, 0, 9.0}, {kTrainLoss, 1, 6.0}});
                            }),
                 core::Reason::kRepeated, file().string());
  const std::vector<Sample> samples = store.samples(id, kTrainLoss);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].value, 5.0);
}

TEST_F(StoreTest, NeverFinishesARunTwice) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  store.finish_run(id, completed(3.0));
  const core::Refused refused = refused_as(ErrorCode::kConflict, [&] {
    store.finish_run(id, completed(4.0), {{{kTrainLoss, {{0, 1.0}}}}, {}, {}});
  });
  EXPECT_REFUSED(refused, core::Reason::kEnded, "1");
  EXPECT_EQ(store.run(id).result->final_val_loss, 3.0);
  EXPECT_TRUE(store.samples(id, kTrainLoss).empty());
}

TEST_F(StoreTest, ReusesEvidenceUnlessFresh) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  store.finish_run(id, completed());
  const RunClaim again = store.claim_run(new_run(), this_process());
  ASSERT_TRUE(std::holds_alternative<AlreadyDone>(again));
  EXPECT_EQ(std::get<AlreadyDone>(again).run.id, id);
  const RunClaim fresh = store.claim_run(new_run(), this_process(), true);
  ASSERT_TRUE(std::holds_alternative<Claimed>(fresh));
  EXPECT_NE(std::get<Claimed>(fresh).run_id, id);
}

TEST_F(StoreTest, EvidenceWithoutANeededMetricDoesNotCountUnlessItDiverged) {
  Store store(file());
  const EvidenceNeed health{.metrics = {kGradientNorm}};
  store.finish_run(claim(store, new_run()), completed());
  EXPECT_TRUE(store.find_evidence("d1"));
  EXPECT_FALSE(store.find_evidence("d1", health));
  const RunClaim again = store.claim_run(new_run(), this_process(), false, false, health);
  ASSERT_TRUE(std::holds_alternative<Claimed>(again));
  RunBatch batch;
  batch.samples[kGradientNorm] = {{0, 1.5}};
  store.finish_run(std::get<Claimed>(again).run_id, completed(), batch);
  EXPECT_EQ(store.find_evidence("d1", health), std::get<Claimed>(again).run_id);
  RunResult diverged;
  diverged.outcome = RunOutcome::kDiverged;
  store.finish_run(claim(store, new_run("other")), diverged);
  EXPECT_TRUE(store.find_evidence("other", health));
}

TEST_F(StoreTest, RunsAgainWhatFailedAndKeepsWhatDiverged) {
  Store store(file());
  for (const RunOutcome outcome : {RunOutcome::kCrashed, RunOutcome::kTimedOut, RunOutcome::kInterrupted,
                                   RunOutcome::kOutOfMemory, RunOutcome::kUnsupported}) {
    RunResult result;
    result.outcome = outcome;
    store.finish_run(claim(store, new_run()), result);  // claim() fails unless each time a new row is made
  }
  RunResult diverged;
  diverged.outcome = RunOutcome::kDiverged;
  store.finish_run(claim(store, new_run()), diverged);
  EXPECT_TRUE(std::holds_alternative<AlreadyDone>(store.claim_run(new_run(), this_process())));
  EXPECT_EQ(store.runs().size(), 6u);
}

TEST_F(StoreTest, DoesNotRunWhatALivingProcessRuns) {
  Store store(file());
  const std::int64_t id = claim(store, new_run());
  const RunClaim second = store.claim_run(new_run(), this_process());
  ASSERT_TRUE(std::holds_alternative<AlreadyRunning>(second));
  EXPECT_EQ(std::get<AlreadyRunning>(second).run.id, id);
  EXPECT_TRUE(std::holds_alternative<Claimed>(store.claim_run(new_run("other"), this_process())));
}

/// The process that started the tests.
Owner another_living_process() {
  Owner owner = this_process();
  owner.pid = getppid();
  std::ifstream in("/proc/" + std::to_string(owner.pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(in), {}};
  std::istringstream rest(stat.substr(stat.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) rest >> field;  // field 22 of the line
  owner.pid_started = std::stoll(field);
  return owner;
}

TEST_F(StoreTest, LeavesTheMachineToTheTimedRunsOfOneProcess) {
  Store store(file());
  claim(store, new_run());
  const Owner other = another_living_process();
  ASSERT_EQ(is_alive(other), true);
  EXPECT_TRUE(std::holds_alternative<AlreadyRunning>(store.claim_run(new_run("other"), other, false, true)));
  EXPECT_TRUE(std::holds_alternative<Claimed>(store.claim_run(new_run("other"), this_process(), false, true)))
      << "they take turns";
  EXPECT_TRUE(std::holds_alternative<AlreadyRunning>(store.claim_run(new_run(), this_process(), true, true)))
      << "one identity is in progress once";
}

TEST_F(StoreTest, TakesOverFromAProcessThatIsGone) {
  Store store(file());
  Owner gone = this_process();
  gone.pid_started -= 1;  // the number is in use again, by a younger process
  const std::int64_t old = std::get<Claimed>(store.claim_run(new_run(), gone)).run_id;
  store.add_samples(old, {{kTrainLoss, 0, 5.0}});
  const std::int64_t id = claim(store, new_run());
  EXPECT_NE(id, old);
  const RunRecord record = store.run(old);
  ASSERT_TRUE(record.result.has_value());
  EXPECT_EQ(record.result->outcome, RunOutcome::kInterrupted);
  EXPECT_EQ(store.samples(old, kTrainLoss).size(), 1u);
}

TEST_F(StoreTest, BelievesInAnOwnerOutOfSightWhileItGivesSigns) {
  Store store(file());
  Owner elsewhere = this_process();
  elsewhere.host = "elsewhere";
  elsewhere.boot_id = "another";
  store.claim_run(new_run(), elsewhere);
  EXPECT_TRUE(std::holds_alternative<AlreadyRunning>(store.claim_run(new_run(), this_process())));
  EXPECT_EQ(store.release_dead_runs(), 0);
}

TEST_F(StoreTest, PlansMadeInOneMillisecondAreTold) {
  Store store(file());
  NewPlan plan;
  plan.digest = "p1";
  plan.suite = "history";
  store.ensure_plans(std::vector<NewPlan>(20, plan), true);
  std::set<std::string> times;
  for (const PlanRecord& made : store.plans()) times.insert(made.created_at);
  EXPECT_EQ(times.size(), 20U) << "merged, two of them would be one";
}

/// What stores of before contrasts had factors and messages kinds hold.
TEST_F(StoreTest, APlanOfAnOlderVersionIsReadWithWhatItsTextsSay) {
  std::int64_t id = 0;
  {
    Store store(file());
    NewPlan plan;
    plan.digest = "p1";
    plan.design = Design::kPairs;
    id = store.ensure_plan(plan);
  }
  Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute(R"(UPDATE plans SET
    messages = '["b: left out, as it is", "claim seed000_x: not measurable here, as it is"]',
    contrasts = '[{"effect": "a x lr=0.1", "kind": "interaction", "meaning": "", "coefficients": {}, "aliases": []},
                  {"effect": "a", "kind": "simple", "meaning": "", "coefficients": {}, "aliases": []}]')");
  const PlanRecord stored = Store(file()).plan(id);
  EXPECT_EQ(stored.design, Design::kPairs);
  ASSERT_EQ(stored.messages.size(), 2U);
  EXPECT_EQ(stored.messages[0], (core::Message{core::MessageKind::kNote, "", "b: left out, as it is"}));
  EXPECT_EQ(stored.messages[1].kind, core::MessageKind::kNotMeasurable);
  EXPECT_EQ(stored.messages[1].subject, "seed000_x");
  ASSERT_EQ(stored.contrasts.size(), 2U);
  EXPECT_EQ(stored.contrasts[0].factors, (std::vector<ContrastFactor>{{"a", "a", "", ""}, {"lr=0.1", "lr", "", ""}}));
  EXPECT_EQ(stored.contrasts[1].factors, (std::vector<ContrastFactor>{{"a", "a", "", ""}}));
}

TEST_F(StoreTest, ADesignOfANewerVersionIsRefusedByName) {
  NewPlan plan;
  plan.digest = "p1";
  const std::int64_t id = Store(file()).ensure_plan(plan);
  Database(file(), file().string(), SQLITE_OPEN_READWRITE).execute("UPDATE plans SET design = 'latin_square'");
  EXPECT_REFUSED(refused_as(ErrorCode::kUnavailable, [&] { Store(file()).plan(id); }), core::Reason::kUnknownName,
                 "latin_square");
}

TEST_F(StoreTest, APlanIsFoundAgainAndItsLinesAreAnswered) {
  Store store(file());
  NewPlan plan;
  plan.digest = "p1";
  plan.suite = "history";
  plan.title = "The history";
  plan.design = Design::kHistory;
  plan.scale = "nano";
  plan.data_name = "synthetic";
  plan.target = 3.28;
  plan.order_seed = 7;
  plan.cells = {{"a", "record12", {"the start"}, {}, "ca"},
                {"b", std::nullopt, {"more", "and more"}, {{"x", "on"}}, "cb"}};
  plan.lines = {{0, "b", 1, "db", std::nullopt}, {1, "a", 1, "da", std::nullopt}};
  plan.contrasts = {{"b", ContrastKind::kSimple, "b against a", {{"a", -1}, {"b", 1.0 / 3}}, {"-0.5 c x d"}}};
  plan.messages = {{core::MessageKind::kLeftOut, "b", "b: left out, as it is"}, {core::MessageKind::kNote, "", "n"}};
  plan.contrasts[0].factors = {{"b", "/model/x", "1", "2"}};
  plan.argv = {"nanobench", "run"};
  const std::int64_t id = store.ensure_plan(plan);
  EXPECT_EQ(store.ensure_plan(plan), id);

  NewRun run = new_run("db", "b");
  run.plan_id = id;
  run.position = 0;
  const std::int64_t run_id = claim(store, run);
  store.add_samples(run_id, {{kValLoss, 0, 10.0}, {kValLoss, 100, 3.0}});
  store.finish_run(run_id, completed());

  const PlanRecord stored = store.plan(id);
  EXPECT_EQ(stored.target, 3.28);
  EXPECT_EQ(stored.order_seed, 7u);
  ASSERT_EQ(stored.cells.size(), 2u);
  EXPECT_EQ(stored.cells[0].record, "record12");
  EXPECT_EQ(stored.cells[1].record, std::nullopt);
  EXPECT_EQ(stored.cells[0].changes, std::vector<std::string>{"the start"});
  EXPECT_EQ(stored.cells[1].changes, (std::vector<std::string>{"more", "and more"}));
  EXPECT_EQ(stored.cells[1].features.at("x"), "on");
  ASSERT_EQ(stored.lines.size(), 2u);
  EXPECT_EQ(stored.lines[0].run_id, run_id);
  EXPECT_EQ(stored.lines[1].run_id, std::nullopt);
  ASSERT_EQ(stored.contrasts.size(), 1u);
  EXPECT_EQ(stored.contrasts[0].effect, "b");
  EXPECT_EQ(stored.contrasts[0].kind, ContrastKind::kSimple);
  EXPECT_EQ(stored.contrasts[0].meaning, "b against a");
  EXPECT_EQ(stored.contrasts[0].coefficients, plan.contrasts[0].coefficients) << "bit for bit";
  EXPECT_EQ(stored.contrasts[0].aliases, plan.contrasts[0].aliases);
  EXPECT_EQ(stored.contrasts[0].factors, plan.contrasts[0].factors);
  EXPECT_EQ(stored.messages, plan.messages);
  EXPECT_EQ(stored.design, Design::kHistory);
  EXPECT_EQ(stored.argv, plan.argv);

  EXPECT_EQ(store.samples(run_id, kValLoss).size(), 2U);
  EXPECT_NE(store.ensure_plan(plan, true), id);
  EXPECT_EQ(store.newest_plan("history")->digest, "p1");
  EXPECT_EQ(store.newest_plan("nothing"), std::nullopt);
}

/// Else an abandoned plan of 9,000 seeds would hide the smaller one that was run again after it.
TEST_F(StoreTest, APlanThatIsAskedForAgainIsTheNewest) {
  Store store(file());
  NewPlan plan;
  plan.suite = "history";
  std::map<std::string, std::int64_t> ids;
  for (const char* digest : {"small", "abandoned"}) {
    plan.digest = digest;
    ids[digest] = store.ensure_plan(plan);
  }
  plan.suite = "other";
  plan.digest = "other";
  store.ensure_plan(plan);
  EXPECT_EQ(store.newest_plan("history")->id, ids["abandoned"]);
  plan.suite = "history";
  plan.digest = "small";
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(store.ensure_plan(plan), ids["small"]);
  EXPECT_EQ(store.newest_plan("history")->id, ids["small"]);
  EXPECT_EQ(store.newest_plan()->id, ids["small"]);
  EXPECT_EQ(store.newest_plan("other")->digest, "other");
  std::vector<std::int64_t> in_order;
  for (const PlanName& name : store.newest_plan_names(2)) in_order.push_back(name.id);
  EXPECT_EQ(in_order, (std::vector<std::int64_t>{ids["small"], 3}));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  store.note_use(ids["abandoned"]);
  EXPECT_EQ(Store(file(), OpenMode::kReadOnly).newest_plan_id(), ids["abandoned"]);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const std::int64_t fresh = store.ensure_plan(plan, /*is_fresh=*/true);
  EXPECT_EQ(store.newest_plan_id("history"), fresh);
}

TEST_F(StoreTest, AReusedRunAnswersTheLineOfAnotherPlan) {
  Store store(file());
  const std::int64_t run_id = claim(store, new_run("d"));
  store.finish_run(run_id, completed());
  NewPlan plan;
  plan.digest = "p2";
  plan.cells = {{"base", "record12", {}, {}, "c"}};
  plan.lines = {{0, "base", 1, "d", std::nullopt}};
  NewRun run = new_run("d", "base");
  run.plan_id = store.ensure_plan(plan);
  run.position = 0;
  store.claim_run(run, this_process());
  EXPECT_EQ(store.plan(*run.plan_id).lines[0].run_id, run_id);
}

TEST_F(StoreTest, FiltersRuns) {
  Store store(file());
  for (int i = 0; i < 6; ++i) {
    const std::int64_t id = claim(store, new_run("d" + std::to_string(i), i % 2 == 0 ? "a" : "b"));
    if (i < 5) store.finish_run(id, completed());
  }
  EXPECT_EQ(store.runs({.cell = "a"}).size(), 3u);
  EXPECT_EQ(store.runs({.cell = "b", .outcome = RunOutcome::kCompleted}).size(), 2u);
  EXPECT_EQ(store.runs({.is_running = true}).size(), 1u);
  EXPECT_EQ(store.runs({.ids = {2, 4}}).size(), 2u);
  const std::vector<RunRecord> newest = store.runs({.limit = 2});
  ASSERT_EQ(newest.size(), 2u);
  EXPECT_EQ(newest[0].id, 5);
  EXPECT_EQ(newest[1].id, 6);
  EXPECT_TRUE(store.runs({.suite = "'; DROP TABLE runs; --"}).empty());
}

TEST_F(StoreTest, KeepsMessagesFactsAndEnvironments) {
  Store store(file());
  const std::int64_t a = claim(store, new_run("a"));
  const std::int64_t b = claim(store, new_run("b"));
  const std::int64_t environment = store.set_environment(a, {{"cpu_model", "Test \"9000\""}});
  EXPECT_EQ(store.set_environment(b, {{"cpu_model", "Test \"9000\""}}), environment);
  EXPECT_EQ(store.run(b).environment_id, environment);
  EXPECT_EQ(store.environment(environment)->facts.at("cpu_model"), "Test \"9000\"");
  store.add_batch(
      a, {{}, {{RunMessageKind::kWarning, "one"}, {RunMessageKind::kCheckpoint, "two"}}, {{"start/load_1m", "0.5"}}});
  ASSERT_EQ(store.messages(a).size(), 2u);
  EXPECT_EQ(store.messages(a)[0].kind, RunMessageKind::kWarning);
  EXPECT_EQ(store.messages(a)[1].kind, RunMessageKind::kCheckpoint);
  EXPECT_EQ(store.messages(a)[1].text, "two");
  EXPECT_EQ(store.run_facts(a).at("start/load_1m"), "0.5");
}

TEST_F(StoreTest, BaselinesHaveNames) {
  Store store(file());
  NewPlan plan;
  plan.digest = "p";
  plan.suite = "s";
  const std::int64_t id = store.ensure_plan(plan);
  store.set_baseline("main", id);
  ASSERT_TRUE(store.find_baseline("main").has_value());
  EXPECT_EQ(store.find_baseline("main")->plan_id, id);
  EXPECT_EQ(store.find_baseline("none"), std::nullopt);
  refused_as(ErrorCode::kNotFound, [&] { store.set_baseline("main", 99); });
}

TEST_F(StoreTest, SaysWhatIsNotThere) {
  Store store(file());
  EXPECT_REFUSED(refused_as(ErrorCode::kNotFound, [&] { store.run(7); }), core::Reason::kNoRun, "7");
  EXPECT_REFUSED(refused_as(ErrorCode::kNotFound, [&] { store.plan(7); }), core::Reason::kNoPlan, "7");
}

TEST_F(StoreTest, EvidenceHasTheMetricsThatAreNeeded) {
  Store store(file());
  const EvidenceNeed need{.metrics = {"val/loss_at_position"}};
  const std::int64_t without = claim(store, new_run("d"));
  store.add_samples(without, {{"val/loss_by_document_length", 4, 3.0}});
  store.finish_run(without, completed());
  EXPECT_EQ(store.find_evidence("d"), without);
  EXPECT_EQ(store.find_evidence("d", need), std::nullopt);
  const std::int64_t with = std::get<Claimed>(store.claim_run(new_run("d"), this_process(), false, false, need)).run_id;
  store.add_samples(with, {{"val/loss_at_position", 4, 3.0}});
  store.finish_run(with, completed());
  EXPECT_EQ(store.find_evidence("d", need), with);
  EXPECT_EQ(store.find_evidence("d"), with) << "the newest one";
  const RunClaim again = store.claim_run(new_run("d"), this_process(), false, false, need);
  ASSERT_TRUE(std::holds_alternative<AlreadyDone>(again));
  EXPECT_EQ(std::get<AlreadyDone>(again).run.id, with);
  const std::int64_t diverged = claim(store, new_run("nan"));
  store.finish_run(diverged, {.outcome = core::RunOutcome::kDiverged});
  EXPECT_EQ(store.find_evidence("nan", need), diverged) << "it has no last validation, however often it runs";
}

}  // namespace
}  // namespace nanobench::results
