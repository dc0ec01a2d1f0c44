// A run of two processes on two GPUs of a fake driver, each of which its own process watches.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "core/protocol/turn_gate.h"
#include "tests/core/hardware/fake_driver.h"
#include "tests/engine/distributed/engine_process.h"
#include "tests/engine/distributed/tiny_run.h"

namespace nanobench::core::testing {
namespace {

struct Seen {
  int exit_code = -1;
  std::map<std::string, double> counters;
  std::vector<std::string> warnings;
};

Seen on_a_gpu(RunSpec spec, EngineStart start) {
  spec.device = kGpuDevice;
  Json json(to_json(spec.config));
  for (auto& [name, group] : json["optimizer"].items()) {
    if (group.is_object() && group.contains("fused")) group["fused"] = false;  // there are no kernels behind this GPU
  }
  spec.config = read_train_config(json, "without kernels");
  start.variables.emplace_back("NANOBENCH_PLUGINS", std::string(NANOBENCH_FAKE_PLUGINS) + "/working");
  EngineProcess engine(spec, start);
  Seen seen{.exit_code = engine.wait(), .counters = {}, .warnings = {}};
  for (const RunEvent& event : engine.events()) {
    if (const auto* counter = std::get_if<CounterEvent>(&event)) seen.counters[counter->name] = counter->value;
    if (const auto* warning = std::get_if<WarningEvent>(&event)) seen.warnings.push_back(warning->message);
    if (const auto* failed = std::get_if<FailedEvent>(&event)) seen.warnings.push_back("failed: " + failed->message);
  }
  return seen;
}

Seen run_on_two_gpus() {
  const TinyRun run;
  return on_a_gpu(run.spec(2), {});
}

bool says(const Seen& seen, const std::string& part) {
  for (const std::string& warning : seen.warnings)
    if (warning.find(part) != std::string::npos) return true;
  return false;
}

TEST(GpusOfARun, AreWatchedByTheirOwnProcesses) {
  FakeDriver driver;
  driver.set("gpu.1.temperature", "81");
  driver.set("gpu.1.power_mw", "600000");
  Seen seen = run_on_two_gpus();
  EXPECT_EQ(seen.exit_code, 0) << ::testing::PrintToString(seen.warnings);
  EXPECT_EQ(seen.counters["gpu/watched"], 2.0);
  EXPECT_EQ(seen.counters["gpu/process_0/temperature_c/max"], 54.0);
  EXPECT_EQ(seen.counters["gpu/process_1/temperature_c/max"], 81.0);
  EXPECT_EQ(seen.counters["gpu/temperature_c/max"], 81.0) << "the hottest";
  EXPECT_DOUBLE_EQ(seen.counters["gpu/power_w/median"], 912.5) << "of both";
  EXPECT_FALSE(says(seen, "GPU"));
}

TEST(GpusOfARun, AForeignProcessOnOneOfThemIsSaidWithItsGpu) {
  FakeDriver driver;
  driver.set("gpu.1.processes", std::to_string(getpid()) + ":1048576");
  const Seen seen = run_on_two_gpus();
  EXPECT_EQ(seen.exit_code, 0) << ::testing::PrintToString(seen.warnings);
  EXPECT_TRUE(says(seen, "GPU 1")) << ::testing::PrintToString(seen.warnings);
  EXPECT_FALSE(says(seen, "GPU 0"));
}

/// Runs on one GPU, where this process, which started it, is too; in turns, all of which are granted, or not.
std::vector<std::string> warnings_beside_this_process(bool in_turns) {
  FakeDriver driver;
  driver.set("gpu.0.processes", std::to_string(getpid()) + ":1048576");
  const TinyRun run;
  Pipe pipe = make_pipe();
  EngineStart start{.prefix = {}, .variables = {}};
  Fd grants(fcntl(pipe.read.get(), F_DUPFD, 10));  // without FD_CLOEXEC, and no descriptor of the engine's own
  if (in_turns) start.variables.emplace_back(kTurnsFdVariable, std::to_string(grants.get()));
  write_all(pipe.write.get(), "{\"until\":1000}\n");
  return on_a_gpu(run.spec(1), start).warnings;
}

TEST(GpusOfARun, EnginesOfTheSameRunnerAreNoStrangersWhileTheyTakeTurns) {
  const std::vector<std::string> alone = warnings_beside_this_process(false);
  ASSERT_EQ(alone.size(), 1U) << ::testing::PrintToString(alone);
  EXPECT_NE(alone.front().find("(" + std::to_string(getpid()) + ")"), std::string::npos) << alone.front();
  EXPECT_EQ(warnings_beside_this_process(true), std::vector<std::string>());
}

}  // namespace
}  // namespace nanobench::core::testing
