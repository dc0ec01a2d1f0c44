#include "reports/comparison/remark_text.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

// The only tests of these sentences: all others compare values.

TEST(RemarkText, HasASentenceForEachWarning) {
  const std::vector<RemarkedRun> first = {{.row = "a", .seed = 2}};
  EXPECT_EQ(
      texts_of({{.kind = RemarkKind::kBelowFloor, .runs = first, .value = 1.99, .limit = 2.0},
                {.kind = RemarkKind::kBelowFloor, .runs = first, .count = 2, .value = 1.99, .limit = 2.0},
                {.kind = RemarkKind::kDisturbed, .names = {"the load was 9.4"}, .runs = first, .count = 1},
                {.kind = RemarkKind::kDisturbed, .names = {"the load was 9.4"}, .runs = first, .count = 2},
                {.kind = RemarkKind::kHosts, .count = 3},
                {.kind = RemarkKind::kMachines},
                {.kind = RemarkKind::kGpus, .names = {"A100", "none"}},
                {.kind = RemarkKind::kEngines},
                {.kind = RemarkKind::kOtherCode, .rows = {"v", "w", "x", "y", "z"}, .parts = {"adam", "blocks"}},
                {.kind = RemarkKind::kLooks, .seeds = {2, 3}},
                {.kind = RemarkKind::kLooks, .seeds = {2, 3, 4, 5, 6, 7, 8}},
                {.kind = RemarkKind::kCopies}}),
      (std::vector<std::string>{
          "a, seed 2 has a validation loss of 1.9900, below the data's entropy floor of 2.0000. No honest model can be "
          "there; look for a leak in data or evaluation.",
          "a, seed 2 has a validation loss of 1.9900, below the data's entropy floor of 2.0000, and so do 2 more runs. "
          "No honest model can be there; look for a leak in data or evaluation.",
          "1 run was disturbed (a, seed 2: the load was 9.4). Losses count, times are doubtful; run again with --fresh "
          "on an idle machine.",
          "2 runs were disturbed (a, seed 2: the load was 9.4; ...). Losses count, times are doubtful; run again with "
          "--fresh on an idle machine.",
          "The runs come from 3 hosts. Times are compared only between runs of one seed on one host, losses between "
          "all runs.",
          "The runs come from different machines: do not compare their times.",
          "The runs come from different GPUs or drivers (A100; none): do not compare their times.",
          "The runs come from different versions of the engine.",
          "The times of 5 rows (v, w, x, y and 1 more) come from different code than the times they are compared with: "
          "the engine has a kernel for adam, blocks on one side only. They decide nothing; run with --kernels "
          "reference "
          "to compare operations with operations.",
          "This is look 2 at results to which seeds were added (2 and 3 seeds). p-values and verdicts hold for one "
          "look "
          "only, so chance passes for an effect more often than they say; `run --until-decided` may look after every "
          "seed.",
          "This is look 7 at results to which seeds were added (2, 3, 4, 5, 6 ... and 8 seeds). p-values and verdicts "
          "hold for one look only, so chance passes for an effect more often than they say; `run --until-decided` may "
          "look after every seed.",
          "All runs of a cell have the same final loss, whatever their seed. Either the trainer does not use the seed, "
          "and these are copies of one run, on which the verdicts on losses rest; or it prints few digits."}));
}

