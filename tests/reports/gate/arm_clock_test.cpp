// The training clock in arms, in files of arms, and in the checks of a gate.
#include <gtest/gtest.h>

#include "reports/gate/gate.h"
#include "reports/kinds/kinds.h"

namespace nanobench::reports {
namespace {

/// Four runs whose clocks are `clock` of the usual one, and whose medians are `median_ms`.
Arm clocked_arm(const std::string& name, double clock, double median_ms) {
  Arm arm{.name = name,
          .suite = "s",
          .scale = "smoke",
          .data_digest = "d",
          .engine = "engine " + name,
          .hardware = "machine",
          .hosts = {"host"},
          .threads = 2,
          .cells = {{.label = "cell", .config_digest = "c", .runs = {}}}};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const double luck = 1.0 + 0.0001 * static_cast<double>(seed * seed % 5);
    arm.cells.front().runs.push_back({.seed = seed,
                                      .outcome = core::RunOutcome::kCompleted,
                                      .message = "",
                                      .val_loss = 3.0,
                                      .step_ms = median_ms * (name == "a" ? luck : 1.0),
                                      .clock_ms = 12000.0 * clock * (name == "a" ? 1.0 : luck),
                                      .peak_bytes = 1e8,
                                      .loss_digest = "bits"});
  }
  return arm;
}

GateCheck time_of(const GateResult& result) {
  for (const GateCheck& check : result.checks) {
    if (check.metric == GateMetric::kTime) return check;
  }
  return {};
}

/// Three phases, made 3 % slower as a whole; the median step fell from 120 to 93 ms.
TEST(GateClock, TheWholeClockDecidesAgainstTheMedian) {
  const Arm before = clocked_arm("a", 1.0, 120.0), after = clocked_arm("b", 1.03, 93.0);
  const GateCheck check = time_of(evaluate_gate(before, after, {}, {.is_interleaved = true}));
  EXPECT_EQ(check.name, "training clock");
  EXPECT_EQ(check.verdict, Verdict::kRegressed);
  EXPECT_NEAR(*check.change, 0.03, 0.001);
  EXPECT_DOUBLE_EQ(*check.baseline.mean, 12000.0);
}

/// A file of an earlier version has medians alone: both sides are judged by them, and the report says so.
TEST(GateClock, FilesWithoutClocksAreJudgedByMedians) {
  core::Json file = core::Json::parse(to_json(clocked_arm("a", 1.0, 120.0)).dump());
  for (const int version : {1, 2}) {
    file["schema_version"] = version;
    core::Json& runs = file["cells"][0]["runs"];
    for (core::Json& run : runs) run.erase("clock_ms");
    const Arm before = read_arm(file, "f");
    EXPECT_EQ(before.cells.front().runs.front().clock_ms, std::nullopt);
    const GateResult result = evaluate_gate(before, clocked_arm("b", 1.0, 126.0), {}, {.is_interleaved = true});
    const GateCheck check = time_of(result);
    EXPECT_EQ(check.name, "step time");
    EXPECT_TRUE(check.is_by_median);
    EXPECT_NEAR(*check.change, 0.05, 0.001);
    const std::size_t plain =
        gate_report(evaluate_gate(clocked_arm("a", 1, 1), clocked_arm("b", 1, 1), {}, {.is_interleaved = true}))
            .notes.size();
    EXPECT_EQ(gate_report(result).notes.size(), plain + 1);
  }
}

TEST(ArmFile, HasClocksAndKeepsThem) {
  const Arm arm = clocked_arm("a", 1.0, 120.0);
  const core::Json json = core::Json::parse(to_json(arm).dump());
  EXPECT_EQ(json.at("schema_version"), 3);
  EXPECT_EQ(json.at("cells").at(0).at("runs").at(0).at("clock_ms"), 12000.0);
  EXPECT_EQ(read_arm(json, "f").cells.front().runs.front().clock_ms, 12000.0);
}

}  // namespace
}  // namespace nanobench::reports
