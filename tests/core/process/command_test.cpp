#include "core/process/command.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>

namespace nanobench::core {
namespace {

CommandResult command_shell(const std::string& script, const CommandLimits& limits = {}) {
  return run_command({"/bin/sh", "-c", script}, limits);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Command, KeepsBothStreamsAndTheExit) {
  const CommandResult both = command_shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(both.out, "out\n");
  EXPECT_EQ(both.err, "err\n");
  EXPECT_EQ(both.exit.exit_code, 3);
  EXPECT_FALSE(both.is_success());
  EXPECT_TRUE(command_shell("exit 0").is_success());
  const CommandResult killed = command_shell("kill -9 $$");
  EXPECT_EQ(killed.exit.signal, SIGKILL);
  EXPECT_FALSE(killed.is_success());
}

TEST(Command, FailuresAreToldInItsOwnWords) {
  const std::vector<std::string> name = {"x"};
  EXPECT_EQ(failure_text(name, command_shell("echo out; echo 'an  error' >&2; exit 1")), "an error");
  EXPECT_EQ(failure_text(name, command_shell("echo out; exit 1")), "out");
  const CommandResult missing = run_command({"nanobench-no-such-program"});
  EXPECT_EQ(missing.start_error, ENOENT);
  EXPECT_FALSE(missing.is_success());
  for (const CommandResult& silent : {missing, command_shell("exit 4"), command_shell("sleep 100", {.seconds = 0.05})})
    EXPECT_EQ(failure_text(name, silent).substr(0, 2), "x ");
}

TEST(Command, OptionsAreTakenOutWithTheirValues) {
  const std::vector<std::string> words = {"run", "s.json", "--seeds", "3", "--seeds=4", "--json", "--db", "x.db"};
  EXPECT_EQ(without_options(words, {"--seeds"}, {"--json"}),
            (std::vector<std::string>{"run", "s.json", "--db", "x.db"}));
  EXPECT_EQ(without_options(words, {}), words);
  EXPECT_EQ(without_options({"--runs", "3", "--", "a", "--runs", "4"}, {"--runs"}),
            (std::vector<std::string>{"--", "a", "--runs", "4"}))
      << "what follows is another program's";
  EXPECT_TRUE(without_options({"--runs"}, {"--runs"}).empty()) << "without its value";
  EXPECT_EQ(without_options({"--runs", "--", "a"}, {"--runs"}), (std::vector<std::string>{"--", "a"}));
}

TEST(Command, OneThatHangsIsKilledWithAllThatItStarted) {
  CommandResult result;
  const double seconds =
      seconds_of([&] { result = command_shell("echo early; sleep 600 & sleep 600", {.seconds = 0.3}); });
  EXPECT_TRUE(result.is_timed_out);
  EXPECT_EQ(result.exit.signal, SIGKILL);
  EXPECT_EQ(result.out, "early\n");
  EXPECT_LT(seconds, 10);
  EXPECT_TRUE(command_shell("exec >&- 2>&-; sleep 600", {.seconds = 0.3}).is_timed_out)
      << "the end of its output is not its end";
}

TEST(Command, AProcessThatItLeavesDoesNotKeepItsPipesOpen) {
  for (const ChildGroup group : {ChildGroup::kOwn, ChildGroup::kOurs, ChildGroup::kDetached}) {
    CommandResult result;
    const double seconds =
        seconds_of([&] { result = command_shell("sleep 60 & echo $!", {.seconds = 50, .group = group}); });
    EXPECT_TRUE(result.is_success());
    EXPECT_LT(seconds, 20);
    ASSERT_FALSE(result.out.empty());
    if (group != ChildGroup::kOwn) kill(static_cast<pid_t>(std::stol(result.out)), SIGKILL);
  }
}

TEST(Command, AnyBytesInAnyNumber) {
  const CommandResult garbage = command_shell(R"(printf '\0\377\033[31m')");
  EXPECT_EQ(garbage.out, std::string("\0\xff\x1b[31m", 7));
  const CommandResult huge = command_shell("head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2");
  EXPECT_TRUE(huge.is_success());
  EXPECT_EQ(huge.out.size(), 5'000'000U);
  EXPECT_EQ(huge.err.size(), 3'000'000U);
  const CommandResult cut = command_shell("head -c 5000000 /dev/zero", {.max_output = 100'000});
  EXPECT_TRUE(cut.is_success()) << "it is read to its end all the same";
  EXPECT_GE(cut.out.size(), 100'000U);
  EXPECT_LT(cut.out.size(), 300'000U);
}

TEST(Command, AnOptionOfACommandLine) {
  EXPECT_EQ(option_value({"p", "run", "s.json", "--db", "a b.db", "--json"}, "--db"), "a b.db");
  EXPECT_EQ(option_value({"p", "--db=x=1.db"}, "--db"), "x=1.db");
  EXPECT_EQ(option_value({"p", "--db", "a", "--db=b"}, "--db"), "b");
  EXPECT_EQ(option_value({"p", "--dbx=1", "x"}, "--db"), std::nullopt);
  EXPECT_EQ(option_value({"p", "--db"}, "--db"), std::nullopt);
  EXPECT_EQ(option_value({"p", "bench", "--", "other", "--db", "o"}, "--db"), std::nullopt);
}

TEST(Command, LeavesNoDescriptorOpen) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = count();
  for (int i = 0; i < 10; ++i) {
    command_shell("exit 0");
    command_shell("sleep 100", {.seconds = 0.01});
    run_command({"nanobench-no-such-program"});
  }
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace nanobench::core
