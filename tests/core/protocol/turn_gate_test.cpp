#include "core/protocol/turn_gate.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

bool never() {
  return false;
}

TEST(TurnGate, WithoutAPipeEveryStepMayBeTaken) {
  unsetenv(kTurnsFdVariable);
  TurnGate gate = TurnGate::from_environment();
  EXPECT_FALSE(gate.takes_turns());
  EXPECT_FALSE(gate.needs_turn(0));
  EXPECT_TRUE(gate.wait(1'000'000, never));
}

TEST(TurnGate, WaitsUntilATurnCoversTheStep) {
  Pipe pipe = make_pipe();
  TurnGate gate(std::move(pipe.read));
  EXPECT_TRUE(gate.needs_turn(0));
  ASSERT_TRUE(write_all(pipe.write.get(), "{\"until\":4}\n"));
  EXPECT_TRUE(gate.wait(0, never));
  EXPECT_FALSE(gate.needs_turn(3));
  EXPECT_TRUE(gate.needs_turn(4));
  std::thread runner([&] {
    write_all(pipe.write.get(), "{\"until\":2}\n{\"unt");  // an older turn takes nothing away
    write_all(pipe.write.get(), "il\":9}\n");
  });
  EXPECT_TRUE(gate.wait(8, never));
  runner.join();
  EXPECT_TRUE(gate.needs_turn(9));
}

TEST(TurnGate, StopsWhenAskedOrWhenTheRunnerHasGone) {
  Pipe pipe = make_pipe();
  TurnGate gate(std::move(pipe.read));
  int looks = 0;
  EXPECT_FALSE(gate.wait(0, [&] { return ++looks == 2; }));
  pipe.write.reset();
  EXPECT_FALSE(gate.wait(0, never));
  EXPECT_TRUE(gate.takes_turns());
  EXPECT_TRUE(gate.needs_turn(0)) << "nobody else may grant it";
}

TEST(TurnGate, GarbageIsDataLoss) {
  for (const char* const line : {"go\n", "{}\n", "{\"until\":\"x\"}\n", "7\n"}) {
    Pipe pipe = make_pipe();
    TurnGate gate(std::move(pipe.read));
    write_all(pipe.write.get(), line);
    try {
      gate.wait(0, never);
      ADD_FAILURE() << "accepted: " << line;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    }
  }
}

TEST(TurnGate, TakesThePipeThatTheEnvironmentNamesAndHidesIt) {
  Pipe pipe = make_pipe();
  setenv(kTurnsFdVariable, std::to_string(pipe.read.release()).c_str(), 1);
  const TurnGate gate = TurnGate::from_environment();
  EXPECT_TRUE(gate.takes_turns());
  EXPECT_EQ(std::getenv(kTurnsFdVariable), nullptr);
  for (const char* const wrong : {"", "x", "-1", "999999", "3 "}) {
    setenv(kTurnsFdVariable, wrong, 1);
    EXPECT_FALSE(TurnGate::from_environment().takes_turns()) << wrong;
  }
}

}  // namespace
}  // namespace nanobench::core
