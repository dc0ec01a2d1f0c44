#include "engine/operations/valgrind_count.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/error.h"
#include "core/base/temporary_folder.h"
#include "core/base/valgrind.h"

namespace nanobench::core {
namespace {

namespace fs = std::filesystem;

constexpr int kExitNotStarted = 127;
// One simulated cache everywhere, so that counts compare: first level 32 KiB, last level 8 MiB.
constexpr const char* kFirstInstructions = "--I1=32768,8,64";
constexpr const char* kFirstData = "--D1=32768,8,64";
constexpr const char* kLastLevel = "--LL=8388608,16,64";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Function whose calls are counted, with all that they call.
std::string counted_function(const std::string& metric) {
  return metric == "mask_instructions" ? "*mask_scores*" : "*make_counted_call*";
}

std::vector<std::string> counting_command(const std::string& metric, const fs::path& folder) {
  std::vector<std::string> options = {"--tool=callgrind", "--callgrind-out-file=/dev/null",
                                      "--log-file=" + (folder / "log").string(),
                                      "--toggle-collect=" + counted_function(metric)};
  if (metric == "cache_misses") {
    for (const char* option : {"--cache-sim=yes", kFirstInstructions, kFirstData, kLastLevel})
      options.emplace_back(option);
  }
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return valgrind_command(options, {program.string(), "--spec", (folder / "spec.json").string(), "--events-fd", "1"});
}

/// Its exit code, or 128 + the signal that ended it; its output goes to `output`.
int run(const std::vector<std::string>& command, const fs::path& output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int output_fd = open(output.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (output_fd < 0) throw Error(ErrorCode::kIo, "cannot write " + output.string() + ": " + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw Error(ErrorCode::kIo, std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(output_fd, STDOUT_FILENO) < 0) _exit(kExitNotStarted);
    execvp(arguments[0], arguments.data());
    _exit(kExitNotStarted);
  }
  close(output_fd);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

double total_of(const std::string& metric, const std::map<std::string, double>& totals) {
  const auto at = [&](const char* event) {
    const auto found = totals.find(event);
    if (found == totals.end()) throw Error(ErrorCode::kUnavailable, std::string("valgrind counted no ") + event);
    return found->second;
  };
  if (metric == "cache_misses") return at("D1mr") + at("D1mw");
  return at("Ir");
}

}  // namespace

bool is_counted_by_valgrind(const std::string& metric) {
  return metric == "instructions" || metric == "mask_instructions" || metric == "cache_misses";
}

[[gnu::noinline]] void make_counted_call(const std::function<std::vector<at::Tensor>()>& call) {
  call();
}

std::map<std::string, double> callgrind_totals(const std::string& log) {
  std::vector<std::string> events;
  std::map<std::string, double> totals;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string process, what, colon;
    if (!(words >> process >> what >> colon) || colon != ":") continue;
    if (what == "Events") events.assign(std::istream_iterator<std::string>(words), {});
    if (what != "Collected") continue;
    totals.clear();
    double number = 0;
    for (std::size_t i = 0; i < events.size() && words >> number; ++i) totals[events[i]] = number;
  }
  return totals;
}

double count_by_valgrind(const RunSpec& spec) {
  const TemporaryFolder folder("count");
  RunSpec one = spec;
  one.threads = 1;
  const std::string metric = std::exchange(one.operation->metric, "call");
  std::ofstream(folder.path() / "spec.json") << to_json(one);
  const int exit_code = run(counting_command(metric, folder.path()), folder.path() / "output");
  if (exit_code == kExitNotStarted)
    throw Error(ErrorCode::kUnavailable, "valgrind is not installed, and it counts " + metric);
  if (exit_code != 0) {
    throw Error(ErrorCode::kUnavailable,
                "the operation under valgrind ended with exit code " + std::to_string(exit_code));
  }
  const double total = total_of(metric, callgrind_totals(text_of(folder.path() / "log")));
  if (total == 0) throw Error(ErrorCode::kUnavailable, "valgrind saw no call: the program has no symbols");
  return total;
}

}  // namespace nanobench::core
