// nanobench-train with several processes: golden truth, and what happens when one of them ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "core/protocol/turn_gate.h"
#include "tests/engine/distributed/engine_process.h"
#include "tests/engine/distributed/tiny_run.h"
#include "tests/engine/golden_training.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

class GoldenProcesses : public ::testing::TestWithParam<std::string> {};

/// The cases with one rank are the same with two: only the case with two reaches the end of its shard.
TEST_P(GoldenProcesses, TwoProcessesAgreeInBothTypes) {
  const std::filesystem::path folder = golden_case(GetParam());
  const Json expected = read_json_file(folder / "expected.json");
  for (const std::string dtype : {"float64", "float32"}) {
    RunSpec spec = golden_spec(folder, dtype);
    const std::filesystem::path trace =
        std::filesystem::temp_directory_path() / ("nanobench_two_" + std::to_string(getpid()) + ".json");
    spec.trace_file = trace.string();
    spec.config.data.ranks = 2;
    spec.config.distributed.processes = 2;
    EngineProcess engine(spec);
    ASSERT_EQ(engine.wait(), 0);
    EXPECT_TRUE(std::holds_alternative<FinishedEvent>(engine.events().back()));
    const GoldenErrors errors(read_json_file(trace), expected);
    std::filesystem::remove(trace);
    for (const auto& [kind, tolerance] : expected.at("tolerance").at(dtype).items()) {
      ASSERT_TRUE(errors.by_kind.contains(kind)) << kind;
      EXPECT_LE(errors.by_kind.at(kind), tolerance.get<double>()) << GetParam() << " " << dtype << " " << kind;
    }
  }
}

/// Both momentum forms and orthogonalisers, values that are shared, and a shard that ends.
INSTANTIATE_TEST_SUITE_P(Records, GoldenProcesses,
                         ::testing::Values("record12", "record15", "record17_orthogonalizer_svd", "record17_kv_heads_1",
                                           "record17_loader_wrap_2_ranks"),
                         [](const auto& test) { return test.param; });

std::vector<double> process_run_losses_of(const std::vector<RunEvent>& events) {
  std::vector<double> losses;
  for (const RunEvent& event : events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.push_back(step->loss);
  }
  return losses;
}

TEST(ProcessRun, TakesTheKernelsThatTheSpecAsksFor) {
  const TinyRun run;
  for (const auto& [kernels, blocks, missing] :
       {std::tuple(KernelChoice::kFused, "fused", "none"), std::tuple(KernelChoice::kReference, "op by op", "all")}) {
    RunSpec spec = run.spec(1);
    spec.kernels = kernels;
    EngineProcess engine(spec);
    ASSERT_EQ(engine.wait(), 0);
    const auto environment = std::get<HelloEvent>(engine.events().front()).environment;
    EXPECT_EQ(environment.at("blocks"), blocks);
    EXPECT_EQ(environment.at("no_kernel_for"), missing);
  }
}

/// What the configuration itself takes away from the kernels is not missing.
TEST(ProcessRun, TellsForWhatItHasNoKernel) {
  const TinyRun run;
  const auto told = [&](const Json& change) {
    RunSpec spec = run.spec(1);
    Json config = to_json(spec.config);
    config.merge_patch(change);
    spec.config = read_train_config(config, "test");
    EngineProcess engine(spec);
    EXPECT_EQ(engine.wait(), 0);
    return std::get<HelloEvent>(engine.events().front()).environment.at("no_kernel_for");
  };
  const auto hidden = [](const Json& change) { return Json({{"optimizer", {{"hidden_matrices", change}}}}); };
  EXPECT_EQ(told({{"model", {{"activation", "gelu"}}}}), "blocks");
  EXPECT_EQ(told(hidden({{"ns_dtype", "bfloat16"}})), "muon");
  EXPECT_EQ(told(hidden({{"orthogonalizer", "svd"}})), "none");
  EXPECT_EQ(told({{"optimizer", {{"lm_head", {{"fused", false}}}}}}), "none");
  EXPECT_EQ(
      told({{"attention", {{"implementation", "dense"}, {"split_full_blocks", nullptr}, {"block_order", nullptr}}}}),
      "none");
}

/// Events of the engine once it waits for a turn that covers `step`.
std::vector<RunEvent> events_until_turn(const EngineProcess& engine, std::int64_t step) {
  std::vector<RunEvent> events;
  EXPECT_TRUE(eventually([&] {
    events = engine.events();
    const auto* const turn = events.empty() ? nullptr : std::get_if<TurnEvent>(&events.back());
    return turn != nullptr && turn->step == step;
  }));
  return events;
}

