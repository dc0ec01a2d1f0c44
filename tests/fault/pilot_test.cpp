// Pilots before a plan, cells that are given up, and what a run is expected to take.
#include <algorithm>
#include <csignal>
#include <fstream>

#include "results/identity.h"
#include "results/metric.h"
#include "runner_fixture.h"
#include "suites/design/pilot_plan.h"

namespace nanobench::suites {
namespace {

using core::RunOutcome;
using results::Store;

/// An engine that trains nothing and notes what it was asked for. `faults`: names of configurations that it refuses,
/// and after how many steps; -1: never more than a pilot.
constexpr const char* kEngine = R"py(#!/usr/bin/env python3
import json, os, sys

folder = os.path.dirname(os.path.abspath(__file__))
spec = json.load(open(sys.argv[sys.argv.index("--spec") + 1]))
steps = spec["config"]["run"]["stop_after"]
name = spec["config"].get("name", "?")
with open(folder + "/asked", "a") as notes:
    notes.write(f"{name} {steps}\n")
faults = json.load(open(folder + "/faults")) if os.path.exists(folder + "/faults") else {}


def say(**event):
    os.write(3, (json.dumps(event) + "\n").encode())


say(event="hello", protocol=1, engine="e", engine_version="1", environment={}, threads=1, parameters=1)
for step in range(steps):
    if step == faults.get(name, 10**9):
        say(event="failed", outcome="unsupported", message=f"no device for step {step} of process {os.getpid()}")
        sys.exit(2)
    say(event="step", step=step, loss=2.0, step_ms=4.0, train_ms=4.0 * step, window_tokens=0, learning_rate_factor=1.0,
        phases_ms={})
say(event="eval", step=steps, loss=2.0, train_ms=4.0 * steps, tokens=10)
say(event="finished", steps=steps, timed_steps=steps - 1, train_ms=4.0 * steps, final_val_loss=2.0, peak_bytes=1)
)py";

class PilotTest : public RunnerTest {
 protected:
  PilotTest() {
    std::ofstream(script()) << kEngine;
    std::filesystem::permissions(script(), std::filesystem::perms::owner_all);
  }

  std::string script() const { return (folder_ / "engine.py").string(); }
  void set_faults(const core::Json& faults) const { std::ofstream(folder_ / "faults") << faults.dump(); }

  /// Names of the configurations that the engine was asked for, with their steps, since the last call.
  std::vector<std::string> asked() const {
    std::vector<std::string> lines;
    std::ifstream in(folder_ / "asked");
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::filesystem::remove(folder_ / "asked");
    return lines;
  }

  /// Our own engine's plan, as far as the runner can tell.
  Plan plan(const core::Json& extra = {{"seeds", {1, 2, 3, 4}}}) const {
    Plan plan = mock_plan(script(), {{"steps", 8}}, extra);
    plan.engine.name = "nanobench-train";
    for (Cell& cell : plan.matrix.cells) cell.config.name = cell.label;
    for (PlannedRun& run : plan.runs) {
      run.spec.mock = nullptr;
      run.spec.config.name = plan.cell_of(run).label;
      run.digest = results::run_digest(stored_run(plan, run));
    }
    plan.digest = results::plan_digest(stored_plan(plan, {}));
    return plan;
  }

  SuiteRunResult run_with_pilots(const Plan& plan, bool is_fresh = false) {
    Store store(file());
    return run_plan(plan, store,
                    {.is_fresh = is_fresh, .has_pilots = true, .grace_seconds = 0.3, .wait_poll_seconds = 0.02},
                    observer_);
  }
};

std::int64_t count_of(const std::vector<std::string>& lines, const std::string& line) {
  return std::count(lines.begin(), lines.end(), line);
}

TEST_F(PilotTest, EachCellIsTriedOnceBeforeTheFirstRun) {
  const Plan plan = this->plan();
  EXPECT_EQ(run_with_pilots(plan).completed, 12);
  const std::vector<std::string> lines = asked();
  ASSERT_EQ(lines.size(), 3U + 12U);
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i].ends_with(" 4"), i < 3) << lines[i];
  for (const char* const cell : {"record12", "record13", "record14"})
    EXPECT_EQ(count_of(lines, std::string(cell) + " 4"), 1) << cell;
  const Store store(file());
  const auto pilots = store.runs({.suite = kPilotSuite});
  ASSERT_EQ(pilots.size(), 3U);
  for (const results::RunRecord& pilot : pilots) {
    EXPECT_FALSE(pilot.plan_id);
    const auto cell = std::find_if(plan.matrix.cells.begin(), plan.matrix.cells.end(),
                                   [&](const Cell& one) { return one.label == pilot.cell; });
    EXPECT_EQ(store.run_facts(pilot.id).at(results::kPilotOf), config_digest(*cell));
    EXPECT_NE(pilot.config_digest, config_digest(*cell));
  }
  EXPECT_EQ(observer_.records.size(), 12U) << "pilots are no runs of the plan";
}

