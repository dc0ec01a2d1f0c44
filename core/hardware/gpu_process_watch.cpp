#include "core/hardware/gpu_process_watch.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace nanobench::core {
namespace {

constexpr int kMaxGenerations = 256;
/// The first namespace of processes has this number on every Linux (PROC_PID_INIT_INO).
constexpr const char* kFirstNamespace = "pid:[4026531836]";

/// Field 4 of /proc/PID/stat; 0 when there is no such process. The name (field 2) may hold spaces and parentheses.
std::int64_t parent_of(std::int64_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t close = line.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream rest(line.substr(close + 1));
  std::string state;
  std::int64_t parent = 0;
  return rest >> state >> parent ? parent : 0;
}

}  // namespace

bool is_of_family(std::int64_t pid, std::int64_t root) {
  for (int i = 0; i < kMaxGenerations && pid > 0; ++i) {
    const std::int64_t parent = parent_of(pid);
    if (pid == root) return parent > 0 || root == 1;
    pid = parent;
  }
  return false;
}

bool counts_as_driver() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error) == kFirstNamespace;
}

void GpuProcessWatch::see(const std::vector<std::int64_t>& pids) {
  has_seen_ = true;
  for (const std::int64_t pid : pids) {
    if (own_.contains(pid) || others_.contains(pid)) continue;  // one of ours that ended is still ours
    (is_of_family(pid, root_) ? own_ : others_).insert(pid);
  }
}

std::optional<std::vector<std::int64_t>> GpuProcessWatch::others() const {
  if (!has_seen_ || (!is_sure_ && own_.empty())) return std::nullopt;
  return std::vector<std::int64_t>(others_.begin(), others_.end());
}

}  // namespace nanobench::core
