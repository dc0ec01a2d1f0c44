#include "reports/claims/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/hardware/gpu_report.h"
#include "core/protocol/operation_spec.h"
#include "reports/kinds/kinds.h"
#include "results/metric.h"
#include "tests/results/store_fixture.h"

namespace nanobench::reports {
namespace {

using ablations::Catalogue;
using ablations::Claim;
using ablations::ClaimCell;
using Kind = LedgerReason::Kind;

const Catalogue& catalogue() {
  static const Catalogue embedded = Catalogue::embedded();
  return embedded;
}

/// A store with a plan of claims whose runs are made up.
class LedgerTest : public results::StoreTest {
 protected:
  struct Made {
    std::string label;
    std::uint64_t seed = 1;
    results::RunResult result;
    results::RunBatch batch;
    std::string no_kernel_for = "none";
    std::string config = "{}";
    core::DeviceChoice device = core::kCpuDevice;
  };

  /// Twenty steps of about so many milliseconds.
  static void add_steps(Made& made, double step_ms) {
    double clock_ms = 0.0;
    for (std::int64_t step = 0; step < 20; ++step) {
      const double luck = 0.01 * static_cast<double>(made.seed + static_cast<std::uint64_t>(step) % 3);
      made.batch.samples[results::kStepMs].push_back({step, step_ms + luck});
      made.batch.samples[results::kClockMs].push_back({step, clock_ms += step_ms + luck});
    }
    made.result.train_ms = clock_ms;
    made.result.timed_steps = 20;
  }

  /// One made-up run of the cell.
  Made& add(const ClaimCell& cell, std::uint64_t seed) {
    Made& made = made_.emplace_back();
    made.label = cell.label;
    made.seed = seed;
    made.result = completed();
    return made;
  }

  void add_operation(const std::string& claim, const std::vector<double>& before, const std::vector<double>& after) {
    const ClaimCell cell = *cells(claim).operation;
    Made& made = add(cell, 1);
    made.result = results::RunResult{.outcome = core::RunOutcome::kCompleted, .exit_code = 0};
    for (const auto& [arm, values] : {std::pair("before", before), std::pair("after", after)}) {
      std::vector<results::Sample>& samples =
          made.batch.samples[results::kCounterPrefix + core::operation_counter(arm, cell.operation->metric)];
      for (std::size_t i = 0; i < values.size(); ++i) samples.push_back({static_cast<std::int64_t>(i), values[i]});
    }
  }

  static ablations::ClaimCells cells(const std::string& claim) {
    return ablations::cells_of(catalogue(), catalogue().claim(claim));
  }

  LedgerEntry judged_claim(const std::string& id) {
    results::Store store(file());
    results::NewPlan plan;
    plan.digest = "plan";
    plan.suite = "seed_claims";
    plan.design = results::Design::kClaims;
    plan.scale = "nano";
    std::vector<results::FinishedRun> runs;
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const Made& made = made_[i];
      const std::string digest = "run" + std::to_string(i);
      if (std::none_of(plan.cells.begin(), plan.cells.end(), [&](const auto& c) { return c.label == made.label; }))
        plan.cells.push_back({.label = made.label});
      plan.lines.push_back({static_cast<std::int64_t>(i), made.label, made.seed, digest, std::nullopt});
    }
    const std::int64_t plan_id = store.ensure_plan(plan);
    for (std::size_t i = 0; i < made_.size(); ++i) {
      results::NewRun run = new_run("run" + std::to_string(i), made_[i].label, made_[i].seed);
      run.record.reset();
      run.config = made_[i].config;
      run.device = made_[i].device;
      run.plan_id = plan_id;
      run.position = static_cast<std::int64_t>(i);
      const auto claim = std::get<results::Claimed>(store.claim_run(run, results::this_process()));
      store.set_environment(claim.run_id, {{"engine/no_kernel_for", made_[i].no_kernel_for}});
      store.finish_run(claim.run_id, made_[i].result, made_[i].batch);
    }
    const ClaimEvidence evidence(store, std::nullopt);
    return judge(catalogue(), catalogue().claim(id), evidence);
  }

