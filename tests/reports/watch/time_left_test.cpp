#include "reports/watch/plan_progress.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

TEST(TimeLeft, KnowsNothingBeforeARunHasBegun) {
  const TimeLeft times;
  EXPECT_EQ(times.remaining_s({{"a", 2}}, std::nullopt), std::nullopt);
  EXPECT_EQ(times.remaining_s({{"a", 2}}, CurrentRun{"a", 5.0, std::nullopt}), std::nullopt);
  EXPECT_EQ(times.remaining_s({}, std::nullopt), 0.0) << "nothing to do takes no time";
  EXPECT_EQ(times.remaining_s({{"a", 0}}, std::nullopt), 0.0);
}

TEST(TimeLeft, BeforeOneHasEndedEachLastsAsLongAsTheCurrentOne) {
  const TimeLeft times;
  EXPECT_EQ(times.remaining_s({{"a", 1}, {"b", 2}}, CurrentRun{"a", 4.0, 6.0}), 6.0 + 3 * 10.0);
}

TEST(TimeLeft, CellsAreTakenByThemselvesAndOthersLikeAll) {
  TimeLeft times;
  times.add_finished("short", 10.0);
  times.add_finished("short", 20.0);
  times.add_finished("long", 90.0);
  EXPECT_EQ(times.expected_s("short"), 15.0);
  EXPECT_EQ(times.expected_s("long"), 90.0);
  EXPECT_EQ(times.expected_s("other"), 40.0);
  EXPECT_EQ(times.remaining_s({{"short", 2}, {"long", 1}, {"other", 1}}, std::nullopt), 30.0 + 90.0 + 40.0);
}

TEST(TimeLeft, TheCurrentRunGoesByItsPaceElseByItsCell) {
  TimeLeft times;
  times.add_finished("a", 10.0);
  EXPECT_EQ(times.remaining_s({{"a", 1}}, CurrentRun{"a", 4.0, 3.0}), 3.0 + 10.0);
  EXPECT_EQ(times.remaining_s({{"a", 1}}, CurrentRun{"a", 4.0, std::nullopt}), 6.0 + 10.0);
  EXPECT_EQ(times.remaining_s({{"a", 1}}, CurrentRun{"a", 40.0, std::nullopt}), 10.0) << "late, but never negative";
}

TEST(TimeLeft, SeveralAtOnceShareTheRest) {
  TimeLeft times;
  const std::vector<CurrentRun> two = {{"a", 10.0, 30.0}, {"b", 20.0, 60.0}};
  EXPECT_EQ(times.remaining_at_once_s({}, {}), std::nullopt) << "nobody knows how long a queue takes";
  EXPECT_EQ(times.remaining_at_once_s({{"a", 4}}, {}), std::nullopt);
  EXPECT_EQ(times.remaining_at_once_s({}, two), 60.0) << "not before the longest has ended";
  // Each like those that run, 40 s and 80 s: 4 of them and what is left, by two.
  EXPECT_EQ(times.remaining_at_once_s({{"a", 4}}, two), (30.0 + 60.0 + 4 * 60.0) / 2);
  times.add_finished("a", 100.0);
  EXPECT_EQ(times.remaining_at_once_s({{"a", 4}}, two), (30.0 + 60.0 + 4 * 100.0) / 2);
  EXPECT_EQ(TimeLeft().remaining_at_once_s({}, {{"a", 10.0, std::nullopt}}), std::nullopt);
}

}  // namespace
}  // namespace nanobench::reports
