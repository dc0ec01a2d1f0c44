#include "reports/comparison/health.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/kinds/sections.h"
#include "results/metric.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

using HealthOfCells = results::StoreTest;

/// A completed run with these samples.
RunMeasure health_run(results::Store& store, const std::string& cell, std::uint64_t seed,
                      const results::RunBatch& batch) {
  const std::string digest = cell + std::to_string(seed);
  results::NewRun run;
  run.digest = digest;
  run.suite = "s";
  run.cell = cell;
  run.seed = seed;
  run.config = "{}";
  const auto claim = std::get<results::Claimed>(store.claim_run(run, results::this_process()));
  store.finish_run(claim.run_id, {.outcome = core::RunOutcome::kCompleted, .final_val_loss = 3.0}, batch);
  return measure_run(store, store.run(claim.run_id));
}

results::RunBatch health_batch(double first, double second) {
  results::RunBatch batch;
  const auto add = [&](const std::string& metric, double scale) {
    batch.samples[metric] = {{0, scale * first}, {10, scale * second}};
  };
  for (const char* end :
       {"", "/hidden_matrices", "/hidden_matrices/10", "/hidden_matrices/2", "/embeddings", "/embeddings/shared"}) {
    add(results::kGradientNorm + std::string(end), 1.0);
    add(results::kUpdateRatio + std::string(end), 0.01);
  }
  add(results::kGradientFlow, 0.1);
  return batch;
}

TEST_F(HealthOfCells, AreGeometricMeansOverTheSamplesOfEachRun) {
  results::Store store(file());
  CellMeasures asked{.cell = {.label = "asked"}};
  asked.runs = {health_run(store, "asked", 1, health_batch(1.0, 4.0)),
                health_run(store, "asked", 2, health_batch(2.0, 8.0))};
  CellMeasures not_asked{.cell = {.label = "not asked"}};
  not_asked.runs = {health_run(store, "not asked", 1, {})};
  const std::vector<CellHealth> cells = cell_health(store, {not_asked, asked});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].label, "asked");
  EXPECT_NEAR(cells[0].gradient_norm.at(1), 2.0, 1e-12);
  EXPECT_NEAR(cells[0].gradient_norm.at(2), 4.0, 1e-12);
  EXPECT_NEAR(cells[0].gradient_flow.at(1), 0.2, 1e-12);
  EXPECT_NEAR(cells[0].update_ratio.at(2), 0.04, 1e-12);
  std::vector<std::string> parts;
  for (const HealthPart& part : cells[0].parts) parts.push_back(part.group + ":" + part.layer);
  EXPECT_EQ(parts, (std::vector<std::string>{":", "embeddings:", "embeddings:shared",
                                             "hidden_matrices:", "hidden_matrices:2", "hidden_matrices:10"}));
  EXPECT_NEAR(cells[0].parts[4].gradient_norm.mean.value_or(0), 3.0, 1e-12);
}

TEST_F(HealthOfCells, SamplesOf0OrNaNDoNotCount) {
  results::Store store(file());
  results::RunBatch batch;
  batch.samples[results::kGradientNorm] = {{0, 0.0}, {1, NAN}, {2, 9.0}};
  const RunMeasure run = health_run(store, "c", 1, batch);
  EXPECT_NEAR(health_mean(store, run.run.id, results::kGradientNorm).value_or(0), 9.0, 1e-12);
  EXPECT_EQ(health_mean(store, run.run.id, results::kGradientFlow), std::nullopt);
}

TEST_F(HealthOfCells, HaveASectionOnlyWhereTheyWereMeasured) {
  results::Store store(file());
  CellMeasures cell{.cell = {.label = "c"}};
  cell.runs = {health_run(store, "c", 1, health_batch(1.0, 1.0))};
  EXPECT_FALSE(health_section(cell_health(store, {}), true));
  const std::optional<Section> section = health_section(cell_health(store, {cell}), true);
  ASSERT_TRUE(section);
  ASSERT_EQ(section->tables.size(), 2U);
  EXPECT_EQ(section->tables[0].rows.at(0).at(1).value.at("mean"), 1.0);
  EXPECT_EQ(section->tables[1].rows.size(), 5U);
}

}  // namespace
}  // namespace nanobench::reports
