#include "core/process/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/process/resource_limits.h"

namespace nanobench::core {
namespace {

constexpr int kNotStarted = 127;
constexpr std::int64_t kGrowthDuringFork = std::int64_t{1} << 20;
constexpr std::int64_t kLargeProcess = std::int64_t{128} << 20;
constexpr std::chrono::milliseconds kLookAtMemory{50};
constexpr std::chrono::milliseconds kUsualStop{5};
constexpr std::chrono::milliseconds kLongestStop{2000};
constexpr useconds_t kStopLookUs = 20;

std::int64_t milliseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_usec / 1000;
}

std::int64_t microseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
}

/// Whether the state of the process is "D".
bool cannot_be_interrupted(pid_t pid) {
  const std::string stat = read_beginning("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.compare(name_end + 2, 1, "D") == 0;
}

/// Pointers to the words and a final null; `words` remains the owner.
std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Everything that the child needs between fork and exec, where only async-signal-safe calls are allowed. It may share
/// our memory: it changes nothing there but this and `environ`.
struct Program {
  std::vector<std::string> words, variables;
  std::vector<char*> argv, environment;    ///< environment empty: ours
  const char* folder = nullptr;            ///< null: ours
  std::vector<std::pair<int, int>> files;  ///< ours, the child's
  int first_free = STDERR_FILENO + 1;      ///< above all of the child's
  bool has_own_group = true;
  bool has_own_processors = false;
  bool dies_with_us = true;
  pid_t parent = 0;
  int report = -1;  ///< receives errno on failure, and closes on success
  cpu_set_t processors;
};

[[noreturn]] void report_errno(int report) {
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(report, &error, sizeof error);
  _exit(kNotStarted);
}

/// The same file under a number of at least `first_free`.
int moved(int fd, int first_free, int report) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, first_free);
  if (copy < 0 && errno == EINVAL) errno = EMFILE;  // the number itself is beyond the limit
  if (copy < 0) report_errno(report);
  return copy;
}

/// In the child. `parent`: the process that it dies with.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);  // it died before the line above
}

/// In the child, where no handler of ours may run: signals that have one, or that we may ignore, do again what the
/// system has them do. By system calls, because the C library of a sanitizer keeps a table of its own, in our memory.
void reset_signals() {
  constexpr std::array kMayBeIgnored = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGXFSZ};
  constexpr std::size_t kMaskBytes = 8;
  std::array<unsigned long, 8> usual = {}, former = {};  // of the kernel; begins with the handler
  for (int number = 1; number < NSIG; ++number) {
    const bool is_named = std::find(kMayBeIgnored.begin(), kMayBeIgnored.end(), number) != kMayBeIgnored.end();
    if (syscall(SYS_rt_sigaction, number, nullptr, former.data(), kMaskBytes) != 0) continue;
    if (is_named || former[0] > 1) syscall(SYS_rt_sigaction, number, usual.data(), nullptr, kMaskBytes);
  }
  const std::uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kMaskBytes);
}

/// Runs in the child, where all signals are blocked.
[[noreturn]] void become(Program& program) {
  int report = program.report;
  if (program.dies_with_us) die_with(program.parent);
  if (program.has_own_group) setpgid(0, 0);
  reset_signals();
  // Moves the sources out of the way first: targets may be among them.
  report = moved(report, program.first_free, report);
  for (auto& [source, target] : program.files) source = moved(source, program.first_free, report);
  for (const auto& [source, target] : program.files) {
    if (dup2(source, target) < 0) report_errno(report);
  }
  close_range(static_cast<unsigned>(program.first_free), ~0U, CLOSE_RANGE_CLOEXEC);
  if (program.has_own_processors && sched_setaffinity(0, sizeof program.processors, &program.processors) != 0)
    report_errno(report);
  if (program.folder != nullptr && chdir(program.folder) != 0) report_errno(report);
  if (!program.environment.empty()) environ = program.environment.data();  // whose PATH counts
  execvp(program.argv[0], program.argv.data());
  report_errno(report);
}

int become_in_our_memory(void* program) {
  become(*static_cast<Program*>(program));
}

/// A child with a copy of our memory takes the longer the more we have: half a second for each 10 GB. A large process
/// therefore waits until the child has become its program, and shares its memory until then.
pid_t start_in_our_memory(Program& program) {
  constexpr std::size_t kStackBytes = std::size_t{256} << 10;
  std::vector<std::byte> stack(kStackBytes);
  char** const variables = environ;
  const pid_t pid =
      clone(become_in_our_memory, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &program);
  environ = variables;
  return pid;
}

/// -1 with errno on failure.
pid_t start_process(Program& program, bool has_copy) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = has_copy ? fork() : start_in_our_memory(program);
  if (pid == 0) become(program);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

Program program_of(const ChildSetup& setup) {
  Program program;
  program.words = setup.command;
  program.argv = pointers(program.words);
  if (setup.environment) {
    for (const auto& [name, value] : *setup.environment) program.variables.push_back(name + "=" + value);
    program.environment = pointers(program.variables);
  }
  if (!setup.folder.empty()) program.folder = setup.folder.c_str();
  program.files = setup.files;
  program.has_own_group = setup.group != ChildGroup::kOurs;
  program.has_own_processors = !setup.processors.empty();
  CPU_ZERO(&program.processors);
  for (const int processor : setup.processors) CPU_SET(static_cast<std::size_t>(processor), &program.processors);
  return program;
}

}  // namespace

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  const char* text = sigdescr_np(number);
  return "signal " + std::to_string(number) + (name == nullptr ? "" : std::string(" (SIG") + name + ")") +
         (text == nullptr ? "" : std::string(": ") + text);
}

