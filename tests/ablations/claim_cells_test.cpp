#include "ablations/claim_cells.h"

#include <gtest/gtest.h>

#include <set>

#include "ablations/resolve.h"
#include "core/base/error.h"
#include "tests/ablations/catalogue_support.h"

namespace nanobench::ablations {
namespace {

ClaimCells cells(const std::string& claim) {
  return cells_of(embedded_catalogue(), embedded_catalogue().claim(claim));
}

TEST(ClaimCells, TrainingArmsHaveTheirSettings) {
  const ClaimCells found = cells("seed003_attention_skip_faster");
  ASSERT_TRUE(found.before && found.after);
  EXPECT_EQ(found.before->label, "record17 with attention_skip = none");
  EXPECT_EQ(found.before->features, (FeatureSettings{{"attention_skip", "none"}}));
  EXPECT_EQ(found.after->label, "record17");
  EXPECT_FALSE(found.after->processes);
  EXPECT_FALSE(found.operation);
  EXPECT_EQ(all_cells(found).size(), 2U);
}

TEST(ClaimCells, WhatActsBetweenProcessesGetsTwo) {
  for (const char* claim : {"seed004_asynchronous_gather_efficient", "seed000_all_gather_40_percent_faster"}) {
    const ClaimCells found = cells(claim);
    ASSERT_TRUE(found.before && found.after) << claim;
    EXPECT_EQ(found.before->processes, 2) << claim;
    EXPECT_EQ(found.after->processes, 2) << claim;
  }
  EXPECT_EQ(cells("seed001_parameter_skew_solved").before->label, "record14 in 2 processes");
}

TEST(ClaimCells, AnOperationHasBothArmsAndItsSideNumbers) {
  const ClaimCells found = cells("seed000_newton_schulz_optimized");
  ASSERT_TRUE(found.operation && found.operation->operation);
  const core::OperationSpec& spec = *found.operation->operation;
  EXPECT_EQ(spec.op, "orthogonalize");
  EXPECT_EQ(spec.metric, "time_ms");
  ASSERT_EQ(spec.arms.size(), 2U);
  EXPECT_EQ(spec.arms[0].config.optimizer.hidden_matrices.orthogonalizer, core::Orthogonalizer::kSvd);
  EXPECT_EQ(spec.arms[1].config.optimizer.hidden_matrices.orthogonalizer, core::Orthogonalizer::kNewtonSchulz);
  EXPECT_EQ(spec.arms[1].size("columns"), 3072);
  ASSERT_FALSE(found.also.empty());
  EXPECT_EQ(found.also.front().operation->arms[0].size("rows"), 64);
  EXPECT_EQ(found.operation->label,
            "orthogonalize columns 3072 rows 768, orthogonalizer svd -> newton_schulz: time_ms");
  EXPECT_FALSE(found.operation->is_exact);
  EXPECT_TRUE(cells("seed000_mask_instructions_60_percent_fewer").operation->is_exact);
}

TEST(ClaimCells, NothingIsRunForWhatIsReadOrCounted) {
  for (const Claim* claim : embedded_catalogue().claims()) {
    EXPECT_EQ(needs_runs(*claim), !all_cells(cells_of(embedded_catalogue(), *claim)).empty()) << claim->id;
  }
  EXPECT_FALSE(needs_runs(embedded_catalogue().claim("seed003_value_parameters_halved")));
}

/// Equal labels must be equal cells, as they are run once.
TEST(ClaimCells, LabelsTellCellsApart) {
  std::map<std::string, std::string> known;
  for (const Claim* claim : embedded_catalogue().claims()) {
    for (const ClaimCell& cell : all_cells(cells_of(embedded_catalogue(), *claim))) {
      core::Json identity = {{"record", cell.record}, {"features", cell.features}};
      identity["processes"] = cell.processes.value_or(1);
      if (cell.operation) identity["operation"] = core::to_json(*cell.operation);
      const auto [found, is_new] = known.emplace(cell.label, identity.dump());
      EXPECT_EQ(found->second, identity.dump()) << claim->id;
    }
  }
  EXPECT_GT(known.size(), 40U);
}

/// Only what the scale holds away may be lost there.
TEST(ClaimCells, AlmostAllResolveAtNano) {
  std::set<std::string> lost;
  for (const Claim* claim : embedded_catalogue().claims()) {
    for (const ClaimCell& cell : all_cells(cells_of(embedded_catalogue(), *claim))) {
      if (cell.operation) continue;
      try {
        ResolveRequest request;
        request.record = cell.record;
        request.settings = cell.features;
        request.scale = "nano";
        request.processes = cell.processes;
        resolve(embedded_catalogue(), request);
      } catch (const core::Error& error) {
        lost.insert(claim->id + ": " + error.what());
      }
    }
  }
  std::string all;
  for (const std::string& each : lost) all += each + "\n";
  EXPECT_LE(lost.size(), 3U) << all;
}

}  // namespace
}  // namespace nanobench::ablations
