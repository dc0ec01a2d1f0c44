#include "suites/bench/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "suites/bench/running_time.h"

namespace nanobench::suites {
namespace {

using Log = std::vector<std::string>;

/// A command that ends in its n-th turn, and writes each turn down.
class CountedRun : public PausedRun {
 public:
  CountedRun(std::string name, int turns, Log& log) : name_(std::move(name)), left_(turns), log_(log) {}
  bool run_turn() override {
    log_.push_back(name_);
    return --left_ == 0;
  }
  void run_to_end() override {
    log_.push_back(name_ + " to its end");
    left_ = 0;
  }
  bool has_ended() const { return left_ == 0; }

 private:
  std::string name_;
  int left_;
  Log& log_;
};

struct TurnsOfThree {
  Log log;
  CountedRun a, b, c;
  TurnsOfThree(int a_turns, int b_turns, int c_turns, std::uint64_t seed, const std::function<bool()>& is_interrupted)
      : a("a", a_turns, log), b("b", b_turns, log), c("c", c_turns, log) {
    take_turns({&a, &b, &c}, seed, is_interrupted);
  }
};

bool never() {
  return false;
}

TEST(Turns, EveryPassHasEachOnceInAnOrderOfTheSeed) {
  constexpr int kPasses = 40;
  const TurnsOfThree turns(kPasses, kPasses, kPasses, 3, never);
  ASSERT_EQ(turns.log.size(), 3U * kPasses);
  EXPECT_EQ(Log(turns.log.begin(), turns.log.begin() + 3), (Log{"a", "b", "c"}))
      << "the first pass is in the given order";
  std::set<Log> orders;
  for (std::size_t i = 0; i < turns.log.size(); i += 3) {
    const auto first = turns.log.begin() + static_cast<std::ptrdiff_t>(i);
    EXPECT_EQ(std::set<std::string>(first, first + 3).size(), 3U);
    orders.emplace(first, first + 3);
  }
  EXPECT_EQ(orders.size(), 6U) << "all orders of three occur in forty passes";
  EXPECT_EQ(std::adjacent_find(turns.log.begin(), turns.log.end()), turns.log.end()) << "none follows itself";
  EXPECT_EQ(TurnsOfThree(kPasses, kPasses, kPasses, 3, never).log, turns.log);
  EXPECT_NE(TurnsOfThree(kPasses, kPasses, kPasses, 4, never).log, turns.log);
}

TEST(Turns, WhatHasEndedHasNoMoreAndTheLastIsNotPaused) {
  const TurnsOfThree turns(1, 3, 9, 1, never);
  EXPECT_EQ(std::count(turns.log.begin(), turns.log.end(), "a"), 1);
  EXPECT_EQ(std::count(turns.log.begin(), turns.log.end(), "b"), 3);
  EXPECT_EQ(std::count(turns.log.begin(), turns.log.end(), "c"), 3) << "beside b";
  EXPECT_EQ(turns.log.back(), "c to its end");
  EXPECT_TRUE(turns.a.has_ended() && turns.b.has_ended() && turns.c.has_ended());
}

TEST(Turns, AnInterruptionLeavesTheOthersPaused) {
  int looks = 0;
  const TurnsOfThree turns(5, 5, 5, 1, [&] { return ++looks > 4; });
  EXPECT_EQ(turns.log.size(), 4U);
  EXPECT_FALSE(turns.a.has_ended() || turns.b.has_ended() || turns.c.has_ended());
}

TEST(Turns, NoneAndOne) {
  Log log;
  take_turns({}, 1, never);
  CountedRun one("a", 5, log);
  take_turns({&one}, 1, never);
  EXPECT_EQ(log, Log{"a to its end"});
}

TEST(RunningTime, IsTheSumOfTheTurns) {
  const RunningTime::Clock::time_point start;
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  RunningTime time;
  EXPECT_EQ(time.until(at(5)), std::chrono::seconds(0));
  time.begin(at(10));
  EXPECT_EQ(time.until(at(12)), std::chrono::seconds(2));
  time.end(at(13));
  EXPECT_EQ(time.until(at(100)), std::chrono::seconds(3)) << "a pause does not count";
  time.begin(at(100));
  time.begin(at(104));  // it runs already
  EXPECT_TRUE(time.is_running());
  time.end(at(105));
  time.end(at(200));  // it is paused already
  EXPECT_EQ(time.until(at(300)), std::chrono::seconds(8));
  EXPECT_EQ(time.turns(), 2);
}

}  // namespace
}  // namespace nanobench::suites