TEST(ProcessRun, InTurnsItHasTheSameLossesAndWaitsBetween) {
  const TinyRun run;
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);  // the engine inherits both
  for (int& end : ends) {    // away from descriptor 3, which is the engine's for events
    const int moved = fcntl(end, F_DUPFD, 10);
    ASSERT_GE(moved, 10);
    close(end);
    end = moved;
  }
  EngineProcess engine(run.spec(1), {.variables = {{kTurnsFdVariable, std::to_string(ends[0])}}});
  const std::vector<RunEvent> begun = events_until_turn(engine, 0);
  ASSERT_EQ(begun.size(), 2U) << "nothing is computed before the first turn";
  EXPECT_EQ(std::get<HelloEvent>(begun.front()).turn_steps, 4);
  ASSERT_TRUE(write_all(ends[1], "{\"until\":3}\n"));
  EXPECT_EQ(process_run_losses_of(events_until_turn(engine, 3)).size(), 3U);
  ASSERT_TRUE(write_all(ends[1], "{\"until\":5}\n"));
  EXPECT_EQ(engine.wait(), 0);
  EXPECT_EQ(process_run_losses_of(engine.events()), step_losses(run.spec(1)));

  EngineProcess two(run.spec(2), {.variables = {{kTurnsFdVariable, std::to_string(ends[0])}}});
  EXPECT_EQ(two.wait(), 0) << "a run of several processes takes no turns";
  EXPECT_FALSE(std::get<HelloEvent>(two.events().front()).turn_steps);

  EngineProcess stopped(run.spec(1), {.variables = {{kTurnsFdVariable, std::to_string(ends[0])}}});
  EXPECT_FALSE(events_until_turn(stopped, 0).empty());
  kill(stopped.pid(), SIGINT);
  EXPECT_EQ(stopped.wait(), 130);
  EXPECT_EQ(std::get<FailedEvent>(stopped.events().back()).outcome, RunOutcome::kInterrupted);
  close(ends[0]);
  close(ends[1]);
}

TEST(ProcessRun, IsWhatThreadsThatPlayProcessesCompute) {
  const TinyRun run;
  for (const int processes : {2, 4}) {
    EngineProcess engine(run.spec(processes));
    ASSERT_EQ(engine.wait(), 0);
    EXPECT_EQ(process_run_losses_of(engine.events()), step_losses(run.spec(processes)));
  }
}

/// A run of four processes that would go on for hours, with its first step done.
class LongRun : public ::testing::Test {
 protected:
  LongRun() {
    RunSpec spec = run_.spec(4);
    spec.config.schedule.num_steps = spec.config.run.stop_after = 10'000'000;
    spec.config.run.val_every = 10'000'000;
    engine_.emplace(spec);
    EXPECT_TRUE(eventually([&] { return !process_run_losses_of(engine_->events()).empty(); }));
    children_ = engine_->children();
    EXPECT_EQ(children_.size(), 3U);
  }

  ~LongRun() override {
    for (const pid_t child : children_) {
      if (is_running(child)) kill(child, SIGKILL);  // only after a failed test
    }
  }

  void expect_no_process_is_left() const {
    for (const pid_t child : children_) EXPECT_TRUE(eventually([&] { return !is_running(child); })) << child;
  }

  /// The run said once that it failed, last of all, and how.
  FailedEvent the_failure() const {
    const std::vector<RunEvent> events = engine_->events();
    int failures = 0;
    for (const RunEvent& event : events) failures += std::holds_alternative<FailedEvent>(event) ? 1 : 0;
    EXPECT_EQ(failures, 1);
    if (!std::holds_alternative<FailedEvent>(events.back())) return {RunOutcome::kCompleted, "did not fail"};
    return std::get<FailedEvent>(events.back());
  }

  TinyRun run_;
  std::optional<EngineProcess> engine_;
  std::vector<pid_t> children_;
};

TEST_F(LongRun, AKilledProcessEndsTheRunWithOneSentence) {
  kill(children_[1], SIGKILL);
  EXPECT_EQ(engine_->wait(), 1);
  const FailedEvent failure = the_failure();
  EXPECT_EQ(failure.outcome, RunOutcome::kCrashed);
  EXPECT_EQ(failure.message, "process 2 of 4 (the first is 0) was ended by signal 9 (SIGKILL): Killed");
  expect_no_process_is_left();
}

TEST_F(LongRun, WhenTheFirstProcessIsKilledTheOthersEndToo) {
  kill(engine_->pid(), SIGKILL);
  EXPECT_EQ(engine_->wait(), -SIGKILL);
  expect_no_process_is_left();
}

TEST_F(LongRun, TheFirstProcessCanBeAskedToStop) {
  kill(engine_->pid(), SIGTERM);
  EXPECT_EQ(engine_->wait(), 130);
  EXPECT_EQ(the_failure().outcome, RunOutcome::kInterrupted);
  expect_no_process_is_left();
}

TEST_F(LongRun, AllProcessesCanBeInterruptedAtOnce) {
  for (const pid_t child : children_) kill(child, SIGINT);
  kill(engine_->pid(), SIGINT);
  EXPECT_EQ(engine_->wait(), 130);
  EXPECT_EQ(the_failure().outcome, RunOutcome::kInterrupted);
  expect_no_process_is_left();
}

TEST(ProcessRun, AnErrorOfAllProcessesIsReportedOnce) {
  const TinyRun run;
  RunSpec spec = run.spec(4);
  spec.train_shards = {"/nowhere/train.bin"};
  EngineProcess engine(spec);
  EXPECT_EQ(engine.wait(), 2);
  const std::vector<RunEvent> events = engine.events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<FailedEvent>(events.front()).outcome, RunOutcome::kUnsupported);
  EXPECT_NE(std::get<FailedEvent>(events.front()).message.find("/nowhere/train.bin"), std::string::npos);
}

}  // namespace
}  // namespace nanobench::core::testing