  std::vector<Made> made_;
};

LedgerEntry without_runs(const std::string& id) {
  return judge(catalogue(), catalogue().claim(id), ClaimEvidence("nano"));
}

TEST_F(LedgerTest, WhatIsReadOrCountedNeedsNoRun) {
  const LedgerEntry halved = without_runs("seed003_value_parameters_halved");
  EXPECT_EQ(halved.verdict, LedgerVerdict::kSupported);
  EXPECT_TRUE(halved.measured.is_exact);
  EXPECT_EQ(halved.scale, "official");
  EXPECT_EQ(without_runs("seed000_grouped_queries_enabled").verdict, LedgerVerdict::kContradicted);
  EXPECT_EQ(without_runs("seed001_minutes_4_41_to_3_95").verdict, LedgerVerdict::kSupported);
  EXPECT_EQ(without_runs("seed002_no_attention_across_documents").verdict, LedgerVerdict::kSupported);
}

TEST_F(LedgerTest, WhatNobodyRanIsNotMeasured) {
  const LedgerEntry entry = without_runs("seed003_attention_skip_faster");
  EXPECT_EQ(entry.verdict, LedgerVerdict::kNotMeasured);
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kUnmeasured}));
  EXPECT_FALSE(entry.measured.value);
}

TEST_F(LedgerTest, WhatCannotBeMeasuredSaysWhy) {
  const LedgerEntry entry = without_runs("seed000_graph_breaks_15_percent_fewer");
  EXPECT_EQ(entry.verdict, LedgerVerdict::kNotMeasurable);
  EXPECT_EQ(entry.reason,
            (LedgerReason{.kind = Kind::kByClaim,
                          .what = catalogue().claim("seed000_graph_breaks_15_percent_fewer").measure.why}));
}

TEST_F(LedgerTest, TwoSidesThatAreOneConfigurationCompareNothing) {
  const LedgerEntry entry = without_runs("seed004_bfloat16_tables_save_memory");  // the scale holds float32
  EXPECT_EQ(entry.verdict, LedgerVerdict::kNotMeasurable);
  std::string refusal;
  try {
    ablations::require_difference({}, {});
  } catch (const core::Error& error) {
    refusal = error.what();
  }
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kNotAtScale, .what = refusal, .scale = "nano"}));
}

/// 630 GFLOP in a step of half a second, on GPUs that multiply at 2,000 GFLOP/s.
TEST_F(LedgerTest, TheShareOfPeakIsOfTheGpusOfTheRun) {
  const ablations::ClaimCells arms = cells("seed000_flop_utilisation_63_percent");
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Made& made = add(*arms.after, seed);
    made.device = core::kGpuDevice;
    for (std::int64_t step = 0; step < 20; ++step) {
      made.batch.samples[results::kStepMs].push_back({step, 500.0});
      made.batch.samples[results::kClockMs].push_back({step, 500.0 * static_cast<double>(step + 1)});
    }
    made.result.train_ms = 10'000.0;
    made.result.timed_steps = 20;
    made.batch.samples[results::kCounterPrefix + std::string("cost/flops_per_step")] = {{0, 630e9}};
    made.batch.samples[results::kCounterPrefix + std::string(core::kGpuGflops)] = {{0, 2000.0}};
  }
  add(*arms.operation, 1).result = {.outcome = core::RunOutcome::kUnsupported, .exit_code = 4};
  const LedgerEntry entry = judged_claim("seed000_flop_utilisation_63_percent");
  EXPECT_NEAR(entry.measured.value.value_or(0), 0.63, 1e-9);
  EXPECT_EQ(entry.measured.n, 2);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
}

/// The same share, of a processor: it is told, and says nothing of a GPU.
TEST_F(LedgerTest, TheLevelOfAGpuIsNotJudgedByAProcessor) {
  const ablations::ClaimCells arms = cells("seed000_flop_utilisation_63_percent");
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Made& made = add(*arms.after, seed);
    add_steps(made, 500.0);
    made.batch.samples[results::kCounterPrefix + std::string("cost/flops_per_step")] = {{0, 630e9}};
  }
  Made& peak = add(*arms.operation, 1);
  peak.result = results::RunResult{.outcome = core::RunOutcome::kCompleted, .exit_code = 0};
  peak.batch.samples[results::kCounterPrefix + core::operation_counter("after", "gflops")] = {{0, 2000.0}};
  const LedgerEntry entry = judged_claim("seed000_flop_utilisation_63_percent");
  EXPECT_NEAR(entry.measured.value.value_or(0), 0.63, 0.001);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kNotMeasurable);
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kNeedsGpu}));
}

