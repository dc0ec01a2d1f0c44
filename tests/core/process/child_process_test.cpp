#include "core/process/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/process/resource_limits.h"
#include "tests/core/process/sanitizer.h"

namespace nanobench::core {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

ChildSetup child_process_shell(const std::string& script) {
  ChildSetup setup;
  setup.command = {"/bin/sh", "-c", script};
  setup.pipes = {{STDOUT_FILENO, STDERR_FILENO}};
  return setup;
}

bool eventually(const std::function<bool()>& holds) {
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!holds() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return holds();
}

ProcessExit exit_of(ChildProcess& child) {
  EXPECT_TRUE(eventually([&] { return child.poll_exit().has_value(); })) << "it never ended";
  return child.poll_exit().value_or(ProcessExit{});
}

std::string all_of(Fd& fd) {
  std::string text;
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (fd.is_open() && Clock::now() < end) {
    wait_readable({fd.get()}, std::chrono::seconds(1));
    text += read_available(fd);
  }
  return text;
}

std::string output_of(const ChildSetup& setup) {
  ChildProcess child(setup);
  const std::string output = all_of(child.pipe(0));
  exit_of(child);
  return output;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// False for one that has ended, although nobody has waited for it yet.
bool is_running(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return in >> number >> name >> state && state != "Z" && state != "X";
}

TEST(ChildProcess, ItsExitIsItsCodeOrItsSignal) {
  ChildProcess fine(child_process_shell("exit 0")), code(child_process_shell("exit 3")),
      crash(child_process_shell("kill -SEGV $$"));
  EXPECT_TRUE(exit_of(fine).is_success());
  EXPECT_EQ(exit_of(code).exit_code, 3);
  EXPECT_FALSE(exit_of(code).is_success());
  EXPECT_EQ(exit_of(code).text(), "exit code 3");
  EXPECT_EQ(exit_of(crash).signal, SIGSEGV);
  EXPECT_FALSE(exit_of(crash).is_success());
  EXPECT_EQ(exit_of(crash).text(), signal_text(SIGSEGV));
  EXPECT_EQ(signal_text(SIGKILL).substr(0, 18), "signal 9 (SIGKILL)");
  EXPECT_GT(exit_of(code).max_rss_bytes, 0);
}

/// A large process shares its memory with the child until that has become its program.
TEST(ChildProcess, ALargeProcessStartsAllTheSame) {
  const std::vector<char> large(std::size_t{200} << 20, 'x');
  const char* const path_before = getenv("PATH");
  ChildSetup setup = child_process_shell("echo $A; exit 3");
  setup.environment = {{"A", "b"}, {"PATH", "/bin:/usr/bin"}};
  setup.folder = "/";
  setup.pipes = {{STDOUT_FILENO}};
  for (int i = 0; i < 20; ++i) {
    ChildProcess child(setup);
    ASSERT_EQ(child.start_error(), 0);
    char text[3] = {};
    EXPECT_EQ(read(child.pipe(0).get(), text, 2), 2);
    EXPECT_STREQ(text, "b\n");
    EXPECT_EQ(exit_of(child).exit_code, 3);
  }
  EXPECT_EQ(getenv("PATH"), path_before) << large.back();
  setup.command = {"no such program"};
  EXPECT_EQ(ChildProcess(setup).start_error(), ENOENT);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

TEST(ChildProcess, ItsPeakMemoryIsNotItsParents) {
  const std::vector<char> large(std::size_t{200} << 20, 'x');
  ASSERT_GT(resident_memory_bytes(), std::int64_t{200} << 20);
  ChildProcess small(child_process_shell("sleep 0.2"));
  const std::int64_t peak = exit_of(small).max_rss_bytes;
  EXPECT_GT(peak, 0);
  EXPECT_LT(peak, std::int64_t{50} << 20) << large.back();
  ChildProcess larger(child_process_shell("exec python3 -c 'import time; a = bytearray(300 << 20); time.sleep(0.5)'"));
  EXPECT_GT(exit_of(larger).max_rss_bytes, std::int64_t{300} << 20);
}

TEST(ChildProcess, PagesOfFilesAreNotInItsCopyOfUs) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "what earlier tests freed is still a part of the copy";
  constexpr std::size_t kBytes = std::size_t{120} << 20;
  const fs::path file = fs::temp_directory_path() / ("nanobench-pages-" + std::to_string(getpid()));
  std::ofstream(file).close();
  fs::resize_file(file, kBytes);
  const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  fs::remove(file);
  auto* const pages = static_cast<const char*>(mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fd.get(), 0));
  ASSERT_NE(pages, MAP_FAILED);
  int sum = 0;
  for (std::size_t i = 0; i < kBytes; i += 4096) sum += pages[i];
  ASSERT_GT(resident_memory_bytes(), static_cast<std::int64_t>(kBytes)) << sum;
  const std::int64_t copied = forked_memory_bytes();
  EXPECT_GT(copied, 0);
  EXPECT_LT(copied, static_cast<std::int64_t>(kBytes) / 2);
  ChildSetup setup = child_process_shell("head -c 90000000 /dev/zero | tail -c 80000000 | wc -c");
  setup.forked_bytes = copied;
  ChildProcess child(setup);
  EXPECT_GT(exit_of(child).max_rss_bytes, 70'000'000) << "smaller than us, and its own";
  munmap(const_cast<char*>(pages), kBytes);
}

TEST(ChildProcess, ItsEndCanBeWaitedFor) {
  ChildProcess child(child_process_shell("exit 3"));
  const Fd watch = child.exit_watch();
  ASSERT_TRUE(watch.is_open());
  EXPECT_EQ(wait_readable({watch.get()}, std::chrono::seconds(20)), 0U);
  EXPECT_EQ(child.poll_exit().value_or(ProcessExit{}).exit_code, 3);
  EXPECT_FALSE(child.exit_watch().is_open()) << "it has ended";
}

TEST(ChildProcess, ItsInputIsEmptyOrAFile) {
  ChildSetup setup = child_process_shell("cat");
  EXPECT_EQ(output_of(setup), "");
  const fs::path file = fs::temp_directory_path() / ("nanobench-input-" + std::to_string(getpid()));
  std::ofstream(file) << "words";
  setup.input = file.string();
  EXPECT_EQ(output_of(setup), "words");
  fs::remove(file);
  EXPECT_EQ(ChildProcess(setup).start_error(), ENOENT);
}

TEST(ChildProcess, BeyondTheLimitOfFileSizesAWriteFails) {
  ignore_file_size_signal();
  rlimit former = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &former), 0);
  const TemporaryFolder folder("limits");
  const rlimit low = {1000, former.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  std::string message;
  try {
    write_file_atomically(folder.path() / "file", std::string(5000, 'x'));
  } catch (const Error& error) {
    message = error.what();
  }
  ChildProcess child(child_process_shell("exec head -c 5000 /dev/zero > '" + (folder.path() / "other").string() + "'"));
  const int signal = exit_of(child).signal;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &former), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_EQ(signal, SIGXFSZ) << "a program of the user has the behaviour that it expects";
}

