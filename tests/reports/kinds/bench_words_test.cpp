#include "reports/kinds/bench_words.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

// The only tests of these sentences: all others compare values.

TEST(BenchWords, SayWhatDecides) {
  using Kind = BenchRemedy::Kind;
  EXPECT_EQ(text_of(BenchRemedy{}), "");
  EXPECT_EQ(text_of(BenchRemedy{.kind = Kind::kMissing, .commands = {"a", "b", "c"}}),
            "no completed run of a, b and 1 more");
  EXPECT_EQ(text_of(BenchRemedy{.kind = Kind::kSharedRound}), "no round in which both were completed");
  EXPECT_EQ(text_of(BenchRemedy{.kind = Kind::kFirstRounds, .rounds = 3, .have = 2}), "3 rounds; there are 2");
  EXPECT_EQ(text_of(BenchRemedy{.kind = Kind::kRounds, .rounds = 40}), "about 40 rounds");
  EXPECT_EQ(text_of(BenchRemedy{.kind = Kind::kEqualRounds, .rounds = 40}),
            "about 40 rounds, if there is no difference");
  EXPECT_EQ(text_of(BenchRemedy{.kind = Kind::kQuietMachine, .rounds = 1000}),
            "more than 1000 rounds with this noise: a quieter machine, or a wider --margin");
}

TEST(BenchWords, SayWhatIsDoubtful) {
  using Kind = BenchWarning::Kind;
  EXPECT_EQ(text_of(BenchWarning{.kind = Kind::kFailed, .commands = {"./a"}, .count = 2, .reason = "exit code 3"}),
            "./a: 2 runs failed: exit code 3");
  EXPECT_EQ(text_of(BenchWarning{.kind = Kind::kBrief, .commands = {"./a"}}),
            "Less than 5 ms: ./a. Much of that is the start of a process; let one run do the work many times.");
  EXPECT_EQ(text_of(BenchWarning{.kind = Kind::kUnfinished, .count = 1}),
            "1 planned run was not made: the measurement was interrupted, or their command failed.");
  EXPECT_EQ(text_of(BenchWarning{.kind = Kind::kColdStart, .commands = {"a", "b", "c", "d"}}),
            "The first run of a, b, c and 1 more took much longer than the others, as with cold caches; --warmup 3 "
            "leaves it out, and --prepare can make every run begin cold.");
  EXPECT_EQ(
      text_of(BenchWarning{.kind = Kind::kOutliers, .commands = {"a", "b"}, .counts = {1, 2}}),
      "Outliers, more than 3.5 robust standard deviations from the median: 1 run of a, 2 runs of b. They count; a "
      "quieter machine narrows the intervals.");
  EXPECT_EQ(text_of(BenchWarning{.kind = Kind::kOtherMachines}), "The runs come from different machines.");
  EXPECT_EQ(text_of(BenchWarning{.kind = Kind::kIdleTurns, .turn_ms = 100.0}),
            "No command was paused: each ended within its first turn of 100 ms, so the turns changed nothing; shorter "
            "ones are made with --turns=TIME.");
  EXPECT_EQ(text_of(BenchWarning{.kind = Kind::kClocksInTurns}),
            "The commands took turns, and a time or a speed that a command prints includes its pauses: compare such "
            "numbers without --turns.");
}

}  // namespace
}  // namespace nanobench::reports
