#include "suites/run/turn_block.h"

#include <gtest/gtest.h>

namespace nanobench::suites {
namespace {

TEST(TurnBlock, TurnsHaveStepsEnoughAndAreNotTooMany) {
  EXPECT_EQ(rounds_of(0), 1);
  EXPECT_EQ(rounds_of(kMinTurnSteps - 1), 1);
  EXPECT_EQ(rounds_of(120), 120 / kMinTurnSteps);
  EXPECT_EQ(rounds_of(1'000'000), kMaxRounds);
}

TEST(TurnBlock, RoundsGoThroughTheSameShareOfEverySchedule) {
  for (const std::int64_t steps : {1, 5, 29, 30, 1390}) {
    for (const std::int64_t rounds : {1, 3, 7}) {
      std::int64_t before = 0;
      for (std::int64_t round = 1; round < rounds; ++round) {
        const std::int64_t end = turn_end(round, rounds, steps);
        EXPECT_GE(end, before);
        EXPECT_LE(end, steps);
        EXPECT_NEAR(static_cast<double>(end) / static_cast<double>(steps),
                    static_cast<double>(round) / static_cast<double>(rounds), 1.0 / static_cast<double>(steps));
        before = end;
      }
      EXPECT_EQ(turn_end(rounds, rounds, steps), steps);
      EXPECT_EQ(turn_end(rounds + 1, rounds, steps), steps + 1) << "a turn without steps holds the run's end";
    }
  }
}

}  // namespace
}  // namespace nanobench::suites
