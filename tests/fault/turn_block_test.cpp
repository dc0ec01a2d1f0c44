// Runs of one seed that share the machine in turns.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <set>

#include "core/hardware/processors.h"
#include "core/protocol/turn_gate.h"
#include "results/metric.h"
#include "runner_fixture.h"
#include "suites/run/turn_block.h"
#include "tests/core/hardware/fake_driver.h"

namespace nanobench::suites {
namespace {

using core::Json;
using core::RunOutcome;
using results::Store;

/// All engines that this process has started.
void kill_engines() {
  const std::string self = std::to_string(getpid());
  std::ifstream in("/proc/" + self + "/task/" + self + "/children");
  for (pid_t pid = 0; in >> pid;) kill(pid, SIGKILL);
}

/// Remembers whose turn it was, and whether another engine spoke in it.
class WatchingTurns : public Remembering {
 public:
  void on_turn(const Plan& plan, const PlannedRun& run) override {
    turns.push_back(plan.cell_of(run).label);
    whose = &run;
    has_step = false;
    if (turns.size() == interrupt_at) raise(SIGINT);
    if (turns.size() == kill_at) kill_engines();
  }
  void on_event(const Plan&, const PlannedRun& run, const core::RunEvent& event) override {
    if (std::holds_alternative<core::StepEvent>(event)) {
      has_step = true;
      if (whose != &run) ++strays;
    }
    if (std::holds_alternative<core::FinishedEvent>(event) && has_step) ++ends_with_steps;
  }

  std::vector<std::string> turns;
  const PlannedRun* whose = nullptr;
  bool has_step = false;  ///< in this turn
  std::size_t interrupt_at = 0;
  std::size_t kill_at = 0;
  int strays = 0;           ///< steps outside their turn
  int ends_with_steps = 0;  ///< in turns that also end a run
};

class TurnBlockTest : public RunnerTest {
 protected:
  SuiteRunResult run_turns(const Plan& plan, bool is_fresh = false) {
    Store store(file());
    return run_plan(
        plan, store,
        {.is_fresh = is_fresh, .times = TimesChoice::kTurns, .grace_seconds = 0.3, .wait_poll_seconds = 0.02},
        watching_);
  }

  const results::RunRecord& record(const std::string& cell) const {
    return *std::find_if(watching_.records.begin(), watching_.records.end(),
                         [&](const results::RunRecord& run) { return run.cell == cell; });
  }

