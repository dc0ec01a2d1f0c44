#include "results/host_load.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/base/input_file.h"
#include "core/base/text.h"
#include "core/hardware/gpu_report.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/weights.h"

namespace nanobench::results {
namespace {

namespace fs = std::filesystem;

/// The first whitespace-separated word after `key` in a file; the key may be empty.
std::optional<std::string> word_after(const fs::path& file, const std::string& key) {
  std::istringstream in(core::read_beginning(file).value_or(""));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    std::string word;
    if (rest >> word) return word;
  }
  return std::nullopt;
}

void add_ticks(Facts& facts, const std::string& prefix) {
  // "cpu user nice system idle iowait irq softirq steal guest ...", in ticks since boot; guest is part of user
  std::istringstream in(core::read_beginning("/proc/stat").value_or(""));
  std::string name;
  std::array<long long, 8> ticks = {};
  in >> name;
  for (long long& value : ticks) in >> value;
  if (!in || name != "cpu") return;
  long long whole = 0;
  for (const long long value : ticks) whole += value;
  facts[prefix + "cpu_ticks"] = std::to_string(whole);
  facts[prefix + "idle_ticks"] = std::to_string(ticks[3] + ticks[4]);
  facts[prefix + "steal_ticks"] = std::to_string(ticks[7]);
}

void add_cheap_facts(Facts& facts, const std::string& prefix) {
  if (const auto uptime = word_after("/proc/uptime", "")) facts[prefix + "uptime_s"] = *uptime;
  if (const auto load = word_after("/proc/loadavg", "")) facts[prefix + "load_1m"] = *load;
  add_ticks(facts, prefix);
}

/// "MemTotal:  24689532 kB"
void add_memory(Facts& facts, const std::string& prefix, const std::string& key, const std::string& name) {
  const auto kib = word_after("/proc/meminfo", key);
  if (kib) facts[prefix + name] = std::to_string(1024 * std::strtoll(kib->c_str(), nullptr, 10));
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234"
void add_pressure(Facts& facts, const std::string& prefix) {
  const std::string line = core::first_line_of("/proc/pressure/cpu");
  const std::size_t at = line.find("total=");
  if (line.starts_with("some") && at != std::string::npos) facts[prefix + "pressure_cpu_us"] = line.substr(at + 6);
}

/// cpu.stat of our control group, cgroup version 1 or 2.
void add_throttling(Facts& facts, const std::string& prefix) {
  std::istringstream in(core::read_beginning("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(in, line);) {  // "4:cpu,cpuacct:/path" or "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path path = fs::path(line.substr(second + 1)).relative_path();
    const bool is_second = controllers.empty();
    if (!is_second && controllers != "cpu" && !controllers.starts_with("cpu,")) continue;
    const fs::path root = is_second ? fs::path("/sys/fs/cgroup") : fs::path("/sys/fs/cgroup") / controllers;
    for (const fs::path& folder : {root / path, root}) {  // inside a container the path may be the host's
      const auto time = word_after(folder / "cpu.stat", is_second ? "throttled_usec " : "throttled_time ");
      if (!time) continue;
      const long long value = std::strtoll(time->c_str(), nullptr, 10);
      facts[prefix + "throttled_us"] = std::to_string(is_second ? value : value / 1000);
      return;
    }
  }
}

/// Sums the values in the processors' own files; nullopt if there are none.
std::optional<double> sum_over_processors(const std::string& file, int& count) {
  double sum = 0;
  count = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("cpu") || name.size() < 4 || std::isdigit(static_cast<unsigned char>(name[3])) == 0) continue;
    if (const auto word = word_after(entry.path() / file, "")) {
      sum += std::strtod(word->c_str(), nullptr);
      ++count;
    }
  }
  return count > 0 ? std::optional(sum) : std::nullopt;
}

void add_frequency(Facts& facts, const std::string& prefix) {
  int count = 0;
  double mhz = 0;
  if (const auto khz = sum_over_processors("cpufreq/scaling_cur_freq", count)) {
    mhz = *khz / 1000;
  } else {
    std::istringstream in(core::read_beginning("/proc/cpuinfo").value_or(""));
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("cpu MHz")) continue;
      mhz += std::strtod(line.c_str() + line.find(':') + 1, nullptr);
      ++count;
    }
  }
  if (count == 0 || mhz <= 0) return;
  facts[prefix + "cpu_mhz"] = format_fixed(mhz / count, 0);
}

