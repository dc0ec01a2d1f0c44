#include "core/hardware/gpu_monitor.h"

#include "core/base/input_file.h"

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>

namespace nanobench::core {

namespace {

constexpr int kMaxGenerations = 256;
/// The first namespace of processes has this number on every Linux (PROC_PID_INIT_INO).
constexpr const char* kFirstNamespace = "pid:[4026531836]";

/// Field 4 of /proc/PID/stat; 0 if there is no such process. The name (field 2) may hold spaces and parentheses.
std::int64_t parent_of(std::int64_t pid) {
  const std::string line = first_line_of("/proc/" + std::to_string(pid) + "/stat");
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

namespace {

void keep(std::vector<double>& values, const std::optional<double>& value) {
  if (value) values.push_back(*value);
}

/// The median is the lower of two middle values, so that it is a sampled value.
std::optional<GpuRange> range_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return GpuRange{.min = values.front(), .median = values[(values.size() - 1) / 2], .max = values.back()};
}

}  // namespace

GpuMonitor::GpuMonitor(GpuDevice device, GpuMonitorOptions options)
    : device_(std::move(device)),
      interval_(std::max(options.interval, std::chrono::milliseconds(1))),
      watch_(options.root > 0 ? options.root : getpid(), counts_as_driver()) {
  ask();
  thread_ = std::thread([this] { work(); });
}

GpuMonitor::~GpuMonitor() {
  end_thread();
}

void GpuMonitor::work() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return is_stopping_; })) {
    lock.unlock();
    ask();
    lock.lock();
  }
}

void GpuMonitor::ask() {
  const GpuState state = device_.state();
  const std::lock_guard lock(mutex_);
  ++samples_;
  for (std::size_t i = 0; i < sampled_.size(); ++i) keep(sampled_[i], state.*kGpuSampled[i].state);
  if (state.used_bytes) most_used_bytes_ = std::max(most_used_bytes_.value_or(0), *state.used_bytes);
  if (state.throttle_reasons) {
    if (!throttle_reasons_) throttle_reasons_.emplace();
    throttle_reasons_->insert(state.throttle_reasons->begin(), state.throttle_reasons->end());
  }
  if (!state.processes) return;
  std::vector<std::int64_t> pids;
  for (const GpuProcess& process : *state.processes) pids.push_back(process.pid);
  watch_.see(pids);
}

void GpuMonitor::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  const std::lock_guard lock(stop_mutex_);
  if (thread_.joinable()) thread_.join();
}

GpuSummary GpuMonitor::stop() {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = !is_stopping_;
    is_stopping_ = true;
  }
  if (is_first) ask();
  end_thread();
  return summary();
}

GpuSummary GpuMonitor::summary() const {
  const std::lock_guard lock(mutex_);
  GpuSummary summary;
  summary.samples = samples_;
  for (std::size_t i = 0; i < sampled_.size(); ++i) summary.*kGpuSampled[i].range = range_of(sampled_[i]);
  summary.most_used_bytes = most_used_bytes_;
  summary.throttle_reasons = throttle_reasons_;
  summary.other_processes = watch_.others();
  return summary;
}

}  // namespace nanobench::core