TEST(ChildProcess, WithoutFreeDescriptorsTheReasonIsTooManyOpenFiles) {
  rlimit former = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &former), 0);
  std::set<std::string> reasons;
  for (rlim_t limit = 3; limit < 40; ++limit) {
    const rlimit low = {limit, former.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    try {
      ChildSetup setup = child_process_shell("exit 0");
      setup.pipes = {{1, 2}};
      const ChildProcess child(setup);
      reasons.insert(std::strerror(child.start_error()));
    } catch (const Error& error) {
      reasons.insert(error.what());
    }
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &former), 0);
  EXPECT_EQ(reasons, (std::set<std::string>{
                         "Success", "Too many open files",
                         "cannot make a pipe: Too many open files; raise the limit of open files (ulimit -n)"}));
}

TEST(ResourceLimits, PeakMemoryGrowsWithUse) {
  const std::int64_t before = peak_memory_bytes();
  const std::vector<char> large(static_cast<std::size_t>(before) + (std::size_t{50} << 20), 'x');
  EXPECT_GT(peak_memory_bytes(), before) << large.back();
  const std::int64_t resident =
      resident_memory_bytes();  // first: reading allocates, and a sanitizer keeps what is freed
  EXPECT_GE(peak_memory_bytes(), resident);
  EXPECT_EQ(peak_memory_bytes(-1), 0);
}

TEST(ChildProcess, AMissingProgramIsAnErrorNumber) {
  ChildSetup setup;
  setup.command = {"nanobench-no-such-program"};
  EXPECT_EQ(ChildProcess(setup).start_error(), ENOENT);
  setup.command = {"/"};
  EXPECT_EQ(ChildProcess(setup).start_error(), EACCES);
  setup = child_process_shell("exit 0");
  setup.folder = "/no/such/folder";
  EXPECT_EQ(ChildProcess(setup).start_error(), ENOENT);
  EXPECT_EQ(ChildProcess(child_process_shell("exit 0")).start_error(), 0);
}

TEST(ChildProcess, StreamsGoWhereTheSetupSays) {
  EXPECT_EQ(output_of(child_process_shell("cat; echo out; echo err >&2")), "out\nerr\n") << "standard input is empty";
  ChildSetup setup = child_process_shell("echo out; echo err >&2; echo three >&3; cat <&4");
  setup.pipes = {{3}, {STDOUT_FILENO}, {STDERR_FILENO}};
  Pipe given = make_pipe();
  write_all(given.write.get(), "given");
  given.write.reset();
  setup.files = {{given.read.get(), 4}};
  ChildProcess child(setup);
  EXPECT_EQ(all_of(child.pipe(0)), "three\n");
  EXPECT_EQ(all_of(child.pipe(1)), "out\ngiven");
  EXPECT_EQ(all_of(child.pipe(2)), "err\n");
}