/// Reserved over allocated memory: 1.2 before, 1.05 after.
TEST_F(LedgerTest, FragmentsAreJudgedWhereThereIsAGpusAllocator) {
  const std::string claim = "seed001_grouping_reduces_fragmentation";
  const ablations::ClaimCells arms = cells(claim);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    add(*arms.before, seed);
    add(*arms.after, seed);
  }
  EXPECT_EQ(judged_claim(claim).verdict, LedgerVerdict::kNotMeasurable) << "on a processor";
  for (Made& made : made_) {
    made.device = core::kGpuDevice;
    const double held = made.label == arms.before->label ? 1.2e9 : 1.05e9;
    made.batch.samples[results::kCounterPrefix + std::string("gpu/peak_reserved_bytes")] = {
        {0, held + static_cast<double>(made.seed)}};
    made.batch.samples[results::kCounterPrefix + std::string("gpu/peak_allocated_bytes")] = {{0, 1e9}};
  }
  std::filesystem::remove(file());
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
  EXPECT_NEAR(entry.measured.value.value_or(0), 1.05 / 1.2, 1e-6);
}

/// The whole change takes a step from 20 to 10 ms; without the parts in question it takes 14.
TEST_F(LedgerTest, APartsShareIsOfWhatTheWholeChangeSaves) {
  const std::string claim = "seed000_gain_from_masks_and_buckets";
  const ablations::ClaimCells arms = cells(claim);
  ASSERT_TRUE(arms.whole);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const auto& [cell, step_ms] :
         {std::pair(&*arms.whole, 20.0), std::pair(&*arms.before, 14.0), std::pair(&*arms.after, 10.0)})
      add_steps(add(*cell, seed), step_ms);
  }
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_NEAR(entry.measured.value.value_or(0), std::log(1.4) / std::log(2.0), 0.01);
  EXPECT_TRUE(entry.measured.interval);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kContradicted) << "less than half";
}

/// Kernels are what this claim is about, so that its arms ran different code is no doubt.
TEST_F(LedgerTest, FusionIsJudgedByTheSameStepWithoutIt) {
  const std::string claim = "seed002_kernels_fused";
  const ablations::ClaimCells arms = cells(claim);
  EXPECT_EQ(arms.before->kernels, core::KernelChoice::kReference);
  EXPECT_FALSE(arms.after->kernels);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    add_steps(add(*arms.before, seed), 20.0);
    made_.back().no_kernel_for = "all";
    add_steps(add(*arms.after, seed), 10.0);
  }
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
  EXPECT_NEAR(entry.measured.value.value_or(0), 0.5, 0.01);
}

TEST_F(LedgerTest, AllGathersAreJudgedByTheirOwnTime) {
  const std::string claim = "seed000_all_gather_40_percent_faster";
  const ablations::ClaimCells arms = cells(claim);
  EXPECT_EQ(arms.before->processes, 2);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const auto& [cell, ms] : {std::pair(&*arms.before, 10.0), std::pair(&*arms.after, 6.0)})
      add(*cell, seed).batch.samples[results::kCounterPrefix + std::string("communication/ms_per_step/all_gather")] = {
          {0, ms + 0.001 * static_cast<double>(seed)}};
  }
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
  EXPECT_NEAR(entry.measured.value.value_or(0), 0.6, 0.001);
}

/// Facts of the records' scripts: the momentum's warm-up of 300 steps dates from #13, query and key norms from #5.
TEST_F(LedgerTest, SettingsAreFoundInTheFirstRecordThatHasThem) {
  EXPECT_EQ(without_runs("seed004_momentum_warmup_introduced").first_record, 13);
  EXPECT_EQ(without_runs("seed004_qk_norm_added").first_record, 5);
  EXPECT_EQ(without_runs("seed004_softcap_30_to_15").first_record, 18);
  EXPECT_EQ(without_runs("seed002_gradient_scaling_used").first_record, 19);
  EXPECT_FALSE(without_runs("seed003_value_parameters_halved").first_record) << "counted, not a setting";
}

