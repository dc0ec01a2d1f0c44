#include "reports/gate/bisection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/base/error.h"
#include "reports/gate/gate_text.h"
#include "tests/reports/stats/simulation.h"

namespace nanobench::reports {
namespace {

struct Found {
  std::vector<std::size_t> suspects;
  int tests = 0;
};

/// Searches where the commits from `culprit` on are bad, and these cannot be judged.
Found search(std::size_t commits, std::size_t culprit, const std::set<std::size_t>& skipped = {}) {
  Bisection bisection(commits);
  Found found;
  while (const auto next = bisection.next()) {
    EXPECT_LE(found.tests, static_cast<int>(commits)) << "it does not end";
    ++found.tests;
    bisection.set(*next, skipped.contains(*next) ? CommitVerdict::kSkipped
                         : *next >= culprit      ? CommitVerdict::kBad
                                                 : CommitVerdict::kGood);
  }
  found.suspects = bisection.suspects();
  return found;
}

TEST(Bisection, FindsEachCulpritWithinTheTestsThatWerePromised) {
  for (std::size_t commits = 1; commits <= 40; ++commits) {
    int most = 0;
    for (std::size_t culprit = 0; culprit < commits; ++culprit) {
      const Found found = search(commits, culprit);
      EXPECT_EQ(found.suspects, std::vector<std::size_t>{culprit}) << commits;
      most = std::max(most, found.tests);
    }
    EXPECT_EQ(1 + most, tests_of_bisection(commits)) << commits << ": the bad revision is tested too";
  }
}

TEST(Bisection, SkippedCommitsStayOnlyWhereTheyHideTheCulprit) {
  for (std::size_t culprit = 0; culprit < 12; ++culprit) {
    for (std::size_t skipped = 0; skipped < 11; ++skipped) {
      const std::vector<std::size_t> suspects = search(12, culprit, {skipped}).suspects;
      EXPECT_TRUE(std::count(suspects.begin(), suspects.end(), culprit) == 1) << culprit << " " << skipped;
      const bool is_hidden = skipped == culprit || skipped + 1 == culprit;
      EXPECT_EQ(suspects.size(), is_hidden ? 2U : 1U) << culprit << " " << skipped;
    }
  }
  EXPECT_EQ(search(4, 1, {0, 1, 2}).suspects, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(Bisection, SaysHowManyTestsAreLeft) {
  Bisection bisection(16);
  EXPECT_EQ(bisection.tests_left(), 4);
  EXPECT_EQ(bisection.next(), 7U);
  bisection.set(7, CommitVerdict::kGood);
  EXPECT_EQ(bisection.tests_left(), 3);
  EXPECT_EQ(bisection.next(), 11U);
  EXPECT_THROW(Bisection(0), core::Error);
}

/// Losses of one cell, against those of a good revision; `harm` in nats, noise of 0.01 in each run.
GateAnswer judge(NormalDraws& draws, double harm, double alpha) {
  constexpr int kSeeds = 6;
  GatePolicy policy{.loss = {.margin = 0.03}, .alpha = alpha};
  policy.time.gates = policy.memory.gates = policy.cost.gates = false;
  Arm good{.suite = "s", .scale = "smoke", .data_digest = "d", .hardware = "h", .hosts = {"one"}}, tested;
  ArmCell& cell = good.cells.emplace_back();
  cell.label = cell.config_digest = "it";
  for (int seed = 1; seed <= kSeeds; ++seed)
    cell.runs.push_back({.seed = static_cast<std::uint64_t>(seed),
                         .outcome = core::RunOutcome::kCompleted,
                         .val_loss = draws.next(3.0, 0.01)});
  tested = good;
  for (ArmRun& run : tested.cells.front().runs) run.val_loss = draws.next(3.0 + harm, 0.01);
  return evaluate_gate(good, tested, policy, {.is_interleaved = true}).answer;
}

struct Share {
  double wrong = 0.0, right = 0.0;
};

/// The shares of bisections over 32 commits with harm from one of them on.
Share bisections(double harm_before, double harm_behind, double alpha_each) {
  constexpr int kTrials = 1500;
  constexpr std::size_t kCommits = 32, kCulprit = 21;
  NormalDraws draws(11);
  int wrong = 0, right = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Bisection bisection(kCommits);
    while (const auto next = bisection.next()) {
      const GateAnswer answer = judge(draws, *next >= kCulprit ? harm_behind : harm_before, alpha_each);
      bisection.set(*next, answer == GateAnswer::kRegression ? CommitVerdict::kBad
                           : answer == GateAnswer::kPass     ? CommitVerdict::kGood
                                                             : CommitVerdict::kSkipped);
    }
    const std::vector<std::size_t> suspects = bisection.suspects();
    const bool has_culprit = std::count(suspects.begin(), suspects.end(), kCulprit) == 1;
    wrong += has_culprit ? 0 : 1;
    right += has_culprit && suspects.size() == 1 ? 1 : 0;
  }
  return {static_cast<double>(wrong) / kTrials, static_cast<double>(right) / kTrials};
}

/// Harm of exactly the margin, the hardest that counts, and none before it.
TEST(BisectionSimulation, HasTheErrorRateThatWasAskedFor) {
  constexpr double kAlpha = 0.2;
  const Share shared = bisections(0.0, 0.03, alpha_of_test(kAlpha, 32));
  EXPECT_LE(shared.wrong, kAlpha + slack(kAlpha, 1500));
  EXPECT_GT(shared.right, 0.5) << "and it answers";
  const Share whole = bisections(0.0, 0.03, kAlpha);
  EXPECT_GT(whole.wrong, kAlpha + slack(kAlpha, 1500)) << "tests that do not share alpha are wrong too often";
}

TEST(Bisection, TheBoundCountsEachDecision) {
  EXPECT_DOUBLE_EQ(wrong_answer_bound(alpha_of_test(0.05, 32), tests_of_bisection(32)), 0.05);
  EXPECT_DOUBLE_EQ(wrong_answer_bound(0.01, 9), 0.09) << "skipped ones are further tests";
  EXPECT_DOUBLE_EQ(wrong_answer_bound(0.4, 5), 1.0);
}

GateCheck check_with(Verdict verdict, double change, double margin) {
  return {
      .cell = "it", .name = "loss", .change = change, .bound = change + 0.001, .margin = margin, .verdict = verdict};
}

TEST(Bisection, AStepIsWhatTheGateAnswers) {
  GateResult result;
  result.checks = {check_with(Verdict::kNotWorse, 0.001, 0.01), check_with(Verdict::kRegressed, 0.02, 0.01),
                   check_with(Verdict::kRegressed, 0.03, 0.1)};
  result.answer = GateAnswer::kRegression;
  const BisectStep bad = judged_step({.id = "a"}, result, 3);
  EXPECT_EQ(bad.verdict, CommitVerdict::kBad);
  EXPECT_EQ(bad.check->change, 0.02) << "the worst in units of its margin";
  EXPECT_TRUE(bad.is_judged);
  EXPECT_DOUBLE_EQ(bad.level, 0.9);
  result.answer = GateAnswer::kPass;
  EXPECT_EQ(judged_step({.id = "a"}, result, 3).verdict, CommitVerdict::kGood);
  result.answer = GateAnswer::kIncomplete;
  result.problems = {{.side = "candidate", .cell = "it", .seed = 1, .outcome = "crashed", .message = "exit 3"}};
  const BisectStep broken = judged_step({.id = "a"}, result, 3);
  EXPECT_EQ(broken.verdict, CommitVerdict::kSkipped);
  EXPECT_EQ(broken.reason, text_of(result.problems.front()));
  EXPECT_EQ(broken.seeds, 0);
  EXPECT_FALSE(broken.is_judged);
  result.answer = GateAnswer::kInconclusive;
  const BisectStep open = judged_step({.id = "a"}, result, 5);
  EXPECT_EQ(open.verdict, CommitVerdict::kSkipped);
  EXPECT_TRUE(open.is_judged) << "it may have been decided wrongly";
}

TEST(Bisection, EachAnswerHasItsExitCode) {
  EXPECT_EQ(exit_code(BisectAnswer::kFound), 0);
  EXPECT_EQ(exit_code(BisectAnswer::kNoDifference), 1);
  EXPECT_EQ(exit_code(BisectAnswer::kSeveral), 3);
  EXPECT_EQ(exit_code(BisectAnswer::kUndecided), 3);
  EXPECT_EQ(exit_code(BisectAnswer::kIncomplete), 4);
}

}  // namespace
}  // namespace nanobench::reports