std::string ProcessExit::text() const {
  return signal != 0 ? signal_text(signal) : "exit code " + std::to_string(exit_code);
}

ProcessExit exit_of_status(int wait_status) {
  ProcessExit exit;
  if (WIFSIGNALED(wait_status)) exit.signal = WTERMSIG(wait_status);
  if (WIFEXITED(wait_status)) exit.exit_code = WEXITSTATUS(wait_status);
  return exit;
}

pid_t fork_process(bool dies_with_us) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0 && dies_with_us) die_with(parent);
  return pid;
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const std::size_t at = text.find('='); at != std::string_view::npos)
      variables.emplace(text.substr(0, at), text.substr(at + 1));
  }
  return variables;
}

ChildProcess::ChildProcess(const ChildSetup& setup) : group_(setup.group) {
  NB_CHECK(!setup.command.empty(), "no program to start");
  start(setup);
}

void ChildProcess::start(const ChildSetup& setup) {
  Program program = program_of(setup);
  const Fd input(open(setup.input.empty() ? "/dev/null" : setup.input.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input.is_open()) start_error_ = errno;
  if (!input.is_open()) return;
  program.files.emplace_back(input.get(), STDIN_FILENO);
  std::vector<Fd> write_ends;
  for (const std::vector<int>& targets : setup.pipes) {
    Pipe pipe = make_pipe();
    for (const int target : targets) program.files.emplace_back(pipe.write.get(), target);
    pipes_.push_back(std::move(pipe.read));
    write_ends.push_back(std::move(pipe.write));
  }
  for (const auto& [source, target] : program.files) program.first_free = std::max(program.first_free, target + 1);
  Pipe report = make_pipe();
  program.report = report.write.get();
  program.parent = getpid();
  program.dies_with_us = group_ != ChildGroup::kDetached;
  our_bytes_ = setup.forked_bytes > 0 ? setup.forked_bytes : resident_memory_bytes();
  const bool has_copy = our_bytes_ < kLargeProcess;
  if (!has_copy) our_bytes_ = std::max(our_bytes_, peak_memory_bytes());  // what the system's figure begins with then
  started_ = std::chrono::steady_clock::now();
  pid_ = start_process(program, has_copy);
  if (pid_ < 0) start_error_ = errno;
  if (pid_ < 0) return;
  if (program.has_own_group) setpgid(pid_, pid_);  // in both processes: whoever is first
  report.write.reset();
  ssize_t count = 0;
  do count = read(report.read.get(), &start_error_, sizeof start_error_);
  while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof start_error_))
    exit_ = reap();
  else
    start_error_ = 0;
  if (!exit_) look_at_memory();
}

void ChildProcess::look_at_memory() {
  peak_bytes_ = std::max(peak_bytes_, peak_memory_bytes(pid_));
  looked_ = std::chrono::steady_clock::now();
}

/// The system's figure includes the copy of us that became the program. Where the program was not larger than that, the
/// last look at it counts.
std::int64_t ChildProcess::peak_of(std::int64_t reported_bytes) const {
  const bool is_its_own = reported_bytes > our_bytes_ + kGrowthDuringFork;
  return is_its_own || peak_bytes_ == 0 ? reported_bytes : std::min(peak_bytes_, reported_bytes);
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0 || exit_) return;
  signal(SIGKILL);
  reap();
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0 && !exit_) kill(group_ == ChildGroup::kOurs ? pid_ : -pid_, number);
}

void ChildProcess::pause() const {
  if (pid_ <= 0 || exit_) return;
  signal(SIGSTOP);
  const auto began = std::chrono::steady_clock::now();
  for (auto now = began; now < began + kLongestStop; now = std::chrono::steady_clock::now()) {
    if (now > began + kUsualStop && cannot_be_interrupted(pid_)) return;
    siginfo_t info = {};
    // A stop is taken, an end is left for poll_exit().
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG) != 0 || info.si_pid != 0) return;
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0) return;
    usleep(kStopLookUs);
  }
}

Fd ChildProcess::exit_watch() const {
  return Fd(pid_ > 0 && !exit_ ? static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)) : -1);
}

std::optional<ProcessExit> ChildProcess::poll_exit() {
  if (exit_ || pid_ <= 0) return exit_;
  siginfo_t info = {};
  // WNOWAIT keeps the zombie, so that its PID still identifies the group below.
  const bool has_ended =
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  if (has_ended)
    exit_ = reap();
  else if (std::chrono::steady_clock::now() - looked_ > kLookAtMemory)
    look_at_memory();
  return exit_;
}

ProcessExit ChildProcess::reap() {
  if (group_ == ChildGroup::kOwn) kill(-pid_, SIGKILL);
  int status = 0;
  rusage usage = {};
  while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ProcessExit exit = exit_of_status(status);
  exit.max_rss_bytes = peak_of(static_cast<std::int64_t>(usage.ru_maxrss) * 1024);
  exit.user_ms = milliseconds(usage.ru_utime);
  exit.system_ms = milliseconds(usage.ru_stime);
  exit.user_us = microseconds(usage.ru_utime);
  exit.system_us = microseconds(usage.ru_stime);
  exit.voluntary_switches = usage.ru_nvcsw;
  exit.involuntary_switches = usage.ru_nivcsw;
  return exit;
}

}  // namespace nanobench::core