/// At long positions the later record is better by 0.05, everywhere else it is worse.
TEST_F(LedgerTest, LongContextsAreJudgedByTheLossAtLongPositions) {
  const ablations::ClaimCells arms = cells("seed002_long_context_handled_better");
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const bool is_after : {false, true}) {
      const double luck = 0.1 * static_cast<double>(seed) + (is_after && seed % 2 == 0 ? 0.002 : 0.0);
      Made& made = add(is_after ? *arms.after : *arms.before, seed);
      made.batch.samples["val/loss_at_position"] = {{8, 4.0 + luck + (is_after ? 0.5 : 0.0)},
                                                    {40, 3.0 + luck - (is_after ? 0.05 : 0.0)}};
      made.batch.samples["val/loss_at_position/tokens"] = {{8, 700}, {40, 300}};
    }
  }
  const LedgerEntry entry = judged_claim("seed002_long_context_handled_better");
  EXPECT_NEAR(entry.measured.value.value_or(0), -0.049, 1e-9);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
}

TEST_F(LedgerTest, RunsThatWereNotAskedForPositionsJudgeNoLongContext) {
  const ablations::ClaimCells arms = cells("seed002_long_context_handled_better");
  for (std::uint64_t seed = 1; seed <= 3; ++seed) add(*arms.before, seed), add(*arms.after, seed);
  const LedgerEntry entry = judged_claim("seed002_long_context_handled_better");
  EXPECT_FALSE(entry.measured.value);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kNotMeasured);
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kNotAsked}));
}

TEST_F(LedgerTest, LossesAreComparedSeedBySeed) {
  const ablations::ClaimCells arms = cells("seed004_value_embeddings_add_capacity");
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const double luck = 0.1 * static_cast<double>(seed);  // shared by the seed: paired, it does not count
    add(*arms.before, seed).result = completed(3.3 + luck);
    add(*arms.after, seed).result = completed(3.2 + luck + (seed % 2 == 0 ? 0.001 : -0.001));
  }
  const LedgerEntry entry = judged_claim("seed004_value_embeddings_add_capacity");
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
  EXPECT_NEAR(entry.measured.value.value_or(0), -0.1, 1e-9);
  EXPECT_EQ(entry.measured.n, 4);
  EXPECT_EQ(entry.scale, "nano");
  EXPECT_EQ(entry.basis, (LedgerBasis{.kind = LedgerBasis::Kind::kSeeds, .count = 4}));
}

TEST_F(LedgerTest, StabilityIsJudgedByTheRatesThatDoNotDiverge) {
  const std::string claim = "seed004_qk_norm_stabilizes";
  EXPECT_EQ(without_runs(claim).verdict, LedgerVerdict::kNotMeasured);
  const ablations::ClaimCells arms = cells(claim);
  const auto add_rates = [&](const ClaimCell& base, std::vector<ClaimCell> rates, double stable) {
    rates.insert(rates.begin(), base);
    for (const ClaimCell& cell : rates) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        Made& made = add(cell, seed);
        made.config = R"({"schedule": {"rate_factor": )" + std::to_string(cell.rate_factor) + "}}";
        made.batch.samples[results::kValLoss] = {{0, 5.0}, {10, 3.0}};
        made.result = completed(3.0);
        if (cell.rate_factor > stable) made.result = {.outcome = core::RunOutcome::kDiverged};
      }
    }
  };
  add_rates(*arms.before, arms.before_rates, 4.0);
  add_rates(*arms.after, arms.after_rates, 32.0);
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
  EXPECT_NEAR(entry.measured.value.value_or(0), 8.0, 1e-9);
  EXPECT_EQ(entry.measured.n, 3);
}

TEST_F(LedgerTest, GradientFlowIsJudgedByTheHealthOfTheRunsAndNotByTheirLosses) {
  const std::string claim = "seed003_sparse_embeddings_keep_gradient_flow";
  EXPECT_EQ(without_runs(claim).verdict, LedgerVerdict::kNotMeasured);
  const ablations::ClaimCells arms = cells(claim);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const auto& [cell, flow] : {std::pair(*arms.before, 0.5), std::pair(*arms.after, 0.4)}) {
      Made& made = add(cell, seed);
      made.result = completed(cell.label == arms.after->label ? 2.0 : 4.0);  // a better loss proves nothing here
      made.batch.samples[results::kGradientFlow] = {{0, flow}, {10, flow * (1.0 + 0.01 * static_cast<double>(seed))}};
    }
  }
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kContradicted);
  EXPECT_NEAR(entry.measured.value.value_or(0), 0.8, 1e-9);
}