TEST(ChildProcess, RunsInItsFolderWithItsEnvironment) {
  ChildSetup setup = child_process_shell("pwd; echo \"$NB_A|$HOME\"");
  setup.folder = "/";
  setup.environment.emplace();
  setup.environment->emplace("NB_A", "a b");
  EXPECT_EQ(output_of(setup), "/\na b|\n");
}

TEST(ChildProcess, NoDescriptorGetsIntoTheProgramAndNoneIsLeftHere) {
  const std::size_t before = open_descriptors();
  const Fd ours(dup(STDERR_FILENO));  // without close-on-exec
  const std::string listed = output_of(child_process_shell("ls /proc/self/fd | wc -l"));
  EXPECT_EQ(std::stoi(listed), 4) << "three streams, and the folder that ls reads";
  for (int i = 0; i < 20; ++i) {
    ChildProcess child(child_process_shell("exit 0"));
    exit_of(child);
    ChildSetup missing;
    missing.command = {"nanobench-no-such-program"};
    missing.pipes = {{STDOUT_FILENO}};
    ChildProcess never(missing);
  }
  EXPECT_EQ(open_descriptors(), before + 1);
}

TEST(ChildProcess, SignalsOfThisProcessAreNotInherited) {
  const auto former = signal(SIGPIPE, SIG_IGN);
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &old);
  ChildProcess pipe(child_process_shell("kill -PIPE $$; exit 0")), term(child_process_shell("kill -TERM $$; exit 0"));
  sigprocmask(SIG_SETMASK, &old, nullptr);
  signal(SIGPIPE, former);
  EXPECT_EQ(exit_of(pipe).signal, SIGPIPE);
  EXPECT_EQ(exit_of(term).signal, SIGTERM);
}

/// The number of the process that it starts in the background.
pid_t grandchild_of(ChildProcess& child) {
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text += read_available(child.pipe(0));
    return text.find('\n') != std::string::npos;
  }));
  return static_cast<pid_t>(std::stol(text));
}

TEST(ChildProcess, ItsOwnGroupEndsWithIt) {
  ChildProcess left_behind(child_process_shell("sleep 600 & echo $!"));
  const pid_t first = grandchild_of(left_behind);
  EXPECT_TRUE(exit_of(left_behind).is_success());
  EXPECT_TRUE(eventually([&] { return !is_running(first); })) << "what it left behind is killed when it ends";
  pid_t second = 0;
  {
    ChildProcess killed(child_process_shell("sleep 600 & echo $!; wait"));
    second = grandchild_of(killed);
  }
  EXPECT_TRUE(eventually([&] { return !is_running(second); })) << "and when its object goes";
  ChildProcess asked(child_process_shell("sleep 600 & echo $!; wait"));
  const pid_t third = grandchild_of(asked);
  asked.signal(SIGTERM);
  EXPECT_EQ(exit_of(asked).signal, SIGTERM);
  EXPECT_TRUE(eventually([&] { return !is_running(third); }));
}

TEST(ChildProcess, InOurGroupItEndsAlone) {
  for (const ChildGroup group : {ChildGroup::kOurs, ChildGroup::kDetached}) {
    ChildSetup setup = child_process_shell("sleep 600 & echo $!");
    setup.group = group;
    ChildProcess child(setup);
    const pid_t grandchild = grandchild_of(child);
    EXPECT_TRUE(exit_of(child).is_success());
    EXPECT_TRUE(is_running(grandchild));
    EXPECT_EQ(getpgid(grandchild) == getpgrp(), group == ChildGroup::kOurs);
    kill(grandchild, SIGKILL);
  }
}

TEST(ChildProcess, DiesWithTheThreadThatStartedIt) {
  for (const ChildGroup group : {ChildGroup::kOwn, ChildGroup::kOurs, ChildGroup::kDetached}) {
    ChildSetup setup = child_process_shell("echo $$; sleep 600");
    setup.group = group;
    std::optional<ChildProcess> child;
    std::thread([&] { child.emplace(setup); }).join();
    if (group == ChildGroup::kDetached) {
      EXPECT_TRUE(is_running(grandchild_of(*child)));
    } else {
      EXPECT_EQ(exit_of(*child).signal, SIGKILL);
    }
  }
}

TEST(ChildProcess, ACopyOfThisProcessGoesOn) {
  Pipe pipe = make_pipe();
  const pid_t pid = fork_process(/*dies_with_us=*/true);
  if (pid == 0) {
    write_all(pipe.write.get(), "copy");
    _exit(0);
  }
  pipe.write.reset();
  EXPECT_EQ(all_of(pipe.read), "copy");
}

}  // namespace
}  // namespace nanobench::core