constexpr const char* kUptime = "uptime_s";
/// What only grows.
constexpr const char* const kCounters[] = {kUptime,           "cpu_ticks",    "idle_ticks",       "steal_ticks",
                                           "pressure_cpu_us", "throttled_us", "thermal_throttles"};

std::optional<double> number(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  return end != found->second.c_str() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// The growth of a counter during the run; nullopt unless it was read at both ends and did not decrease.
std::optional<double> growth(const Facts& facts, const std::string& name) {
  const std::optional<double> start = number(facts, "start/" + name);
  const std::optional<double> end = number(facts, "end/" + name);
  return start && end && *end >= *start ? std::optional(*end - *start) : std::nullopt;
}

std::optional<std::string> judge_steal(const Facts& facts) {
  const std::optional<double> share = steal_share(facts);
  if (!share || *share <= kMaxSteal) return std::nullopt;
  return "the hypervisor took " + format_percent(*share, 1) + " of the CPU time";
}

/// Other programs used the total minus what the run itself used. If that leaves fewer processors than the run has
/// threads, it had to wait.
std::optional<std::string> judge_others(const Facts& facts, int threads, double seconds) {
  const std::optional<double> whole = growth(facts, "cpu_ticks");
  const std::optional<double> idle = growth(facts, "idle_ticks");
  const std::optional<double> user_ms = number(facts, "used/user_ms");
  const std::optional<double> system_ms = number(facts, "used/system_ms");
  if (!whole || !idle || !user_ms || !system_ms) return std::nullopt;
  const double tick_seconds = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const double processors = *whole * tick_seconds / seconds;
  const double used = (*whole - *idle - growth(facts, "steal_ticks").value_or(0)) * tick_seconds / seconds;
  const double others = used - (*user_ms + *system_ms) / 1000 / seconds;
  const double missing = others + threads - processors;
  if (others <= 0 || missing <= kMaxMissingProcessors * threads) return std::nullopt;
  return "other programs kept " + format_fixed(others, 1) + " of " + format_fixed(processors, 0) + " processors busy";
}

std::optional<std::string> judge_throttling(const Facts& facts, double seconds) {
  if (const auto us = growth(facts, "throttled_us"); us && *us * 1e-6 / seconds > kMaxThrottled)
    return "the control group's quota stopped it for " + format_percent(*us * 1e-6 / seconds, 1) + " of the time";
  if (const auto count = growth(facts, "thermal_throttles"); count && *count > 0)
    return "the processor slowed down for heat";
  return std::nullopt;
}

std::optional<std::string> judge_switches(const Facts& facts, int threads, double seconds) {
  const std::optional<double> switches = number(facts, "used/involuntary_switches");
  if (!switches || threads <= 0) return std::nullopt;
  const double rate = *switches / seconds / threads;
  if (rate <= kMaxInvoluntarySwitches) return std::nullopt;
  return "its threads lost their processors " + format_fixed(rate, 0) + " times a second each";
}

/// "its GPU"; for a run with several, those for which the fact with this name holds: "the GPU of its process 3".
std::string gpu_with(const Facts& facts, const std::string& name) {
  const std::string prefix = core::kGpuOfProcessPrefix;
  const std::string rest = name.substr(name.find('/'));
  std::set<int> processes;
  for (auto at = facts.lower_bound(prefix); at != facts.end() && at->first.starts_with(prefix); ++at) {
    const bool is_it =
        at->first.ends_with(rest) && at->first.find('/', prefix.size()) == at->first.size() - rest.size();
    if (is_it && number(facts, at->first).value_or(0) > 0)
      processes.insert(std::atoi(at->first.c_str() + prefix.size()));
  }
  if (processes.empty()) return "its GPU";
  return (processes.size() == 1 ? "the GPU of its process " : "the GPUs of its processes ") + joined(processes);
}

std::optional<std::string> judge_gpu(const Facts& facts) {
  if (const auto others = number(facts, core::kGpuOthers); others && *others > 0) {
    const bool is_one = *others == 1;
    return (is_one ? "another process was" : format_fixed(*others, 0) + " other processes were") + " on " +
           gpu_with(facts, core::kGpuOthers);
  }
  const std::string prefix = core::kGpuThrottlePrefix;
  for (auto at = facts.lower_bound(prefix); at != facts.end() && at->first.starts_with(prefix); ++at) {
    const std::string reason = at->first.substr(prefix.size());
    if (core::is_disturbing_throttle(reason) && number(facts, at->first).value_or(0) > 0)
      return gpu_with(facts, at->first) + " slowed down (" + reason + ")";
  }
  return std::nullopt;
}

std::optional<std::string> judge_load(const Facts& facts, int threads) {
  const std::optional<double> load = number(facts, "start/load_1m");
  if (!load || *load <= 1.5 * threads + 1.0) return std::nullopt;
  return "the load was " + format_fixed(*load, 1) + " when it began";
}

}  // namespace