TEST_F(LedgerTest, OneSeedDecidesNothing) {
  const ablations::ClaimCells arms = cells("seed004_value_embeddings_add_capacity");
  add(*arms.before, 1).result = completed(9.0);
  add(*arms.after, 1).result = completed(3.0);
  const LedgerEntry entry = judged_claim("seed004_value_embeddings_add_capacity");
  EXPECT_EQ(entry.verdict, LedgerVerdict::kInconclusive);
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kOneRun}));
}

TEST_F(LedgerTest, AnOperationIsJudgedByItsRepetitions) {
  const std::string claim = "seed000_attention_35_percent_faster";
  add_operation(claim, {10.0, 10.1, 9.9, 10.0}, {6.5, 6.6, 6.4, 6.5});
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
  EXPECT_NEAR(entry.measured.value.value_or(0), 0.65, 0.001);
  EXPECT_EQ(entry.claimed, 0.65);
  EXPECT_EQ(entry.basis, (LedgerBasis{.kind = LedgerBasis::Kind::kRepetitions, .count = 4, .runs = 1}));
}

TEST_F(LedgerTest, AnOperationThatIsNoFasterContradicts) {
  const std::string claim = "seed000_attention_35_percent_faster";
  add_operation(claim, {10.0, 10.1, 9.9, 10.0}, {10.0, 10.1, 9.9, 10.05});
  EXPECT_EQ(judged_claim(claim).verdict, LedgerVerdict::kContradicted);
}

TEST_F(LedgerTest, CountsAreExact) {
  const std::string claim = "seed000_mask_instructions_60_percent_fewer";
  add_operation(claim, {1000.0}, {400.0});
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
  EXPECT_TRUE(entry.measured.is_exact);
}

TEST_F(LedgerTest, WithoutTheToolThatCountsItIsNotMeasurableHere) {
  const std::string claim = "seed000_mask_instructions_60_percent_fewer";
  Made& made = add(*cells(claim).operation, 1);
  made.result = results::RunResult{.outcome = core::RunOutcome::kUnsupported, .message = "valgrind is not installed"};
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kNotMeasurable);
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kFailed,
                                        .what = "valgrind is not installed",
                                        .cell = cells(claim).operation->label,
                                        .outcome = core::RunOutcome::kUnsupported}));
}

TEST_F(LedgerTest, ACrashedArmIsNoEvidence) {
  const ablations::ClaimCells arms = cells("seed004_value_embeddings_add_capacity");
  add(*arms.before, 1).result = completed(3.3);
  add(*arms.after, 1).result = results::RunResult{.outcome = core::RunOutcome::kCrashed, .message = "signal 11"};
  const LedgerEntry entry = judged_claim("seed004_value_embeddings_add_capacity");
  EXPECT_EQ(entry.verdict, LedgerVerdict::kNotMeasured);
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kFailed,
                                        .what = "signal 11",
                                        .cell = arms.after->label,
                                        .outcome = core::RunOutcome::kCrashed}));
}

/// Twice as fast in every seed; but only one arm had a kernel.
TEST_F(LedgerTest, TimesOfDifferentCodeDecideNothing) {
  const std::string claim = "seed003_attention_skip_faster";
  const ablations::ClaimCells arms = cells(claim);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const auto& [cell, step_ms] : {std::pair(&*arms.before, 20.0), std::pair(&*arms.after, 10.0)}) {
      add_steps(add(*cell, seed), step_ms);
    }
  }
  EXPECT_EQ(judged_claim(claim).verdict, LedgerVerdict::kSupported);
  for (Made& made : made_) {
    if (made.label == arms.before->label) made.no_kernel_for = "blocks";
  }
  std::filesystem::remove(file());
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.verdict, LedgerVerdict::kInconclusive);
  EXPECT_EQ(entry.reason, (LedgerReason{.kind = Kind::kOtherCode, .parts = {"blocks"}}));
  EXPECT_TRUE(entry.measured.value) << "the number is told all the same";
}