TEST(RemarkText, HasASentenceForEachNote) {
  const std::vector<std::string> rows = {"c", "a", "b"};
  EXPECT_EQ(
      texts_of({{.kind = RemarkKind::kOtherGpus, .rows = rows},
                {.kind = RemarkKind::kSkippedRow, .rows = rows},
                {.kind = RemarkKind::kNoSharedSeed, .rows = rows},
                {.kind = RemarkKind::kOneRun},
                {.kind = RemarkKind::kSpread, .count = 4},
                {.kind = RemarkKind::kSpread, .count = 5},
                {.kind = RemarkKind::kSeatsBySeed, .count = 2},
                {.kind = RemarkKind::kMixedSeats, .count = 2},
                {.kind = RemarkKind::kRawClocks},
                {.kind = RemarkKind::kDisturbedSteps, .runs = {{.row = "a", .seed = 1, .value = 12.34, .steps = 2}}},
                {.kind = RemarkKind::kWithoutTurns, .count = 1},
                {.kind = RemarkKind::kWithoutTurns, .count = 2},
                {.kind = RemarkKind::kTurns, .count = 4, .blocks = 2, .value = 1.234},
                {.kind = RemarkKind::kTurns, .count = 4, .others = 1, .blocks = 1, .value = 1.234},
                {.kind = RemarkKind::kBesideOthers, .count = 1}}),
      (std::vector<std::string>{
          "The times of c and a are not compared: they come from different GPUs or drivers.",
          "c is compared with a, because b has no completed run.",
          "c and a share no seed: their difference is that of the means, without a spread.",
          "n = 1: one run has no spread, so a difference between two rows may be chance. --seeds 3 measures the "
          "spread.",
          "± is the standard deviation over n runs; with n = 4 it is itself uncertain.",
          "± is the standard deviation over n runs.",
          "The runs were made on 2 seats: all runs of a seed on the same one, so that a seat's speed is in no "
          "difference.",
          "The runs were made on 2 seats: those of a seed on several, so that only times of one seat are compared.",
          "Clocks are as measured: more than 2,000,000 samples are not searched for disturbed steps.",
          "Disturbed steps count as the other runs of the cell took them (a, seed 1: 2 steps, 12.3 ms less than "
          "measured). What every run loses to such steps stays in the clocks.",
          "1 run was to take steps in turns, but its engine takes none: each had the machine from start to end. "
          "Compare times with care.",
          "2 runs were to take steps in turns, but their engines take none: each had the machine from start to end. "
          "Compare times with care.",
          "4 runs took steps in turns, in 2 blocks of runs that were resident together. First steps of turns count as "
          "the others of their turn (1.2 % of the clock less), and slow moments of the machine are taken from the "
          "turns that they met.",
          "4 runs took steps in turns, in 1 block of runs that were resident together. First steps of turns count as "
          "the others of their turn (1.2 % of the clock less), and slow moments of the machine are taken from the "
          "turns that they met. 1 other run had the machine from start to end: compare their times with care.",
          "1 run ran beside others (--jobs), so there are losses of them and no times. `nanobench run` without --jobs "
          "measures those."}));
}

TEST(RemarkText, NamesTheFirstTenOutliers) {
  Remark remark{.kind = RemarkKind::kOutliers};
  remark.runs.push_back({.row = "a", .seed = 4, .run_id = 1004, .value = 3.42, .median = 3.2805});
  remark.runs.push_back({.row = "a", .seed = 5, .run_id = 1005, .is_time = true, .value = 123.45, .median = 100});
  const std::string two =
      "a, seed 4, run 1004: val loss 3.4200, median 3.2805; a, seed 5, run 1005: step ms 123.5, "
      "median 100.0";
  const std::string end =
      ". Each is more than 3.5 robust standard deviations from its cell's median. By chance alone, one of 5 ordinary "
      "runs is flagged in every fifth cell, and one of 20 in every tenth.";
  EXPECT_EQ(text_of(remark), "Outliers, flagged but kept in every mean: " + two + end);
  for (int i = 0; i < 10; ++i) remark.runs.push_back(remark.runs.front());
  std::string more;
  for (int i = 0; i < 8; ++i) more += "; a, seed 4, run 1004: val loss 3.4200, median 3.2805";
  EXPECT_EQ(text_of(remark),
            "Outliers, flagged but kept in every mean: " + two + more + " and 2 more (--json names all)" + end);
}

TEST(RemarkText, SaysWhereATargetIsFrom) {
  using Kind = TargetSource::Kind;
  EXPECT_EQ(text_of(TargetSource{}), "");
  EXPECT_EQ(text_of(TargetSource{.kind = Kind::kOption}), "from the command line");
  EXPECT_EQ(text_of(TargetSource{.kind = Kind::kSuite}), "from the suite");
  EXPECT_EQ(text_of(TargetSource{.kind = Kind::kSpeedrun}), "the speedrun's target");
  EXPECT_EQ(text_of(TargetSource{.kind = Kind::kFirstRow, .row = "record12", .runs = 1}),
            "the final loss of the first row, record12");
  EXPECT_EQ(text_of(TargetSource{.kind = Kind::kFirstRow, .row = "record12", .runs = 2}),
            "the final loss of the first row, record12 (mean of 2)");
}

TEST(RemarkText, SaysHowRunsFailed) {
  EXPECT_EQ(text_of(FailedRuns{{2, 3}, core::RunOutcome::kCrashed, "signal 11"}), "seeds 2, 3 crashed: signal 11");
  EXPECT_EQ(text_of(FailedRuns{{2}, core::RunOutcome::kTimedOut, ""}), "seed 2 timed_out");
  EXPECT_EQ(different_code({"adam", "blocks"}),
            "times of different code: the engine has a kernel for adam, blocks in some of the cells only; run with "
            "--kernels reference to compare operations with operations");
}

}  // namespace
}  // namespace nanobench::reports