Facts load_facts(const std::string& prefix) {
  Facts facts;
  facts[prefix + "time"] = utc_now();
  add_cheap_facts(facts, prefix);
  add_pressure(facts, prefix);
  add_throttling(facts, prefix);
  add_frequency(facts, prefix);
  int count = 0;
  if (const auto throttles = sum_over_processors("thermal_throttle/core_throttle_count", count))
    facts[prefix + "thermal_throttles"] = format_fixed(*throttles, 0);
  return facts;
}

void SpanFacts::begin() {
  begun_ = load_facts("");
  if (first_.empty()) first_ = begun_;
}

void SpanFacts::end() {
  last_ = load_facts("");
  for (const char* const name : kCounters) {
    const std::optional<double> before = number(begun_, name), after = number(last_, name);
    if (before && after) growth_[name] += *after - *before;
  }
}

Facts SpanFacts::facts() const {
  Facts facts;
  for (const auto& [name, value] : first_) facts["start/" + name] = value;
  for (const auto& [name, value] : last_) facts["end/" + name] = value;
  for (const auto& [name, growth] : growth_) {
    const std::optional<double> start = number(first_, name);
    if (start) facts["end/" + name] = format_fixed(*start + growth, name == std::string_view(kUptime) ? 2 : 0);
  }
  return facts;
}

std::optional<double> used_seconds(const Facts& facts, const std::string& started_at, const std::string& finished_at) {
  if (const std::optional<double> used_ms = number(facts, kUsedWall)) return *used_ms / 1000.0;
  const std::optional<double> started = seconds_since_epoch(started_at);
  const std::optional<double> finished = seconds_since_epoch(finished_at);
  if (!started || !finished) return std::nullopt;
  return std::max(0.0, *finished - *started);
}

std::optional<std::int64_t> available_memory_bytes() {
  Facts facts;
  add_memory(facts, "", "MemAvailable:", "bytes");
  std::optional<double> bytes = number(facts, "bytes");
  std::istringstream max_file(core::first_line_of("/sys/fs/cgroup/memory.max"));
  std::istringstream used_file(core::first_line_of("/sys/fs/cgroup/memory.current"));
  double max = 0.0, used = 0.0;
  if (max_file >> max && used_file >> used) bytes = std::min(bytes.value_or(max), std::max(max - used, 0.0));
  return bytes ? std::optional(static_cast<std::int64_t>(*bytes)) : std::nullopt;
}

Facts glance_facts(const std::string& prefix) {
  Facts facts;
  add_cheap_facts(facts, prefix);
  add_memory(facts, prefix, "MemTotal:", "memory_total_bytes");
  add_memory(facts, prefix, "MemAvailable:", "memory_available_bytes");
  return facts;
}

std::optional<double> steal_share(const Facts& facts) {
  const std::optional<double> steal = growth(facts, "steal_ticks");
  const std::optional<double> whole = growth(facts, "cpu_ticks");
  return steal && whole && *whole > 0 ? std::optional(*steal / *whole) : std::nullopt;
}

std::optional<double> busy_share(const Facts& facts) {
  const std::optional<double> idle = growth(facts, "idle_ticks");
  const std::optional<double> whole = growth(facts, "cpu_ticks");
  if (!idle || !whole || *whole <= 0) return std::nullopt;
  return std::max(0.0, *whole - *idle - growth(facts, "steal_ticks").value_or(0)) / *whole;
}

std::optional<std::string> disturbance(const Facts& facts, int threads) {
  if (facts.contains(kJobProcessors)) return std::nullopt;
  if (const auto step = facts.find(kResumedStep); step != facts.end())
    return "it was continued from its checkpoint of step " + step->second;
  if (facts.contains(kSeat)) return judge_gpu(facts);  // its neighbours load the machine, and not its seat
  if (auto reason = judge_gpu(facts)) return reason;
  const std::optional<double> seconds = growth(facts, "uptime_s");
  if (!seconds || *seconds < kShortestJudged) return judge_load(facts, threads);
  if (auto reason = judge_steal(facts)) return reason;
  if (auto reason = judge_others(facts, threads, *seconds)) return reason;
  if (auto reason = judge_throttling(facts, *seconds)) return reason;
  return judge_switches(facts, threads, *seconds);
}

}  // namespace nanobench::results