TEST_F(LedgerTest, LossesThatDifferInOneBitDiffer) {
  const std::string claim = "seed002_rotary_computed_dynamically";
  const ablations::ClaimCells arms = cells(claim);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    for (const ClaimCell* cell : {&*arms.before, &*arms.after}) {
      std::vector<results::Sample>& losses = add(*cell, seed).batch.samples[results::kTrainLoss];
      losses = {{0, 3.5}, {1, 3.25}};
      if (cell == &*arms.after && seed == 2) losses[1].value = std::nextafter(3.25, 4.0);
    }
  }
  const LedgerEntry entry = judged_claim(claim);
  EXPECT_EQ(entry.measured.value, 1.0);  // one step of one of two seeds
  EXPECT_EQ(entry.verdict, LedgerVerdict::kSupported);
}

TEST_F(LedgerTest, TheReportHasARowForEveryClaim) {
  const std::vector<LedgerEntry> entries = make_ledger(catalogue(), catalogue().claims(), ClaimEvidence("nano"));
  const Document document = ledger_report(entries, "nano");
  std::size_t rows = 0;
  for (const Section& section : document.sections) {
    for (const Table& table : section.tables) {
      if (table.id == "verdicts") continue;
      rows += table.rows.size();
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
    }
  }
  EXPECT_EQ(rows, catalogue().claims().size());
}

TEST(LedgerHeadline, CountsVerdictsByTheKindOfTheirEvidence) {
  using enum LedgerVerdict;
  using enum EvidenceKind;
  const auto headline = [](const std::vector<std::pair<LedgerVerdict, EvidenceKind>>& verdicts) {
    std::vector<LedgerEntry> entries(verdicts.size());
    for (std::size_t i = 0; i < entries.size(); ++i) std::tie(entries[i].verdict, entries[i].evidence) = verdicts[i];
    return ledger_headline(entries);
  };
  EXPECT_EQ(headline({{kSupported, kMeasured}}), "1 claim. Measured here: 1 is supported.");
  EXPECT_EQ(
      headline({{kContradicted, kRead}, {kInconclusive, kMeasured}, {kSupported, kMeasured}, {kSupported, kMeasured}}),
      "4 claims. Measured here: 2 are supported and 1 inconclusive. Read from configurations and published "
      "figures: 1 is contradicted.");
  EXPECT_EQ(headline({{kNotMeasurable, kMeasured}, {kContradicted, kCounted}, {kNotMeasured, kMeasured}}),
            "3 claims. Counted here: 1 is contradicted. 1 cannot be measured here. 1 has not been measured; "
            "`nanobench claims --measure` runs what is missing.");
  EXPECT_EQ(headline({}), "No such claim exists.");
}

TEST_F(LedgerTest, BeginsWithWhatWasMeasuredAndEndsWithWhatCannotBe) {
  const std::vector<LedgerEntry> entries = make_ledger(catalogue(), catalogue().claims(), ClaimEvidence("nano"));
  ASSERT_FALSE(entries.empty());
  EXPECT_EQ(entries.front().evidence, EvidenceKind::kCounted) << "without runs, nothing is measured";
  EXPECT_TRUE(entries.front().measured.value);
  EXPECT_EQ(entries.back().verdict, LedgerVerdict::kNotMeasurable);
  const auto first_read = std::find_if(entries.begin(), entries.end(),
                                       [](const LedgerEntry& entry) { return entry.evidence == EvidenceKind::kRead; });
  ASSERT_NE(first_read, entries.end());
  for (auto entry = entries.begin(); entry != first_read; ++entry)
    EXPECT_EQ(entry->evidence, EvidenceKind::kCounted) << entry->claim->id;
}

TEST(LedgerVerdicts, HaveWordsOfTheirOwn) {
  std::set<std::string> words;
  for (const LedgerVerdict verdict : kLedgerVerdicts) {
    words.insert(word_of(verdict));
    EXPECT_EQ(word_of(verdict).find(' '), std::string::npos);
  }
  EXPECT_EQ(words.size(), kLedgerVerdicts.size());
}

/// What is known without a run must agree with the records' sources.
TEST_F(LedgerTest, CountsAgreeWithWhatWasPublished) {
  for (const LedgerEntry& entry : make_ledger(catalogue(), catalogue().claims(), ClaimEvidence("nano"))) {
    const auto published = entry.claim->published.verdict;
    if (!entry.measured.value || published == ablations::PublishedEvidence::Verdict::kSilent) continue;
    EXPECT_EQ(enum_name(entry.verdict), enum_name(published)) << entry.claim->id;
  }
}

}  // namespace
}  // namespace nanobench::reports
