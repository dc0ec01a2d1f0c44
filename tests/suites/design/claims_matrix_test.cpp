#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ablations/catalogue.h"
#include "core/base/error.h"
#include "suites/design/plan.h"
#include "tests/core/base/refusal_support.h"
#include "tests/suites/design/design_support.h"

namespace nanobench::suites {
namespace {

using core::Reason;
using core::Refused;

Suite claims_matrix_suite_of(const std::vector<std::string>& claims, const std::string& scale = "smoke") {
  core::Json json = {{"name", "s"}, {"design", "claims"}, {"scale", scale}, {"seeds", {4, 5, 6}}};
  if (!claims.empty()) json["claims"] = claims;
  return read_suite(json, "s.json");
}

const Cell* find(const Matrix& matrix, const std::string& label) {
  const auto found =
      std::find_if(matrix.cells.begin(), matrix.cells.end(), [&](const Cell& cell) { return cell.label == label; });
  return found == matrix.cells.end() ? nullptr : &*found;
}

Plan claims_matrix_plan_of(const Suite& suite) {
  const Matrix matrix = make_matrix(suite, catalogue());
  core::DataSet data;
  data.name = "d";
  data.digest = "d";
  results::MachineInfo machine;
  machine.cores = 2;
  return make_plan(suite, matrix, data, Engine{{"engine"}, "e", "1"}, machine);
}

TEST(ClaimsMatrix, TwoClaimsShareTheirCells) {
  const Matrix matrix = make_matrix(
      claims_matrix_suite_of({"seed003_attention_skip_faster", "seed003_sparse_embeddings_save_time"}), catalogue());
  EXPECT_EQ(matrix.cells.size(), 3U);
  ASSERT_NE(find(matrix, "record17"), nullptr);
  const Cell* const without = find(matrix, "record17 with attention_skip = none");
  ASSERT_NE(without, nullptr);
  EXPECT_TRUE(without->config.model.attention_skip_layers.empty());
  EXPECT_NE(results::changes_text(without->changes).find("seed003_attention_skip_faster"), std::string::npos);
}

TEST(ClaimsMatrix, StabilityRunsBothArmsAtEveryFactorOnTheRates) {
  const Matrix matrix = make_matrix(claims_matrix_suite_of({"seed004_qk_norm_stabilizes"}), catalogue());
  ASSERT_EQ(matrix.cells.size(), 12U);
  std::set<double> with, without;
  for (const Cell& cell : matrix.cells)
    (cell.config.model.qk_norm ? with : without).insert(cell.config.schedule.rate_factor);
  const std::set<double> factors = {1, 4, 16, 32, 64, 128};
  EXPECT_EQ(with, factors);
  EXPECT_EQ(without, factors);
}

TEST(ClaimsMatrix, GradientFlowAsksItsCellsForTheirHealthAndNoOthers) {
  const Plan plan = claims_matrix_plan_of(
      claims_matrix_suite_of({"seed003_attention_skip_faster", "seed003_sparse_embeddings_keep_gradient_flow"}));
  for (const PlannedRun& run : plan.runs) {
    const bool is_of_time_alone = plan.cell_of(run).label == "record17 with attention_skip = none";
    EXPECT_EQ(run.spec.metrics.contains(core::AskedMetric::kHealth), !is_of_time_alone) << plan.cell_of(run).label;
  }
}

TEST(ClaimsMatrix, ProcessesAreThoseThatTheClaimNeeds) {
  const Matrix matrix = make_matrix(claims_matrix_suite_of({"seed001_parameter_skew_solved"}), catalogue());
  ASSERT_EQ(matrix.cells.size(), 1U);
  EXPECT_EQ(matrix.cells[0].config.distributed.processes, 2);
}

TEST(ClaimsMatrix, RunsMeasureWhatTheirClaimsNeed) {
  const Plan plan = claims_matrix_plan_of(
      claims_matrix_suite_of({"seed003_attention_skip_faster", "seed002_long_context_handled_better"}));
  for (const PlannedRun& run : plan.runs) {
    const std::string& label = plan.cell_of(run).label;
    const bool is_asked = label == "record11" || label == "record12";
    EXPECT_EQ(run.spec.metrics.contains(core::AskedMetric::kLossAtPosition), is_asked) << label;
  }
}

TEST(ClaimsMatrix, KernelsAreThoseThatTheClaimNames) {
  const Plan plan = claims_matrix_plan_of(claims_matrix_suite_of({"seed002_kernels_fused"}));
  ASSERT_EQ(plan.matrix.cells.size(), 2U);
  std::set<std::string> digests;
  for (const PlannedRun& run : plan.runs) {
    digests.insert(run.digest);
    const bool is_reference = plan.cell_of(run).label == "record12 by reference kernels";
    EXPECT_EQ(run.spec.kernels, is_reference ? core::KernelChoice::kReference : core::KernelChoice::kFused);
  }
  EXPECT_EQ(digests.size(), plan.runs.size()) << "runs by other kernels are other runs";
  Suite suite = claims_matrix_suite_of({"seed002_kernels_fused", "seed003_attention_skip_faster"});
  suite.kernels = core::KernelChoice::kReference;
  const Matrix matrix = make_matrix(suite, catalogue());
  EXPECT_EQ(matrix.cells.size(), 2U) << "nothing to compare where every run has them";
  EXPECT_TRUE(says(matrix, MessageKind::kNotMeasurable, "seed002_kernels_fused", {"reference"}));
}

TEST(ClaimsMatrix, AnOperationNeedsNoData) {
  const Suite suite = claims_matrix_suite_of({"seed000_attention_35_percent_faster"});
  Matrix matrix = make_matrix(suite, catalogue());
  ASSERT_EQ(matrix.cells.size(), 1U);
  ASSERT_TRUE(matrix.cells[0].operation);
  EXPECT_EQ(prepare_data(suite, matrix, "/nonexistent").name, "none");
}

TEST(ClaimsMatrix, WhatIsExactRunsOnce) {
  const Plan plan = claims_matrix_plan_of(
      claims_matrix_suite_of({"seed000_mask_instructions_60_percent_fewer", "seed000_attention_35_percent_faster"}));
  ASSERT_EQ(plan.runs.size(), 4U);
  std::set<std::string> digests;
  int exact = 0;
  for (const PlannedRun& run : plan.runs) {
    ASSERT_TRUE(run.spec.operation);
    digests.insert(run.digest);
    if (!plan.cell_of(run).is_exact) continue;
    ++exact;
    EXPECT_EQ(run.seed, 4U);
  }
  EXPECT_EQ(exact, 1);
  EXPECT_EQ(digests.size(), plan.runs.size());
}

TEST(ClaimsMatrix, ARunIsStoredWithTheOperationThatItMeasures) {
  const Plan plan = claims_matrix_plan_of(claims_matrix_suite_of({"seed000_attention_35_percent_faster"}));
  const core::Json config = core::Json::parse(stored_run(plan, plan.runs[0]).config);
  EXPECT_EQ(config.at("operation").at("op"), "attention");
  EXPECT_FALSE(stored_run(plan, plan.runs[0]).record);
}

TEST(ClaimsMatrix, AllClaimsThatNeedRunsHaveCellsAtNano) {
  const Matrix matrix = make_matrix(claims_matrix_suite_of({}, "nano"), catalogue());
  EXPECT_GT(matrix.cells.size(), 40U);
  std::vector<std::string> lost;
  for (const core::Message& message : matrix.messages) {
    if (message.kind == core::MessageKind::kNotMeasurable) lost.push_back(message.subject);
  }
  EXPECT_EQ(lost, std::vector<std::string>{"seed004_bfloat16_tables_save_memory"})
      << "the scale holds the tables in float32";
}

TEST(ClaimsMatrix, RefusesWhatIsNoClaim) {
  const auto refusal_with = [](const std::vector<std::string>& claims) {
    return core::refusal_of([&] { make_matrix(claims_matrix_suite_of(claims), catalogue()); });
  };
  const Refused unknown = refusal_with({"seed003_attention_skip_fast"});
  EXPECT_REFUSED(unknown, Reason::kUnknownName, "seed003_attention_skip_fast");
  EXPECT_TRUE(unknown.names("/claims/0: ")) << unknown.message;
  EXPECT_EQ(refusal_with({"seed003_value_parameters_halved"}).reason, Reason::kEmpty) << "none needs a run";
  EXPECT_REFUSED(refusal_with({"seed003_attention_skip_faster", "seed003_attention_skip_faster"}), Reason::kRepeated,
                 "/claims");
}

}  // namespace
}  // namespace nanobench::suites