TEST_F(PilotTest, WhatIsKnownToWorkIsNotTriedAgain) {
  run_with_pilots(plan({{"seeds", {1, 2}}}));
  asked();
  run_with_pilots(plan({{"seeds", {1, 2, 3, 4}}}));
  EXPECT_EQ(asked().size(), 6U) << "its cells have finished runs";
  run_with_pilots(plan({{"seeds", {1, 2}}}), /*is_fresh=*/true);
  EXPECT_EQ(asked().size(), 6U) << "its pilots are stored";
  run_with_pilots(plan({{"records", {"record12", "record15"}}, {"seeds", {1, 2}}}));
  const std::vector<std::string> lines = asked();
  EXPECT_EQ(lines.size(), 3U);
  EXPECT_EQ(count_of(lines, "record15 4"), 1);
}

TEST_F(PilotTest, ASingleRunIsItsOwnPilot) {
  EXPECT_EQ(run_with_pilots(plan({{"records", {"record12"}}, {"seeds", {1}}})).completed, 1);
  EXPECT_EQ(asked().size(), 1U);
}

TEST_F(PilotTest, APlanOfWhichNothingCanRunEndsBeforeItsFirstRun) {
  set_faults({{"record12", 0}, {"record13", 0}, {"record14", 1}});
  try {
    run_with_pilots(plan());
    ADD_FAILURE() << "ran";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("unsupported: no device"), std::string::npos) << error.what();
  }
  EXPECT_EQ(asked().size(), 3U);
  EXPECT_EQ(observer_.started, 0);
  set_faults(core::Json::object());
  EXPECT_EQ(run_with_pilots(plan()).completed, 12) << "nothing is in its way";
}

TEST_F(PilotTest, ACellThatFailsTwiceInTheSameWayIsGivenUp) {
  set_faults({{"record13", 2}});
  const SuiteRunResult result = run_with_pilots(plan());
  EXPECT_EQ(result.completed, 8);
  EXPECT_EQ(result.failed, 1) << "its pilot failed before";
  EXPECT_EQ(result.left_out, 3);
  EXPECT_FALSE(result.is_whole());
  ASSERT_EQ(observer_.messages.size(), 2U);
  EXPECT_TRUE(observer_.messages[1].starts_with("record13 ")) << observer_.messages[1];
  EXPECT_EQ(Store(file()).runs({.cell = "record13"}).size(), 2U);
  set_faults(core::Json::object());
  EXPECT_EQ(run_with_pilots(plan()).completed, 4) << "the next call tries again";
}

TEST_F(PilotTest, WithoutPilotsTwoRunsFail) {
  set_faults({{"record13", 2}});
  const SuiteRunResult result = run(plan());
  EXPECT_EQ(result.failed, 2);
  EXPECT_EQ(result.left_out, 2);
}

TEST_F(PilotTest, AnInterruptedPilotIsNoFailure) {
  class Interrupting : public RunnerObserver {
   public:
    void on_pilot(const Plan&, const std::string&) override { raise(SIGINT); }
  } observer;
  Store store(file());
  const SuiteRunResult result =
      run_plan(plan(), store, {.has_pilots = true, .grace_seconds = 0.3, .wait_poll_seconds = 0.02}, observer);
  EXPECT_TRUE(result.is_interrupted);
  EXPECT_EQ(result.failed + result.left_out + result.completed, 0);
  EXPECT_EQ(run_with_pilots(plan()).completed, 12);
}

TEST_F(PilotTest, ExpectationsAreKeptForThePlan) {
  Store store(file());
  const Plan plan = this->plan();
  std::size_t tried = 0;
  RunnerOptions options;
  options.has_pilots = true;
  options.expected_seconds = [&](const Plan&) {
    tried = store.runs({.suite = kPilotSuite}).size();
    return CellSeconds{{"record12", 3.5}, {"record13", 4.0}};
  };
  const SuiteRunResult result = run_plan(plan, store, options, observer_);
  EXPECT_EQ(tried, 3U) << "asked after the pilots";
  EXPECT_EQ(store.expected_seconds(result.plan_id), (CellSeconds{{"record12", 3.5}, {"record13", 4.0}}));
  EXPECT_TRUE(store.expected_seconds(result.plan_id + 1).empty());
  tried = 99;
  run_plan(plan, store, options, observer_);
  EXPECT_EQ(tried, 99U) << "nothing is left to run";
}

TEST_F(PilotTest, OtherEnginesHaveNone) {
  Plan mock = mock_plan(engine(), {{"steps", 8}}, {{"seeds", {1, 2}}});
  EXPECT_EQ(run_with_pilots(mock).completed, 6);
  EXPECT_TRUE(Store(file()).runs({.suite = kPilotSuite}).empty());
  Plan shorter = plan();
  for (PlannedRun& run : shorter.runs) run.spec.config.run.stop_after = 4;
  EXPECT_FALSE(has_pilot(shorter.runs.front()));
  EXPECT_TRUE(has_pilot(plan().runs.front()));
}

}  // namespace
}  // namespace nanobench::suites
