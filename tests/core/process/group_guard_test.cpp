#include "core/process/group_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/process/child_process.h"

namespace nanobench::core {
namespace {

/// A process of its own group, paused.
pid_t paused_process() {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    std::raise(SIGSTOP);
    _exit(0);
  }
  setpgid(pid, pid);
  waitpid(pid, nullptr, WUNTRACED);
  return pid;
}

TEST(GroupGuard, KillsWhatItWatchesAndSparesWhatItForgot) {
  const pid_t watched = paused_process(), forgotten = paused_process();
  {
    const GroupGuard guard;
    guard.watch(watched);
    guard.watch(forgotten);
    guard.forget(forgotten);
  }
  int status = 0;
  ASSERT_EQ(waitpid(watched, &status, 0), watched);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(waitpid(forgotten, &status, WNOHANG), 0) << "it is paused still";
  kill(forgotten, SIGKILL);
  waitpid(forgotten, nullptr, 0);
}

TEST(GroupGuard, ActsWhenItsProcessIsKilled) {
  const pid_t watched = paused_process();
  const pid_t owner = fork();
  if (owner == 0) {
    GroupGuard guard;
    guard.watch(watched);
    std::raise(SIGKILL);
  }
  waitpid(owner, nullptr, 0);
  int status = 0;
  ASSERT_EQ(waitpid(watched, &status, 0), watched);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(GroupGuard, HoldsNoFileOfItsProcess) {
  Pipe pipe = make_pipe();
  const GroupGuard guard;
  pipe.write.reset();  // the last one, unless the guard has it
  ASSERT_TRUE(wait_readable({pipe.read.get()}, std::chrono::seconds(20)));
  EXPECT_TRUE(read_available(pipe.read).empty());
  EXPECT_FALSE(pipe.read.is_open()) << "its end is seen";
}

}  // namespace
}  // namespace nanobench::core
