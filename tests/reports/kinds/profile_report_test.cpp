#include "core/base/step_profile.h"
#include "core/protocol/run_event.h"
#include "reports/kinds/kinds.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "reports/kinds/sections.h"
#include "reports/render/render.h"
#include "results/provenance.h"
#include "results/store.h"

namespace nanobench::reports {
namespace {

std::map<std::string, double> sample_counters() {
  return {{"cost/flops", 8e9},
          {"cost/flops_per_step", 4e9},
          {"cost/bytes_per_step", 1e9},
          {"cost/visited_blocks_per_step", 12},
          {"cost/flops_per_step/attention", 1e9},
          {"cost/bytes_per_step/attention", 5e8},
          {"cost/flops_per_step/forward", 2e9},
          {"cost/bytes_per_step/forward", 1e8}};
}

TEST(FormatAmount, HasUnitsOfAThousand) {
  EXPECT_EQ(format_amount(0), "0");
  EXPECT_EQ(format_amount(999), "999.0");
  EXPECT_EQ(format_amount(1000), "1.000 k");
  EXPECT_EQ(format_amount(6.3154e9), "6.315 G");
  EXPECT_EQ(format_amount(1e21), "1000000 P");
}

TEST(ProfileReport, RatesAndShares) {
  core::StepProfile profile{.steps = 2, .steps_ms = 20, .other_ms = 1};
  profile.phases = {{.phase = "forward", .total_ms = 12, .self_ms = 2, .flops = 4e9, .bytes = 1e6}};
  profile.ops = {{"forward", "attention", 24, 10, 10, 4e9, 1e8}};
  const core::OrderedJson json =
      to_json(profile_report(profile, {.name = "a", .counters = sample_counters(), .trace_file = "t.json"}));
  EXPECT_EQ(json.at("kind"), "profile");
  EXPECT_DOUBLE_EQ(json.at("facts").at("cost_gflops").get<double>(), 400) << "4e9 in 10 ms";
  EXPECT_FALSE(json.at("facts").contains("sgemm_gflops")) << "it was not measured";
  EXPECT_EQ(json.at("facts").at("trace"), "t.json");
  EXPECT_DOUBLE_EQ(json.at("tables").at("phases").at(0).at("unaccounted_ms").get<double>(), 1);
  EXPECT_DOUBLE_EQ(json.at("tables").at("ops").at(0).at("gbytes_per_s").get<double>(), 10);
  EXPECT_EQ(json.at("tables").at("cost").size(), 2U);
}

TEST(ProfileReport, OnAGpuTheRateIsComparedWithTheGpus) {
  core::StepProfile profile{.steps = 2, .steps_ms = 20, .other_ms = 1, .gpu_gflops = 800};
  profile.ops = {{"forward", "attention", 24, 10, 10, 4e9, 1e8}};
  const core::OrderedJson facts = to_json(profile_report(profile, {.name = "a"})).at("facts");
  EXPECT_DOUBLE_EQ(facts.at("gpu_gflops").get<double>(), 800);
  EXPECT_DOUBLE_EQ(facts.at("share_of_gpu").get<double>(), 0.25);
  EXPECT_FALSE(facts.contains("share_of_sgemm"));
}

TEST(ProfileReport, WithoutAStepSaysSo) {
  const Document document = profile_report({}, {.name = "a"});
  EXPECT_EQ(document.warnings.size(), 1U);
  EXPECT_TRUE(document.sections.front().tables.empty());
}

TEST(CostTable, SharesOfTheStep) {
  const Table table = cost_table(sample_counters());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][1].text, "attention");
  EXPECT_EQ(table.rows[0][3].text, "25.0 %");
  EXPECT_EQ(table.rows[0][5].text, "50.0 %");
  EXPECT_EQ(table.rows[1][0].text, "phase");
  EXPECT_TRUE(cost_table({}).rows.empty());
}

TEST(RunReport, ShowsTheCostThatTheStoreKeeps) {
  std::string pattern = (std::filesystem::temp_directory_path() / "nanobench-test-XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(pattern.data());
  {
    results::Store store(folder / "store.db");
    results::NewRun run;
    run.digest = "d";
    run.suite = run.cell = "s";
    run.config = R"({"data": {"sequence_length": 8}})";
    const std::int64_t id = std::get<results::Claimed>(store.claim_run(run, results::this_process())).run_id;
    std::vector<results::NewSample> samples;
    for (const auto& [name, value] : sample_counters()) samples.push_back({"counter/" + name, 0, value});
    samples.push_back({"counter/communication/calls_per_step", 0, 7});
    samples.push_back({"counter/gpu/power_w/median", 0, 410});
    store.add_samples(id, samples);
    const core::OrderedJson json = to_json(run_report(store, id));
    EXPECT_EQ(json.at("facts").at("flops_per_step"), 4e9);
    EXPECT_EQ(json.at("facts").at("outcome"), "running");
    EXPECT_EQ(json.at("facts").at("visited_blocks_per_step"), 12);
    EXPECT_EQ(json.at("facts").at("communication/calls_per_step"), 7);
    EXPECT_EQ(json.at("facts").at("gpu/power_w/median"), 410);
    EXPECT_EQ(json.at("tables").at("cost").size(), 2U);
    EXPECT_TRUE(json.at("tables").contains("curve"));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nanobench::reports
