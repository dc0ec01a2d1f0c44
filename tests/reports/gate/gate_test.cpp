#include "reports/gate/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "core/base/error.h"
#include "reports/gate/gate_text.h"

namespace nanobench::reports {
namespace {

/// Runs of one cell; `value(seed)` changes what every run came to.
Arm arm_of(const std::string& name, int runs, const std::function<void(ArmRun&)>& change = {}) {
  Arm arm{.name = name,
          .suite = "s",
          .scale = "smoke",
          .data_digest = "d",
          .engine = "engine " + name,
          .revision = "",
          .hardware = "machine",
          .hosts = {"host"},
          .threads = 2,
          .processes = 1,
          .measured_at = "2026-01-01T00:00:00.000Z",
          .cells = {{.label = "cell", .config_digest = "c", .runs = {}}}};
  for (int i = 0; i < runs; ++i) {
    ArmRun run{.seed = static_cast<std::uint64_t>(i + 1),
               .outcome = core::RunOutcome::kCompleted,
               .message = "",
               .val_loss = 3.0 + 0.01 * i,
               .step_ms = 100.0 + i,
               .peak_bytes = 1e8,
               .costs = {{"flops_per_step", 1e9}},
               .loss_digest = "bits" + std::to_string(i),
               .disturbance = std::nullopt};
    if (change) change(run);
    arm.cells.front().runs.push_back(run);
  }
  return arm;
}

const GateCheck& check_of(const GateResult& result, const std::string& name) {
  for (const GateCheck& check : result.checks) {
    if (check.name == name) return check;
  }
  throw std::runtime_error("no check " + name);
}

/// A deterministic number in [-1, 1] for each seed.
double noise(const ArmRun& run, std::uint64_t salt = 0) {
  std::mt19937_64 engine(run.seed * 7919 + salt);
  return 2.0 * std::generate_canonical<double, 53>(engine) - 1.0;
}

TEST(Gate, TheSameBitsPassWithOneRunButTimesNeedMore) {
  const GateResult result = evaluate_gate(arm_of("a", 1), arm_of("b", 1), {}, {.is_interleaved = true});
  EXPECT_EQ(check_of(result, "loss").verdict, Verdict::kUnchanged);
  EXPECT_EQ(check_of(result, "flops_per_step").verdict, Verdict::kUnchanged);
  EXPECT_EQ(check_of(result, "step time").verdict, Verdict::kInconclusive);
  EXPECT_EQ(result.answer, GateAnswer::kInconclusive);
  EXPECT_EQ(exit_code(result.answer), 3);
}

/// The training takes a fifth more, which is a small part of a process whose program takes most.
TEST(Gate, TrainingMemoryIsJudgedWhereBothSidesKnowItAndGatesIfAsked) {
  const auto told = [](ArmRun& run) { run.training_bytes = 5e6 * (1.0 + 0.001 * noise(run, 3)); };
  const auto more = [](ArmRun& run) {
    run.training_bytes = 6e6 * (1.0 + 0.001 * noise(run, 4));
    *run.peak_bytes += 1e6 * (1.0 + 0.01 * noise(run, 5));
  };
  GatePolicy policy;
  for (const GateMetric metric : all_gate_metrics()) policy.of(metric).gates = metric == GateMetric::kLoss;
  const GateResult judged = evaluate_gate(arm_of("a", 5, told), arm_of("b", 5, more), policy, {.is_interleaved = true});
  const GateCheck& check = check_of(judged, "training memory");
  EXPECT_EQ(check.verdict, Verdict::kRegressed) << reason_text(check);
  EXPECT_NEAR(check.change.value_or(0), 0.2, 0.01);
  EXPECT_FALSE(check.gates);
  EXPECT_EQ(check_of(judged, "peak memory").verdict, Verdict::kUnchanged) << "within 2 % of the whole process";
  EXPECT_EQ(judged.answer, GateAnswer::kPass);
  policy.training_memory.gates = true;
  EXPECT_EQ(evaluate_gate(arm_of("a", 5, told), arm_of("b", 5, more), policy, {.is_interleaved = true}).answer,
            GateAnswer::kRegression);
  EXPECT_THROW(check_of(evaluate_gate(arm_of("a", 5), arm_of("b", 5, more), policy, {.is_interleaved = true}),
                        "training memory"),
               std::runtime_error)
      << "a baseline of an earlier version does not know it";
}

TEST(Gate, APolicyOfEarlierVersionsIsReadAsItWas) {
  const GatePolicy policy = read_gate_policy({{"memory", {{"margin", 0.03}, {"gates", false}}}}, "policy.json");
  EXPECT_EQ(policy.memory.margin, 0.03);
  EXPECT_FALSE(policy.training_memory.gates);
  EXPECT_TRUE(read_gate_policy({{"training_memory", {{"gates", true}}}}, "policy.json").training_memory.gates);
}

TEST(Gate, PassesWhatIsProvedWithinTheMargins) {
  const auto slightly = [](ArmRun& run) {
    *run.val_loss += 0.0001 * noise(run);
    *run.step_ms *= 1.0 + 0.0001 * noise(run, 1);
    *run.peak_bytes *= 1.0 + 0.001 * noise(run, 5);
    run.loss_digest += "x";
  };
  const GateResult result = evaluate_gate(arm_of("a", 8), arm_of("b", 8, slightly), {}, {.is_interleaved = true});
  for (const GateCheck& check : result.checks) EXPECT_EQ(check.verdict, Verdict::kUnchanged) << check.name;
  EXPECT_EQ(result.answer, GateAnswer::kPass);
  EXPECT_EQ(exit_code(result.answer), 0);
  EXPECT_EQ(result.tests, 3);
  EXPECT_GT(*result.pass_chance, 0.9);
  EXPECT_LE(*result.pass_chance, 1.0);
}

/// Runs whose losses differ from those of `arm_of` by `shift` and a little noise, and whose margin is 0.001.
GateCheck loss_check(double shift, double spread, int runs = 6) {
  const auto moved = [&](ArmRun& run) {
    *run.val_loss += shift + spread * noise(run, 3);
    run.loss_digest += "x";
  };
  return check_of(evaluate_gate(arm_of("a", runs), arm_of("b", runs, moved), {}, {.is_interleaved = true}), "loss");
}

TEST(Gate, ThePBesideAVerdictIsThatOfItsTest) {
  struct Case {
    double shift, spread;
    Verdict verdict;
    GateTest test;
    std::optional<double> GatePValues::*p;
  };
  for (const Case& one : {Case{0.0, 0.0001, Verdict::kUnchanged, GateTest::kEqual, &GatePValues::equal},
                          {-0.01, 0.0001, Verdict::kImproved, GateTest::kDifferent, &GatePValues::different},
                          {-0.0025, 0.005, Verdict::kNotWorse, GateTest::kNotWorse, &GatePValues::not_worse},
                          {0.01, 0.0001, Verdict::kRegressed, GateTest::kWorse, &GatePValues::worse},
                          {0.0, 0.01, Verdict::kInconclusive, GateTest::kNotWorse, &GatePValues::not_worse}}) {
    const GateCheck check = loss_check(one.shift, one.spread);
    EXPECT_EQ(check.verdict, one.verdict) << one.shift << " " << reason_text(check);
    EXPECT_EQ(check.test, one.test) << one.shift;
    ASSERT_TRUE(check.p) << one.shift;
    EXPECT_EQ(check.p, check.tests.*one.p) << one.shift;
    EXPECT_EQ(*check.p < 0.05, one.verdict != Verdict::kInconclusive) << one.shift;
  }
}

/// Not in turn, so not in pairs: each cell keeps its own spread.
TEST(Gate, ImprovementsAreAdjustedOverTheGatingChecks) {
  const auto faster = [](ArmRun& run) { *run.step_ms *= 0.9 + 0.01 * noise(run); };
  const auto p_among = [&](int cells) {
    Arm baseline = arm_of("a", 6), candidate = arm_of("b", 6, faster);
    for (int cell = 1; cell < cells; ++cell) {
      for (Arm* arm : {&baseline, &candidate}) arm->cells.push_back(arm_of(arm->name, 6).cells.front());
      for (ArmRun& run : candidate.cells.back().runs) *run.step_ms *= 1.0 + 0.01 * noise(run, 9);
      for (Arm* arm : {&baseline, &candidate}) arm->cells.back().label = "cell" + std::to_string(cell);
    }
    return *check_of(evaluate_gate(baseline, candidate, {}, {}), "step time").tests.different;
  };
  const double alone = p_among(1);
  EXPECT_LT(alone, 0.05);
  EXPECT_NEAR(p_among(4), 4.0 * alone, 1e-12);
}

TEST(Gate, EachMetricCanRegressAlone) {
  const auto worse_loss = [](ArmRun& run) {
    *run.val_loss += 0.01 + 0.0005 * noise(run);
    run.loss_digest += "x";
  };
  const auto slower = [](ArmRun& run) { *run.step_ms *= 1.05 + 0.001 * noise(run); };
  const auto larger = [](ArmRun& run) { *run.peak_bytes *= 1.1; };
  const auto more_work = [](ArmRun& run) { run.costs["flops_per_step"] *= 1.0000001; };
  const std::pair<const char*, std::function<void(ArmRun&)>> cases[] = {
      {"loss", worse_loss}, {"step time", slower}, {"peak memory", larger}, {"flops_per_step", more_work}};
  for (const auto& [name, change] : cases) {
    const GateResult result = evaluate_gate(arm_of("a", 5), arm_of("b", 5, change), {}, {.is_interleaved = true});
    for (const GateCheck& check : result.checks) {
      EXPECT_EQ(check.verdict, check.name == name ? Verdict::kRegressed : Verdict::kUnchanged)
          << name << ": " << check.name << ": " << reason_text(check);
    }
    EXPECT_EQ(exit_code(result.answer), 1);
    // The other way round it is an improvement, and passes.
    const GateResult back = evaluate_gate(arm_of("b", 5, change), arm_of("a", 5), {}, {.is_interleaved = true});
    EXPECT_EQ(check_of(back, name).verdict, Verdict::kImproved) << name;
    EXPECT_EQ(exit_code(back.answer), 0);
  }
}

TEST(Gate, AMetricThatDoesNotGateHasNoSay) {
  GatePolicy policy;
  policy.time.gates = false;
  const auto slower = [](ArmRun& run) { *run.step_ms *= 1.5 + 0.001 * noise(run); };
  const GateResult result = evaluate_gate(arm_of("a", 5), arm_of("b", 5, slower), policy, {.is_interleaved = true});
  EXPECT_EQ(check_of(result, "step time").verdict, Verdict::kRegressed);
  EXPECT_EQ(result.answer, GateAnswer::kPass);
}

TEST(Gate, NoiseBeyondTheMarginIsInconclusive) {
  const auto noisy = [](ArmRun& run) {
    *run.val_loss += 0.01 * noise(run);
    run.loss_digest += "x";
  };
  const GateResult result = evaluate_gate(arm_of("a", 5), arm_of("b", 5, noisy), {}, {.is_interleaved = true});
  EXPECT_EQ(check_of(result, "loss").verdict, Verdict::kInconclusive);
  EXPECT_EQ(exit_code(result.answer), 3);
  EXPECT_LT(*check_of(result, "loss").pass_power, 0.3);
}

TEST(Gate, FailedRunsAreIncompleteAndDivergedOnesARegression) {
  const auto crashed = [](ArmRun& run) {
    if (run.seed == 2) run = {.seed = 2, .outcome = core::RunOutcome::kCrashed, .message = "SIGSEGV"};
  };
  const GateResult incomplete = evaluate_gate(arm_of("a", 5), arm_of("b", 5, crashed), {}, {.is_interleaved = true});
  EXPECT_EQ(incomplete.answer, GateAnswer::kIncomplete);
  EXPECT_EQ(exit_code(incomplete.answer), 4);
  EXPECT_EQ(incomplete.problems, (std::vector<GateProblem>{{.kind = GateProblem::Kind::kFailedRun,
                                                            .side = "candidate",
                                                            .cell = "cell",
                                                            .seed = 2,
                                                            .outcome = "crashed",
                                                            .message = "SIGSEGV"}}));

  const auto diverged = [](ArmRun& run) {
    if (run.seed == 2) run = {.seed = 2, .outcome = core::RunOutcome::kDiverged, .message = "NaN"};
  };
  const GateResult regressed = evaluate_gate(arm_of("a", 5), arm_of("b", 5, diverged), {}, {.is_interleaved = true});
  EXPECT_EQ(check_of(regressed, "loss").verdict, Verdict::kRegressed);
  EXPECT_EQ(exit_code(regressed.answer), 1);
  // A baseline that fails proves nothing either.
  EXPECT_EQ(exit_code(evaluate_gate(arm_of("b", 5, diverged), arm_of("a", 5), {}, {.is_interleaved = true}).answer), 4);
}

TEST(Gate, WhatCannotBeComparedIsSaid) {
  using enum MismatchKind;
  GatePolicy without_time;
  without_time.time.gates = false;
  without_time.memory.gates = false;
  const Arm now = arm_of("b", 5);
  struct Case {
    Mismatch mismatch;
    std::function<void(Arm&)> change;
    bool needs_machine;
  };
  const Case cases[] = {
      {{kMachine, "another", now.hardware}, [](Arm& arm) { arm.hardware = "another"; }, true},
      {{kGpu, "an H100", now.gpu}, [](Arm& arm) { arm.gpu = "an H100"; }, true},
      {{kThreads, "8", std::to_string(now.threads)}, [](Arm& arm) { arm.threads = 8; }, true},
      {{kProcesses, "2", std::to_string(now.processes)}, [](Arm& arm) { arm.processes = 2; }, true},
      {{kData, "another", now.data_digest}, [](Arm& arm) { arm.data_digest = "another"; }, false},
      {{kScale, "nano", now.scale}, [](Arm& arm) { arm.scale = "nano"; }, false},
      {{.kind = kConfiguration}, [](Arm& arm) { arm.cells.front().config_digest = "another"; }, false},
      {{.kind = kNoSuchCell}, [](Arm& arm) { arm.cells.front().label = "another"; }, false},
  };
  for (const Case& one : cases) {
    Arm baseline = arm_of("a", 5);
    one.change(baseline);
    const GateResult result = evaluate_gate(baseline, now, {}, {.is_interleaved = false});
    EXPECT_EQ(exit_code(result.answer), 5) << text_of(one.mismatch);
    const GateCheck& check = check_of(result, one.needs_machine ? "step time" : "loss");
    EXPECT_EQ(check.reason, CheckReason::kMismatch);
    EXPECT_EQ(check.mismatch, one.mismatch) << text_of(check.mismatch);
    if (one.needs_machine) {
      EXPECT_EQ(exit_code(evaluate_gate(baseline, now, without_time, {.is_interleaved = false}).answer), 0)
          << text_of(one.mismatch);
    }
  }
}

TEST(Gate, TimesOfAnotherHostCountOnlyWhereBothRanInTurn) {
  Arm baseline = arm_of("a", 5);
  baseline.hosts = {"another"};
  EXPECT_EQ(exit_code(evaluate_gate(baseline, arm_of("b", 5), {}, {.is_interleaved = false}).answer), 5);
}

TEST(Gate, TimesOfAnotherGpuCountNowhere) {
  Arm baseline = arm_of("a", 5), candidate = arm_of("b", 5);
  baseline.gpu = "NVIDIA H100 (GPU-1), driver 570";
  for (const char* other : {"NVIDIA H100 (GPU-2), driver 570", "NVIDIA H100 (GPU-1), driver 580"}) {
    candidate.gpu = other;
    const GateResult result = evaluate_gate(baseline, candidate, {}, {.is_interleaved = true});
    EXPECT_EQ(exit_code(result.answer), 5) << other;
    EXPECT_EQ(check_of(result, "step time").mismatch, (Mismatch{MismatchKind::kGpu, baseline.gpu, other}));
    EXPECT_EQ(check_of(result, "loss").verdict, Verdict::kUnchanged) << "losses count";
  }
}

TEST(Gate, TimesOfSeveralHostsDoNotCount) {
  Arm baseline = arm_of("a", 5), candidate = arm_of("b", 5);
  baseline.hosts = candidate.hosts = {"one", "two"};
  EXPECT_EQ(exit_code(evaluate_gate(baseline, candidate, {}, {.is_interleaved = false}).answer), 5);
  EXPECT_EQ(exit_code(evaluate_gate(baseline, candidate, {}, {.is_interleaved = true}).answer), 0);
  candidate.cells.front().runs.back().host = "two";
  EXPECT_NE(exit_code(evaluate_gate(baseline, candidate, {}, {.is_interleaved = true}).answer), 0)
      << "a pair that two hosts ran";
}

TEST(Gate, ALostCellIsMissingEvidence) {
  Arm baseline = arm_of("a", 5);
  baseline.cells.push_back({.label = "lost", .config_digest = "c", .runs = baseline.cells.front().runs});
  const GateResult result = evaluate_gate(baseline, arm_of("b", 5), {}, {.is_interleaved = true});
  EXPECT_EQ(exit_code(result.answer), 4);
  EXPECT_EQ(result.problems.front(), (GateProblem{.kind = GateProblem::Kind::kLostCell, .cell = "lost"}));
}

TEST(Gate, NothingToCompareNeverPasses) {
  Arm none = arm_of("a", 0);
  EXPECT_EQ(exit_code(evaluate_gate(none, none, {}, {.is_interleaved = true}).answer), 4);
  none.cells.clear();
  EXPECT_EQ(exit_code(evaluate_gate(none, none, {}, {.is_interleaved = true}).answer), 5);
}

TEST(Gate, WithoutAnyCheckThatGatesNothingIsProved) {
  GatePolicy policy;
  for (const GateMetric metric : all_gate_metrics()) policy.of(metric).gates = metric == GateMetric::kCost;
  const auto without_costs = [](ArmRun& run) { run.costs.clear(); };
  const GateResult result =
      evaluate_gate(arm_of("a", 3, without_costs), arm_of("b", 3, without_costs), policy, {.is_interleaved = true});
  EXPECT_EQ(result.answer, GateAnswer::kIncomplete);
  EXPECT_FALSE(result.pass_chance) << "there is nothing to pass";
}

TEST(Gate, ACountThatOneSideLostIsMissingEvidence) {
  const auto without_costs = [](ArmRun& run) { run.costs.clear(); };
  for (const bool is_candidate : {true, false}) {
    const Arm whole = arm_of("a", 3), poor = arm_of("b", 3, without_costs);
    const GateResult result =
        evaluate_gate(is_candidate ? whole : poor, is_candidate ? poor : whole, {}, {.is_interleaved = true});
    EXPECT_EQ(check_of(result, "flops_per_step").verdict, Verdict::kMissing);
    EXPECT_EQ(result.answer, GateAnswer::kIncomplete);
  }
}

TEST(Gate, InstructionsAreACostWithAMarginOfTheirOwn) {
  Arm before = arm_of("a", 3), now = arm_of("b", 3);
  before.cells.front().instructions = 1e9;
  const auto verdict_of = [&](std::optional<double> count) {
    now.cells.front().instructions = count;
    return check_of(evaluate_gate(before, now, {}, {.is_interleaved = true}), "instructions").verdict;
  };
  EXPECT_EQ(verdict_of(1.004e9), Verdict::kUnchanged);
  EXPECT_EQ(verdict_of(1.006e9), Verdict::kRegressed);
  EXPECT_EQ(verdict_of(0.9999e9), Verdict::kUnchanged) << "as two counts of the same program";
  EXPECT_EQ(verdict_of(0.9e9), Verdict::kImproved);
  EXPECT_EQ(verdict_of(std::nullopt), Verdict::kMissing);
}

/// Losses and times of two cells with independent normal noise and no change.
Arm random_arm(const std::string& name, std::mt19937_64& random, double loss_change, double time_change) {
  std::normal_distribution<double> normal;
  const auto draw = [&](ArmRun& run) {
    *run.val_loss = 3.0 + loss_change + 0.002 * normal(random);
    *run.step_ms = 100.0 * std::exp(time_change + 0.01 * normal(random));
    run.loss_digest += name;
  };
  Arm arm = arm_of(name, 6, draw);
  arm.cells.push_back(arm_of(name, 6, draw).cells.front());
  arm.cells.back().label = "second";
  return arm;
}

/// `compare a b` of two configurations: what the change costs, or what a kernel saves?
TEST(Gate, TimesOfTwoConfigurationsNeedOneCode) {
  const auto with_code = [](const std::string& name, const std::string& digest, const core::StepParts& no_kernel_for) {
    Arm arm = arm_of(name, 5, [&](ArmRun& run) {
      run.no_kernel_for = no_kernel_for;
      *run.step_ms += noise(run);
    });
    arm.cells.front().config_digest = digest;
    return arm;
  };
  const GateSetting others = {.is_interleaved = true, .allows_other_configs = true};
  const Arm base = with_code("a", "c", {});
  const GateCheck differing = check_of(evaluate_gate(base, with_code("b", "d", {"blocks"}), {}, others), "step time");
  EXPECT_EQ(differing.reason, CheckReason::kMismatch);
  EXPECT_EQ(differing.mismatch, (Mismatch{.kind = MismatchKind::kCode, .parts = {"blocks"}}));
  EXPECT_EQ(differing.verdict, Verdict::kMissing);
  EXPECT_NE(check_of(evaluate_gate(base, with_code("b", "d", {}), {}, others), "step time").verdict, Verdict::kMissing);
  EXPECT_NE(check_of(evaluate_gate(base, with_code("b", "c", {"blocks"}), {}, others), "step time").verdict,
            Verdict::kMissing)
      << "of one configuration it is a revision that lost its kernel";
}

TEST(Gate, ABaselineOfAnOlderFileIsTheSameConfiguration) {
  Arm baseline = arm_of("a", 5), candidate = arm_of("b", 5);
  baseline.cells.front().config_digest = "former";
  candidate.cells.front().config_digest = "today";
  const GateSetting setting = {.is_interleaved = true};
  EXPECT_EQ(check_of(evaluate_gate(baseline, candidate, {}, setting), "loss").verdict, Verdict::kMissing);
  candidate.cells.front().former_config_digest = "former";
  EXPECT_EQ(check_of(evaluate_gate(baseline, candidate, {}, setting), "loss").verdict, Verdict::kUnchanged);
}

TEST(Gate, TimesOfReferenceKernelsAreComparedWithTheirLike) {
  Arm reference = arm_of("b", 5);
  reference.kernels = core::KernelChoice::kReference;
  const GateResult result = evaluate_gate(arm_of("a", 5), reference, {}, {.is_interleaved = true});
  EXPECT_EQ(check_of(result, "step time").mismatch,
            (Mismatch{MismatchKind::kKernels, enum_name(core::KernelChoice::kFused), enum_name(reference.kernels)}));
  EXPECT_EQ(check_of(result, "loss").verdict, Verdict::kUnchanged);
}

/// How often a gate over 2 cells x (loss, time) says what.
double share_of(GateAnswer answer, double loss_change, double time_change, const GatePolicy& policy, int repetitions) {
  std::mt19937_64 random(17);
  int count = 0;
  for (int i = 0; i < repetitions; ++i) {
    const Arm baseline = random_arm("a", random, 0, 0);
    const Arm candidate = random_arm("b", random, loss_change, time_change);
    if (evaluate_gate(baseline, candidate, policy, {.is_interleaved = true}).answer == answer) ++count;
  }
  return static_cast<double>(count) / repetitions;
}

constexpr int kRepetitions = 1000;
double four_errors(double share) {
  return 4.0 * std::sqrt(share * (1.0 - share) / kRepetitions);
}

/// Cells with independent normal noise and no change, paired; every cell has a loss and a step time.
Arm unchanged_arm(const std::string& name, int cells, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const auto draw = [&](ArmRun& run) {
    *run.val_loss = 3.0 + 0.002 * normal(random);
    *run.step_ms = 100.0 * std::exp(0.01 * normal(random));
    run.loss_digest += name;
  };
  Arm arm = arm_of(name, 5, draw);
  for (int cell = 1; cell < cells; ++cell) {
    arm.cells.push_back(arm_of(name, 5, draw).cells.front());
    arm.cells.back().label = "cell" + std::to_string(cell);
  }
  return arm;
}

/// Gates over unchanged candidates that hold at least one such verdict.
std::map<Verdict, double> false_verdicts(int cells, int repetitions, const GatePolicy& policy) {
  std::mt19937_64 random(17);
  std::map<Verdict, double> shares;
  for (int i = 0; i < repetitions; ++i) {
    const Arm baseline = unchanged_arm("a", cells, random), candidate = unchanged_arm("b", cells, random);
    const GateResult result = evaluate_gate(baseline, candidate, policy, {.is_interleaved = true});
    std::set<Verdict> found;
    for (const GateCheck& check : result.checks) found.insert(check.verdict);
    for (const Verdict verdict : found) shares[verdict] += 1.0 / repetitions;
  }
  return shares;
}

TEST(GateSimulation, UnchangedCandidatesImproveOrRegressNoMoreOftenThanAlpha) {
  constexpr int kGates = 2000;
  GatePolicy wide;
  wide.loss.margin = 0.004;
  wide.time.margin = 0.02;
  for (const int cells : {2, 7}) {
    for (const GatePolicy& policy : {GatePolicy{}, wide}) {
      auto shares = false_verdicts(cells, kGates, policy);
      std::cout << cells << " cells: improved " << shares[Verdict::kImproved] << ", regressed "
                << shares[Verdict::kRegressed] << "\n";
      const double most = policy.alpha + 3.0 * std::sqrt(policy.alpha * (1.0 - policy.alpha) / kGates);
      EXPECT_LE(shares[Verdict::kImproved], most) << cells;
      EXPECT_LE(shares[Verdict::kRegressed], most) << cells;
    }
  }
}

/// Seven cells know their common spread far better than five pairs of one cell.
TEST(Gate, CellsShareTheSpreadOfTheirPairs) {
  std::mt19937_64 random(20);
  const Arm baseline = unchanged_arm("a", 7, random), candidate = unchanged_arm("b", 7, random);
  Arm first_before = baseline, first_now = candidate;
  first_before.cells.resize(1);
  first_now.cells.resize(1);
  const GateResult together = evaluate_gate(baseline, candidate, {}, {.is_interleaved = true});
  const GateResult alone = evaluate_gate(first_before, first_now, {}, {.is_interleaved = true});
  const auto check_of = [](const GateResult& result, GateMetric metric) {
    return *std::find_if(result.checks.begin(), result.checks.end(),
                         [metric](const GateCheck& check) { return check.metric == metric; });
  };
  for (const GateMetric metric : {GateMetric::kLoss, GateMetric::kTime}) {
    EXPECT_EQ(check_of(together, metric).spread, SpreadKind::kShared);
    EXPECT_EQ(check_of(alone, metric).spread, SpreadKind::kOwn);
    EXPECT_EQ(check_of(together, metric).change, check_of(alone, metric).change);
    EXPECT_NE(check_of(together, metric).bound, check_of(alone, metric).bound);
  }
}

/// A change as large as the margin, in either direction, is not "unchanged".
TEST(GateSimulation, ChangesAsLargeAsTheMarginAreSeldomCalledUnchanged) {
  constexpr int kGates = 1000;
  for (const double change : {-0.01, 0.01}) {
    std::mt19937_64 random(19);
    int called = 0;
    for (int i = 0; i < kGates; ++i) {
      GatePolicy policy;
      policy.loss.margin = 0.01;
      const Arm baseline = random_arm("a", random, 0, 0), candidate = random_arm("b", random, change, 0);
      const GateResult result = evaluate_gate(baseline, candidate, policy, {.is_interleaved = true});
      called += std::any_of(result.checks.begin(), result.checks.end(), [](const GateCheck& check) {
        return check.name == "loss" && check.verdict == Verdict::kUnchanged;
      });
    }
    EXPECT_LE(called, kGates * (0.05 + 3.0 * std::sqrt(0.05 * 0.95 / kGates))) << change;
  }
}

TEST(GateSimulation, CriesWolfNoMoreOftenThanItSays) {
  const GatePolicy policy;
  EXPECT_LE(share_of(GateAnswer::kRegression, 0, 0, policy, kRepetitions), policy.alpha + four_errors(policy.alpha));
}

TEST(GateSimulation, PassesAnUnchangedCandidateAsOftenAsItSays) {
  GatePolicy policy;
  policy.loss.margin = 0.004;
  policy.time.margin = 0.02;
  std::mt19937_64 random(18);
  double told = 0.0;
  for (int i = 0; i < 200; ++i) {
    const Arm baseline = random_arm("a", random, 0, 0);
    const Arm candidate = random_arm("b", random, 0, 0);
    told += *evaluate_gate(baseline, candidate, policy, {.is_interleaved = true}).pass_chance / 200;
  }
  // The chance is told from estimated spreads, so it is right on average only roughly.
  EXPECT_NEAR(share_of(GateAnswer::kPass, 0, 0, policy, kRepetitions), told, 0.1);
}

TEST(GateSimulation, LetsThroughWhatIsWorseByTheMarginNoMoreOftenThanItSays) {
  GatePolicy policy;
  policy.time.gates = false;
  const double passed = share_of(GateAnswer::kPass, policy.loss.margin, 0, policy, kRepetitions);
  EXPECT_LE(passed, policy.alpha + four_errors(policy.alpha));
}

TEST(GateSimulation, FindsWhatIsLarge) {
  EXPECT_GE(share_of(GateAnswer::kRegression, 0.02, 0, {}, 400), 0.99);
  EXPECT_GE(share_of(GateAnswer::kRegression, 0, 0.1, {}, 400), 0.99);
}

TEST(ArmFile, KeepsEverythingAndRefusesWhatItDoesNotKnow) {
  Arm arm = arm_of("a", 2);
  arm.cells.front().runs.back() = {.seed = 2, .outcome = core::RunOutcome::kCrashed, .message = "\"SIGSEGV\"\n"};
  EXPECT_FALSE(to_json(arm).contains("gpu")) << "versions that know no GPU read it";
  arm.gpu = "NVIDIA H100 (GPU-1), driver 570";
  arm.cells.front().runs.front().disturbance = "others used the machine";
  const core::Json json = core::Json::parse(to_json(arm).dump());
  EXPECT_EQ(to_json(read_arm(json, "f")).dump(), to_json(arm).dump());

  core::Json first = json;  // form 1: kernels in the engine's name alone
  first["schema_version"] = 1;
  EXPECT_EQ(read_arm(first, "f").kernels, core::KernelChoice::kFused);
  first["engine"] = "nanobench-train, reference kernels 1a2b";
  EXPECT_EQ(read_arm(first, "f").kernels, core::KernelChoice::kReference);

  core::Json newer = json;
  newer["schema_version"] = 99;
  EXPECT_THROW(read_arm(newer, "f"), core::Error);
  core::Json odd = json;
  odd["cells"][0]["runs"][0]["los"] = 1;
  try {
    read_arm(odd, "f");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("f: /cells/0/runs/0"), std::string::npos) << error.what();
  }
}

TEST(GatePolicyFile, DefaultsAndBadInput) {
  const GatePolicy policy =
      read_gate_policy(core::Json::parse(R"({"loss": {"margin": 0.01}, "time": {"gates": false}})"), "p");
  EXPECT_EQ(policy.loss.margin, 0.01);
  EXPECT_TRUE(policy.loss.gates);
  EXPECT_FALSE(policy.time.gates);
  EXPECT_EQ(policy.instructions_margin, 0.005);
  EXPECT_EQ(read_gate_policy(core::Json::parse(R"({"cost": {"instructions_margin": 0.1}})"), "p").instructions_margin,
            0.1);
  for (const char* bad : {R"({"los": {}})", R"({"loss": {"margin": -1}})", R"({"alpha": 0.9})", R"({"least_runs": 1})",
                          R"({"loss": {"instructions_margin": 1}})"})
    EXPECT_THROW(read_gate_policy(core::Json::parse(bad), "p"), core::Error) << bad;
}

}  // namespace
}  // namespace nanobench::reports