  WatchingTurns watching_;
};

const Json kPlain = {{"steps", 24}, {"val_every", 8}, {"loss_sigma", 0.1}};

TEST_F(TurnBlockTest, WithFewerThreadsAllComputeOnTheSameProcessors) {
  if (core::usable_processors().size() < 2) GTEST_SKIP() << "needs two processors";
  const SuiteRunResult result = run_turns(mock_plan(engine(), kPlain, {{"seeds", {1, 2}}, {"threads", 1}}));
  EXPECT_EQ(result.completed, 6);
  const Store store(file());
  std::set<std::string> processors;
  for (const results::RunRecord& run : watching_.records) {
    const results::Facts facts = store.run_facts(run.id);
    processors.insert(facts.at(results::kTurnProcessors));
    EXPECT_FALSE(facts.contains(results::kJobProcessors));
    EXPECT_TRUE(run.result->train_ms) << "it has times all the same";
  }
  EXPECT_EQ(processors.size(), 1U);
  EXPECT_EQ(processors.begin()->find(' '), std::string::npos) << *processors.begin();
  const int all = static_cast<int>(core::usable_processors().size());
  run_turns(mock_plan(engine(), kPlain, {{"seeds", {3}}, {"threads", all}}));
  EXPECT_FALSE(store.run_facts(watching_.records.back().id).contains(results::kTurnProcessors));
}

TEST_F(TurnBlockTest, EachRunTakesItsStepsInItsTurnsOnly) {
  const SuiteRunResult result = run_turns(mock_plan(engine(), kPlain, {{"seeds", {1, 2}}}));
  EXPECT_EQ(result.completed, 6);
  EXPECT_EQ(watching_.strays, 0);
  EXPECT_EQ(watching_.ends_with_steps, 0) << "what follows the last step disturbs no steps of others";
  const auto rounds = static_cast<std::size_t>(rounds_of(24)) + 1;
  ASSERT_EQ(watching_.turns.size(), 2 * 3 * rounds);
  std::set<std::vector<std::string>> orders;
  for (std::size_t i = 0; i < watching_.turns.size(); i += 3) {
    const std::vector<std::string> round(watching_.turns.begin() + static_cast<std::ptrdiff_t>(i),
                                         watching_.turns.begin() + static_cast<std::ptrdiff_t>(i + 3));
    EXPECT_EQ(std::set<std::string>(round.begin(), round.end()).size(), 3U) << "each run once in a round";
    orders.insert(round);
  }
  EXPECT_GT(orders.size(), 2U) << "the order is drawn anew";
  for (const auto block : {watching_.turns.begin(), watching_.turns.begin() + static_cast<std::ptrdiff_t>(3 * rounds)})
    EXPECT_EQ(std::adjacent_find(block, block + static_cast<std::ptrdiff_t>(3 * rounds)),
              block + static_cast<std::ptrdiff_t>(3 * rounds))
        << "none follows itself, with warm caches";
}

TEST_F(TurnBlockTest, LossesAreThoseOfRunsOneByOne) {
  const Plan plan = mock_plan(engine(), kPlain);
  run(plan);
  run_turns(plan, true);
  ASSERT_EQ(observer_.records.size(), 3U);
  const Store store(file());
  for (const results::RunRecord& alone : observer_.records) {
    const results::RunRecord& beside = record(alone.cell);
    EXPECT_EQ(alone.result->final_val_loss, beside.result->final_val_loss);
    const auto values = [&](std::int64_t id) {
      std::vector<double> list;
      for (const results::Sample& sample : store.samples(id, results::kTrainLoss)) list.push_back(sample.value);
      return list;
    };
    EXPECT_EQ(values(alone.id), values(beside.id));
    EXPECT_TRUE(store.samples(alone.id, results::kTurn).empty());
  }
}

TEST_F(TurnBlockTest, TheStoreKeepsTurnsAndBlocks) {
  run_turns(mock_plan(engine(), kPlain, {{"seeds", {1, 2}}}));
  const Store store(file());
  std::map<std::uint64_t, std::set<std::string>> blocks;
  for (const results::RunRecord& run : watching_.records) {
    const std::vector<results::Sample> turns = store.samples(run.id, results::kTurn);
    ASSERT_EQ(turns.size(), static_cast<std::size_t>(rounds_of(24)));
    EXPECT_EQ(turns.front().step, 0);
    for (std::size_t i = 0; i < turns.size(); ++i) EXPECT_EQ(std::floor(turns[i].value), static_cast<double>(i + 1));
    blocks[run.seed].insert(store.run_facts(run.id).at(results::kTurnBlock));
  }
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[1].size(), 1U);
  EXPECT_EQ(blocks[2].size(), 1U);
  EXPECT_NE(blocks[1], blocks[2]);
}

TEST_F(TurnBlockTest, TheStoreKeepsTheOrderOfTurns) {
  run_turns(mock_plan(engine(), kPlain));
  const Store store(file());
  std::map<double, std::string> cells;  // by place
  for (const results::RunRecord& run : watching_.records) {
    for (const results::Sample& turn : store.samples(run.id, results::kTurn)) cells[turn.value] = run.cell;
  }
  std::vector<std::string> order;
  for (const auto& [place, cell] : cells) {
    EXPECT_NEAR(place, 1.0 + static_cast<double>(order.size()) / 3.0, 1e-12);
    order.push_back(cell);
  }
  ASSERT_GT(watching_.turns.size(), order.size()) << "the last round has no steps";
  watching_.turns.resize(order.size());
  EXPECT_EQ(order, watching_.turns);
}

TEST_F(TurnBlockTest, AFailureInOneTurnLeavesTheOthers) {
  for (const char* const kind : {"signal", "exit", "garbage", "cut_line", "nan", "hang", "repeated_step"}) {
    watching_ = {};
    const Json mock = {{"steps", 24}, {"cells", {{"record13", {{"fault", {{"kind", kind}, {"step", 9}}}}}}}};
    const SuiteRunResult result =
        run_turns(mock_plan(engine(), mock, {{"limits", {{"seconds_per_run", 60}, {"silence_seconds", 0.5}}}}), true);
    EXPECT_EQ(result.completed, 2) << kind;
    EXPECT_EQ(watching_.records.size(), 3U) << kind;
    EXPECT_TRUE(record("record12").is_completed() && record("record14").is_completed()) << kind;
    EXPECT_FALSE(record("record13").is_completed()) << kind;
  }
}

/// The others' turns are longer than a run may take, or be silent: 0.75 s each.
TEST_F(TurnBlockTest, WaitingForATurnIsNeitherSilenceNorTime) {
  const Json mock = {{"steps", 12}, {"cells", {{"record13", {{"sleep_ms", 250}}}}}};
  const SuiteRunResult result =
      run_turns(mock_plan(engine(), mock, {{"limits", {{"seconds_per_run", 60}, {"silence_seconds", 0.6}}}}));
  EXPECT_EQ(result.completed, 3);
  const SuiteRunResult limited =
      run_turns(mock_plan(engine(), mock, {{"limits", {{"seconds_per_run", 2.0}, {"silence_seconds", 60}}}}), true);
  EXPECT_EQ(limited.completed, 2);
  EXPECT_EQ(record("record13").result->outcome, RunOutcome::kCompleted) << "of the first call";
  EXPECT_EQ(limited.failed, 1) << "its own turns took longer than two seconds";
}

/// Four engines of so many bytes at their peak, on a GPU of 85 GB: the sizes of the groups that were resident together.
/// Without pilots the first run has the GPU to itself, and shows what a run takes.
TEST_F(TurnBlockTest, AsManyAreResidentAsAGpuHolds) {
  const core::FakeDriver driver;
  const Json cells = {{"device", "cuda"}, {"records", {"record12", "record13", "record14", "record15"}}};
  const auto groups_at = [&](std::int64_t peak_bytes, const std::string& uuid) {
    Json mock = kPlain;
    mock["peak_bytes"] = peak_bytes;
    mock["gpu_uuid"] = uuid;
    watching_ = {};
    Store store(file());
    run_plan(mock_plan(engine(), mock, cells), store,
             {.is_fresh = true, .times = TimesChoice::kTurns, .wait_poll_seconds = 0.02}, watching_);
    std::map<std::string, int> runs;
    for (const results::RunRecord& run : watching_.records) {
      EXPECT_EQ(run.result->outcome, RunOutcome::kCompleted) << run.result->message;
      ++runs[store.run_facts(run.id).at(results::kTurnBlock)];
    }
    std::multiset<int> sizes;
    for (const auto& [block, size] : runs) sizes.insert(size);
    return sizes;
  };
  const std::string uuid = "GPU-00000000-0000-0000-0000-000000000001";
  EXPECT_EQ(groups_at(20'000'000'000, uuid), (std::multiset<int>{1, 3}));
  EXPECT_EQ(groups_at(30'000'000'000, uuid), (std::multiset<int>{1, 1, 2}));
  EXPECT_EQ(groups_at(50'000'000'000, uuid), (std::multiset<int>{1, 1, 1, 1}));
  EXPECT_EQ(groups_at(1'000'000, "GPU-unknown"), (std::multiset<int>{1, 1, 1, 1})) << "how much is free is not known";
}

TEST_F(TurnBlockTest, FinishedRunsTakeNoTurn) {
  const Plan plan = mock_plan(engine(), kPlain);
  run_turns(plan);
  watching_ = {};
  EXPECT_EQ(run_turns(plan).reused, 3);
  EXPECT_TRUE(watching_.turns.empty());
  run_turns(mock_plan(engine(), kPlain, {{"records", {"record12", "record13", "record14", "record15"}}}));
  EXPECT_EQ(watching_.turns, std::vector<std::string>{"record15"}) << "alone, it goes through without a pause";
}

TEST_F(TurnBlockTest, AnInterruptStopsThemAllAndTheNextCallContinues) {
  const Json slow = {{"steps", 24}, {"sleep_ms", 2}};
  watching_.interrupt_at = 5;
  const SuiteRunResult cut = run_turns(mock_plan(engine(), slow, {{"seeds", {1, 2}}}));
  EXPECT_TRUE(cut.is_interrupted);
  EXPECT_EQ(cut.completed + cut.failed, 0);
  for (const results::RunRecord& run : watching_.records) EXPECT_EQ(run.result->outcome, RunOutcome::kInterrupted);
  watching_ = {};
  const SuiteRunResult rest = run_turns(mock_plan(engine(), slow, {{"seeds", {1, 2}}}));
  EXPECT_EQ(rest.completed, 6);
  EXPECT_EQ(Store(file()).runs({.outcome = RunOutcome::kCompleted}).size(), 6U);
}

/// As the kernel does when memory ends: those that wait die too, and the runner writes to a pipe that nobody reads.
TEST_F(TurnBlockTest, EnginesThatDieWhileTheyWaitAreRowsWithAReason) {
  watching_.kill_at = 5;
  const SuiteRunResult result = run_turns(mock_plan(engine(), kPlain, {{"seeds", {1, 2}}}));
  EXPECT_EQ(result.failed, 3);
  EXPECT_EQ(result.completed, 3) << "the next block begins anew";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(watching_.records[i].result->exit_code, -SIGKILL);
}

/// It asks for turns without end, and for turns that were never offered.
TEST_F(TurnBlockTest, AnEngineThatWaitsForNobodyIsStopped) {
  const std::string script = (folder_ / "engine.py").string();
  std::ofstream(script) << "#!/usr/bin/env python3\nimport os, time\n"
                        << "def say(text): os.write(3, (text + '\\n').encode())\n"
                        << R"(say('{"event":"hello","protocol":2,"engine":"e","engine_version":"1","environment":{},)"
                        << R"("threads":1,"parameters":1,"turn_steps":8}'))"
                        << "\n"
                        << "for step in range(99):\n"
                        << R"(    say('{"event":"turn","step":%d}' % step))"
                        << "\n    time.sleep(0.01)\n"
                        << "time.sleep(60)\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Plan plan = mock_plan(script, kPlain, {{"records", {"record12", "record13"}}});
  EXPECT_EQ(run_turns(plan).failed, 2);
  EXPECT_EQ(record("record12").result->outcome, RunOutcome::kCrashed);
  EXPECT_EQ(run(plan).failed, 2);
  EXPECT_EQ(observer_.records.front().result->outcome, RunOutcome::kCrashed);
}

/// An engine of version 1 never reads the pipe.
TEST_F(TurnBlockTest, AnEngineWithoutTurnsRunsToItsEnd) {
  const std::string script = (folder_ / "engine.sh").string();
  std::ofstream(script) << "#!/bin/sh\nunset " << core::kTurnsFdVariable << "\nexec " << engine() << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  EXPECT_EQ(run_turns(mock_plan(script, kPlain)).completed, 3);
  EXPECT_TRUE(watching_.turns.empty());
  EXPECT_EQ(watching_.messages.size(), 1U) << "it is told, once";
  EXPECT_TRUE(Store(file()).run_facts(watching_.records.front().id).contains(results::kWithoutTurns)) << "and stored";
  EXPECT_TRUE(Store(file()).samples(watching_.records.front().id, results::kTurn).empty());
}

TEST_F(TurnBlockTest, ARunAndItsCounterpartAreInOneBlock) {
  const Plan a = mock_plan(engine(), kPlain), b = mock_plan(engine(), {{"steps", 24}, {"effect", 0.1}});
  Store store(file());
  const auto results = run_in_turn(
      {&a, &b}, store, {.is_own_evidence = true, .times = TimesChoice::kTurns, .wait_poll_seconds = 0.02}, watching_);
  EXPECT_EQ(results[0].completed, 3);
  EXPECT_EQ(results[1].completed, 3);
  EXPECT_EQ(watching_.turns.size(), 6 * static_cast<std::size_t>(rounds_of(24) + 1));
  watching_ = {};
  const Plan twin = mock_plan(engine(), kPlain);
  const auto twins =
      run_in_turn({&a, &twin}, store,
                  {.is_own_evidence = true, .times = TimesChoice::kTurns, .wait_poll_seconds = 0.02}, watching_);
  EXPECT_EQ(twins[0].completed + twins[1].completed, 6) << "of one identity: one after the other";
  EXPECT_TRUE(watching_.turns.empty());
}

}  // namespace
}  // namespace nanobench::suites
