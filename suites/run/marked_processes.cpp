#include "suites/run/marked_processes.h"

#include "core/base/input_file.h"

#include <dirent.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

namespace nanobench::suites {
namespace {

constexpr int kMaxRounds = 100;
constexpr useconds_t kRoundUs = 10'000;

/// NAME=VALUE entries, each ended by NUL; empty for a process that has ended or belongs to another user.
std::string environment_of(pid_t pid) {
  return core::read_beginning("/proc/" + std::to_string(pid) + "/environ").value_or("");
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const long pid = std::strtol(entry->d_name, nullptr, 10);
    if (pid > 1) pids.push_back(static_cast<pid_t>(pid));
  }
  return pids;
}

/// Returns how many there were.
int kill_once(const std::string& entry) {
  int count = 0;
  for (const pid_t pid : all_processes()) {
    if (pid == getpid()) continue;
    const std::string environment = '\0' + environment_of(pid);
    if (environment.find(entry) == std::string::npos) continue;
    if (kill(pid, SIGKILL) == 0) ++count;
  }
  return count;
}

}  // namespace

std::string new_trainer_mark() {
  static int count = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return std::to_string(getpid()) + "-" + std::to_string(now) + "-" + std::to_string(++count);
}

void kill_marked(const std::string& mark) {
  const std::string entry = '\0' + (kTrainerMark + ("=" + mark)) + '\0';
  for (int round = 0; round < kMaxRounds && kill_once(entry) > 0; ++round) usleep(kRoundUs);
}

}  // namespace nanobench::suites
