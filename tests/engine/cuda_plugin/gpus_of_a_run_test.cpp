// A run of two processes on two GPUs of a fake driver, each of which its own process watches.
#include <gtest/gtest.h>

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

Seen run_on_two_gpus() {
  const TinyRun run;
  RunSpec spec = run.spec(2);
  spec.device = kGpuDevice;
  Json json(to_json(spec.config));
  for (auto& [name, group] : json["optimizer"].items()) {
    if (group.is_object() && group.contains("fused")) group["fused"] = false;  // there are no kernels behind this GPU
  }
  spec.config = read_train_config(json, "without kernels");
  EngineProcess engine(
      spec, {.prefix = {}, .variables = {{"NANOBENCH_PLUGINS", std::string(NANOBENCH_FAKE_PLUGINS) + "/working"}}});
  Seen seen{.exit_code = engine.wait(), .counters = {}, .warnings = {}};
  for (const RunEvent& event : engine.events()) {
    if (const auto* counter = std::get_if<CounterEvent>(&event)) seen.counters[counter->name] = counter->value;
    if (const auto* warning = std::get_if<WarningEvent>(&event)) seen.warnings.push_back(warning->message);
    if (const auto* failed = std::get_if<FailedEvent>(&event)) seen.warnings.push_back("failed: " + failed->message);
  }
  return seen;
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

}  // namespace
}  // namespace nanobench::core::testing
