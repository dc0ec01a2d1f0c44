#include "suites/run/marked_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nanobench::suites {
namespace {

/// A process that sleeps in a session of its own, with this mark or none.
pid_t start_sleeper(const std::string& mark) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setsid();
  unsetenv(kTrainerMark);
  if (!mark.empty()) setenv(kTrainerMark, mark.c_str(), 1);
  execlp("sleep", "sleep", "60", nullptr);
  _exit(127);
}

/// Until it has its own environment.
void wait_for_exec(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    char name[16] = {};
    const std::string file = "/proc/" + std::to_string(pid) + "/comm";
    FILE* const in = fopen(file.c_str(), "r");
    if (in != nullptr) {
      [[maybe_unused]] const char* const ignored = fgets(name, sizeof name, in);
      fclose(in);
    }
    if (std::string(name) == "sleep\n") return;
    usleep(10'000);
  }
  FAIL() << "the sleeper did not start";
}

TEST(MarkedProcesses, EndsThoseWithTheMarkAndNoOthers) {
  const std::string mark = new_trainer_mark();
  EXPECT_NE(mark, new_trainer_mark());
  const pid_t mine = start_sleeper(mark), longer = start_sleeper(mark + "0"), other = start_sleeper("");
  for (const pid_t pid : {mine, longer, other}) wait_for_exec(pid);
  { const MarkedProcesses strays(mark); }
  int status = 0;
  EXPECT_EQ(waitpid(mine, &status, 0), mine);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  for (const pid_t pid : {longer, other}) {
    EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0) << "it is nobody's of this run";
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
}

}  // namespace
}  // namespace nanobench::suites
